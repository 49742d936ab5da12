//! Filters that tighten while a query runs: of a top-k, of a join's build side.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result as EngineResult;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, DynamicFilterTracking};
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;

use crate::plan::{Part, ScanPlan};

/// Dynamic filters over a table's schema.
#[derive(Debug, Clone, Default)]
pub(crate) struct DynamicFilters(Vec<Arc<dyn PhysicalExpr>>);

impl DynamicFilters {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Arc<dyn PhysicalExpr>> {
        self.0.iter()
    }

    /// These and the dynamic ones of `filters`, which refer to the scan's output.
    pub(crate) fn with(&self, filters: Vec<Arc<dyn PhysicalExpr>>, plan: &ScanPlan) -> EngineResult<Self> {
        let mut all = self.0.clone();
        for filter in
            filters.into_iter().filter(|filter| DynamicFilterTracking::classify(filter).contains_dynamic_filter())
        {
            all.push(to_table(filter, plan)?);
        }
        Ok(Self(all))
    }

    /// Whether `part` may hold rows that all filters, as they are now, let through.
    pub(crate) fn may_match(&self, plan: &ScanPlan, part: &Part) -> bool {
        self.0.iter().all(|filter| {
            snapshot_physical_expr(Arc::clone(filter)).map_or(true, |current| plan.may_match(part, &current))
        })
    }
}

/// From the columns of the scan's output to those of its table.
fn to_table(filter: Arc<dyn PhysicalExpr>, plan: &ScanPlan) -> EngineResult<Arc<dyn PhysicalExpr>> {
    filter
        .transform_down(|expr| match expr.downcast_ref::<Column>() {
            Some(column) if column.index() < plan.projection.len() => {
                let index = plan.projection[column.index()];
                let name = plan.table_schema.field(index).name();
                Ok(Transformed::yes(Arc::new(Column::new(name, index)) as Arc<dyn PhysicalExpr>))
            }
            _ => Ok(Transformed::no(expr)),
        })
        .data()
}

impl fmt::Display for DynamicFilters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        write!(f, "[{}]", shown.join(", "))
    }
}
