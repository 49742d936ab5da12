//! JSON: one array, or one object a line.

use arrow::array::RecordBatch;
use arrow::json::WriterBuilder;
use arrow::json::writer::{JsonArray, LineDelimited, Writer};

use super::sink::Sink;
use super::{Rows, WriteError};

/// One array of objects, and the end of its line.
pub(super) struct Array {
    writer: Writer<Sink, JsonArray>,
    sink: Sink,
}

impl Array {
    pub(super) fn new(sink: Sink) -> Self {
        Self { writer: WriterBuilder::new().with_explicit_nulls(true).build(sink.clone()), sink }
    }
}

impl Rows for Array {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        Ok(self.writer.write(batch)?)
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        self.writer.finish()?;
        Ok(self.sink.line("")?)
    }
}

/// One object a line.
pub(super) struct Lines(Writer<Sink, LineDelimited>);

impl Lines {
    pub(super) fn new(sink: Sink) -> Self {
        Self(WriterBuilder::new().with_explicit_nulls(true).build(sink))
    }
}

impl Rows for Lines {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        Ok(self.0.write(batch)?)
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        Ok(self.0.finish()?)
    }
}
