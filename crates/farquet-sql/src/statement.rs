//! Statements, and which of them act on the session's names rather than on rows.

use datafusion::scalar::ScalarValue;
use datafusion::sql::parser::{DFParserBuilder, Statement as EngineStatement};
use datafusion::sql::sqlparser::ast::{CreateView, ObjectName, ObjectNamePart, ObjectType, Statement as SqlStatement};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use farquet_core::redact::redact_text;
use farquet_core::{Error, ErrorKind, Result};

use crate::depth;
use crate::error::from_engine;
use crate::names::{Files, Named};

/// One statement, parsed.
#[derive(Debug, Clone)]
pub struct Statement {
    syntax: EngineStatement,
    parameters: Vec<ScalarValue>,
}

/// What a statement does to the session's names.
pub(crate) enum Action {
    Name { name: String, named: Box<Named>, replace: bool, exists_ok: bool },
    Forget { name: String, view: bool },
    Run,
}

pub(crate) fn parse(sql: &str) -> Result<Vec<Statement>> {
    let parsed = DFParserBuilder::new(sql)
        .with_dialect(&GenericDialect {})
        .build()
        .and_then(|mut parser| parser.parse_statements());
    let mut statements = parsed.map_err(|error| from_engine(&error))?;
    if let Some(error) = statements.iter_mut().find_map(|statement| depth::bound(statement).err()) {
        // Dropping a tree goes as deep as the tree.
        std::mem::forget(statements);
        return Err(error);
    }
    Ok(statements.into_iter().map(|syntax| Statement { syntax, parameters: Vec::new() }).collect())
}

impl Statement {
    /// Whether it answers with rows, as far as its syntax tells.
    pub fn returns_rows(&self) -> bool {
        match &self.syntax {
            EngineStatement::Explain(_) | EngineStatement::CopyTo(_) => true,
            EngineStatement::Statement(statement) => matches!(
                statement.as_ref(),
                SqlStatement::Query(_)
                    | SqlStatement::Explain { .. }
                    | SqlStatement::ExplainTable { .. }
                    | SqlStatement::ShowTables { .. }
                    | SqlStatement::ShowColumns { .. }
                    | SqlStatement::ShowVariable { .. }
                    | SqlStatement::ShowCreate { .. }
            ),
            EngineStatement::CreateExternalTable(_) | EngineStatement::Reset(_) => false,
        }
    }

    /// Gives `$1`, `$2` and so on their values.
    #[must_use]
    pub fn bind(self, parameters: Vec<ScalarValue>) -> Self {
        Self { parameters, ..self }
    }

    pub(crate) fn parameters(&self) -> &[ScalarValue] {
        &self.parameters
    }

    pub(crate) fn engine(&self) -> &EngineStatement {
        &self.syntax
    }

    pub(crate) fn action(&self) -> Result<Action> {
        match &self.syntax {
            EngineStatement::CreateExternalTable(create) => {
                if !create.file_type.eq_ignore_ascii_case("parquet") {
                    let message = format!("files are read as PARQUET, not as {}", create.file_type);
                    return Err(Error::new(ErrorKind::Query, message));
                }
                if !create.columns.is_empty() || !create.table_partition_cols.is_empty() {
                    let message = "an external table takes its columns from its files";
                    return Err(Error::new(ErrorKind::Query, message).hint("leave the column list out"));
                }
                Ok(Action::Name {
                    name: plain(&create.name)?,
                    named: Box::new(Named::Files(Files { locations: create.locations.clone(), freshness: None })),
                    replace: create.or_replace,
                    exists_ok: create.if_not_exists,
                })
            }
            EngineStatement::CopyTo(copy) if copy.target.contains("://") && !copy.target.starts_with("file://") => {
                let message = format!("'{}' is not a local file", redact_text(&copy.target));
                Err(Error::new(ErrorKind::Query, message).hint("COPY writes local files"))
            }
            EngineStatement::Statement(statement) => match statement.as_ref() {
                SqlStatement::CreateView(view) if !view.materialized => Ok(Action::Name {
                    name: plain(&view.name)?,
                    named: Box::new(Named::View(definition(view)?)),
                    replace: view.or_replace,
                    exists_ok: view.if_not_exists,
                }),
                SqlStatement::Drop { object_type: ObjectType::View | ObjectType::Table, names, .. }
                    if names.len() == 1 =>
                {
                    let view = matches!(statement.as_ref(), SqlStatement::Drop { object_type: ObjectType::View, .. });
                    Ok(Action::Forget { name: plain(&names[0])?, view })
                }
                _ => Ok(Action::Run),
            },
            _ => Ok(Action::Run),
        }
    }
}

/// The query of a view, with the names that the view gives its columns.
fn definition(view: &CreateView) -> Result<EngineStatement> {
    let query = EngineStatement::Statement(Box::new(SqlStatement::Query(view.query.clone())));
    if view.columns.is_empty() {
        return Ok(query);
    }
    let columns: Vec<String> = view.columns.iter().map(|column| column.name.to_string()).collect();
    let renamed = format!("SELECT * FROM ({query}) AS named ({})", columns.join(", "));
    match parse(&renamed)?.pop() {
        Some(renamed) => Ok(renamed.syntax),
        None => Ok(query),
    }
}

/// Names without a schema, in lower case unless quoted.
fn plain(name: &ObjectName) -> Result<String> {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] if ident.quote_style.is_none() => Ok(ident.value.to_lowercase()),
        [ObjectNamePart::Identifier(ident)] => Ok(ident.value.clone()),
        _ => Err(Error::new(ErrorKind::Query, format!("'{name}' has more than one part"))
            .hint("views and external tables have plain names")),
    }
}
