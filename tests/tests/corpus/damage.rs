//! Damaged files: a named error or the rows that are there, and neither a panic nor a hang nor much memory.

use std::collections::BTreeMap;
use std::time::Duration;

use arrow::array::RecordBatch;
use farquet_core::ErrorKind::{self, Malformed};
use farquet_core::Result;
use farquet_sql::Session;
use farquet_testkit::Origin;
use farquet_tests::{answer, session};

use crate::folder::{Corpus, bytes_of, everything};
use crate::memory::{assert_growth_below, peak};

/// Each file, what reading it comes to, and what is wrong with it.
const DAMAGED: &[(&str, Result<usize, ErrorKind>, &str)] = &[
    ("ARROW-GH-41317.parquet", Err(Malformed), "columns of different length"),
    ("ARROW-GH-41321.parquet", Err(Malformed), "a dictionary index of 254 bits"),
    ("ARROW-GH-43605.parquet", Ok(21_186), "dictionary indexes of no bits in a page header only; DuckDB reads it too"),
    ("ARROW-GH-45185.parquet", Err(Malformed), "a row that begins in the middle of a list"),
    ("ARROW-GH-47662.parquet", Err(Malformed), "fewer values than its header says"),
    ("ARROW-RS-GH-6229-DICTHEADER.parquet", Err(Malformed), "a column beyond the end of the file"),
    ("ARROW-RS-GH-6229-LEVELS.parquet", Err(Malformed), "fewer levels than values"),
    ("PARQUET-1481.parquet", Err(Malformed), "a physical type that does not exist"),
];

/// All rows of `table`, in time.
async fn read(session: &Session, table: &str) -> Result<usize> {
    let read = tokio::time::timeout(Duration::from_secs(20), everything(session, table));
    let (_, batches) = read.await.unwrap_or_else(|_| panic!("{table}: no end"))?;
    Ok(batches.iter().map(RecordBatch::num_rows).sum())
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_is_named() {
    let Some(corpus) = Corpus::serve("bad_data").await else { return };
    let session = session();
    let before = peak();
    let mut outcomes = Vec::new();
    for file in corpus.files() {
        let outcome = read(&session, &corpus.table(&file)).await.map_err(|error| {
            assert!(error.to_string().contains(&file), "{error}");
            error.kind()
        });
        outcomes.push((file, outcome));
    }
    let expected: Vec<_> = DAMAGED.iter().map(|(file, outcome, _)| ((*file).to_owned(), *outcome)).collect();
    assert_eq!(outcomes, expected);
    assert_growth_below(512, before);
    assert_eq!(answer(&session, "SELECT 1").await.rows, ["1"], "the session goes on");
}

/// Bytes of sound files replaced by others, most of them in footers.
#[tokio::test(flavor = "multi_thread")]
async fn damage_at_random_is_named() {
    let Some(corpus) = Corpus::serve("data").await else { return };
    let session = session();
    let origin = Origin::builder().start().await;
    let before = peak();
    let mut seed = 7_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).expect("31 bits") % below
    };
    let mut outcomes = BTreeMap::new();
    for (file, _) in corpus.compared() {
        let whole = bytes_of(&corpus.folder.join(&file));
        for round in 0..12 {
            let mut bytes = whole.to_vec();
            let from = if round % 3 == 0 { 0 } else { bytes.len().saturating_sub(800) };
            for _ in 0..=round / 4 {
                let at = from + random(bytes.len() - 4 - from);
                bytes[at] = u8::try_from(random(256)).expect("a byte");
            }
            origin.put("/x.parquet", bytes);
            let table = format!("'{}'", origin.url("/x.parquet"));
            let outcome = match read(&session, &table).await {
                Ok(_) => "rows".to_owned(),
                Err(error) => format!("{:?}", error.kind()),
            };
            *outcomes.entry(outcome).or_insert(0) += 1;
        }
    }
    assert_growth_below(512, before);
    // Bytes that make the decoder itself give up are found now and then; they end their query and nothing else.
    let known = ["rows", "Malformed", "NotParquet", "Unsupported", "Schema", "Decoder"];
    assert!(outcomes.keys().all(|outcome| known.contains(&outcome.as_str())), "{outcomes:?}");
    assert!(outcomes["Malformed"] > outcomes.get("Decoder").copied().unwrap_or(0) * 10, "{outcomes:?}");
    assert_eq!(answer(&session, "SELECT 1").await.rows, ["1"], "the session goes on");
}
