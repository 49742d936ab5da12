//! The world in which a query is planned: the session's engine, and the query's files as tables in it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use datafusion::catalog::{CatalogProviderList, MemoryCatalogProviderList, TableProvider, view::ViewTable};
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement as EngineStatement;
use farquet_core::file::File;
use farquet_core::snapshot::{Snapshot, Wanted};
use farquet_core::{Error, ErrorKind, Freshness, QueryContext, Result, Url, location};

use crate::catalog::{Opened, QueryCatalog};
use crate::error::from_engine;
use crate::names::{Files, Named, Names};
use crate::references::{References, hide_filename};
use crate::table::FileTable;

/// Views within views, which could be a circle.
const DEEPEST_VIEW: usize = 32;

/// What a statement needs to be planned.
pub(crate) struct World {
    pub(crate) context: SessionContext,
    pub(crate) statement: EngineStatement,
    /// Every file that was opened for it.
    pub(crate) files: Vec<Arc<File>>,
}

/// Opens what statements name.
pub(crate) struct Opener<'a> {
    pub(crate) engine: &'a SessionContext,
    pub(crate) names: &'a Names,
    pub(crate) base: Option<&'a Url>,
    pub(crate) freshness: Freshness,
    pub(crate) query: &'a Arc<QueryContext>,
    pub(crate) snapshot: &'a Snapshot,
}

impl Opener<'_> {
    /// Opens everything that `statement` names in one wave.
    pub(crate) async fn open(&self, mut statement: EngineStatement) -> Result<World> {
        let state = self.engine.state();
        let mut found = References::default();
        found.take_from(&mut statement)?;
        let mut named: HashMap<String, Files> = HashMap::new();
        let mut views: Vec<(String, EngineStatement)> = Vec::new();
        let mut pending = vec![(statement.clone(), 0)];
        while let Some((from, depth)) = pending.pop() {
            for name in names_in(self.names, &state, &from)? {
                if found.files.contains_key(&name) {
                    continue;
                }
                match self.names.get(&name) {
                    Some(Named::Files(files)) => {
                        named.insert(name, files);
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
                    None => {}
                }
            }
        }
        let filename = found.filename;
        named.extend(found.files.into_iter().map(|(name, locations)| (name, Files { locations, freshness: None })));
        let (opened, files) = self.open_files(named, filename).await?;
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
        Ok(World { context, statement, files })
    }

    async fn open_files(
        &self,
        named: HashMap<String, Files>,
        filename: bool,
    ) -> Result<(HashMap<String, FileTable>, Vec<Arc<File>>)> {
        let mut wanted: Vec<Wanted> = Vec::new();
        let mut tables = Vec::new();
        for (name, files) in named {
            let urls = urls(&files.locations, self.base)?;
            tables.push((name, urls.len()));
            let freshness = files.freshness.unwrap_or(self.freshness);
            wanted.extend(urls.into_iter().map(|url| Wanted { url, freshness }));
        }
        let files = self.snapshot.open(self.query, &wanted).await?;
        let mut rest = files.iter().cloned();
        let opened = tables.into_iter().map(|(name, count)| {
            let files = rest.by_ref().take(count).collect();
            Ok((name, FileTable::new(Arc::clone(self.query), files, filename)?))
        });
        Ok((opened.collect::<Result<_>>()?, files))
    }
}

/// The URLs of `locations`.
pub(crate) fn urls(locations: &[String], base: Option<&Url>) -> Result<Vec<Url>> {
    let mut urls = Vec::new();
    for location in locations {
        urls.extend(location::resolve(location, base)?);
    }
    Ok(urls)
}

/// The session's names that `statement` refers to; all of them where it asks which there are.
fn names_in(names: &Names, state: &SessionState, statement: &EngineStatement) -> Result<Vec<String>> {
    if let EngineStatement::Explain(explain) = statement {
        return names_in(names, state, &explain.statement);
    }
    let references = state.resolve_table_references(statement).map_err(|error| from_engine(&error))?;
    if references.iter().any(|reference| reference.schema() == Some("information_schema")) {
        return Ok(names.all());
    }
    Ok(references.iter().map(|reference| reference.table().to_owned()).collect())
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
