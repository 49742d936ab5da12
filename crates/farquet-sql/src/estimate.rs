//! How many rows a filter is likely to keep, from what footers tell; only ever used to choose between plans.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, InListExpr, Literal};
use datafusion::physical_expr::utils::collect_columns;
use parquet::file::metadata::ColumnChunkMetaData;

use crate::plan::{Part, PlannedFile};
use crate::statistics::RowGroupStatistics;

/// Where nothing is known of a filter; DataFusion's own default.
const UNKNOWN: f64 = 0.2;

/// The bytes of the columns outside of the filter that late materialization of `part` is likely to save.
pub(crate) fn bytes_saved(planned: &PlannedFile, part: &Part) -> f64 {
    let file = &planned.table_file;
    let metadata = file.file.metadata();
    let (Some(predicate), Some(index)) = (&planned.predicate, metadata.offset_index()) else { return 0.0 };
    let filter: HashSet<usize> = collect_columns(predicate).iter().map(Column::index).collect();
    let schema = metadata.file_metadata().schema_descr();
    let kept = selectivity(predicate, planned, part);
    let Ok(rows) = u32::try_from(metadata.row_group(part.row_group).num_rows()) else { return 0.0 };
    let share = part.rows as f64 / f64::from(rows.max(1));
    let mut saved = 0.0;
    for (leaf, chunk) in metadata.row_group(part.row_group).columns().iter().enumerate() {
        let root = schema.get_column_root_idx(leaf);
        if filter.contains(&root) || !planned.columns.contains(&root) {
            continue;
        }
        let pages = index[part.row_group].get(leaf).map_or(0, |index| index.page_locations.len());
        let rows_per_page = f64::from(rows) / pages.max(1) as f64;
        // A page is saved if none of its rows is kept.
        let untouched = (1.0 - kept).powf(rows_per_page);
        saved += chunk.compressed_size().max(0) as f64 * share * untouched;
    }
    saved
}

/// The share of rows that `predicate` is likely to keep.
fn selectivity(predicate: &Arc<dyn PhysicalExpr>, planned: &PlannedFile, part: &Part) -> f64 {
    if let Some(binary) = predicate.downcast_ref::<BinaryExpr>() {
        let side = |expr| selectivity(expr, planned, part);
        return match binary.op() {
            Operator::And => side(binary.left()) * side(binary.right()),
            Operator::Or => (side(binary.left()) + side(binary.right())).min(1.0),
            op => compare(column_of(binary.left()), *op, value_of(binary.right()), planned, part)
                .or_else(|| compare(column_of(binary.right()), op.swap()?, value_of(binary.left()), planned, part))
                .unwrap_or(UNKNOWN),
        };
    }
    if let Some(list) = predicate.downcast_ref::<InListExpr>()
        && let (Some(column), false) = (column_of(list.expr()), list.negated())
    {
        return (list.list().len() as f64 / distinct(column, planned, part)).min(1.0);
    }
    UNKNOWN
}

/// A column, also within a cast.
fn column_of(expr: &Arc<dyn PhysicalExpr>) -> Option<&Column> {
    if let Some(column) = expr.downcast_ref::<Column>() {
        return Some(column);
    }
    match expr.children().as_slice() {
        [inner] => inner.downcast_ref::<Column>(),
        _ => None,
    }
}

fn value_of(expr: &Arc<dyn PhysicalExpr>) -> Option<&ScalarValue> {
    expr.downcast_ref::<Literal>().map(Literal::value)
}

fn compare(
    column: Option<&Column>,
    op: Operator,
    value: Option<&ScalarValue>,
    planned: &PlannedFile,
    part: &Part,
) -> Option<f64> {
    let (column, value) = (column?, value?);
    if op == Operator::Eq {
        return Some(1.0 / distinct(column, planned, part));
    }
    let (min, max) = bounds(column, planned, part)?;
    let (min, max, value) = (number(&min)?, number(&max)?, number(value)?);
    let below = ((value - min) / (max - min).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    match op {
        Operator::Lt | Operator::LtEq => Some(below),
        Operator::Gt | Operator::GtEq => Some(1.0 - below),
        _ => None,
    }
}

fn bounds(column: &Column, planned: &PlannedFile, part: &Part) -> Option<(ScalarValue, ScalarValue)> {
    let file = &planned.table_file;
    let metadata = file.file.metadata();
    RowGroupStatistics::new(&metadata, &file.schema, [part.row_group]).bounds(column.name())
}

/// Numbers and times as one scale; nothing else has a distance.
fn number(value: &ScalarValue) -> Option<f64> {
    match value.cast_to(&arrow::datatypes::DataType::Float64) {
        Ok(ScalarValue::Float64(Some(number))) if number.is_finite() => Some(number),
        _ => match value.cast_to(&arrow::datatypes::DataType::Int64) {
            Ok(ScalarValue::Int64(Some(number))) => Some(number as f64),
            _ => None,
        },
    }
}

/// About how many values a column has in a row group.
fn distinct(column: &Column, planned: &PlannedFile, part: &Part) -> f64 {
    let metadata = planned.table_file.file.metadata();
    let group = metadata.row_group(part.row_group);
    let schema = metadata.file_metadata().schema_descr();
    let chunk = (0..group.num_columns()).find(|leaf| schema.get_column_root_idx(*leaf) == column.index());
    let Some(chunk) = chunk.map(|leaf| group.column(leaf)) else { return 1.0 / UNKNOWN };
    let by_bounds = bounds(column, planned, part)
        .filter(|(min, _)| min.data_type().is_integer() || min.data_type().is_temporal())
        .and_then(|(min, max)| Some(number(&max)? - number(&min)? + 1.0));
    by_bounds.map_or_else(|| by_dictionary(chunk), |bounds| bounds.min(chunk.num_values() as f64)).max(1.0)
}

/// A dictionary holds each value once. A chunk without one, or with one that the writer gave up, has many values.
fn by_dictionary(chunk: &ColumnChunkMetaData) -> f64 {
    let values = chunk.num_values().max(1) as f64;
    let many = values / 2.0;
    let Some(dictionary) = chunk.dictionary_page_offset() else { return many };
    let bytes = (chunk.data_page_offset() - dictionary).max(0) as f64;
    let width = match chunk.statistics().and_then(parquet::file::statistics::Statistics::min_bytes_opt) {
        Some(min) => min.len() as f64 + 4.0,
        None => 16.0,
    };
    (bytes / width).clamp(1.0, many.max(1.0))
}
