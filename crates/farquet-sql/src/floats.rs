//! What the bounds of floats cannot decide.
//!
//! Writers leave NaN out of minimum and maximum, and may write either zero for the other (Parquet format, "Statistics"). The
//! engine orders NaN beyond all numbers, on the side of its sign, and finds it by `=`. So a row group with the maximum 2 may hold
//! rows with `x > 3`, and pruning by it would lose them.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal, lit,
};
use datafusion::physical_expr::utils::collect_columns;

/// `predicate` for pruning: true takes the place of comparisons that the bounds of floats cannot decide.
///
/// Only below AND and OR, where more rows can never become fewer.
pub(crate) fn decidable(predicate: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Arc<dyn PhysicalExpr> {
    if let Some(binary) = predicate.downcast_ref::<BinaryExpr>()
        && matches!(binary.op(), Operator::And | Operator::Or)
    {
        let side = |expr| decidable(expr, schema);
        return Arc::new(BinaryExpr::new(side(binary.left()), *binary.op(), side(binary.right())));
    }
    let is_float = |column: &Column| schema.fields().get(column.index()).is_some_and(|f| f.data_type().is_floating());
    if collect_columns(predicate).iter().any(is_float) && !bounds_decide(predicate) {
        return lit(true);
    }
    Arc::clone(predicate)
}

/// Equality with numbers other than zero, and tests for NULL.
fn bounds_decide(predicate: &Arc<dyn PhysicalExpr>) -> bool {
    if let Some(binary) = predicate.downcast_ref::<BinaryExpr>() {
        let (left, right) = (binary.left(), binary.right());
        return *binary.op() == Operator::Eq
            && ((is_column(left) && is_plain_number(right)) || (is_column(right) && is_plain_number(left)));
    }
    if let Some(list) = predicate.downcast_ref::<InListExpr>() {
        return !list.negated() && is_column(list.expr()) && list.list().iter().all(is_plain_number);
    }
    predicate.is::<IsNullExpr>() || predicate.is::<IsNotNullExpr>()
}

/// A column, also in another width.
fn is_column(expr: &Arc<dyn PhysicalExpr>) -> bool {
    match expr.downcast_ref::<CastExpr>() {
        Some(cast) => cast.cast_type().is_floating() && cast.expr().is::<Column>(),
        None => expr.is::<Column>(),
    }
}

fn is_plain_number(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let Some(literal) = expr.downcast_ref::<Literal>() else { return false };
    match literal.value().cast_to(&arrow::datatypes::DataType::Float64) {
        Ok(ScalarValue::Float64(Some(number))) => !number.is_nan() && number != 0.0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field};
    use datafusion::physical_expr::expressions::{binary, col, in_list};

    use super::*;

    #[test]
    fn only_equality_with_numbers_is_decidable() {
        let schema =
            Schema::new(vec![Field::new("x", DataType::Float64, true), Field::new("n", DataType::Int64, true)]);
        let column = |name| col(name, &schema).expect("a column");
        let compare = |left, op, right| binary(left, op, right, &schema).expect("a comparison");
        let shown = |expr| decidable(&expr, &schema).to_string();
        assert_eq!(shown(compare(column("x"), Operator::Gt, lit(3.0))), "true");
        assert_eq!(shown(compare(column("x"), Operator::Eq, lit(f64::NAN))), "true");
        assert_eq!(shown(compare(column("x"), Operator::Eq, lit(-0.0))), "true");
        assert_eq!(shown(compare(column("x"), Operator::Eq, lit(3.0))), "x@0 = 3");
        assert_eq!(shown(compare(column("n"), Operator::Gt, lit(3_i64))), "n@1 > 3");
        let list = |values: &[f64], negated| {
            let values = values.iter().map(|value| lit(*value)).collect();
            in_list(column("x"), values, &negated, &schema).expect("a list")
        };
        assert_ne!(shown(list(&[1.0, 2.0], false)), "true");
        assert_eq!(shown(list(&[1.0, f64::NAN], false)), "true");
        assert_eq!(shown(list(&[1.0, 2.0], true)), "true");
        let both = compare(
            compare(column("x"), Operator::Lt, lit(3.0)),
            Operator::And,
            compare(column("n"), Operator::Lt, lit(3_i64)),
        );
        assert_eq!(shown(both), "true AND n@1 < 3");
    }
}
