//! What a query sees: the session's own tables, and the files that were opened for it.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::common::Result as EngineResult;

/// Tables that exist for one query, by name.
pub(crate) type Opened = Arc<RwLock<HashMap<String, Arc<dyn TableProvider>>>>;

/// The session's catalog, with the query's tables in its default schema.
#[derive(Debug)]
pub(crate) struct QueryCatalog {
    session: Arc<dyn CatalogProvider>,
    default_schema: String,
    opened: Opened,
}

impl QueryCatalog {
    pub(crate) fn new(session: Arc<dyn CatalogProvider>, default_schema: String, opened: Opened) -> Self {
        Self { session, default_schema, opened }
    }
}

impl CatalogProvider for QueryCatalog {
    fn schema_names(&self) -> Vec<String> {
        self.session.schema_names()
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        let session = self.session.schema(name)?;
        if name != self.default_schema {
            return Some(session);
        }
        Some(Arc::new(QuerySchema { session, opened: Arc::clone(&self.opened) }))
    }
}

#[derive(Debug)]
struct QuerySchema {
    session: Arc<dyn SchemaProvider>,
    opened: Opened,
}

impl QuerySchema {
    fn opened(&self, name: &str) -> Option<Arc<dyn TableProvider>> {
        self.opened.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }
}

#[async_trait]
impl SchemaProvider for QuerySchema {
    fn table_names(&self) -> Vec<String> {
        let mut names = self.session.table_names();
        names.extend(self.opened.read().unwrap_or_else(PoisonError::into_inner).keys().cloned());
        names
    }

    async fn table(&self, name: &str) -> EngineResult<Option<Arc<dyn TableProvider>>> {
        match self.opened(name) {
            Some(table) => Ok(Some(table)),
            None => self.session.table(name).await,
        }
    }

    /// What a statement creates stays in the session.
    fn register_table(
        &self,
        name: String,
        table: Arc<dyn TableProvider>,
    ) -> EngineResult<Option<Arc<dyn TableProvider>>> {
        self.session.register_table(name, table)
    }

    fn deregister_table(&self, name: &str) -> EngineResult<Option<Arc<dyn TableProvider>>> {
        self.session.deregister_table(name)
    }

    fn table_exist(&self, name: &str) -> bool {
        self.opened(name).is_some() || self.session.table_exist(name)
    }
}
