//! Another engine's answers: DuckDB in a Python of its own, see `reference/rows.py`.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::canon::Row;

/// Who reads the files that DuckDB queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// DuckDB itself.
    DuckDb,
    /// pyarrow, for what DuckDB cannot read.
    PyArrow,
}

/// A table, and the queries over it.
#[derive(Debug, Clone)]
pub struct World {
    table: Value,
    queries: Vec<String>,
}

impl World {
    /// One table `name` of `files`.
    pub fn of<P: AsRef<Path>>(name: &str, reader: Reader, files: &[P]) -> Self {
        let files: Vec<_> = files.iter().map(|file| file.as_ref().to_str().expect("a path in UTF-8")).collect();
        let reader = match reader {
            Reader::DuckDb => "duckdb",
            Reader::PyArrow => "pyarrow",
        };
        Self { table: json!({ "name": name, "reader": reader, "files": files }), queries: Vec::new() }
    }

    /// One query more.
    pub fn ask(&mut self, sql: impl Into<String>) {
        self.queries.push(sql.into());
    }
}

/// What the reference says to a query: names of columns and rows, or what it could not do.
pub type Reply = Result<(Vec<String>, Vec<Row>), String>;

/// The reference's replies: for each world, one to each query.
///
/// # Panics
///
/// When the reference is not installed.
pub fn ask(worlds: &[World]) -> Vec<Vec<Reply>> {
    let python = std::env::var_os("FARQUET_PYTHON").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").expect("a home")).join(".cache/farquet/venv/bin/python"),
        PathBuf::from,
    );
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/reference/rows.py");
    let missing = |why: &str| -> ! {
        panic!("the reference engine does not run with {}: {why}; scripts/setup installs it", python.display())
    };
    let started = Command::new(&python).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = started.unwrap_or_else(|error| missing(&error.to_string()));
    let asked: Vec<_> = worlds.iter().map(|w| json!({ "table": w.table, "queries": w.queries })).collect();
    let mut input = child.stdin.take().expect("a pipe");
    let written = input.write_all(Value::Array(asked).to_string().as_bytes());
    drop(input);
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let replies: Vec<Reply> = lines.map(|line| reply(&line.expect("a line"))).collect();
    if !child.wait().is_ok_and(|status| status.success()) || written.is_err() {
        missing("it failed, as shown above");
    }
    let mut replies = replies.into_iter();
    let split: Vec<Vec<_>> = worlds.iter().map(|w| replies.by_ref().take(w.queries.len()).collect()).collect();
    assert!(split.iter().zip(worlds).all(|(replies, world)| replies.len() == world.queries.len()), "a reply to each");
    split
}

fn reply(line: &str) -> Reply {
    let reply: Value = serde_json::from_str(line).expect("JSON");
    if let Some(error) = reply["error"].as_str() {
        return Err(error.to_owned());
    }
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let columns = list(&reply["columns"]).iter().map(|name| name.as_str().unwrap_or_default().to_owned()).collect();
    Ok((columns, list(&reply["rows"]).iter().map(list).collect()))
}
