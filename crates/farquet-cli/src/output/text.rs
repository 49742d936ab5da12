//! Tables for eyes, and values as text.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use arrow::util::pretty::pretty_format_batches_with_schema;

use super::sink::Sink;
use super::{Rows, WriteError};
use crate::console::Console;

/// Columns are as wide as their widest value, so a table's rows are all in memory. Nobody reads more than these.
pub(super) const MOST_ROWS: usize = 10_000;

/// A table with lines around its columns.
pub(super) struct Table {
    sink: Sink,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    rows: usize,
    left_out: usize,
    console: Console,
}

impl Table {
    pub(super) fn new(sink: Sink, schema: &SchemaRef, console: Console) -> Self {
        let fields = schema.fields().iter().map(|field| Field::new(shown(field.name()), DataType::Utf8, true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Self { sink, schema, batches: Vec::new(), rows: 0, left_out: 0, console }
    }
}

impl Rows for Table {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        let kept = batch.num_rows().min(MOST_ROWS - self.rows);
        self.rows += kept;
        self.left_out += batch.num_rows() - kept;
        if kept > 0 {
            let columns = batch.columns().iter().map(|column| {
                let texts = cells(&column.slice(0, kept))?.into_iter().map(|text| shown(&text));
                Ok(Arc::new(StringArray::from_iter_values(texts)) as ArrayRef)
            });
            let columns = columns.collect::<Result<_, ArrowError>>()?;
            self.batches.push(RecordBatch::try_new(Arc::clone(&self.schema), columns)?);
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), WriteError> {
        let table = pretty_format_batches_with_schema(Arc::clone(&self.schema), &self.batches)?;
        self.sink.line(&table.to_string())?;
        if self.left_out > 0 {
            self.sink.flush_all()?;
            self.console.remark(&format!("{} more rows are not shown; --format csv writes all", self.left_out));
        }
        Ok(())
    }
}

/// The values of a column as Arrow shows them; NULL as nothing.
pub(super) fn cells(column: &ArrayRef) -> Result<Vec<String>, ArrowError> {
    let options = FormatOptions::new().with_display_error(true);
    let formatter = ArrayFormatter::try_new(column.as_ref(), &options)?;
    Ok((0..column.len()).map(|row| formatter.value(row).to_string()).collect())
}

/// Text whose control characters show instead of acting on the terminal. Lines stay lines.
pub(super) fn shown(text: &str) -> String {
    let acts =
        |c: char| c != '\n' && (c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'));
    if !text.contains(acts) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if acts(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_act() {
        assert_eq!(shown("a\nb ü"), "a\nb ü");
        assert_eq!(shown("\x1b[2J\tx\r"), "\\u{1b}[2J\\tx\\r");
    }
}
