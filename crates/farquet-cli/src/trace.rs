//! Every request as a line of JSON.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use farquet_core::stats::RequestRecord;
use farquet_core::timer::Monotonic;
use serde_json::json;

use crate::stats::{milliseconds, object};

/// A file of requests, written query by query. Times count from the start of the first query.
#[derive(Debug)]
pub(crate) struct Trace {
    file: BufWriter<File>,
    zero: Option<Monotonic>,
}

impl Trace {
    /// Begins an empty trace.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { file: BufWriter::new(File::create(path)?), zero: None })
    }

    /// Adds the requests of a query that began at `began`, in the order in which they were sent.
    pub(crate) fn add(&mut self, began: Monotonic, records: &[RequestRecord]) -> io::Result<()> {
        let offset = began - *self.zero.get_or_insert(began);
        let mut records: Vec<_> = records.iter().collect();
        records.sort_by_key(|record| record.start);
        for record in records {
            let line = object(&[
                ("start_ms", milliseconds(offset + record.start)),
                ("end_ms", milliseconds(offset + record.end)),
                ("method", json!(record.method)),
                ("url", json!(record.url)),
                ("range", json!(record.range)),
                ("status", json!(record.status)),
                ("bytes", json!(record.bytes)),
                ("cause", json!(record.cause.as_str())),
                ("hop", json!(record.hop)),
            ]);
            writeln!(self.file, "{line}")?;
        }
        self.file.flush()
    }
}
