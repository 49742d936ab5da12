//! The scan as an operator of the engine: partitions are decoders, and share one stream of morsels.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow::datatypes::SchemaRef;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result as EngineResult, Statistics};
use datafusion::config::ConfigOptions;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::sort_pushdown::SortOrderPushdownResult;
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, coop::cooperative,
};
use farquet_core::file::File;
use farquet_core::scan::{Pace, PlannedRequests, Scan};
use futures::{StreamExt, TryStreamExt, stream};

use crate::decode::MorselReader;
use crate::dynamic::DynamicFilters;
use crate::error::external;
use crate::plan::{Part, PlannedFile, ScanPlan};
use crate::statistics;

/// Row groups whose second fetch may be under way at once, for each decoder.
const LATE_READERS: usize = 8;

/// Reads the row groups of a [`ScanPlan`].
#[derive(Debug, Clone)]
pub(crate) struct ScanExec {
    plan: Arc<ScanPlan>,
    parts: Arc<[Part]>,
    /// Computed when an optimizer rule first asks.
    statistics: Arc<OnceLock<Arc<Statistics>>>,
    properties: Arc<PlanProperties>,
    /// Filters of operators above that tighten while they run; columns by table schema.
    dynamic: DynamicFilters,
    /// The parts are in the order in which a top-k above will want them.
    ordered: bool,
    /// An operator above may stop before the end.
    stops_early: bool,
    metrics: ExecutionPlanMetricsSet,
    run: Arc<Mutex<Option<Run>>>,
}

/// An execution in progress.
#[derive(Debug)]
struct Run {
    shared: Arc<Shared>,
    partitions: HashSet<usize>,
}

/// What the partitions of one execution share. When the last one is dropped, so are its requests.
#[derive(Debug)]
struct Shared {
    scan: Arc<Scan>,
    driver: Mutex<Option<SpawnedTask<()>>>,
}

impl Shared {
    /// Begins to fetch, if that has not begun.
    fn start(&self) {
        let mut driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner);
        driver.get_or_insert_with(|| SpawnedTask::spawn(Arc::clone(&self.scan).run()));
    }
}

impl ScanExec {
    pub(crate) fn new(plan: Arc<ScanPlan>, partitions: usize) -> EngineResult<Self> {
        let schema = Arc::new(plan.table_schema.project(&plan.projection)?);
        let partitions = partitions.clamp(1, plan.parts.len().max(1));
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        Ok(Self {
            parts: plan.parts.clone().into(),
            statistics: Arc::default(),
            properties: Arc::new(properties),
            dynamic: DynamicFilters::default(),
            ordered: false,
            stops_early: false,
            metrics: ExecutionPlanMetricsSet::new(),
            run: Arc::default(),
            plan,
        })
    }

    fn output(&self) -> SchemaRef {
        Arc::clone(self.properties.eq_properties.schema())
    }

    /// The same scan, below an operator that may stop before the end.
    pub(crate) fn stopping_early(&self) -> Self {
        Self { stops_early: true, run: Arc::default(), ..self.clone() }
    }

    /// What footers tell of the output: exact where nothing was filtered or cut.
    fn statistics(&self) -> Arc<Statistics> {
        let compute = || {
            let (plan, output) = (&self.plan, self.output());
            let of_file = |file: &PlannedFile| {
                statistics::of_file(&file.table_file.file.metadata(), &file.table_file.schema, &output)
            };
            let files: Vec<_> = plan.files.iter().map(of_file).collect();
            let mut all = statistics::of_table(&files, &output);
            if plan.predicate.is_some() || plan.limit.is_some() || !plan.pruning {
                all = all.to_inexact();
                all.num_rows = Precision::Inexact(plan.parts.iter().map(|part| part.rows).sum());
            }
            Arc::new(all)
        };
        Arc::clone(self.statistics.get_or_init(compute))
    }

    fn pace(&self) -> Pace {
        if (self.ordered && !self.dynamic.is_empty()) || self.stops_early {
            Pace::Growing(self.properties.partitioning.partition_count())
        } else {
            Pace::Eager
        }
    }

    /// The files that the answer rests on although no data of them is sure to be read before rows are handed out, which is
    /// early if the query `streams`.
    pub(crate) fn unproved(&self, streams: bool) -> Vec<Arc<File>> {
        let plan = &self.plan;
        let reads_all = self.pace() == Pace::Eager && self.dynamic.is_empty() && !streams;
        let morsels = plan.morsels(&self.parts).unwrap_or_default();
        let fetched = morsels.iter().filter(|morsel| !morsel.file.missing(&morsel.ranges).is_empty());
        let read: HashSet<*const File> = fetched.map(|morsel| Arc::as_ptr(&morsel.file)).collect();
        let files = self.files().filter(|file| !file.is_proved());
        files.filter(|file| !(reads_all && read.contains(&Arc::as_ptr(file)))).cloned().collect()
    }

    /// The files of the scan, whether they are read or pruned.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Arc<File>> {
        self.plan.files.iter().map(|planned| &planned.table_file.file)
    }

    /// The requests that the scan would send if nothing was pruned meanwhile.
    fn planned(&self) -> Option<PlannedRequests> {
        Some(Scan::planned(&self.plan.morsels(&self.parts).ok()?, self.pace()))
    }

    /// The execution that `partition` belongs to: a partition that runs again begins a new one.
    fn shared(&self, partition: usize) -> farquet_core::Result<Arc<Shared>> {
        let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(run) = run.as_mut()
            && run.partitions.insert(partition)
        {
            return Ok(Arc::clone(&run.shared));
        }
        let morsels = self.plan.morsels(&self.parts)?;
        let pace = self.pace();
        if pace == Pace::Eager && self.dynamic.is_empty() {
            let planned = Scan::planned(&morsels, pace);
            self.plan.query.check_budget(planned.requests, planned.bytes)?;
        }
        let (plan, parts, dynamic) = (Arc::clone(&self.plan), Arc::clone(&self.parts), self.dynamic.clone());
        let needed = move |morsel: usize| dynamic.may_match(&plan, &parts[morsel]);
        let scan = Scan::new(Arc::clone(&self.plan.query), morsels, pace, self.plan.hop, Box::new(needed));
        let shared = Arc::new(Shared { scan, driver: Mutex::default() });
        *run = Some(Run { shared: Arc::clone(&shared), partitions: HashSet::from([partition]) });
        Ok(shared)
    }
}

impl DisplayAs for ScanExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = &self.plan;
        let separator = if matches!(format, DisplayFormatType::TreeRender) { "\n" } else { ", " };
        let late = plan.files.iter().filter(|file| file.late).count();
        let mut items = vec![
            format!("files={}", plan.files.len()),
            format!("row_groups={}/{}", self.parts.len(), plan.total_row_groups()),
        ];
        if let Some(planned) = self.planned() {
            items.push(format!("requests={}", planned.requests));
            items.push(format!("bytes={}", planned.bytes));
            if planned.held > 0 {
                items.push(format!("held={}", planned.held));
            }
        }
        let names = plan.projection.iter().map(|index| plan.table_schema.field(*index).name().as_str());
        items.push(format!("columns=[{}]", names.collect::<Vec<_>>().join(", ")));
        if late > 0 {
            items.push(format!("filter_first={late} files"));
        }
        if let Some(predicate) = &plan.predicate {
            items.push(format!("predicate={predicate}"));
        }
        if !self.dynamic.is_empty() {
            items.push(format!("dynamic={}", self.dynamic));
        }
        if let Some(limit) = plan.limit {
            items.push(format!("limit={limit}"));
        }
        let title = if matches!(format, DisplayFormatType::TreeRender) { "" } else { "RemoteParquetScan: " };
        write!(f, "{title}{}", items.join(separator))?;
        if matches!(format, DisplayFormatType::Verbose) {
            for morsel in plan.morsels(&self.parts).unwrap_or_default() {
                let ranges: Vec<_> = morsel.ranges.iter().map(|r| format!("{}..{}", r.start, r.end)).collect();
                write!(f, "; {} row group {}: {}", morsel.file.name(), morsel.row_group, ranges.join(" "))?;
            }
        }
        Ok(())
    }
}

impl ExecutionPlan for ScanExec {
    fn name(&self) -> &'static str {
        "RemoteParquetScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![]
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> EngineResult<TreeNodeRecursion>,
    ) -> EngineResult<TreeNodeRecursion> {
        let mut recursion = TreeNodeRecursion::Continue;
        for filter in self.plan.predicate.iter().chain(self.dynamic.expressions()) {
            recursion = visit(filter)?;
            if recursion == TreeNodeRecursion::Stop {
                break;
            }
        }
        Ok(recursion)
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: datafusion::physical_plan::execution_plan::ReplaceChildrenOptions,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> EngineResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn reset_state(self: Arc<Self>) -> EngineResult<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self { run: Arc::default(), metrics: ExecutionPlanMetricsSet::new(), ..(*self).clone() }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> EngineResult<SendableRecordBatchStream> {
        let shared = self.shared(partition).map_err(external)?;
        if self.dynamic.is_empty() {
            // Scans that wait for nobody begin together; a filter that is still to come is worth waiting for.
            shared.start();
        }
        let (plan, parts, output) = (Arc::clone(&self.plan), Arc::clone(&self.parts), self.output());
        let batch_size = context.session_config().batch_size();
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let readers = if plan.files.iter().any(|file| file.late) { LATE_READERS } else { 1 };
        let schema = Arc::clone(&output);
        let morsels = stream::unfold(shared, |shared| async move {
            shared.start();
            shared.scan.next().await.map(|ready| (ready, shared))
        });
        let batches = morsels
            .map(move |ready| {
                let (plan, parts, output) = (Arc::clone(&plan), Arc::clone(&parts), Arc::clone(&output));
                async move {
                    let ready = ready?;
                    let part = &parts[ready.index];
                    MorselReader::open(plan, part, ready, output, batch_size).await
                }
            })
            .buffered(readers)
            .map_ok(|reader| {
                stream::try_unfold(
                    reader,
                    |mut reader| async move { Ok(reader.next().await?.map(|batch| (batch, reader))) },
                )
            })
            .try_flatten()
            .map(move |batch| {
                let batch = batch.map_err(external)?;
                metrics.record_output(batch.num_rows());
                Ok(batch)
            });
        Ok(Box::pin(cooperative(RecordBatchStreamAdapter::new(schema, batches.boxed()))))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(&self, _: &[Arc<Statistics>], args: &StatisticsArgs) -> EngineResult<Arc<Statistics>> {
        // Partitions take what comes next: which rows a single one will see is not known.
        let single = self.properties.partitioning.partition_count() == 1;
        if args.partition().is_none() || single {
            return Ok(self.statistics());
        }
        Ok(Arc::new(Statistics::new_unknown(&self.output())))
    }

    /// Static filters are known from planning. Dynamic ones are looked at before each request.
    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        result: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> EngineResult<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let filters: Vec<_> = result.parent_filters.iter().map(|filter| Arc::clone(&filter.filter)).collect();
        let answer = FilterPushdownPropagation::with_parent_pushdown_result(vec![PushedDown::No; filters.len()]);
        if phase != FilterPushdownPhase::Post {
            return Ok(answer);
        }
        let dynamic = self.dynamic.with(filters, &self.plan)?;
        let node: Arc<dyn ExecutionPlan> = Arc::new(Self { dynamic, run: Arc::default(), ..self.clone() });
        Ok(answer.with_updated_node(node))
    }

    /// Row groups in the order of a top-k above: its filter then tightens early. The sort itself stays.
    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
    ) -> EngineResult<SortOrderPushdownResult<Arc<dyn ExecutionPlan>>> {
        let Some(first) = order.first() else { return Ok(SortOrderPushdownResult::Unsupported) };
        let Some(column) = first.expr.downcast_ref::<Column>() else {
            return Ok(SortOrderPushdownResult::Unsupported);
        };
        let descending = first.options.descending;
        let mut keyed: Vec<_> = self
            .parts
            .iter()
            .map(|part| {
                let bounds = self.plan.bounds(part, column.name());
                (bounds.map(|(min, max)| if descending { max } else { min }), part.clone())
            })
            .collect();
        if keyed.iter().all(|(key, _)| key.is_none()) {
            return Ok(SortOrderPushdownResult::Unsupported);
        }
        // Row groups of unknown bounds may hold anything: first.
        keyed.sort_by(|(a, _), (b, _)| {
            let order = match (a, b) {
                (Some(a), Some(b)) => a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal),
                (a, b) => return a.is_some().cmp(&b.is_some()),
            };
            if descending { order.reverse() } else { order }
        });
        let parts = keyed.into_iter().map(|(_, part)| part).collect();
        let inner = Arc::new(Self { parts, ordered: true, run: Arc::default(), ..self.clone() });
        Ok(SortOrderPushdownResult::Inexact { inner })
    }
}
