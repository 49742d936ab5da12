//! A run: statements one after another in one session.

use std::io::{self, IsTerminal};
use std::path::Path;

use farquet_core::Limits;
use farquet_sql::{Session, Snapshot, Statement};
use futures::StreamExt;

use crate::account::{Account, Books};
use crate::args::QueryArgs;
use crate::console::Console;
use crate::engine;
use crate::exit::Failure;
use crate::output::Output;
use crate::progress::Progress;

/// Runs what the command line asks for. Dropping the future cancels all requests and leaves no file behind.
pub(crate) async fn run(args: QueryArgs, console: Console) -> Result<(), Failure> {
    let session = engine::session(&args)?;
    let sql = sql(&args).await?;
    let statements = session.parse(&sql)?;
    if statements.is_empty() {
        return Err(Failure::usage("there is no SQL").hint("farquet --help says how to give it"));
    }
    let output = Output::open(args.format, args.output.as_deref(), console)?;
    output.expect(statements.iter().filter(|statement| statement.returns_rows()).count())?;
    let books = Books::open(&args, console)?;
    let limits = Limits { max_requests: args.max_requests, max_bytes: args.max_bytes };
    let snapshot = args.snapshot.then(|| session.snapshot());
    let mut run = Run { session, snapshot, output, books, limits, console };
    for statement in &statements {
        run.statement(statement).await?;
    }
    run.output.commit()
}

struct Run {
    session: Session,
    /// What all statements are run on, if they are to share it.
    snapshot: Option<Snapshot>,
    output: Output,
    books: Books,
    limits: Limits,
    console: Console,
}

impl Run {
    async fn statement(&mut self, statement: &Statement) -> Result<(), Failure> {
        let query = self.session.begin(self.limits);
        // Before the rows, so that it is dropped after them, when no request is in flight any more.
        let mut account = Account::open(&self.books, &query);
        let mut progress = Some(Progress::start(&query, self.console));
        let mut result = match &self.snapshot {
            Some(snapshot) => snapshot.run(&query, statement).await?,
            None => self.session.run(&query, statement).await?,
        };
        let schema = result.schema();
        if schema.fields().is_empty() {
            // A statement that only acts.
            while result.next().await.transpose()?.is_some() {}
            return Ok(());
        }
        let mut rows = self.output.begin(&schema)?;
        if self.output.scrolls() {
            progress = None;
        }
        while let Some(batch) = result.next().await.transpose()? {
            account.rows += batch.num_rows() as u64;
            rows.write(&batch).map_err(|error| self.output.failure(error))?;
            self.output.flush()?;
        }
        drop(progress);
        rows.finish().map_err(|error| self.output.failure(error))?;
        self.output.flush()
    }
}

/// The SQL, from wherever it comes.
async fn sql(args: &QueryArgs) -> Result<String, Failure> {
    let text = match (&args.sql, &args.file) {
        (Some(sql), _) => return Ok(sql.clone()),
        (None, Some(path)) if path.as_os_str() != "-" => read_file(path)?,
        (None, None) if io::stdin().is_terminal() => return Err(Failure::Help),
        (None, _) => read_stdin().await?,
    };
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

fn read_file(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::usage(format!("{} cannot be read: {error}", path.display())))
}

async fn read_stdin() -> Result<String, Failure> {
    let read = tokio::task::spawn_blocking(|| io::read_to_string(io::stdin())).await;
    read.unwrap_or_else(|error| Err(io::Error::other(error)))
        .map_err(|error| Failure::usage(format!("standard input cannot be read: {error}")))
}
