//! Filters by values of the files themselves: every column, with pruning and without, as the reference answers them.

use arrow::array::{Array, RecordBatch};
use farquet_sql::Session;
use farquet_tests::canon::{EQUAL, EXACT, Row, difference, rows};
use farquet_tests::reference;
use farquet_tests::{World, batches};

use crate::exceptions::is_alone;
use crate::folder::{Corpus, everything, quoted};
use crate::literal::{Literal, is_compared, samples, their_column};

/// One column's filters as one statement, and what came of it.
struct Case {
    name: String,
    filters: Vec<(String, String)>,
    pruned: Vec<Row>,
    unpruned: Vec<Row>,
}

async fn run(session: &Session, sql: &str) -> Vec<Row> {
    rows(&batches(session, sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}")).0)
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_answer_as_elsewhere_with_and_without_pruning() {
    let Some(corpus) = Corpus::serve("data").await else { return };
    let with = World::default().session();
    let without = World { pruning: false, ..World::default() }.session();
    let (mut worlds, mut cases) = (Vec::new(), Vec::new());
    for (file, reader) in corpus.compared() {
        let table = corpus.table(&file);
        let (schema, read) = everything(&without, &table).await.expect(&file);
        let mut world = corpus.reference(&file, reader);
        let mut of_file = Vec::new();
        for (index, field) in schema.fields().iter().enumerate().filter(|(_, field)| is_compared(field.data_type())) {
            let filters = filters(&read, index, &quoted(field.name()), &their_column(field.name(), field.data_type()));
            let (ours, theirs) = statements(&table, &quoted(field.name()), &filters);
            let (pruned, unpruned) = tokio::join!(run(&with, &ours), run(&without, &ours));
            world.ask(theirs);
            let name = format!("{file}, {}", field.name());
            of_file.push(Case { name, filters, pruned, unpruned });
        }
        if is_alone(&file) {
            for case in of_file {
                let difference = difference(case.pruned, case.unpruned, EXACT);
                assert!(difference.is_none(), "{}: {}", case.name, difference.expect("a difference"));
            }
            continue;
        }
        worlds.push(world);
        cases.push(of_file);
    }
    let columns: usize = cases.iter().map(Vec::len).sum();
    assert!(columns >= 200, "{columns} columns");
    let mut wrong = Vec::new();
    for (case, reply) in cases.iter().flatten().zip(reference::ask(&worlds).into_iter().flatten()) {
        match reply {
            Err(error) => wrong.push(format!("{}: no reference: {error}", case.name)),
            Ok((_, theirs)) => {
                for (which, ours) in [("pruned", &case.pruned), ("unpruned", &case.unpruned)] {
                    if let Some(what) = difference(ours.clone(), theirs.clone(), EQUAL) {
                        wrong.push(format!("{}: {which}: {what}\n  {:?}", case.name, case.filters));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Filters of a column, here and in the reference.
fn filters(read: &[RecordBatch], index: usize, ours: &str, theirs: &str) -> Vec<(String, String)> {
    let chunks: Vec<&dyn Array> = read.iter().map(|batch| batch.column(index).as_ref()).collect();
    let mut filters: Vec<_> =
        ["IS NULL", "IS NOT NULL"].iter().map(|test| (format!("{ours} {test}"), format!("{theirs} {test}"))).collect();
    let samples = samples(&chunks);
    let mut add = |operator: &str, Literal { ours: value, theirs: their_value }: &Literal| {
        filters.push((format!("{ours} {operator} {value}"), format!("{theirs} {operator} {their_value}")));
    };
    for sample in &samples {
        for operator in ["=", "<", ">="] {
            add(operator, sample);
        }
    }
    if let (Some(least), Some(most)) = (samples.first(), samples.last()) {
        add("<>", most);
        add(">", most);
        let list = |least: &str, most: &str| format!("({least}, {most})");
        filters.push((
            format!("{ours} IN {}", list(&least.ours, &most.ours)),
            format!("{theirs} IN {}", list(&least.theirs, &most.theirs)),
        ));
    }
    filters
}

/// One row for each filter: how many rows it keeps, and the extremes of the column among them.
fn statements(table: &str, column: &str, filters: &[(String, String)]) -> (String, String) {
    let all = |table: &str, filters: &mut dyn Iterator<Item = &String>| {
        let branches = filters.enumerate().map(|(index, filter)| {
            format!(
                "SELECT {index} AS k, count(*) AS n, count({column}) AS c, min({column}) AS a, max({column}) AS z \
                 FROM {table} WHERE {filter}"
            )
        });
        branches.collect::<Vec<_>>().join(" UNION ALL ")
    };
    (all(table, &mut filters.iter().map(|(ours, _)| ours)), all("t", &mut filters.iter().map(|(_, theirs)| theirs)))
}

/// The rows themselves, not only how many.
#[tokio::test(flavor = "multi_thread")]
async fn pruning_keeps_every_row_that_matches() {
    let Some(corpus) = Corpus::serve("data").await else { return };
    let with = World::default().session();
    let without = World { pruning: false, ..World::default() }.session();
    let mut wrong = Vec::new();
    for (file, _) in corpus.compared() {
        let table = corpus.table(&file);
        let (schema, read) = everything(&without, &table).await.expect(&file);
        for (index, field) in schema.fields().iter().enumerate().filter(|(_, field)| is_compared(field.data_type())) {
            let chunks: Vec<&dyn Array> = read.iter().map(|batch| batch.column(index).as_ref()).collect();
            for Literal { ours, .. } in samples(&chunks) {
                let sql = format!("SELECT * FROM {table} WHERE {} = {ours}", quoted(field.name()));
                let (pruned, unpruned) = tokio::join!(run(&with, &sql), run(&without, &sql));
                wrong.extend(difference(pruned, unpruned, EXACT).map(|what| format!("{sql}: {what}")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
