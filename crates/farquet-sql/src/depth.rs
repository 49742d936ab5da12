//! Keeps statements shallow: whatever copies, plans or drops a syntax tree goes as deep as the tree, on a stack that ends.
//!
//! The parser bounds what it nests by itself, but not chains such as `a OR b OR c …`, which it nests to the left.

use std::mem::replace;
use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Query, SetExpr, Value, VisitorMut};
use farquet_core::{Error, ErrorKind, Result};

use crate::references::visit;

/// Operators within operators, queries within queries.
const DEEPEST: usize = 500;
/// Chains up to here stay as they are.
const SHORT: usize = 32;

/// Balances chains of AND and of OR, and refuses what is too deep in another way.
pub(crate) fn bound(statement: &mut Statement) -> Result<()> {
    visit(statement, &mut Bounder { depth: 0 })
}

struct Bounder {
    depth: usize,
}

impl VisitorMut for Bounder {
    type Break = Box<Error>;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        balance(expr);
        self.depth += 1;
        if self.depth > DEEPEST { too_deep("operators", "") } else { ControlFlow::Continue(()) }
    }

    fn post_visit_expr(&mut self, _: &mut Expr) -> ControlFlow<Self::Break> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        let mut set = query.body.as_ref();
        for _ in 0..DEEPEST {
            match set {
                SetExpr::SetOperation { left, .. } => set = left,
                _ => return ControlFlow::Continue(()),
            }
        }
        too_deep("set operations", "read_parquet takes a list of files")
    }
}

fn too_deep(what: &str, hint: &str) -> ControlFlow<Box<Error>> {
    let error = Error::new(ErrorKind::Query, format!("more than {DEEPEST} {what} within one another"));
    ControlFlow::Break(Box::new(if hint.is_empty() { error } else { error.hint(hint) }))
}

/// Makes a tree of a long chain. AND and OR mean the same however they are grouped.
fn balance(expr: &mut Expr) {
    let Expr::BinaryOp { op, .. } = &*expr else { return };
    let op = op.clone();
    if !matches!(op, BinaryOperator::And | BinaryOperator::Or) || links(expr, &op) <= SHORT {
        return;
    }
    let mut operands = Vec::new();
    let mut rest = replace(expr, placeholder());
    loop {
        match rest {
            Expr::BinaryOp { left, op: same, right } if same == op => {
                operands.push(*right);
                rest = *left;
            }
            first => {
                operands.push(first);
                break;
            }
        }
    }
    operands.reverse();
    *expr = tree(&mut operands, &op);
}

/// How long a chain of `op` is, as far as it matters.
fn links(expr: &Expr, op: &BinaryOperator) -> usize {
    let mut links = 0;
    let mut at = expr;
    while let Expr::BinaryOp { left, op: same, .. } = at
        && same == op
        && links <= SHORT
    {
        links += 1;
        at = left;
    }
    links
}

fn tree(operands: &mut [Expr], op: &BinaryOperator) -> Expr {
    match operands {
        [] => placeholder(),
        [operand] => replace(operand, placeholder()),
        _ => {
            let (left, right) = operands.split_at_mut(operands.len() / 2);
            let side = |operands| Box::new(tree(operands, op));
            Expr::BinaryOp { left: side(left), op: op.clone(), right: side(right) }
        }
    }
}

fn placeholder() -> Expr {
    Expr::value(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::parser::DFParser;

    fn parsed(condition: &str) -> Statement {
        DFParser::parse_sql(&format!("SELECT {condition}")).expect("SQL").pop_front().expect("a statement")
    }

    #[test]
    fn chains_become_trees_and_say_the_same() {
        let chain: Vec<_> = (0..3000).map(|n| format!("a = {n} AND b")).collect();
        let sql = chain.join(" OR ");
        let mut statement = parsed(&sql);
        bound(&mut statement).expect("a shallow tree");
        let shown = statement.to_string();
        assert_eq!(shown, format!("SELECT {sql}"), "operands keep their order");
    }

    #[test]
    fn other_depths_are_refused() {
        for operator in [" + ", " || ", " - "] {
            assert!(bound(&mut parsed(&vec!["1"; 400].join(operator))).is_ok());
            let mut deep = parsed(&vec!["1"; 600].join(operator));
            assert_eq!(bound(&mut deep).expect_err("an error").kind(), ErrorKind::Query);
        }
        let unions = |n| parsed(&vec!["1"; n].join(" UNION ALL SELECT "));
        assert!(bound(&mut unions(300)).is_ok());
        assert!(bound(&mut unions(600)).is_err());
    }
}
