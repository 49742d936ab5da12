//! CSV and TSV.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::csv::{Writer, WriterBuilder};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;

use super::sink::Sink;
use super::text::cells;
use super::{Rows, WriteError};

/// Values between delimiters, below a header.
pub(super) struct Delimited {
    writer: Writer<Sink>,
    schema: SchemaRef,
    started: bool,
}

impl Delimited {
    pub(super) fn new(sink: Sink, schema: &SchemaRef, delimiter: u8) -> Self {
        let writer = WriterBuilder::new().with_delimiter(delimiter).build(sink);
        Self { writer, schema: flat_schema(schema), started: false }
    }
}

impl Rows for Delimited {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        self.started = true;
        self.writer.write(&flat(batch, &self.schema)?)?;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        if !self.started {
            // For the header.
            self.writer.write(&RecordBatch::new_empty(Arc::clone(&self.schema)))?;
        }
        Ok(())
    }
}

/// Lists and structures have no form of their own here: they become the text that tables show.
fn flat_schema(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| {
        if field.data_type().is_nested() {
            Arc::new(Field::new(field.name(), DataType::Utf8, true))
        } else {
            Arc::clone(field)
        }
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn flat(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().map(|column| {
        if column.data_type().is_nested() {
            let text = cells(column)?;
            let values = text.into_iter().enumerate().map(|(row, text)| column.is_valid(row).then_some(text));
            Ok(Arc::new(values.collect::<StringArray>()) as ArrayRef)
        } else {
            Ok(Arc::clone(column))
        }
    });
    RecordBatch::try_new(Arc::clone(schema), columns.collect::<Result<_, ArrowError>>()?)
}
