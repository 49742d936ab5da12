//! Tells scans that something above them may stop before their end, so that they do not run far ahead.

use std::sync::Arc;

use datafusion::common::Result as EngineResult;
use datafusion::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::union::UnionExec;

use crate::exec::ScanExec;

/// Marks the scans below a limit without anything between that reads its whole input first.
#[derive(Debug)]
pub(crate) struct EarlyStop;

impl PhysicalOptimizerRule for EarlyStop {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> EngineResult<Arc<dyn ExecutionPlan>> {
        mark(plan, false)
    }

    fn name(&self) -> &'static str {
        "early_stop"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn mark(plan: Arc<dyn ExecutionPlan>, limited: bool) -> EngineResult<Arc<dyn ExecutionPlan>> {
    if let Some(scan) = plan.downcast_ref::<ScanExec>() {
        return Ok(if limited { Arc::new(scan.stopping_early()) } else { plan });
    }
    let streams = plan.is::<GlobalLimitExec>()
        || plan.is::<LocalLimitExec>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.is::<CooperativeExec>()
        || plan.is::<FilterExec>()
        || plan.is::<ProjectionExec>()
        || plan.is::<RepartitionExec>()
        || plan.is::<UnionExec>();
    let limited = streams && (limited || plan.fetch().is_some());
    let children = plan.children().into_iter().map(|child| mark(Arc::clone(child), limited));
    let children = children.collect::<EngineResult<Vec<_>>>()?;
    if children.is_empty() {
        Ok(plan)
    } else {
        plan.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }
}
