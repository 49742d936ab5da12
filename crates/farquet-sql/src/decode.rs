//! From the bytes of a row group to record batches in the table's types.
//!
//! The decoder does no I/O: it says what it needs, gets what was fetched for it, and asks for the rest.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, StringViewBuilder};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::physical_expr_adapter::{BatchAdapter, BatchAdapterFactory};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_datasource_parquet::{ParquetFileMetrics, build_row_filter};
use farquet_core::scan::{Ready, Scan};
use farquet_core::{Error, ErrorKind, Result};
use parquet::DecodeResult;
use parquet::arrow::ProjectionMask;
use parquet::arrow::push_decoder::{ParquetPushDecoder, ParquetPushDecoderBuilder};

use crate::plan::{Part, PlannedFile, ScanPlan};
use crate::table::filename_index;

/// Reads one row group.
pub(crate) struct MorselReader {
    plan: Arc<ScanPlan>,
    file: usize,
    decoder: ParquetPushDecoder,
    adapter: BatchAdapter,
    output: SchemaRef,
    /// A batch that was decoded to see whether there is one.
    first: Option<RecordBatch>,
    ready: Ready,
}

impl MorselReader {
    /// Starts the decoder of `part` on the bytes in `ready`, and decodes until there is a batch or the end.
    pub(crate) async fn open(
        plan: Arc<ScanPlan>,
        part: &Part,
        ready: Ready,
        output: SchemaRef,
        batch_size: usize,
    ) -> Result<Self> {
        let planned = &plan.files[part.file];
        let name = planned.table_file.file.name();
        let built = guarded(|| decoder(planned, part, &plan, batch_size)).map_err(|error| error.at(name))?;
        let adapter =
            adapter(planned, &plan).map_err(|error| Error::new(ErrorKind::Schema, error.strip_backtrace()).at(name))?;
        plan.query.stats().row_group_read();
        let mut reader = Self { file: part.file, decoder: built, adapter, output, first: None, ready, plan };
        reader.first = reader.advance().await?;
        Ok(reader)
    }

    /// The next batch, in the scan's output schema.
    ///
    /// Dropping the future cancels what it fetches.
    pub(crate) async fn next(&mut self) -> Result<Option<RecordBatch>> {
        match self.first.take() {
            Some(batch) => Ok(Some(batch)),
            None => self.advance().await,
        }
    }

    async fn advance(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let plan = Arc::clone(&self.plan);
            let file = &plan.files[self.file].table_file.file;
            let step = guarded(|| self.decoder.try_decode().map_err(|error| malformed(&error)));
            match step.map_err(|error| error.at(file.name()))? {
                DecodeResult::Finished => return Ok(None),
                DecodeResult::Data(batch) => {
                    return self.finish(&batch, file.name()).map(Some).map_err(|error| error.at(file.name()));
                }
                DecodeResult::NeedsData(ranges) => {
                    let outside = ranges.iter().find(|range| range.end > file.size() || range.start > range.end);
                    if let Some(range) = outside {
                        let message = format!("pages at {range:?}, outside of a file of {} bytes", file.size());
                        return Err(Error::new(ErrorKind::Malformed, message).at(file.name()));
                    }
                    let missing: Vec<_> =
                        ranges.iter().filter(|range| self.ready.segments.get(range).is_none()).cloned().collect();
                    if !missing.is_empty() {
                        let (more, hop) = file.fetch_all(&plan.query, &missing, Scan::hop_after(&self.ready)).await?;
                        self.ready.segments.extend(more);
                        self.ready.hop = self.ready.hop.max(hop);
                    }
                    let bytes = ranges.iter().filter_map(|range| self.ready.segments.get(range)).collect();
                    let pushed = self.decoder.push_ranges(ranges, bytes);
                    pushed.map_err(|error| malformed(&error).at(file.name()))?;
                }
            }
        }
    }

    /// Table types, missing columns, and the file's name where it is asked for.
    fn finish(&self, batch: &RecordBatch, name: &str) -> Result<RecordBatch> {
        let data = |error: String| Error::new(ErrorKind::Schema, error);
        let adapted = self.adapter.adapt_batch(batch).map_err(|error| data(error.strip_backtrace()))?;
        let virtual_column = filename_index(&self.plan.table_schema);
        let mut columns = adapted.columns().iter();
        let arrays = self.plan.projection.iter().filter_map(|index| {
            if Some(*index) == virtual_column {
                Some(repeated(name, batch.num_rows()))
            } else {
                columns.next().cloned()
            }
        });
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.output), arrays.collect(), &options)
            .map_err(|error| data(error.to_string()))
    }
}

fn repeated(name: &str, rows: usize) -> ArrayRef {
    let mut names = StringViewBuilder::with_capacity(rows).with_deduplicate_strings();
    (0..rows).for_each(|_| names.append_value(name));
    Arc::new(names.finish())
}

fn decoder(planned: &PlannedFile, part: &Part, plan: &ScanPlan, batch_size: usize) -> Result<ParquetPushDecoder> {
    let reader = planned.table_file.reader()?;
    let metadata = Arc::clone(reader.metadata());
    let schema = metadata.file_metadata().schema_descr();
    let mut builder = ParquetPushDecoderBuilder::new_with_metadata(reader)
        .with_row_groups(vec![part.row_group])
        .with_projection(ProjectionMask::roots(schema, planned.columns.iter().copied()))
        .with_batch_size(batch_size);
    if let Some(selection) = &part.selection {
        builder = builder.with_row_selection(selection.clone());
    }
    if let (true, Some(predicate)) = (planned.late, &planned.predicate) {
        let metrics = ParquetFileMetrics::new(0, planned.table_file.file.name(), &ExecutionPlanMetricsSet::new());
        let filter = build_row_filter(predicate, &planned.table_file.schema, &metadata, true, &metrics);
        // A filter that cannot be evaluated here is evaluated above, as every filter is.
        if let Ok(Some(filter)) = filter {
            builder = builder.with_row_filter(filter);
        }
    }
    if let (Some(limit), None) = (plan.limit, &plan.predicate) {
        builder = builder.with_limit(limit);
    }
    builder.build().map_err(|error| malformed(&error))
}

/// From the file's columns in file order to the table's in output order.
fn adapter(planned: &PlannedFile, plan: &ScanPlan) -> datafusion::error::Result<BatchAdapter> {
    let virtual_column = filename_index(&plan.table_schema);
    let wanted: Vec<usize> = plan.projection.iter().copied().filter(|index| Some(*index) != virtual_column).collect();
    let target = Arc::new(plan.table_schema.project(&wanted)?);
    let mut read: Vec<usize> = planned.columns.to_vec();
    read.sort_unstable();
    read.dedup();
    let source: Schema = planned.table_file.schema.project(&read)?;
    BatchAdapterFactory::new(target).make_adapter(&Arc::new(source))
}

fn malformed(error: &parquet::errors::ParquetError) -> Error {
    let kind = match error {
        parquet::errors::ParquetError::NYI(_) => ErrorKind::Unsupported,
        _ => ErrorKind::Malformed,
    };
    Error::new(kind, format!("the data cannot be read: {error}"))
}

/// The parquet crate has assertions that hostile bytes reach: they become this query's error.
fn guarded<T>(decode: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(decode))
        .unwrap_or_else(|_| Err(Error::new(ErrorKind::Decoder, "the data made its decoder give up")))
}
