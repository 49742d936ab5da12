//! From the schemas of files to the schema of a table: by name, with widening, and with errors that name both files.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use datafusion_datasource_parquet::{Int96Coercer, transform_schema_to_view};
use farquet_core::{Error, ErrorKind, Result};
use parquet::arrow::parquet_to_arrow_schema;
use parquet::file::metadata::FileMetaData;

/// The name of the virtual column that says which file a row came from.
pub(crate) const FILENAME: &str = "filename";

/// The Arrow schema of a file as it is read here: strings as views, INT96 in microseconds.
///
/// INT96 counts nanoseconds over a range of years that 64 bits of nanoseconds cannot hold.
pub(crate) fn file_schema(file: &FileMetaData) -> Result<SchemaRef> {
    let inferred = parquet_to_arrow_schema(file.schema_descr(), file.key_value_metadata())
        // A schema that a writer embedded and that does not fit the file only describes it.
        .or_else(|_| parquet_to_arrow_schema(file.schema_descr(), None))
        .map_err(|error| Error::new(ErrorKind::Unsupported, format!("the schema cannot be read: {error}")))?;
    let inferred =
        Int96Coercer::new(file.schema_descr(), &inferred, &TimeUnit::Microsecond).coerce().unwrap_or(inferred);
    Ok(Arc::new(transform_schema_to_view(&inferred)))
}

/// Merges the schemas of a table's files by column name, in the order of first sight.
pub(crate) fn merge<'a>(files: impl Iterator<Item = (&'a str, &'a SchemaRef)>) -> Result<SchemaRef> {
    let mut merged: Vec<(FieldRef, &str, usize)> = Vec::new();
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    let mut last: Option<&SchemaRef> = None;
    let mut schemas = 0;
    for (file, schema) in files {
        // Files of one writer share a schema: nothing to merge.
        if last.is_some_and(|last| Arc::ptr_eq(last, schema)) {
            continue;
        }
        last = Some(schema);
        schemas += 1;
        for field in schema.fields() {
            match by_name.get(field.name().as_str()) {
                None => {
                    by_name.insert(field.name(), merged.len());
                    merged.push((Arc::new(field.as_ref().clone().with_metadata(HashMap::new())), file, 1));
                }
                Some(at) => {
                    let (known, first_file, seen) = &mut merged[*at];
                    let Some(widened) = widen(known.data_type(), field.data_type()) else {
                        let message = format!(
                            "column '{}' is {} in {first_file} but {} in {file}",
                            field.name(),
                            known.data_type(),
                            field.data_type()
                        );
                        return Err(Error::new(ErrorKind::Schema, message)
                            .hint("query the files apart and cast the column in each query"));
                    };
                    let nullable = known.is_nullable() || field.is_nullable();
                    *known = Arc::new(Field::new(field.name(), widened, nullable));
                    *seen += 1;
                }
            }
        }
    }
    // A column that some file lacks is NULL in the rows of that file.
    let fields: Vec<FieldRef> = merged
        .into_iter()
        .map(
            |(field, _, seen)| {
                if seen < schemas { Arc::new(field.as_ref().clone().with_nullable(true)) } else { field }
            },
        )
        .collect();
    Ok(Arc::new(Schema::new(fields)))
}

/// The type that holds the values of both, if there is one without loss.
fn widen(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType::{
        Binary, BinaryView, Decimal32, Decimal64, Decimal128, Decimal256, Dictionary, FixedSizeBinary, Float16,
        Float32, Float64, LargeBinary, LargeList, LargeUtf8, List, Null, Timestamp, Utf8, Utf8View,
    };
    if a == b {
        return Some(a.clone());
    }
    let text = |t: &DataType| matches!(t, Utf8 | LargeUtf8 | Utf8View);
    let bytes = |t: &DataType| matches!(t, Binary | LargeBinary | BinaryView | FixedSizeBinary(_));
    match (a, b) {
        (Null, other) | (other, Null) => Some(other.clone()),
        (Dictionary(_, value), other) | (other, Dictionary(_, value)) => widen(value, other),
        _ if text(a) && text(b) => Some(Utf8View),
        _ if bytes(a) && bytes(b) => Some(BinaryView),
        (Float16 | Float32, Float16 | Float32) => Some(Float32),
        (Float16 | Float32 | Float64, Float16 | Float32 | Float64) => Some(Float64),
        (List(a), List(b)) => Some(List(widen_field(a, b)?)),
        (LargeList(a), LargeList(b)) => Some(LargeList(widen_field(a, b)?)),
        (Timestamp(a, zone), Timestamp(b, other)) if zone == other => Some(Timestamp(finer(*a, *b), zone.clone())),
        (
            Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..),
            Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..),
        ) => widen_decimal(a, b),
        _ => widen_integer(a, b),
    }
}

fn widen_field(a: &FieldRef, b: &FieldRef) -> Option<FieldRef> {
    let widened = widen(a.data_type(), b.data_type())?;
    Some(Arc::new(Field::new(a.name(), widened, a.is_nullable() || b.is_nullable())))
}

fn finer(a: TimeUnit, b: TimeUnit) -> TimeUnit {
    a.max(b)
}

fn widen_integer(a: &DataType, b: &DataType) -> Option<DataType> {
    let bits = |t: &DataType| t.is_integer().then(|| t.primitive_width().map(|bytes| bytes * 8)).flatten();
    let (width_a, width_b) = (bits(a)?, bits(b)?);
    let signed = |width| match width {
        8 => Some(DataType::Int8),
        16 => Some(DataType::Int16),
        32 => Some(DataType::Int32),
        64 => Some(DataType::Int64),
        _ => None,
    };
    match (a.is_signed_integer(), b.is_signed_integer()) {
        (true, true) => signed(width_a.max(width_b)),
        (false, false) if width_a > width_b => Some(a.clone()),
        (false, false) => Some(b.clone()),
        // An unsigned type needs one bit more in a signed one.
        (true, false) => signed(width_a.max(width_b * 2)),
        (false, true) => signed(width_b.max(width_a * 2)),
    }
}

fn widen_decimal(a: &DataType, b: &DataType) -> Option<DataType> {
    let parts = |t: &DataType| match t {
        DataType::Decimal32(p, s)
        | DataType::Decimal64(p, s)
        | DataType::Decimal128(p, s)
        | DataType::Decimal256(p, s) => Some((i16::from(*p), i16::from(*s))),
        _ => None,
    };
    let ((pa, sa), (pb, sb)) = (parts(a)?, parts(b)?);
    let scale = sa.max(sb);
    let precision = u8::try_from((pa - sa).max(pb - sb) + scale).ok()?;
    let scale = i8::try_from(scale).ok()?;
    match precision {
        0..=38 => Some(DataType::Decimal128(precision, scale)),
        39..=76 => Some(DataType::Decimal256(precision, scale)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DataType::{Date32, Decimal128, Int8, Int32, Int64, List, Timestamp, UInt16, UInt32, UInt64, Utf8, Utf8View};

    #[test]
    fn types_widen_without_loss_or_not_at_all() {
        assert_eq!(widen(&Int8, &Int64), Some(Int64));
        assert_eq!(widen(&UInt16, &UInt32), Some(UInt32));
        assert_eq!(widen(&UInt32, &Int32), Some(Int64));
        assert_eq!(widen(&UInt64, &Int64), None);
        assert_eq!(widen(&Utf8, &Utf8View), Some(Utf8View));
        assert_eq!(widen(&Decimal128(5, 2), &Decimal128(7, 0)), Some(Decimal128(9, 2)));
        assert_eq!(widen(&Date32, &Int32), None);
        let (ms, ns) = (Timestamp(TimeUnit::Millisecond, None), Timestamp(TimeUnit::Nanosecond, None));
        assert_eq!(widen(&ms, &ns), Some(ns));
        let list = |t| List(Arc::new(Field::new("item", t, true)));
        assert_eq!(widen(&list(Int8), &list(Int32)), Some(list(Int32)));
    }

    #[test]
    fn files_merge_by_name() {
        let schema = |fields: &[(&str, DataType)]| -> SchemaRef {
            Arc::new(Schema::new(fields.iter().map(|(n, t)| Field::new(*n, t.clone(), true)).collect::<Vec<_>>()))
        };
        let (a, b) = (schema(&[("x", Int32), ("y", Utf8)]), schema(&[("z", Int8), ("x", Int64)]));
        let merged = merge([("a", &a), ("b", &b)].into_iter()).expect("a schema");
        assert_eq!(merged, schema(&[("x", Int64), ("y", Utf8), ("z", Int8)]));
        let error = merge([("a", &a), ("c", &schema(&[("x", Date32)]))].into_iter()).expect_err("an error");
        assert_eq!(error.kind(), ErrorKind::Schema);
        assert_eq!(error.to_string(), "column 'x' is Int32 in a but Date32 in c");
    }
}
