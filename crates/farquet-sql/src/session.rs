//! A session: names, settings and what was learned, for one query after another.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, PoisonError, RwLock};

use datafusion::catalog::{CatalogProviderList, MemoryCatalogProviderList, TableProvider, view::ViewTable};
use datafusion::common::TableReference;
use datafusion::error::DataFusionError;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::{DdlStatement, LogicalPlan};
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use datafusion::sql::parser::Statement as EngineStatement;
use farquet_core::snapshot::Snapshot;
use farquet_core::{Client, Error, ErrorKind, Limits, QueryContext, Result, Url, location};
use futures::FutureExt;

use crate::catalog::{Opened, QueryCatalog};
use crate::early_stop::EarlyStop;
use crate::error::from_engine;
use crate::references::{References, hide_filename};
use crate::result::{QueryResult, gave_up};
use crate::statement::{Action, Statement, parse};
use crate::table::FileTable;

/// How often a query begins anew because a file changed under it.
const RESTARTS: u32 = 2;
/// Views within views, which could be a circle.
const DEEPEST_VIEW: usize = 32;

/// Answers SQL over files. Cheap to clone; clones share everything.
#[derive(Debug, Clone)]
pub struct Session(Arc<Inner>);

struct Inner {
    client: Arc<Client>,
    engine: SessionContext,
    base: Option<Url>,
    names: RwLock<BTreeMap<String, Named>>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("client", &self.client).finish_non_exhaustive()
    }
}

/// What a name of the session stands for. Nothing is opened until a query uses it.
#[derive(Debug, Clone)]
pub(crate) enum Named {
    Files(Vec<String>),
    View(EngineStatement),
}

/// Settings of a [`Session`].
#[derive(Debug)]
pub struct SessionBuilder {
    client: Arc<Client>,
    base: Option<Url>,
    partitions: usize,
    pruning: bool,
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

    /// The session.
    pub fn build(self) -> Result<Session> {
        let config = SessionConfig::new()
            .with_information_schema(true)
            .with_target_partitions(self.partitions)
            .with_parquet_pruning(self.pruning);
        let state = SessionStateBuilder::new_with_default_features()
            .with_config(config)
            .with_physical_optimizer_rule(Arc::new(EarlyStop))
            .build();
        let engine = SessionContext::new_with_state(state);
        Ok(Session(Arc::new(Inner { client: self.client, engine, base: self.base, names: RwLock::default() })))
    }
}

impl Session {
    /// A session on `client`.
    pub fn builder(client: Arc<Client>) -> SessionBuilder {
        SessionBuilder { client, base: None, partitions: 1, pruning: true }
    }

    /// Registers `name` for the files of `location`, a list of patterns. Nothing is opened before a query uses it.
    pub fn register_files(&self, name: &str, location: &str) -> Result<()> {
        let locations: Vec<String> = location::split_list(location).into_iter().map(str::to_owned).collect();
        if locations.is_empty() {
            return Err(Error::new(ErrorKind::Location, format!("table {name} has no location")));
        }
        self.urls(&locations)?;
        self.name(name.to_lowercase(), Named::Files(locations));
        Ok(())
    }

    /// The statements of `sql`, which are separated by semicolons.
    pub fn parse(&self, sql: &str) -> Result<Vec<Statement>> {
        parse(sql)
    }

    /// Begins a query's account. What the query reads is never older than this call.
    pub fn begin(&self, limits: Limits) -> Arc<QueryContext> {
        self.0.client.begin(limits)
    }

    /// Runs the one statement of `sql`.
    pub async fn query(&self, sql: &str) -> Result<QueryResult> {
        let query = self.begin(Limits::default());
        match self.parse(sql)?.as_slice() {
            [statement] => self.run(&query, statement).await,
            statements => {
                let message = format!("one statement was expected, {} were found", statements.len());
                Err(Error::new(ErrorKind::Query, message))
            }
        }
    }

    /// Runs `statement` on the account of `query`, and anew if a file changes before the first rows are there.
    ///
    /// Dropping the future cancels all requests of the query.
    pub async fn run(&self, query: &Arc<QueryContext>, statement: &Statement) -> Result<QueryResult> {
        let mut restarts = 0;
        loop {
            let attempt = AssertUnwindSafe(self.attempt(query, statement)).catch_unwind().await;
            match attempt.unwrap_or_else(|_| Err(gave_up())) {
                Err(error) if error.kind() == ErrorKind::SourceChanged && restarts < RESTARTS => {
                    restarts += 1;
                    query.stats().restarted();
                }
                result => return result,
            }
        }
    }

    async fn attempt(&self, query: &Arc<QueryContext>, statement: &Statement) -> Result<QueryResult> {
        let engine = &self.0.engine;
        let statement = match statement.action()? {
            Action::Name { name, named, replace, exists_ok } => {
                self.create(name, *named, replace, exists_ok)?;
                return self.nothing(query).await;
            }
            Action::Forget { name, view } if self.forget(&name, view)? => return self.nothing(query).await,
            Action::Forget { .. } | Action::Run => statement.engine().clone(),
        };
        let snapshot = Snapshot::new(Arc::clone(query));
        let (context, statement) = self.open(&snapshot, statement).await?;
        let plan = context.state().statement_to_plan(statement).await.map_err(|error| from_engine(&error))?;
        let rows = match plan {
            // Settings and functions belong to the session.
            LogicalPlan::Statement(_) | LogicalPlan::Ddl(DdlStatement::CreateFunction(_)) => {
                engine.execute_logical_plan(plan).await
            }
            LogicalPlan::Ddl(_) => context.execute_logical_plan(plan).await,
            plan => Ok(DataFrame::new(context.state(), plan)),
        };
        let rows = rows.map_err(|error| from_engine(&error))?;
        let rows = rows.execute_stream().await.map_err(|error| from_engine(&error))?;
        QueryResult::begin(Arc::clone(query), rows).await
    }

    /// The result of a statement that only acts.
    async fn nothing(&self, query: &Arc<QueryContext>) -> Result<QueryResult> {
        let empty = self.0.engine.read_empty().and_then(|frame| frame.limit(0, Some(0)));
        let rows = async { empty?.execute_stream().await }.await;
        QueryResult::begin(Arc::clone(query), rows.map_err(|error: DataFusionError| from_engine(&error))?).await
    }

    /// Opens everything that `statement` names in one wave, and returns the world in which it can be planned.
    async fn open(
        &self,
        snapshot: &Snapshot,
        mut statement: EngineStatement,
    ) -> Result<(SessionContext, EngineStatement)> {
        let state = self.0.engine.state();
        let mut found = References::default();
        found.take_from(&mut statement)?;
        let mut views: Vec<(String, EngineStatement)> = Vec::new();
        let mut pending = vec![(statement.clone(), 0)];
        while let Some((from, depth)) = pending.pop() {
            for name in self.names_in(&state, &from)? {
                let known = found.files.contains_key(&name) || views.iter().any(|(view, _)| *view == name);
                match self.named(&name) {
                    Some(Named::Files(locations)) if !known => {
                        found.files.insert(name, locations);
                    }
                    Some(Named::View(mut definition)) => {
                        if depth >= DEEPEST_VIEW {
                            return Err(Error::new(ErrorKind::Query, format!("the view {name} refers to itself")));
                        }
                        found.take_from(&mut definition)?;
                        pending.push((definition.clone(), depth + 1));
                        // A view that others need comes before them.
                        views.retain(|(view, _)| *view != name);
                        views.push((name, definition));
                    }
                    _ => {}
                }
            }
        }
        let opened = self.open_files(snapshot, &found).await?;
        let hidden: HashSet<String> =
            opened.iter().filter(|(_, table)| table.has_filename()).map(|(name, _)| name.clone()).collect();
        let tables = opened.into_iter().map(|(name, table)| (name, Arc::new(table) as Arc<dyn TableProvider>));
        let tables: Opened = Arc::new(RwLock::new(tables.collect()));
        let context = context(&state, &tables);
        for (name, mut definition) in views.into_iter().rev() {
            hide_filename(&mut definition, &hidden)?;
            let plan = context.state().statement_to_plan(definition).await.map_err(|error| from_engine(&error))?;
            let view = Arc::new(ViewTable::new(plan, None));
            tables.write().unwrap_or_else(PoisonError::into_inner).insert(name, view);
        }
        hide_filename(&mut statement, &hidden)?;
        Ok((context, statement))
    }

    /// The session's names that `statement` refers to; all of them where it asks which there are.
    fn names_in(&self, state: &SessionState, statement: &EngineStatement) -> Result<Vec<String>> {
        if let EngineStatement::Explain(explain) = statement {
            return self.names_in(state, &explain.statement);
        }
        let references = state.resolve_table_references(statement).map_err(|error| from_engine(&error))?;
        if references.iter().any(|reference| reference.schema() == Some("information_schema")) {
            return Ok(self.0.names.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect());
        }
        Ok(references.iter().map(|reference| reference.table().to_owned()).collect())
    }

    async fn open_files(&self, snapshot: &Snapshot, found: &References) -> Result<HashMap<String, FileTable>> {
        let mut wanted: Vec<Url> = Vec::new();
        let mut tables = Vec::new();
        for (name, locations) in &found.files {
            let urls = self.urls(locations)?;
            tables.push((name.clone(), urls.len()));
            wanted.extend(urls);
        }
        let mut files = snapshot.open(&wanted).await?.into_iter();
        tables
            .into_iter()
            .map(|(name, count)| Ok((name, FileTable::new(files.by_ref().take(count).collect(), found.filename)?)))
            .collect()
    }

    fn urls(&self, locations: &[String]) -> Result<Vec<Url>> {
        let mut urls = Vec::new();
        for location in locations {
            urls.extend(location::resolve(location, self.0.base.as_ref())?);
        }
        Ok(urls)
    }

    fn named(&self, name: &str) -> Option<Named> {
        let names = self.0.names.read().unwrap_or_else(PoisonError::into_inner);
        names.get(name).or_else(|| names.get(&name.to_lowercase())).cloned()
    }

    fn name(&self, name: String, named: Named) {
        self.0.names.write().unwrap_or_else(PoisonError::into_inner).insert(name, named);
    }

    fn create(&self, name: String, named: Named, replace: bool, exists_ok: bool) -> Result<()> {
        if let Named::Files(locations) = &named {
            self.urls(locations)?;
        }
        let taken = self.0.names.read().unwrap_or_else(PoisonError::into_inner).contains_key(&name);
        let known = taken || self.0.engine.table_exist(TableReference::bare(name.as_str())).unwrap_or(false);
        match (known, replace, exists_ok) {
            (true, false, true) => Ok(()),
            (true, false, false) => Err(Error::new(ErrorKind::Query, format!("the name '{name}' is taken"))
                .hint("CREATE OR REPLACE takes it over")),
            _ => {
                self.name(name, named);
                Ok(())
            }
        }
    }

    /// Whether `name` was one of the session's views or tables of files.
    fn forget(&self, name: &str, view: bool) -> Result<bool> {
        match self.named(name) {
            None => Ok(false),
            Some(named) if matches!(named, Named::View(_)) == view => {
                let mut names = self.0.names.write().unwrap_or_else(PoisonError::into_inner);
                if names.remove(name).is_none() {
                    names.remove(&name.to_lowercase());
                }
                Ok(true)
            }
            Some(_) => {
                let (is, other) = if view { ("table", "DROP TABLE") } else { ("view", "DROP VIEW") };
                Err(Error::new(ErrorKind::Query, format!("'{name}' is a {is}")).hint(format!("use {other}")))
            }
        }
    }
}

/// The session's engine with the query's tables in it.
fn context(state: &SessionState, tables: &Opened) -> SessionContext {
    let options = &state.config_options().catalog;
    let (catalog, schema) = (&options.default_catalog, &options.default_schema);
    let catalogs = MemoryCatalogProviderList::new();
    for name in state.catalog_list().catalog_names() {
        let Some(session) = state.catalog_list().catalog(&name) else { continue };
        let provider = if name == *catalog {
            Arc::new(QueryCatalog::new(session, schema.clone(), Arc::clone(tables)))
        } else {
            session
        };
        catalogs.register_catalog(name, provider);
    }
    let builder = SessionStateBuilder::new_from_existing(state.clone());
    SessionContext::new_with_state(builder.with_catalog_list(Arc::new(catalogs)).build())
}
