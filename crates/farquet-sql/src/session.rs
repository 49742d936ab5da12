//! A session: names, settings and what was learned, for one query after another.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use datafusion::common::TableReference;
use datafusion::error::DataFusionError;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SessionStateBuilder, SessionStateDefaults};
use datafusion::logical_expr::{DdlStatement, LogicalPlan, Statement as EnginePlan};
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use datafusion::scalar::ScalarValue;
use farquet_core::{Client, Error, ErrorKind, Freshness, Limits, QueryContext, Result, Url, location, snapshot};
use futures::FutureExt;
use futures::future::try_join;

use crate::early_stop::EarlyStop;
use crate::error::from_engine;
use crate::names::{Files, Named, Names};
use crate::proof::unproved;
use crate::result::{QueryResult, gave_up};
use crate::statement::{Action, Statement, parse};
use crate::world::{Opener, World, urls};

/// How often a query begins anew because a file changed under it.
const RESTARTS: u32 = 2;

/// Answers SQL over files. Cheap to clone; clones share everything.
#[derive(Debug, Clone)]
pub struct Session(Arc<Inner>);

struct Inner {
    client: Arc<Client>,
    engine: SessionContext,
    base: Option<Url>,
    names: Names,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("client", &self.client).finish_non_exhaustive()
    }
}

/// One state of the world for several queries, as [`Session::snapshot`] takes it. They share every validation, footer and body.
#[derive(Debug, Clone)]
pub struct Snapshot {
    session: Session,
    files: Arc<snapshot::Snapshot>,
}

/// Settings of a [`Session`].
#[derive(Debug)]
pub struct SessionBuilder {
    client: Arc<Client>,
    base: Option<Url>,
    partitions: usize,
    pruning: bool,
    memory: Option<usize>,
}

impl SessionBuilder {
    /// What locations without a scheme are relative to; a folder's URL ends with `/`.
    #[must_use]
    pub fn base(mut self, base: Url) -> Self {
        self.base = Some(base);
        self
    }

    /// Decoders and operators that run at once. Has no influence on requests.
    #[must_use]
    pub fn target_partitions(mut self, partitions: usize) -> Self {
        self.partitions = partitions.max(1);
        self
    }

    /// Whether statistics in files decide what is read, and answer without reading; they do by default. For files whose
    /// statistics are in doubt. A statement can say so too: `SET datafusion.execution.parquet.pruning = false`.
    #[must_use]
    pub fn pruning(mut self, pruning: bool) -> Self {
        self.pruning = pruning;
        self
    }

    /// Operators of all queries together hold at most so many bytes, and nothing is spilled to disk: a query that needs more fails.
    /// By default they hold what they need, and spill where the engine thinks it right.
    #[must_use]
    pub fn in_memory(mut self, bytes: usize) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// The session.
    pub fn build(self) -> Result<Session> {
        let config = SessionConfig::new()
            .with_information_schema(true)
            .with_target_partitions(self.partitions)
            .with_parquet_pruning(self.pruning);
        let mut runtime = RuntimeEnvBuilder::new();
        if let Some(bytes) = self.memory {
            let no_disk = DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled);
            runtime = runtime.with_memory_limit(bytes, 1.0).with_disk_manager_builder(no_disk);
        }
        let runtime = runtime.build_arc().map_err(|error| from_engine(&error))?;
        let state = functions()
            .with_config(config)
            .with_runtime_env(runtime)
            .with_physical_optimizer_rule(Arc::new(EarlyStop))
            .build();
        let engine = SessionContext::new_with_state(state);
        Ok(Session(Arc::new(Inner { client: self.client, engine, base: self.base, names: Names::default() })))
    }
}

impl Session {
    /// A session on `client`.
    pub fn builder(client: Arc<Client>) -> SessionBuilder {
        SessionBuilder { client, base: None, partitions: 1, pruning: true, memory: None }
    }

    /// Registers `name` for the files of `location`, a list of patterns. Nothing is opened before a query uses it.
    pub fn register_files(&self, name: &str, location: &str) -> Result<()> {
        self.register(name, location, None)
    }

    /// As [`Session::register_files`], with a rule of the table's own for when an earlier answer is good enough.
    pub fn register_files_with(&self, name: &str, location: &str, freshness: Freshness) -> Result<()> {
        self.register(name, location, Some(freshness))
    }

    fn register(&self, name: &str, location: &str, freshness: Option<Freshness>) -> Result<()> {
        let locations: Vec<String> = location::split_list(location).into_iter().map(str::to_owned).collect();
        if locations.is_empty() {
            return Err(Error::new(ErrorKind::Location, format!("table {name} has no location")));
        }
        urls(&locations, self.0.base.as_ref())?;
        self.0.names.put(name.to_lowercase(), Named::Files(Files { locations, freshness }));
        Ok(())
    }

    /// The client below, with its caches.
    pub fn client(&self) -> &Arc<Client> {
        &self.0.client
    }

    /// Takes a snapshot: one state of the world, as of now or later, for every query that is run on it.
    pub fn snapshot(&self) -> Snapshot {
        let files = Arc::new(snapshot::Snapshot::new(Arc::clone(&self.0.client)));
        Snapshot { session: self.clone(), files }
    }

    /// The statements of `sql`, which are separated by semicolons.
    pub fn parse(&self, sql: &str) -> Result<Vec<Statement>> {
        parse(sql)
    }

    /// Begins a query's account. What the query reads is never older than this call.
    pub fn begin(&self, limits: Limits) -> Arc<QueryContext> {
        self.0.client.begin(limits)
    }

    /// Runs the one statement of `sql` on a snapshot of its own. What it reads is never older than this call, whenever the
    /// future is polled.
    pub fn query(&self, sql: &str) -> impl Future<Output = Result<QueryResult>> + Send + use<> {
        let query = self.begin(Limits::default());
        let (session, statement) = (self.clone(), self.parse(sql).and_then(only));
        async move { session.run(&query, &statement?).await }
    }

    /// Runs `statement` on the account of `query`, and anew if a file changes before the first rows are there.
    ///
    /// Dropping the future cancels all requests of the query.
    pub async fn run(&self, query: &Arc<QueryContext>, statement: &Statement) -> Result<QueryResult> {
        let mut snapshot = snapshot::Snapshot::of_query(query);
        let mut restarts = 0..RESTARTS;
        loop {
            let mut acted = false;
            match self.guarded(&snapshot, query, statement, &mut acted).await {
                Err(error) if error.kind() == ErrorKind::SourceChanged && !acted && restarts.next().is_some() => {
                    snapshot = snapshot.renewed();
                    query.stats().restarted();
                }
                result => return result,
            }
        }
    }

    /// One attempt, whose panics are errors. Says whether it `acted` in a way that must not be repeated.
    async fn guarded(
        &self,
        snapshot: &snapshot::Snapshot,
        query: &Arc<QueryContext>,
        statement: &Statement,
        acted: &mut bool,
    ) -> Result<QueryResult> {
        let attempt = AssertUnwindSafe(self.attempt(snapshot, query, statement, acted)).catch_unwind().await;
        match attempt.unwrap_or_else(|_| Err(gave_up())) {
            // Nobody is told of a column that is missing in a footer of yesterday.
            Err(error) if is_about_content(&error) => match snapshot.prove_all(query).await {
                Err(other) if other.kind() != ErrorKind::Budget => Err(other),
                _ => Err(error),
            },
            result => result,
        }
    }

    async fn attempt(
        &self,
        snapshot: &snapshot::Snapshot,
        query: &Arc<QueryContext>,
        statement: &Statement,
        acted: &mut bool,
    ) -> Result<QueryResult> {
        let Inner { client, engine, base, names } = self.0.as_ref();
        let parameters = statement.parameters();
        let statement = match statement.action()? {
            Action::Name { name, named, replace, exists_ok } => {
                self.create(name, *named, replace, exists_ok)?;
                return self.nothing(query).await;
            }
            Action::Forget { name, view } if names.forget(&name, view)? => return self.nothing(query).await,
            Action::Forget { .. } | Action::Run => statement.engine().clone(),
        };
        let parameters = parameters.to_vec();
        let (base, freshness) = (base.as_ref(), client.settings().freshness);
        let opener = Opener { engine, names, base, freshness, query, snapshot };
        let World { context, statement, files } = opener.open(statement).await?;
        let plan = context.state().statement_to_plan(statement).await;
        let plan = plan.and_then(|plan| bound(plan, parameters)).map_err(|error| from_engine(&error))?;
        if acts(&plan) {
            // What is done cannot be begun anew.
            snapshot.prove(query, &files).await?;
            *acted = writes_files(&plan);
        }
        if keeps_a_plan(&plan) && !files.is_empty() {
            let message = "a plan over files cannot be kept, since they may change";
            return Err(Error::new(ErrorKind::Query, message).hint("a view keeps the query instead"));
        }
        let frame = match plan {
            // Settings and functions belong to the session.
            LogicalPlan::Statement(_) | LogicalPlan::Ddl(DdlStatement::CreateFunction(_)) => {
                engine.execute_logical_plan(plan).await
            }
            LogicalPlan::Ddl(_) => context.execute_logical_plan(plan).await,
            plan => Ok(DataFrame::new(context.state(), plan)),
        };
        let frame = frame.map_err(|error| from_engine(&error))?;
        let analyzed = matches!(frame.logical_plan(), LogicalPlan::Analyze(_));
        let task = Arc::new(frame.task_ctx());
        let plan = frame.create_physical_plan().await.map_err(|error| from_engine(&error))?;
        let unproved = unproved(&plan, &files);
        let rows = execute_stream(plan, task).map_err(|error| from_engine(&error))?;
        // Beside the data, in the same wave, and before any row is handed out.
        let proof = snapshot.prove(query, &unproved);
        let (rows, ()) = try_join(QueryResult::begin(Arc::clone(query), rows), proof).await?;
        if analyzed { rows.with_http_section().await } else { Ok(rows) }
    }

    /// The result of a statement that only acts.
    async fn nothing(&self, query: &Arc<QueryContext>) -> Result<QueryResult> {
        let empty = self.0.engine.read_empty().and_then(|frame| frame.limit(0, Some(0)));
        let rows = async { empty?.execute_stream().await }.await;
        QueryResult::begin(Arc::clone(query), rows.map_err(|error: DataFusionError| from_engine(&error))?).await
    }

    fn create(&self, name: String, named: Named, replace: bool, exists_ok: bool) -> Result<()> {
        if let Named::Files(files) = &named {
            urls(&files.locations, self.0.base.as_ref())?;
        }
        let taken = self.0.names.has(&name);
        let known = taken || self.0.engine.table_exist(TableReference::bare(name.as_str())).unwrap_or(false);
        match (known, replace, exists_ok) {
            (true, false, true) => Ok(()),
            (true, false, false) => Err(Error::new(ErrorKind::Query, format!("the name '{name}' is taken"))
                .hint("CREATE OR REPLACE takes it over")),
            _ => {
                self.0.names.put(name, named);
                Ok(())
            }
        }
    }
}

impl Snapshot {
    /// As [`Session::query`], on this state of the world.
    pub fn query(&self, sql: &str) -> impl Future<Output = Result<QueryResult>> + Send + use<> {
        let query = self.session.begin(Limits::default());
        let (snapshot, statement) = (self.clone(), self.session.parse(sql).and_then(only));
        async move { snapshot.run(&query, &statement?).await }
    }

    /// As [`Session::run`], on this state of the world. A file that has changed since it became part of it fails the query with
    /// `SourceChanged`, since there is no other state to begin anew with.
    pub async fn run(&self, query: &Arc<QueryContext>, statement: &Statement) -> Result<QueryResult> {
        let mut restarts = 0..RESTARTS;
        loop {
            let (generation, mut acted) = (self.files.generation(), false);
            match self.session.guarded(&self.files, query, statement, &mut acted).await {
                // What was known from before, and never was proved, is replaced.
                Err(error) if error.kind() == ErrorKind::SourceChanged && !acted => {
                    self.files.drop_unproved();
                    if self.files.generation() == generation || restarts.next().is_none() {
                        return Err(error);
                    }
                    query.stats().restarted();
                }
                result => return result,
            }
        }
    }
}

/// An engine with every function, and with the formats that COPY writes where there is a place to write to.
fn functions() -> SessionStateBuilder {
    let builder = SessionStateBuilder::new()
        .with_expr_planners(SessionStateDefaults::default_expr_planners())
        .with_scalar_functions(SessionStateDefaults::default_scalar_functions())
        .with_higher_order_functions(SessionStateDefaults::default_higher_order_functions())
        .with_aggregate_functions(SessionStateDefaults::default_aggregate_functions())
        .with_window_functions(SessionStateDefaults::default_window_functions())
        .with_table_function_list(SessionStateDefaults::default_table_functions());
    #[cfg(feature = "copy")]
    let builder = builder.with_file_formats(SessionStateDefaults::default_file_formats());
    builder
}

/// `plan` with values for its placeholders. A statement that is prepared keeps its own.
fn bound(plan: LogicalPlan, parameters: Vec<ScalarValue>) -> Result<LogicalPlan, DataFusionError> {
    let prepares = matches!(plan, LogicalPlan::Statement(EnginePlan::Prepare(_)));
    if parameters.is_empty() || prepares { Ok(plan) } else { plan.with_param_values(parameters) }
}

/// The one statement of a text.
fn only(mut statements: Vec<Statement>) -> Result<Statement> {
    match (statements.pop(), statements.len()) {
        (Some(statement), 0) => Ok(statement),
        (last, others) => {
            let found = others + usize::from(last.is_some());
            Err(Error::new(ErrorKind::Query, format!("one statement was expected, {found} were found")))
        }
    }
}

/// Whether what stands in files may have caused `error`.
fn is_about_content(error: &Error) -> bool {
    use ErrorKind::{Decoder, Malformed, Query, Schema, Unsupported};
    matches!(error.kind(), Query | Schema | Malformed | Unsupported | Decoder)
}

/// Whether `plan` changes something when it runs.
fn acts(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Ddl(_) | LogicalPlan::Dml(_) | LogicalPlan::Copy(_) => true,
        LogicalPlan::Analyze(analyze) => acts(&analyze.input),
        _ => false,
    }
}

/// Whether `plan` leaves files behind, also where it fails.
fn writes_files(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Copy(_) => true,
        LogicalPlan::Analyze(analyze) => writes_files(&analyze.input),
        _ => false,
    }
}

/// Whether the engine keeps what `plan` was made from, beyond the query.
fn keeps_a_plan(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Ddl(DdlStatement::CreateView(_)) | LogicalPlan::Statement(EnginePlan::Prepare(_)))
}
