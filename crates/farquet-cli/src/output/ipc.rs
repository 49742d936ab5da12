//! Arrow IPC: the stream format and the file format.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::writer::{FileWriter, StreamWriter};

use super::sink::Sink;
use farquet_sql::plain;

use super::{Rows, WriteError};

/// For a reader that reads from front to back.
pub(super) struct Stream {
    writer: StreamWriter<Sink>,
    schema: SchemaRef,
}

impl Stream {
    pub(super) fn new(sink: Sink, schema: &SchemaRef) -> Result<Self, ArrowError> {
        let schema = plain::schema(schema);
        Ok(Self { writer: StreamWriter::try_new(sink, &schema)?, schema })
    }
}

impl Rows for Stream {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        Ok(self.writer.write(&plain::batch(batch, &self.schema)?)?)
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        Ok(self.writer.finish()?)
    }
}

/// For a reader that may begin anywhere.
pub(super) struct File {
    writer: FileWriter<Sink>,
    schema: SchemaRef,
}

impl File {
    pub(super) fn new(sink: Sink, schema: &SchemaRef) -> Result<Self, ArrowError> {
        let schema = plain::schema(schema);
        Ok(Self { writer: FileWriter::try_new(sink, &schema)?, schema })
    }
}

impl Rows for File {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        Ok(self.writer.write(&plain::batch(batch, &self.schema)?)?)
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        Ok(self.writer.finish()?)
    }
}
