//! Plans the bytes of a scan: prunes by footer and page index, decides between hops and bytes, and says what is left as data.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::ScalarValue;
use datafusion::common::pruning::PruningStatistics;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::simplifier::PhysicalExprSimplifier;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr_adapter::{
    DefaultPhysicalExprAdapterFactory, PhysicalExprAdapterFactory, replace_columns_with_literals,
};
use datafusion::physical_optimizer::pruning::{PruningPredicate, PruningPredicateBuilder};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_datasource_parquet::{
    PagePruningAccessPlanFilter, ParquetAccessPlan, ParquetFileMetrics, RowGroupAccess,
    can_expr_be_pushed_down_with_schemas,
};
use farquet_core::plan::row_group_ranges;
use farquet_core::range::Cost;
use farquet_core::scan::Morsel;
use farquet_core::trust::bounds_believable;
use farquet_core::{QueryContext, Result};
use futures::future::try_join_all;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};

use crate::estimate;
use crate::floats::decidable;
use crate::schema::FILENAME;
use crate::statistics::RowGroupStatistics;
use crate::table::{TableFile, filename_index};

/// One row group to read.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// Index into [`ScanPlan::files`].
    pub(crate) file: usize,
    pub(crate) row_group: usize,
    /// The rows that the page index left, if it took some away.
    pub(crate) selection: Option<RowSelection>,
    pub(crate) rows: usize,
}

/// A file and what is asked of it, in its own types.
#[derive(Debug, Clone)]
pub(crate) struct PlannedFile {
    pub(crate) table_file: Arc<TableFile>,
    /// The scan's predicate for this file's schema.
    pub(crate) predicate: Option<Arc<dyn PhysicalExpr>>,
    /// Filter columns first, then only the surviving pages of the others: one hop more, fewer bytes.
    pub(crate) late: bool,
    /// The columns that the projection takes from the file.
    pub(crate) columns: Arc<[usize]>,
    row_groups: usize,
}

/// What a scan reads, as data. Nothing in it was fetched.
#[derive(Debug)]
pub(crate) struct ScanPlan {
    /// On whose account it is read.
    pub(crate) query: Arc<QueryContext>,
    pub(crate) files: Vec<PlannedFile>,
    pub(crate) parts: Vec<Part>,
    pub(crate) table_schema: SchemaRef,
    /// Columns of the table's schema, in output order.
    pub(crate) projection: Vec<usize>,
    pub(crate) predicate: Option<Arc<dyn PhysicalExpr>>,
    pub(crate) limit: Option<usize>,
    /// Whether statistics are used at all.
    pub(crate) pruning: bool,
    /// The highest hop that the plan rests on.
    pub(crate) hop: u32,
}

impl ScanPlan {
    /// Plans a scan. Sends requests only for page indexes that are worth their hop.
    pub(crate) async fn new(
        query: Arc<QueryContext>,
        files: Vec<Arc<TableFile>>,
        table_schema: SchemaRef,
        projection: Vec<usize>,
        predicate: Option<Arc<dyn PhysicalExpr>>,
        limit: Option<usize>,
        pruning: bool,
    ) -> Result<Self> {
        let mut planned = Vec::with_capacity(files.len());
        let mut row_groups: Vec<Vec<usize>> = Vec::with_capacity(files.len());
        let mut adapted = Adapted::default();
        let mut columns = ColumnsOf::default();
        for table_file in files {
            let predicate = adapted.predicate(predicate.as_ref().filter(|_| pruning), &table_schema, &table_file);
            let count = table_file.file.metadata().num_row_groups();
            row_groups.push(match &predicate {
                Some(predicate) => prune_row_groups(&table_file, predicate),
                None => (0..count).collect(),
            });
            let columns = columns.of(&table_file.schema, &table_schema, &projection);
            planned.push(PlannedFile { table_file, predicate, late: false, columns, row_groups: count });
        }
        load_page_indexes(&query, &planned, &row_groups).await?;
        let mut parts = Vec::new();
        for (index, file) in planned.iter().enumerate() {
            parts.extend(parts_of(index, file, &row_groups[index]));
        }
        if predicate.is_none()
            && let Some(limit) = limit
        {
            cut_at(&mut parts, &planned, limit);
        }
        decide_late(&mut planned, &parts);
        let hop = planned.iter().map(|file| file.table_file.file.hop()).max().unwrap_or(0);
        Ok(Self { query, files: planned, parts, table_schema, projection, predicate, limit, pruning, hop })
    }

    /// Row groups of all files.
    pub(crate) fn total_row_groups(&self) -> usize {
        self.files.iter().map(|file| file.row_groups).sum()
    }

    /// The morsels of `parts`: what is asked for first of each row group.
    pub(crate) fn morsels(&self, parts: &[Part]) -> Result<Vec<Morsel>> {
        parts
            .iter()
            .map(|part| {
                let planned = &self.files[part.file];
                let file = &planned.table_file.file;
                let metadata = file.metadata();
                let columns = planned.first_columns();
                let mask = ProjectionMask::roots(metadata.file_metadata().schema_descr(), columns);
                let ranges = row_group_ranges(&metadata, part.row_group, &mask, part.selection.as_ref(), file.size())
                    .map_err(|error| error.at(file.name()))?;
                Ok(Morsel { file: Arc::clone(file), row_group: part.row_group, ranges })
            })
            .collect()
    }

    /// Whether `part` may hold rows that satisfy `filter`, an expression over the table's schema.
    pub(crate) fn may_match(&self, part: &Part, filter: &Arc<dyn PhysicalExpr>) -> bool {
        if !self.pruning {
            return true;
        }
        let file = &self.files[part.file].table_file;
        let Some(filter) = adapt(filter, &self.table_schema, file) else { return true };
        let Some(pruning) = pruning_predicate(&filter, file) else { return true };
        let metadata = file.file.metadata();
        let statistics = RowGroupStatistics::new(&metadata, &file.schema, [part.row_group]);
        pruning.prune(&statistics).map_or(true, |keep| keep.first().copied().unwrap_or(true))
    }

    /// The bounds of a table's column in `part`.
    pub(crate) fn bounds(&self, part: &Part, column: &str) -> Option<(ScalarValue, ScalarValue)> {
        let file = &self.files[part.file].table_file;
        let metadata = file.file.metadata();
        RowGroupStatistics::new(&metadata, &file.schema, [part.row_group]).bounds(column)
    }
}

impl PlannedFile {
    /// The columns of the first requests: all, or those of the filter.
    fn first_columns(&self) -> Vec<usize> {
        match &self.predicate {
            Some(predicate) if self.late => collect_columns(predicate).iter().map(Column::index).collect(),
            _ => self.columns.to_vec(),
        }
    }
}

/// The scan's predicate in the types of files, once for each schema.
#[derive(Default)]
struct Adapted {
    last: Option<(SchemaRef, Option<Arc<dyn PhysicalExpr>>)>,
}

impl Adapted {
    fn predicate(
        &mut self,
        predicate: Option<&Arc<dyn PhysicalExpr>>,
        table: &SchemaRef,
        file: &TableFile,
    ) -> Option<Arc<dyn PhysicalExpr>> {
        let predicate = predicate?;
        let by_name = filename_index(table)
            .is_some_and(|index| collect_columns(predicate).iter().any(|column| column.index() == index));
        if !by_name
            && let Some((schema, adapted)) = &self.last
            && Arc::ptr_eq(schema, &file.schema)
        {
            return adapted.clone();
        }
        let adapted = adapt(predicate, table, file);
        if !by_name {
            self.last = Some((Arc::clone(&file.schema), adapted.clone()));
        }
        adapted
    }
}

/// `predicate` for the schema of `file`: columns in its types, missing ones NULL, `filename` its name.
fn adapt(predicate: &Arc<dyn PhysicalExpr>, table: &SchemaRef, file: &TableFile) -> Option<Arc<dyn PhysicalExpr>> {
    let mut predicate = Arc::clone(predicate);
    if filename_index(table).is_some() {
        let name = ScalarValue::Utf8View(Some(file.file.name().to_owned()));
        predicate = replace_columns_with_literals(predicate, &HashMap::from([(FILENAME, name)])).ok()?;
    }
    let adapter = DefaultPhysicalExprAdapterFactory.create(Arc::clone(table), Arc::clone(&file.schema)).ok()?;
    // What depends on the name alone is decided here.
    PhysicalExprSimplifier::new(&file.schema).simplify(adapter.rewrite(predicate).ok()?).ok()
}

/// The table's columns in a file, once for each schema.
#[derive(Default)]
struct ColumnsOf {
    last: Option<(SchemaRef, Arc<[usize]>)>,
}

impl ColumnsOf {
    fn of(&mut self, file: &SchemaRef, table: &Schema, projection: &[usize]) -> Arc<[usize]> {
        if let Some((schema, columns)) = &self.last
            && Arc::ptr_eq(schema, file)
        {
            return Arc::clone(columns);
        }
        let virtual_column = filename_index(table);
        let columns: Arc<[usize]> = projection
            .iter()
            .filter(|index| Some(**index) != virtual_column)
            .filter_map(|index| file.index_of(table.field(*index).name()).ok())
            .collect();
        self.last = Some((Arc::clone(file), Arc::clone(&columns)));
        columns
    }
}

fn pruning_predicate(predicate: &Arc<dyn PhysicalExpr>, file: &TableFile) -> Option<PruningPredicate> {
    let predicate = decidable(predicate, &file.schema);
    PruningPredicateBuilder::new().with_file_schema(Arc::clone(&file.schema)).try_build(predicate).ok()
}

/// The row groups that `predicate` does not rule out.
fn prune_row_groups(file: &TableFile, predicate: &Arc<dyn PhysicalExpr>) -> Vec<usize> {
    let metadata = file.file.metadata();
    let all = 0..metadata.num_row_groups();
    let Some(pruning) = pruning_predicate(predicate, file) else {
        return all.collect();
    };
    let statistics = RowGroupStatistics::new(&metadata, &file.schema, all.clone());
    if statistics.num_containers() == 0 {
        return Vec::new();
    }
    match pruning.prune(&statistics) {
        Ok(keep) => all.zip(keep).filter(|(_, keep)| *keep).map(|(index, _)| index).collect(),
        Err(_) => all.collect(),
    }
}

/// Loads page indexes that did not come with their footers, where pruning by them can be worth the hop.
///
/// Row groups that statistics have pruned show that a file is clustered by the predicate; without that, pages are hardly more
/// selective than their row groups.
async fn load_page_indexes(query: &Arc<QueryContext>, files: &[PlannedFile], row_groups: &[Vec<usize>]) -> Result<()> {
    let wanted = files.iter().zip(row_groups).filter(|(file, kept)| {
        let table_file = &file.table_file;
        let clustered = kept.len() < file.row_groups || file.row_groups == 1;
        let Some(index) = table_file.file.missing_page_index().filter(|_| clustered && file.predicate.is_some()) else {
            return false;
        };
        let metadata = table_file.file.metadata();
        let data: u64 = kept
            .iter()
            .flat_map(|group| metadata.row_group(*group).columns().iter().enumerate())
            .filter(|(leaf, _)| file.columns.contains(&root_of(&metadata, *leaf)))
            .map(|(_, chunk)| u64::try_from(chunk.compressed_size()).unwrap_or(0))
            .sum();
        // Half of the bytes, at a guess, for the bytes of the index.
        table_file.file.cost().hop_pays((data / 2).saturating_sub(index.end - index.start) as f64)
    });
    try_join_all(wanted.map(|(file, _)| file.table_file.file.load_page_index(query))).await?;
    Ok(())
}

fn root_of(metadata: &parquet::file::metadata::ParquetMetaData, leaf: usize) -> usize {
    metadata.file_metadata().schema_descr().get_column_root_idx(leaf)
}

/// The parts of one file, after the page index.
fn parts_of(index: usize, planned: &PlannedFile, row_groups: &[usize]) -> Vec<Part> {
    let file = &planned.table_file;
    let metadata = file.file.metadata();
    let rows = |group: usize| usize::try_from(metadata.row_group(group).num_rows()).unwrap_or(0);
    let whole = |group: usize| Part { file: index, row_group: group, selection: None, rows: rows(group) };
    let Some(predicate) = planned.predicate.as_ref().filter(|_| pages_believable(planned)) else {
        return row_groups.iter().map(|group| whole(*group)).collect();
    };
    let mut access = ParquetAccessPlan::new_none(metadata.num_row_groups());
    for group in row_groups {
        access.scan(*group);
    }
    let metrics = ParquetFileMetrics::new(0, file.file.name(), &ExecutionPlanMetricsSet::new());
    let schema = metadata.file_metadata().schema_descr();
    let access = PagePruningAccessPlanFilter::new(&decidable(predicate, &file.schema), Arc::clone(&file.schema))
        .prune_plan_with_page_index(access, &file.schema, schema, &metadata, &metrics);
    row_groups
        .iter()
        .filter_map(|group| match &access.inner()[*group] {
            RowGroupAccess::Skip => None,
            RowGroupAccess::Scan => Some(whole(*group)),
            RowGroupAccess::Selection(selection) => {
                let selection = RowSelection::from(selection.iter().copied().collect::<Vec<RowSelector>>());
                let rows = selection.row_count();
                (rows > 0).then(|| Part { selection: Some(selection), rows, ..whole(*group) })
            }
        })
        .collect()
}

/// Whether the page bounds of the predicate's columns come from a writer that is believed.
fn pages_believable(planned: &PlannedFile) -> bool {
    let metadata = planned.table_file.file.metadata();
    let (Some(predicate), true) = (&planned.predicate, metadata.column_index().is_some()) else { return false };
    let roots: HashSet<usize> = collect_columns(predicate).iter().map(Column::index).collect();
    metadata.row_groups().iter().all(|group| {
        let mut leaves =
            group.columns().iter().enumerate().filter(|(leaf, _)| roots.contains(&root_of(&metadata, *leaf)));
        leaves.all(|(_, chunk)| bounds_believable(metadata.file_metadata(), chunk))
    })
}

/// Without a filter, the first parts with `limit` rows are all that is needed, and of the last one only its first pages.
fn cut_at(parts: &mut Vec<Part>, files: &[PlannedFile], limit: usize) {
    let mut rows = 0;
    let enough = parts.iter().position(|part| {
        rows += part.rows;
        rows >= limit
    });
    let Some(last) = enough else { return };
    parts.truncate(last + 1);
    let part = &mut parts[last];
    let wanted = part.rows - (rows - limit);
    if wanted < part.rows && files[part.file].table_file.file.metadata().offset_index().is_some() {
        let selectors = vec![RowSelector::select(wanted), RowSelector::skip(part.rows - wanted)];
        part.selection = Some(RowSelection::from(selectors));
        part.rows = wanted;
    }
}

/// Chooses late materialization where the hop costs less than the pages that it is likely to save.
fn decide_late(files: &mut [PlannedFile], parts: &[Part]) {
    let mut saved = vec![0.0; files.len()];
    for part in parts {
        saved[part.file] += estimate::bytes_saved(&files[part.file], part);
    }
    let total: f64 = saved.iter().sum();
    let Some(cost) = files.first().map(|file| file.table_file.file.cost()) else { return };
    let pays = |cost: &Cost| cost.hop_pays(total);
    if !pays(&cost) {
        return;
    }
    for (file, saved) in files.iter_mut().zip(saved) {
        let schema = &file.table_file.schema;
        file.late = saved > 0.0
            && file.predicate.as_ref().is_some_and(|predicate| can_expr_be_pushed_down_with_schemas(predicate, schema));
    }
}
