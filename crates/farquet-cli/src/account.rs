//! The books of a run: what each query cost, told when the query ends in whatever way.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use farquet_core::QueryContext;

use crate::args::{QueryArgs, StatsFormat};
use crate::console::Console;
use crate::exit::Failure;
use crate::stats;
use crate::trace::Trace;

/// What is told of every query of a run.
#[derive(Debug)]
pub(crate) struct Books {
    stats: Option<StatsFormat>,
    requests: bool,
    trace: Option<Mutex<Trace>>,
    console: Console,
}

impl Books {
    /// Opens the trace, if one is wanted.
    pub(crate) fn open(args: &QueryArgs, console: Console) -> Result<Self, Failure> {
        let trace = args.trace.as_deref().map(open_trace).transpose()?;
        let stats = args.stats.or_else(|| args.verbose.then_some(StatsFormat::Text));
        Ok(Self { stats, requests: args.verbose, trace, console })
    }
}

fn open_trace(path: &Path) -> Result<Mutex<Trace>, Failure> {
    let trace = Trace::create(path);
    trace.map(Mutex::new).map_err(|error| Failure::usage(format!("{} cannot be written: {error}", path.display())))
}

/// One query's account. Dropping it tells what the query cost; it has to outlive the query's rows for that.
#[derive(Debug)]
pub(crate) struct Account<'a> {
    books: &'a Books,
    query: Arc<QueryContext>,
    began: Instant,
    /// Rows that were handed on.
    pub(crate) rows: u64,
}

impl<'a> Account<'a> {
    /// Opens the account of a query that begins now.
    pub(crate) fn open(books: &'a Books, query: &Arc<QueryContext>) -> Self {
        Self { books, query: Arc::clone(query), began: Instant::now(), rows: 0 }
    }

    fn tell(&self) {
        let Books { stats, requests, trace, console } = self.books;
        if stats.is_none() && trace.is_none() {
            return;
        }
        let wall = self.began.elapsed();
        let report = self.query.report();
        if *requests {
            stats::requests(&report).for_each(|line| console.line(&line));
        }
        match stats {
            Some(StatsFormat::Text) => console.line(&stats::text(&report, self.rows, wall)),
            Some(StatsFormat::Json) => console.line(&stats::json(&report, self.rows, wall)),
            None => {}
        }
        if let Some(trace) = trace {
            let mut trace = trace.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = trace.add(self.query.stats().began(), &report.records) {
                console.remark(&format!("the trace could not be written: {error}"));
            }
        }
    }
}

impl Drop for Account<'_> {
    fn drop(&mut self) {
        self.tell();
    }
}
