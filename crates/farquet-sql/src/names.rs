//! The names of a session: tables of files and views. Nothing is opened until a query uses them.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use datafusion::sql::parser::Statement as EngineStatement;
use farquet_core::{Error, ErrorKind, Freshness, Result};

/// What a name stands for.
#[derive(Debug, Clone)]
pub(crate) enum Named {
    Files(Files),
    View(EngineStatement),
}

/// Locations of files, and when earlier answers about them are good enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Files {
    pub(crate) locations: Vec<String>,
    /// `None`: as the session says.
    pub(crate) freshness: Option<Freshness>,
}

/// All names of a session, in lower case unless they were quoted.
#[derive(Debug, Default)]
pub(crate) struct Names(RwLock<BTreeMap<String, Named>>);

impl Names {
    pub(crate) fn get(&self, name: &str) -> Option<Named> {
        let names = self.0.read().unwrap_or_else(PoisonError::into_inner);
        names.get(name).or_else(|| names.get(&name.to_lowercase())).cloned()
    }

    /// Whether exactly `name` is taken.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains_key(name)
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    pub(crate) fn put(&self, name: String, named: Named) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(name, named);
    }

    /// Whether `name` was one of these.
    pub(crate) fn forget(&self, name: &str, view: bool) -> Result<bool> {
        match self.get(name) {
            None => Ok(false),
            Some(named) if matches!(named, Named::View(_)) == view => {
                let mut names = self.0.write().unwrap_or_else(PoisonError::into_inner);
                Ok(names.remove(name).or_else(|| names.remove(&name.to_lowercase())).is_some())
            }
            Some(_) => {
                let (is, other) = if view { ("table", "DROP TABLE") } else { ("view", "DROP VIEW") };
                Err(Error::new(ErrorKind::Query, format!("'{name}' is a {is}")).hint(format!("use {other}")))
            }
        }
    }
}
