//! Which files of a query still have to be proved current by a request of their own: those that came from a cache and of which
//! no data is sure to be read before the first rows are handed out.
//!
//! A stale footer could hide rows by pruning, or answer by statistics, without anybody looking at the file. And where rows are
//! handed out as they come, a file that turns out to be stale later could not begin the query anew any more.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::EmissionType;
use farquet_core::file::File;

use crate::exec::ScanExec;

/// The files among `opened` that `plan` rests on without reading them first.
pub(crate) fn unproved(plan: &Arc<dyn ExecutionPlan>, opened: &[Arc<File>]) -> Vec<Arc<File>> {
    let nodes = nodes(plan);
    // A union hands out what one side has while the other one has nothing yet, whatever it says of itself.
    let unites = nodes.iter().any(|node| matches!(node.name(), "UnionExec" | "InterleaveExec"));
    let streams = unites || plan.properties().emission_type != EmissionType::Final && opened.len() > 1;
    let mut scanned: HashSet<*const File> = HashSet::new();
    let mut unproved: Vec<Arc<File>> = Vec::new();
    for scan in nodes.iter().filter_map(|node| node.downcast_ref::<ScanExec>()) {
        scanned.extend(scan.files().map(Arc::as_ptr));
        unproved.extend(scan.unproved(streams));
    }
    // Files that no scan is left of were answered from their footers.
    unproved.extend(opened.iter().filter(|file| !file.is_proved() && !scanned.contains(&Arc::as_ptr(file))).cloned());
    unproved.sort_by_key(|file| Arc::as_ptr(file) as usize);
    unproved.dedup_by(|a, b| Arc::ptr_eq(a, b));
    unproved
}

fn nodes(plan: &Arc<dyn ExecutionPlan>) -> Vec<Arc<dyn ExecutionPlan>> {
    let (mut nodes, mut pending) = (Vec::new(), vec![Arc::clone(plan)]);
    while let Some(node) = pending.pop() {
        pending.extend(node.children().into_iter().cloned());
        nodes.push(node);
    }
    nodes
}
