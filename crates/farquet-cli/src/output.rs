//! Rows to bytes: formats, and where the bytes go.
//!
//! | format | written |
//! |---|---|
//! | `table`, `markdown` | for eyes; `table` keeps its rows in memory and prints at most [`text::MOST_ROWS`] |
//! | `csv`, `tsv` | batch by batch, with a header, NULL as nothing |
//! | `json`, `ndjson` | batch by batch, one array or one object a line, NULL as `null` |
//! | `arrow` | the IPC stream format on standard output and in `.arrows` files, else the IPC file format |
//! | `parquet` | Zstandard; on standard output too, since it is written from front to back |

mod delimited;
mod ipc;
mod json;
mod markdown;
mod parquet;
mod sink;
mod target;
mod text;

use std::error::Error;
use std::io::IsTerminal;
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use clap::ValueEnum;

use self::sink::Sink;
use self::target::Target;
use crate::console::Console;
use crate::exit::Failure;

/// Why rows could not be written.
pub(crate) type WriteError = Box<dyn Error + Send + Sync>;

/// A way to write rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Table,
    Csv,
    Tsv,
    Json,
    Ndjson,
    Markdown,
    Arrow,
    Parquet,
}

impl Format {
    /// What a file's extension stands for.
    fn of_file(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match extension.as_str() {
            "txt" => Self::Table,
            "csv" => Self::Csv,
            "tsv" | "tab" => Self::Tsv,
            "json" => Self::Json,
            "ndjson" | "jsonl" => Self::Ndjson,
            "md" | "markdown" => Self::Markdown,
            "arrow" | "arrows" | "ipc" | "feather" => Self::Arrow,
            "parquet" | "parq" | "pq" => Self::Parquet,
            _ => return None,
        })
    }

    fn is_binary(self) -> bool {
        matches!(self, Self::Arrow | Self::Parquet)
    }

    /// Whether an empty line tells one result from the next.
    fn is_separated(self) -> bool {
        matches!(self, Self::Table | Self::Csv | Self::Tsv | Self::Markdown)
    }
}

/// The rows of one result, on their way out.
pub(crate) trait Rows: Send {
    /// Takes the next rows.
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError>;

    /// All rows were there.
    fn finish(self: Box<Self>) -> Result<(), WriteError>;
}

/// Where results go.
#[derive(Debug)]
pub(crate) struct Output {
    format: Format,
    target: Target,
    sink: Sink,
    results: usize,
    console: Console,
}

impl Output {
    /// Standard output, or a file that appears at [`Self::commit`]; dropping this before removes what was written.
    pub(crate) fn open(format: Option<Format>, path: Option<&Path>, console: Console) -> Result<Self, Failure> {
        let format = match (format, path) {
            (Some(format), _) => format,
            (None, Some(path)) => Format::of_file(path).ok_or_else(|| {
                Failure::usage(format!("the extension of {} names no format", path.display()))
                    .hint("choose one with --format")
            })?,
            (None, None) if std::io::stdout().is_terminal() => Format::Table,
            (None, None) => Format::Csv,
        };
        if path.is_none() && format.is_binary() && std::io::stdout().is_terminal() {
            return Err(Failure::usage("binary data is not written to a terminal").hint("give a file with --output"));
        }
        let (target, sink) = Target::open(path)?;
        Ok(Self { format, target, sink, results: 0, console })
    }

    /// Whether rows appear on a terminal as they come.
    pub(crate) fn scrolls(&self) -> bool {
        self.target.is_stdout() && self.format != Format::Table && std::io::stdout().is_terminal()
    }

    /// Writes a line between results.
    pub(crate) fn say(&self, text: &str) -> Result<(), Failure> {
        self.sink.line(text).map_err(|error| self.failure(error.into()))
    }

    /// Refuses `results` results if there is no place for so many.
    pub(crate) fn expect(&self, results: usize) -> Result<(), Failure> {
        if results > 1 && !self.target.is_stdout() {
            return Err(Failure::usage("a file holds one result, and there is more than one query")
                .hint("run farquet once for each file"));
        }
        if results > 1 && self.format.is_binary() {
            return Err(Failure::usage("this format holds one result, and there is more than one query"));
        }
        Ok(())
    }

    /// Begins the next result.
    pub(crate) fn begin(&mut self, schema: &SchemaRef) -> Result<Box<dyn Rows>, Failure> {
        self.expect(self.results + 1)?;
        let separated = self.results > 0 && self.format.is_separated();
        self.results += 1;
        self.start(schema, separated).map_err(|error| self.failure(error))
    }

    fn start(&self, schema: &SchemaRef, separated: bool) -> Result<Box<dyn Rows>, WriteError> {
        let sink = self.sink.clone();
        if separated {
            sink.line("")?;
        }
        Ok(match self.format {
            Format::Table => Box::new(text::Table::new(sink, schema, self.console)),
            Format::Markdown => Box::new(markdown::Markdown::new(sink, schema)),
            Format::Csv => Box::new(delimited::Delimited::new(sink, schema, b',')),
            Format::Tsv => Box::new(delimited::Delimited::new(sink, schema, b'\t')),
            Format::Json => Box::new(json::Array::new(sink)),
            Format::Ndjson => Box::new(json::Lines::new(sink)),
            Format::Arrow if self.target.is_stream() => Box::new(ipc::Stream::new(sink, schema)?),
            Format::Arrow => Box::new(ipc::File::new(sink, schema)?),
            Format::Parquet => Box::new(parquet::Parquet::new(sink, schema)?),
        })
    }

    /// Hands on what is buffered, so that a reader sees whole batches.
    pub(crate) fn flush(&self) -> Result<(), Failure> {
        self.sink.flush_all().map_err(|error| self.failure(error.into()))
    }

    /// What an error while writing means.
    pub(crate) fn failure(&self, error: WriteError) -> Failure {
        if self.target.is_stdout() && self.sink.is_closed() {
            Failure::Closed
        } else {
            Failure::output(format!("the result could not be written to {}", self.target), error)
        }
    }

    /// Puts the file in its place, if there was a result.
    pub(crate) fn commit(self) -> Result<(), Failure> {
        self.flush()?;
        if self.results == 0 {
            if !self.target.is_stdout() {
                self.console.remark("there was no result: no file was written");
            }
            return Ok(());
        }
        let shown = self.target.to_string();
        self.target.commit().map_err(|error| Failure::output(format!("{shown} could not be put in place"), error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_name_formats() {
        let of = |path: &str| Format::of_file(Path::new(path));
        assert_eq!(of("a/b.CSV"), Some(Format::Csv));
        assert_eq!(of("b.jsonl"), Some(Format::Ndjson));
        assert_eq!(of("b.arrow"), Some(Format::Arrow));
        assert_eq!(of("b"), None);
        assert_eq!(of("b.xlsx"), None);
    }
}
