//! Which statistics of which writers can be believed.
//!
//! Reading tolerates what real writers produce; pruning and answers from metadata alone do not believe it.

use parquet::basic::{ColumnOrder, ConvertedType, LogicalType, Type};
use parquet::file::metadata::{ColumnChunkMetaData, FileMetaData};

/// Whether the minimum and maximum of a column chunk bound its values.
///
/// Not believed: the deprecated fields for anything but signed order; binary statistics of parquet-mr before 1.8.0, which
/// compared bytes as signed (PARQUET-251), and of writers that do not name themselves; anything of INT96 and intervals,
/// whose order was never defined.
pub fn bounds_believable(file: &FileMetaData, chunk: &ColumnChunkMetaData) -> bool {
    let Some(statistics) = chunk.statistics() else { return false };
    let column = chunk.column_descr();
    let binary = matches!(column.physical_type(), Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY);
    if column.physical_type() == Type::INT96 || column.converted_type() == ConvertedType::INTERVAL {
        return false;
    }
    if matches!(column.sort_order(), parquet::basic::SortOrder::UNDEFINED) {
        return false;
    }
    if binary && !file.created_by().is_some_and(compares_bytes_unsigned) {
        return false;
    }
    if statistics.is_min_max_deprecated() {
        return !binary && !is_unsigned(column.converted_type(), column.logical_type_ref());
    }
    !binary || file.column_orders().is_none_or(|orders| !orders.iter().all(|order| *order == ColumnOrder::UNDEFINED))
}

fn is_unsigned(converted: ConvertedType, logical: Option<&LogicalType>) -> bool {
    use ConvertedType::{UINT_8, UINT_16, UINT_32, UINT_64};
    matches!(converted, UINT_8 | UINT_16 | UINT_32 | UINT_64)
        || matches!(logical, Some(LogicalType::Integer(integer)) if !integer.is_signed)
}

/// parquet-mr before 1.8.0 compared binary values as signed bytes.
fn compares_bytes_unsigned(created_by: &str) -> bool {
    let Some(rest) = created_by.strip_prefix("parquet-mr") else { return true };
    let version = rest.trim_start().strip_prefix("version").map_or("", str::trim_start);
    let mut numbers = version.split(['.', '-', ' ']).map_while(|part| part.parse::<u32>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) => (major, minor) >= (1, 8),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_writers_are_known() {
        for (writer, believed) in [
            ("parquet-mr version 1.6.0rc3 (build x)", false),
            ("parquet-mr version 1.8.0 (build x)", true),
            ("parquet-mr version 1.12.3", true),
            ("parquet-mr", false),
            ("parquet-cpp-arrow version 21.0.0", true),
            ("DuckDB", true),
        ] {
            assert_eq!(compares_bytes_unsigned(writer), believed, "{writer}");
        }
    }
}
