//! Types that every reader of Arrow and Parquet files knows: views and dictionaries become what they stand for.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;

/// `schema` without views and dictionaries.
pub fn schema(schema: &SchemaRef) -> SchemaRef {
    let fields: Vec<_> = schema.fields().iter().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// `batch` with the types of `schema`.
pub fn batch(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| {
        if column.data_type() == field.data_type() { Ok(Arc::clone(column)) } else { cast(column, field.data_type()) }
    });
    RecordBatch::try_new(Arc::clone(schema), columns.collect::<Result<_, _>>()?)
}

fn field(field: &FieldRef) -> FieldRef {
    let plain = data_type(field.data_type());
    if plain == *field.data_type() { Arc::clone(field) } else { Arc::new(Field::clone(field).with_data_type(plain)) }
}

fn data_type(from: &DataType) -> DataType {
    match from {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::List(item) => DataType::List(field(item)),
        DataType::LargeList(item) => DataType::LargeList(field(item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(field(item), *length),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
        DataType::Map(entries, sorted) => DataType::Map(field(entries), *sorted),
        // Their values may differ from batch to batch, which the file format has no way to say.
        DataType::Dictionary(_, value) => data_type(value),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, StringViewArray};

    use super::*;

    #[test]
    fn views_become_what_they_view() {
        let view: ArrayRef = Arc::new(StringViewArray::from(vec![Some("a"), None]));
        let item = Arc::new(Field::new("item", DataType::Utf8View, true));
        let from = Arc::new(Schema::new(vec![
            Field::new("s", DataType::Utf8View, true),
            Field::new("l", DataType::List(item), true),
        ]));
        let to = schema(&from);
        assert_eq!(to.field(0).data_type(), &DataType::Utf8);
        assert_eq!(to.field(1).data_type(), &DataType::List(Arc::new(Field::new("item", DataType::Utf8, true))));
        let from = RecordBatch::try_from_iter([("s", view)]).expect("a batch");
        let to = batch(&from, &schema(&from.schema())).expect("a batch");
        assert_eq!((to.num_rows(), to.column(0).null_count()), (2, 1));
    }
}
