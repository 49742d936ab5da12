//! Counts and extremes of whole columns, which footers answer where they can.

use farquet_tests::canon::{EQUAL, difference, rows};
use farquet_tests::{World, batches, reference};

use crate::exceptions::is_alone;
use crate::folder::{Corpus, everything, quoted};
use crate::literal::is_compared;

#[tokio::test(flavor = "multi_thread")]
async fn counts_and_extremes_are_those_of_the_data() {
    let Some(corpus) = Corpus::serve("data").await else { return };
    let session = World::default().session();
    let (mut worlds, mut ours) = (Vec::new(), Vec::new());
    for (file, reader) in corpus.compared().into_iter().filter(|(file, _)| !is_alone(file)) {
        let table = corpus.table(&file);
        let (schema, _) = everything(&session, &table).await.expect(&file);
        let mut items = vec!["count(*)".to_owned()];
        for field in schema.fields() {
            let name = quoted(field.name());
            items.push(format!("count({name})"));
            if is_compared(field.data_type()) {
                items.push(format!("min({name}), max({name})"));
            }
        }
        let mut world = corpus.reference(&file, reader);
        world.ask(format!("SELECT {} FROM t", items.join(", ")));
        worlds.push(world);
        let sql = format!("SELECT {} FROM {table}", items.join(", "));
        ours.push((file, rows(&batches(&session, &sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}")).0)));
    }
    let mut wrong = Vec::new();
    for ((file, ours), reply) in ours.into_iter().zip(reference::ask(&worlds).into_iter().flatten()) {
        match reply {
            Err(error) => wrong.push(format!("{file}: no reference: {error}")),
            Ok((_, theirs)) => wrong.extend(difference(ours, theirs, EQUAL).map(|what| format!("{file}: {what}"))),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
