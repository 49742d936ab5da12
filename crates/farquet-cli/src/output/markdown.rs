//! Tables in GitHub's Markdown, row by row.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;

use super::sink::Sink;
use super::text::{cells, shown};
use super::{Rows, WriteError};

/// A table whose columns are not padded.
pub(super) struct Markdown {
    sink: Sink,
    header: Option<[String; 2]>,
}

impl Markdown {
    pub(super) fn new(sink: Sink, schema: &SchemaRef) -> Self {
        let names = schema.fields().iter().map(|field| escaped(field.name()));
        let lines = schema.fields().iter().map(|field| {
            let line = if field.data_type().is_numeric() { "---:" } else { "---" };
            line.to_owned()
        });
        Self { sink, header: Some([row(names), row(lines)]) }
    }

    fn begin(&mut self) -> Result<(), WriteError> {
        for line in self.header.take().into_iter().flatten() {
            self.sink.line(&line)?;
        }
        Ok(())
    }
}

impl Rows for Markdown {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        self.begin()?;
        let columns = batch.columns().iter().map(cells).collect::<Result<Vec<_>, ArrowError>>()?;
        for index in 0..batch.num_rows() {
            self.sink.line(&row(columns.iter().map(|column| escaped(&column[index]))))?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        self.begin()
    }
}

fn row(cells: impl Iterator<Item = String>) -> String {
    cells.fold("|".to_owned(), |row, cell| row + " " + &cell + " |")
}

fn escaped(text: &str) -> String {
    shown(&text.replace("\r\n", "\n")).replace('\\', "\\\\").replace('|', "\\|").replace('\n', "<br>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_stays_one_cell() {
        assert_eq!(escaped("a|b\\|c\nd"), "a\\|b\\\\\\|c<br>d");
        assert_eq!(row(["a".to_owned(), String::new()].into_iter()), "| a |  |");
    }
}
