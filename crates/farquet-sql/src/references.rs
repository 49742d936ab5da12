//! Which files a statement names: `FROM 'url'`, `read_parquet(…)`, and registered names.
//!
//! Files have to be open before the engine can plan, so they are found in the syntax tree. What names a file there becomes a
//! plain table name without secrets, so that no plan or message of the engine shows a query string.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;

use datafusion::sql::parser::{CopyToSource, Statement as EngineStatement};
use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, Expr, FunctionArg, FunctionArgExpr, Ident, ObjectName, ObjectNamePart, Select, SelectItem,
    SelectItemQualifiedWildcardKind, TableFactor, Value, VisitMut, VisitorMut,
};
use farquet_core::redact::redact_text;
use farquet_core::{Error, ErrorKind, Result};

use crate::schema::FILENAME;

/// The table function that names files.
const READ_PARQUET: &str = "read_parquet";

/// What a statement names.
#[derive(Debug, Default)]
pub(crate) struct References {
    /// Locations by the table name that took their place.
    pub(crate) files: BTreeMap<String, Vec<String>>,
    /// Whether a column `filename` is spoken of.
    pub(crate) filename: bool,
}

impl References {
    /// Finds the files that `statement` names and puts table names in their place.
    pub(crate) fn take_from(&mut self, statement: &mut EngineStatement) -> Result<()> {
        visit(statement, &mut Finder { found: self })
    }

    /// The table name for `locations`: what they look like without secrets.
    fn name(&mut self, locations: Vec<String>) -> String {
        let shown: Vec<_> = locations.iter().map(|location| redact_text(location)).collect();
        let shown = shown.join(", ");
        let names = std::iter::once(shown.clone()).chain((2..).map(|n| format!("{shown} ({n})")));
        for name in names {
            match self.files.get(&name) {
                Some(known) if *known != locations => {}
                _ => {
                    self.files.insert(name.clone(), locations);
                    return name;
                }
            }
        }
        shown
    }
}

/// Leaves the virtual column of `tables` out of every `*` that they are directly below.
pub(crate) fn hide_filename(statement: &mut EngineStatement, tables: &HashSet<String>) -> Result<()> {
    if tables.is_empty() { Ok(()) } else { visit(statement, &mut Hider { tables }) }
}

/// Shows the parts of `statement` to `visitor`.
pub(crate) fn visit(statement: &mut EngineStatement, visitor: &mut impl VisitorMut<Break = Box<Error>>) -> Result<()> {
    let flow = match statement {
        EngineStatement::Statement(statement) => statement.visit(visitor),
        EngineStatement::Explain(explain) => return visit(&mut explain.statement, visitor),
        EngineStatement::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => query.visit(visitor),
            CopyToSource::Relation(name) => visitor.pre_visit_relation(name),
        },
        EngineStatement::CreateExternalTable(_) | EngineStatement::Reset(_) => ControlFlow::Continue(()),
    };
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

struct Finder<'a> {
    found: &'a mut References,
}

impl VisitorMut for Finder<'_> {
    type Break = Box<Error>;

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        let TableFactor::Table { name, args, .. } = factor else { return ControlFlow::Continue(()) };
        let Some(function) = args.as_ref().filter(|_| name.to_string().eq_ignore_ascii_case(READ_PARQUET)) else {
            return ControlFlow::Continue(());
        };
        match locations(&function.args) {
            Ok(locations) => {
                *name = table_name(self.found.name(locations));
                *args = None;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(Box::new(error)),
        }
    }

    fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<Self::Break> {
        if let [ObjectNamePart::Identifier(ident)] = relation.0.as_slice()
            && ident.quote_style.is_some()
            && !self.found.files.contains_key(&ident.value)
            && names_a_file(&ident.value)
        {
            *relation = table_name(self.found.name(vec![ident.value.clone()]));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        let ident = match expr {
            Expr::Identifier(ident) => Some(ident),
            Expr::CompoundIdentifier(parts) => parts.last_mut(),
            _ => None,
        };
        self.found.filename |= ident.is_some_and(|ident| ident.value.eq_ignore_ascii_case(FILENAME));
        ControlFlow::Continue(())
    }
}

fn table_name(name: String) -> ObjectName {
    ObjectName(vec![ObjectNamePart::Identifier(Ident::with_quote('"', name))])
}

/// A quoted name that is a URL, a path or a Parquet file's name.
fn names_a_file(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    // A URL without its scheme may have a query string; in a path, these characters are meant as they stand.
    let path = name.split(['?', '#']).next().unwrap_or(&name);
    let ends = |text: &str| [".parquet", ".parq", ".pq"].iter().any(|ending| text.ends_with(ending));
    name.contains("://") || ends(&name) || ends(path) || ["/", "./", "../"].iter().any(|start| name.starts_with(start))
}

/// The arguments of `read_parquet`: one location or a list, and DuckDB's options that are always on here.
fn locations(args: &[FunctionArg]) -> Result<Vec<String>> {
    let wrong = |what: String| {
        Err(Error::new(ErrorKind::Query, format!("{READ_PARQUET} {what}"))
            .hint(format!("{READ_PARQUET}('url') or {READ_PARQUET}(['url', 'url'])")))
    };
    let mut found = Vec::new();
    for arg in args {
        match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Array(array))) => {
                for element in &array.elem {
                    match text(element) {
                        Some(location) => found.push(location),
                        None => return wrong("takes a list of strings".to_owned()),
                    }
                }
            }
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => match text(expr) {
                Some(location) => found.push(location),
                None => return wrong("takes strings".to_owned()),
            },
            FunctionArg::Named { name, .. }
                if ["union_by_name", FILENAME].iter().any(|known| name.value.eq_ignore_ascii_case(known)) => {}
            other => return wrong(format!("has no argument {}", redact_text(&other.to_string()))),
        }
    }
    if found.is_empty() { wrong("needs a location".to_owned()) } else { Ok(found) }
}

fn text(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        Expr::Identifier(ident) if ident.quote_style.is_some() => Some(ident.value.clone()),
        _ => None,
    }
}

struct Hider<'a> {
    tables: &'a HashSet<String>,
}

impl VisitorMut for Hider<'_> {
    type Break = Box<Error>;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        let factors = select
            .from
            .iter()
            .flat_map(|from| std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation)));
        // The names by which the tables are known in this SELECT.
        let known: HashSet<String> = factors
            .filter_map(|factor| match factor {
                TableFactor::Table { name, alias, .. } => {
                    let name = plain(name)?;
                    self.tables.contains(&name).then(|| alias.as_ref().map_or(name, |alias| alias.name.value.clone()))
                }
                _ => None,
            })
            .collect();
        if known.is_empty() {
            return ControlFlow::Continue(());
        }
        for item in &mut select.projection {
            let options = match item {
                SelectItem::Wildcard(options) => options,
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
                    if plain(name).is_some_and(|name| known.contains(&name)) =>
                {
                    options
                }
                _ => continue,
            };
            let hidden = ObjectName::from(vec![Ident::new(FILENAME)]);
            options.opt_exclude = Some(match options.opt_exclude.take() {
                None => ExcludeSelectItem::Single(hidden),
                Some(ExcludeSelectItem::Single(other)) => ExcludeSelectItem::Multiple(vec![other, hidden]),
                Some(ExcludeSelectItem::Multiple(mut others)) => {
                    others.push(hidden);
                    ExcludeSelectItem::Multiple(others)
                }
            });
        }
        ControlFlow::Continue(())
    }
}

/// A name of one part, as the engine will look it up.
fn plain(name: &ObjectName) -> Option<String> {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] if ident.quote_style.is_some() => Some(ident.value.clone()),
        [ObjectNamePart::Identifier(ident)] => Some(ident.value.to_lowercase()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::parser::DFParser;

    fn taken(sql: &str) -> (References, String) {
        let mut statement = DFParser::parse_sql(sql).expect("SQL").pop_front().expect("a statement");
        let mut references = References::default();
        references.take_from(&mut statement).expect("references");
        (references, statement.to_string())
    }

    #[test]
    fn files_become_names_without_secrets() {
        let (found, sql) = taken(
            "EXPLAIN SELECT a FROM 'https://h/x.parquet?sig=1' t JOIN read_parquet(['https://h/x.parquet?sig=2', 'b']) u \
             ON t.k = u.k WHERE filename = 'https://h?not=a-table'",
        );
        assert_eq!(found.files.len(), 2);
        assert_eq!(found.files["https://h/x.parquet"], ["https://h/x.parquet?sig=1"]);
        assert_eq!(found.files["https://h/x.parquet, b"].len(), 2);
        assert!(found.filename);
        assert!(!sql.contains("sig="), "{sql}");
        let (found, _) = taken("SELECT * FROM 'https://h/x.parquet?a' UNION ALL SELECT * FROM 'https://h/x.parquet?b'");
        assert_eq!(found.files["https://h/x.parquet (2)"], ["https://h/x.parquet?b"]);
    }

    #[test]
    fn other_names_stay() {
        let (found, sql) = taken("SELECT * FROM trips, \"Quoted\", range(1, 2)");
        assert!(found.files.is_empty());
        assert!(sql.contains("trips") && sql.contains("range(1, 2)"));
    }

    #[test]
    fn the_virtual_column_is_not_in_a_star() {
        let mut statement = DFParser::parse_sql("SELECT *, filename FROM t AS u, v WHERE a IN (SELECT * FROM w)")
            .expect("SQL")
            .pop_front()
            .expect("one");
        hide_filename(&mut statement, &HashSet::from(["t".to_owned()])).expect("a statement");
        assert_eq!(
            statement.to_string(),
            "SELECT * EXCLUDE filename, filename FROM t AS u, v WHERE a IN (SELECT * FROM w)"
        );
    }
}
