//! A table of open files: schema, statistics, and the scan that answers a query.

use std::sync::{Arc, OnceLock};

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DFSchema, Result as EngineResult};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use farquet_core::file::File;
use farquet_core::{Error, ErrorKind, QueryContext, Result};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::file::metadata::{FileMetaData, ParquetMetaData, ParquetMetaDataBuilder, RowGroupMetaData};

use crate::error::external;
use crate::exec::ScanExec;
use crate::plan::ScanPlan;
use crate::schema::{FILENAME, file_schema, merge};

/// A file of a table.
#[derive(Debug)]
pub(crate) struct TableFile {
    pub(crate) file: Arc<File>,
    /// What it reads as, before the table's types.
    pub(crate) schema: SchemaRef,
    reader: OnceLock<ArrowReaderMetadata>,
}

impl TableFile {
    /// The footer as the decoder wants it.
    pub(crate) fn reader(&self) -> Result<ArrowReaderMetadata> {
        if let Some(reader) = self.reader.get() {
            return Ok(reader.clone());
        }
        let options = ArrowReaderOptions::new().with_schema(Arc::clone(&self.schema));
        let reader =
            ArrowReaderMetadata::try_new(row_counts_agree(self.file.metadata()), options).map_err(|error| {
                Error::new(ErrorKind::Unsupported, format!("the schema cannot be read: {error}")).at(self.file.name())
            })?;
        Ok(self.reader.get_or_init(|| reader).clone())
    }
}

/// The reader cuts its batches at the row count of the file, which some writers leave at zero: that of the row groups then.
fn row_counts_agree(metadata: Arc<ParquetMetaData>) -> Arc<ParquetMetaData> {
    let file = metadata.file_metadata();
    let rows = metadata.row_groups().iter().map(RowGroupMetaData::num_rows).sum();
    if file.num_rows() == rows {
        return metadata;
    }
    let (writer, pairs) = (file.created_by().map(str::to_owned), file.key_value_metadata().cloned());
    let (schema, orders) = (file.schema_descr_ptr(), file.column_orders().cloned());
    let file = FileMetaData::new(file.version(), rows, writer, pairs, schema, orders);
    let indexes = (metadata.column_index().cloned(), metadata.offset_index().cloned());
    let corrected = ParquetMetaDataBuilder::new(file).set_row_groups(metadata.row_groups().to_vec());
    Arc::new(corrected.set_column_index(indexes.0).set_offset_index(indexes.1).build())
}

/// Files as one table, each in the version of the query's snapshot.
#[derive(Debug)]
pub(crate) struct FileTable {
    query: Arc<QueryContext>,
    pub(crate) files: Vec<Arc<TableFile>>,
    /// The files' columns, and `filename` after them where the query asks for it.
    pub(crate) schema: SchemaRef,
}

impl FileTable {
    /// A table of `files`. `filename` becomes a column if the query wants it and no file has one of that name.
    pub(crate) fn new(query: Arc<QueryContext>, files: Vec<Arc<File>>, filename: bool) -> Result<Self> {
        let mut table_files: Vec<Arc<TableFile>> = Vec::with_capacity(files.len());
        for file in files {
            let schema = match table_files.last() {
                Some(last) if same_schema(&last.file, &file) => Arc::clone(&last.schema),
                _ => file_schema(file.metadata().file_metadata()).map_err(|error| error.at(file.name()))?,
            };
            table_files.push(Arc::new(TableFile { file, schema, reader: OnceLock::new() }));
        }
        let columns = merge(table_files.iter().map(|file| (file.file.name(), &file.schema)))?;
        let virtual_column = filename && columns.field_with_name(FILENAME).is_err();
        let schema = if virtual_column { with_filename(&columns) } else { columns };
        Ok(Self { query, files: table_files, schema })
    }

    /// Whether `filename` is the virtual column.
    pub(crate) fn has_filename(&self) -> bool {
        filename_index(&self.schema).is_some()
    }
}

/// Files of one writer share a schema, and then all that is derived from it.
fn same_schema(a: &File, b: &File) -> bool {
    let (a, b) = (a.metadata(), b.metadata());
    let (a, b) = (a.file_metadata(), b.file_metadata());
    a.schema_descr() == b.schema_descr() && a.key_value_metadata() == b.key_value_metadata()
}

/// Marks the virtual column, so that it is not taken for a file's own.
const VIRTUAL: &str = "farquet.virtual";

fn with_filename(columns: &Schema) -> SchemaRef {
    let virtual_field =
        Field::new(FILENAME, DataType::Utf8View, false).with_metadata([(VIRTUAL.to_owned(), String::new())].into());
    let fields = columns.fields().iter().map(|field| field.as_ref().clone()).chain([virtual_field]);
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Whether `field` is the virtual column.
pub(crate) fn is_virtual(field: &Field) -> bool {
    field.metadata().contains_key(VIRTUAL)
}

/// Where the virtual column stands in a table's schema.
pub(crate) fn filename_index(schema: &Schema) -> Option<usize> {
    let last = schema.fields().len().checked_sub(1)?;
    is_virtual(schema.field(last)).then_some(last)
}

#[async_trait]
impl TableProvider for FileTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// Filters prune here and are evaluated above: pruning keeps rows that do not match.
    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> EngineResult<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        let predicate = match conjunction(filters.iter().cloned()) {
            Some(filter) => {
                Some(state.create_physical_expr(filter, &DFSchema::try_from(self.schema.as_ref().clone())?)?)
            }
            None => None,
        };
        let projection = projection.cloned().unwrap_or_else(|| (0..self.schema.fields().len()).collect());
        let options = &state.config().options().execution;
        let (files, schema, pruning) = (self.files.clone(), Arc::clone(&self.schema), options.parquet.pruning);
        let query = Arc::clone(&self.query);
        let plan =
            ScanPlan::new(query, files, schema, projection, predicate, limit, pruning).await.map_err(external)?;
        Ok(Arc::new(ScanExec::new(Arc::new(plan), options.target_partitions)?))
    }
}
