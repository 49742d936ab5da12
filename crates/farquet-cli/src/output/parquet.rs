//! Parquet, with Zstandard.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::sink::Sink;
use farquet_sql::plain;

use super::{Rows, WriteError};

/// One Parquet file.
pub(super) struct Parquet {
    writer: ArrowWriter<Sink>,
    schema: SchemaRef,
}

impl Parquet {
    pub(super) fn new(sink: Sink, schema: &SchemaRef) -> Result<Self, ParquetError> {
        let schema = plain::schema(schema);
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(concat!("farquet version ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let writer = ArrowWriter::try_new(sink, SchemaRef::clone(&schema), Some(properties))?;
        Ok(Self { writer, schema })
    }
}

impl Rows for Parquet {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        Ok(self.writer.write(&plain::batch(batch, &self.schema)?)?)
    }

    fn finish(self: Box<Self>) -> Result<(), WriteError> {
        self.writer.close()?;
        Ok(())
    }
}
