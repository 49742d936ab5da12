//! Whole files.

use farquet_tests::canon::{EXACT, difference, rows};
use farquet_tests::{answer, batches, reference, session};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::exceptions::{BY_HAND, HUGE, unreadable};
use crate::folder::{Corpus, bytes_of, everything};

#[tokio::test(flavor = "multi_thread")]
async fn every_file_reads_as_elsewhere() {
    let Some(corpus) = Corpus::serve("data").await else { return };
    let session = session();
    let (mut worlds, mut ours) = (Vec::new(), Vec::new());
    for (file, reader) in corpus.compared().into_iter().filter(|(file, _)| file != BY_HAND) {
        let (schema, read) = everything(&session, &corpus.table(&file)).await.expect(&file);
        let mut world = corpus.reference(&file, reader);
        world.ask("SELECT * FROM t");
        worlds.push(world);
        let names: Vec<_> = schema.fields().iter().map(|field| field.name().clone()).collect();
        ours.push((file, names, rows(&read)));
    }
    assert!(ours.len() >= 60, "{} files", ours.len());
    let mut wrong = Vec::new();
    for ((file, names, rows), replies) in ours.into_iter().zip(reference::ask(&worlds)) {
        match replies.into_iter().next().expect("a reply") {
            Err(error) => wrong.push(format!("{file}: no reference: {error}")),
            Ok((columns, _)) if columns != names => wrong.push(format!("{file}: columns {names:?}, {columns:?}")),
            Ok((_, theirs)) => wrong.extend(difference(rows, theirs, EXACT).map(|what| format!("{file}: {what}"))),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is listed as unreadable is refused by name, and the engine's own reader does no better.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_named() {
    let Some(corpus) = Corpus::serve("data").await else { return };
    let session = session();
    let mut checked = 0;
    for file in corpus.files() {
        let Some(kind) = unreadable(&file) else { continue };
        let error = everything(&session, &corpus.table(&file)).await.expect_err(&file);
        assert_eq!(error.kind(), kind, "{file}: {error}");
        assert!(error.to_string().contains(&file), "{file}: {error}");
        let bytes = bytes_of(&corpus.folder.join(&file));
        let read = ParquetRecordBatchReaderBuilder::try_new(bytes).and_then(|builder| {
            builder.build()?.collect::<Result<Vec<_>, _>>().map_err(parquet::errors::ParquetError::from)
        });
        assert!(read.is_err(), "{file} is readable");
        checked += 1;
    }
    assert_eq!(checked, 15);
}

/// Nanoseconds in 64 bits end in 2262, the file does not.
#[tokio::test(flavor = "multi_thread")]
async fn int96_beyond_the_range_of_nanoseconds() {
    let Some(corpus) = Corpus::serve("data").await else { return };
    let sql = format!("SELECT CAST(a AS BIGINT) AS micros FROM {} ORDER BY micros", corpus.table(BY_HAND));
    let expected = [
        "1704070800000000",    // 2024-01-01T01:00:00
        "1704141296123456",    // 2024-01-01T20:34:56.123456
        "1735599600000000",    // 2024-12-30T23:00:00
        "253402225200000000",  // 9999-12-31T03:00:00
        "9089380393200000000", // 290000-12-30T23:00:00
        "NULL",
    ];
    assert_eq!(answer(&session(), &sql).await.rows, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn huge_values_are_counted_without_being_read() {
    let Some(corpus) = Corpus::serve("data").await else { return };
    let sql = format!("SELECT count(*) FROM {}", corpus.table(HUGE));
    let (read, report) = batches(&session(), &sql).await.expect("a count");
    assert_eq!(rows(&read), [[serde_json::Value::from("2")]]);
    assert_eq!(report.total_requests(), 1);
}
