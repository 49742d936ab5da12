//! What footers tell about values: for pruning, and as exact answers where they are exact.
//!
//! A statistic that its writer may have got wrong ([`farquet_core::trust`]) is no statistic. One that is true but not exact, such as a
//! truncated string, prunes and answers nothing. Floating point extremes never answer: writers disagree about NaN.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, UInt64Array};
use arrow::compute::{cast, nullif};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::stats::Precision;
use datafusion::common::{Column, ColumnStatistics, ScalarValue, Statistics};
use farquet_core::trust::bounds_believable;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use crate::table::is_virtual;

/// Statistics of some row groups of one file, in the types of the file's Arrow schema.
pub(crate) struct RowGroupStatistics<'a> {
    metadata: &'a ParquetMetaData,
    schema: &'a Schema,
    row_groups: Vec<&'a RowGroupMetaData>,
}

impl<'a> RowGroupStatistics<'a> {
    pub(crate) fn new(
        metadata: &'a ParquetMetaData,
        schema: &'a Schema,
        row_groups: impl IntoIterator<Item = usize>,
    ) -> Self {
        Self { metadata, schema, row_groups: row_groups.into_iter().map(|index| metadata.row_group(index)).collect() }
    }

    fn converter(&self, column: &str) -> Option<StatisticsConverter<'a>> {
        let descriptor = self.metadata.file_metadata().schema_descr();
        let converter = StatisticsConverter::try_new(column, self.schema, descriptor).ok()?;
        // A count that is missing is unknown, not zero.
        Some(converter.with_missing_null_counts_as_zero(false))
    }

    /// Leaves out the bounds of row groups whose writer is not believed.
    fn believed(&self, converter: &StatisticsConverter<'_>, bounds: &ArrayRef) -> Option<ArrayRef> {
        let leaf = converter.parquet_column_index()?;
        let file = self.metadata.file_metadata();
        let wrong: BooleanArray =
            self.row_groups.iter().map(|group| Some(!bounds_believable(file, group.column(leaf)))).collect();
        nullif(bounds, &wrong).ok()
    }

    fn minima(&self, column: &str) -> Option<ArrayRef> {
        let converter = self.converter(column)?;
        self.believed(&converter, &converter.row_group_mins(self.row_groups.iter().copied()).ok()?)
    }

    fn maxima(&self, column: &str) -> Option<ArrayRef> {
        let converter = self.converter(column)?;
        self.believed(&converter, &converter.row_group_maxes(self.row_groups.iter().copied()).ok()?)
    }

    fn nulls(&self, column: &str) -> Option<UInt64Array> {
        self.converter(column)?.row_group_null_counts(self.row_groups.iter().copied()).ok()
    }

    /// The bounds of `column` in the first of the row groups.
    pub(crate) fn bounds(&self, column: &str) -> Option<(ScalarValue, ScalarValue)> {
        let (min, max) = (self.minima(column)?, self.maxima(column)?);
        let value = |array: &ArrayRef| ScalarValue::try_from_array(array, 0).ok().filter(|value| !value.is_null());
        Some((value(&min)?, value(&max)?))
    }
}

impl PruningStatistics for RowGroupStatistics<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.minima(&column.name)
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.maxima(&column.name)
    }

    fn num_containers(&self) -> usize {
        self.row_groups.len()
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        Some(Arc::new(self.nulls(&column.name)?))
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        let rows = self.row_groups.iter().map(|group| u64::try_from(group.num_rows()).ok());
        Some(Arc::new(rows.collect::<UInt64Array>()))
    }

    fn contained(&self, _: &Column, _: &std::collections::HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}

/// The statistics of one whole file for the columns of `table`.
pub(crate) fn of_file(metadata: &ParquetMetaData, schema: &SchemaRef, table: &Schema) -> Statistics {
    let rows = usize::try_from(metadata.file_metadata().num_rows().max(0)).unwrap_or(usize::MAX);
    let counted: i64 = metadata.row_groups().iter().map(RowGroupMetaData::num_rows).sum();
    // The two counts of a file are independent claims; if they disagree, neither answers.
    let num_rows = match usize::try_from(counted) {
        Ok(counted) if counted == rows => Precision::Exact(rows),
        Ok(counted) => Precision::Inexact(counted),
        Err(_) => Precision::Absent,
    };
    let statistics = RowGroupStatistics::new(metadata, schema, 0..metadata.num_row_groups());
    let columns = table.fields().iter().map(|field| {
        if is_virtual(field) {
            return ColumnStatistics::new_unknown();
        }
        if schema.field_with_name(field.name()).is_err() {
            return missing_column(field.data_type(), num_rows);
        }
        column(&statistics, field.name(), field.data_type()).unwrap_or_else(ColumnStatistics::new_unknown)
    });
    let bytes = metadata.row_groups().iter().map(|group| group.total_byte_size().max(0)).sum::<i64>();
    Statistics {
        num_rows,
        total_byte_size: usize::try_from(bytes).map_or(Precision::Absent, Precision::Inexact),
        column_statistics: columns.collect(),
    }
}

/// All rows of a file without the column are NULL.
fn missing_column(data_type: &DataType, rows: Precision<usize>) -> ColumnStatistics {
    let null = ScalarValue::try_from(data_type).map_or(Precision::Absent, Precision::Exact);
    let mut statistics = ColumnStatistics::new_unknown();
    statistics.null_count = rows;
    statistics.min_value = null.clone();
    statistics.max_value = null;
    statistics
}

fn column(statistics: &RowGroupStatistics<'_>, name: &str, data_type: &DataType) -> Option<ColumnStatistics> {
    let mut result = ColumnStatistics::new_unknown();
    let converter = statistics.converter(name)?;
    let nulls = statistics.nulls(name)?;
    if nulls.null_count() == 0 {
        let sum = nulls.iter().flatten().sum::<u64>();
        result.null_count = usize::try_from(sum).map_or(Precision::Absent, Precision::Exact);
    }
    // Row groups in which every value is NULL have no extremes and need none.
    let all_null: Vec<bool> = statistics
        .row_groups
        .iter()
        .zip(nulls.iter())
        .map(|(group, nulls)| nulls.is_some_and(|nulls| i64::try_from(nulls) == Ok(group.num_rows())))
        .collect();
    let groups = || statistics.row_groups.iter().copied();
    let exact_min = converter.row_group_is_min_value_exact(groups()).ok()?;
    let exact_max = converter.row_group_is_max_value_exact(groups()).ok()?;
    let (min, max) = (statistics.minima(name)?, statistics.maxima(name)?);
    result.min_value = extreme(&min, &exact_min, &all_null, data_type, std::cmp::Ordering::Less);
    result.max_value = extreme(&max, &exact_max, &all_null, data_type, std::cmp::Ordering::Greater);
    Some(result)
}

/// The extreme of a file from those of its row groups.
fn extreme(
    bounds: &ArrayRef,
    exact: &BooleanArray,
    all_null: &[bool],
    data_type: &DataType,
    wanted: std::cmp::Ordering,
) -> Precision<ScalarValue> {
    let Ok(bounds) = cast(bounds, data_type) else { return Precision::Absent };
    let is_fixed = !matches!(
        bounds.data_type(),
        DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_)
    );
    let mut is_exact = !bounds.data_type().is_floating();
    let mut best: Option<ScalarValue> = None;
    for (index, all_null) in all_null.iter().enumerate() {
        if *all_null {
            continue;
        }
        let Ok(value) = ScalarValue::try_from_array(&bounds, index) else { return Precision::Absent };
        if value.is_null() {
            return Precision::Absent;
        }
        // Only values of variable length are ever truncated; their writers say so, or do not.
        is_exact &= is_fixed || (exact.is_valid(index) && exact.value(index));
        if best.as_ref().is_none_or(|best| value.partial_cmp(best) == Some(wanted)) {
            best = Some(value);
        }
    }
    match best {
        Some(value) if is_exact => Precision::Exact(value),
        Some(value) => Precision::Inexact(value),
        // Nothing but NULL, which is what MIN and MAX answer then.
        None => ScalarValue::try_from(data_type).map_or(Precision::Absent, Precision::Exact),
    }
}

/// The statistics of all files together.
pub(crate) fn of_table(files: &[Statistics], table: &Schema) -> Statistics {
    let Some((first, rest)) = files.split_first() else { return Statistics::new_unknown(table) };
    let mut total = first.clone();
    for file in rest {
        total.num_rows = total.num_rows.add(&file.num_rows);
        total.total_byte_size = total.total_byte_size.add(&file.total_byte_size);
        for (all, one) in total.column_statistics.iter_mut().zip(&file.column_statistics) {
            all.null_count = all.null_count.add(&one.null_count);
            all.min_value = pick(&all.min_value, &one.min_value, std::cmp::Ordering::Less);
            all.max_value = pick(&all.max_value, &one.max_value, std::cmp::Ordering::Greater);
        }
    }
    total
}

/// The wanted one of two extremes; NULL gives way to any value.
fn pick(a: &Precision<ScalarValue>, b: &Precision<ScalarValue>, wanted: std::cmp::Ordering) -> Precision<ScalarValue> {
    let (Some(left), Some(right)) = (a.get_value(), b.get_value()) else { return Precision::Absent };
    let value =
        if left.is_null() || (!right.is_null() && right.partial_cmp(left) == Some(wanted)) { right } else { left };
    if a.is_exact() == Some(true) && b.is_exact() == Some(true) {
        Precision::Exact(value.clone())
    } else {
        Precision::Inexact(value.clone())
    }
}
