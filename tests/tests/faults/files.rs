//! Objects that are not what they should be: web pages (T26), and Parquet files at the edge of the format or beyond (T27).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use bytes::Bytes;
use farquet_core::ErrorKind;
use farquet_sql::Session;
use farquet_testkit::fixture::{SizeClass, minutes, small};
use farquet_testkit::{Fault, Origin};
use farquet_tests::files::{BY_VERSION, large, large_row, over, ranges, tiny, tiny_row, write};
use farquet_tests::{World, answer, ask, refusal, session};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

#[tokio::test(flavor = "multi_thread")]
async fn t26_a_web_page_is_named_as_one() {
    let page = "<!DOCTYPE html>\n<html><body>please log in</body></html>";
    let origin = Origin::builder().file("/1", large(1)).start().await;
    origin.script(move |_| Some(Fault::html(200, page)));
    let error = refusal(&session(), &over(&origin, &["/1"], BY_VERSION)).await;
    assert_eq!(error.kind(), ErrorKind::NotParquet, "{error:?}");
    let text = error.to_string();
    assert!(text.contains("text/html") && text.contains("<!DOCTYPE html>"), "{text}");
    assert!(error.hint_text().is_some_and(|hint| hint.contains("web page")), "{:?}", error.hint_text());
    assert_eq!(origin.requests(), 1);

    // Logged out between the footer and the data: the query begins anew, and finds the page.
    origin.clear_log();
    origin.script(move |seen| (seen.index >= 1).then(|| Fault::html(200, page)));
    let error = refusal(&session(), &over(&origin, &["/1"], BY_VERSION)).await;
    assert_eq!(error.kind(), ErrorKind::NotParquet, "{error:?}");
    assert!(origin.requests() <= 4 + 1, "{:?}", ranges(&origin.log()));
}

#[tokio::test(flavor = "multi_thread")]
async fn t26_other_bodies_are_named_by_their_type_and_beginning() {
    let bodies: [(&str, &[u8], &str); 4] = [
        ("application/json", b"{\"error\": \"no\"}", "{\\\"error\\\""),
        ("application/octet-stream", b"PK\x03\x04 something else", "PK\\x03\\x04"),
        ("text/csv", b"a,b\n1,2\n", "a,b\\n"),
        ("text/plain", b"x", "x"),
    ];
    for (content_type, body, begins) in bodies {
        let origin = Origin::builder().file("/1", Bytes::from_static(body)).start().await;
        origin.script(move |_| Some(Fault::set_header("content-type", content_type)));
        let error = refusal(&session(), &over(&origin, &["/1"], BY_VERSION)).await;
        assert_eq!(error.kind(), ErrorKind::NotParquet, "{error:?}");
        let text = error.to_string();
        assert!(text.contains(content_type) && text.contains(begins), "{text}");
    }
}

/// What a query over `bytes` comes to.
async fn reading(bytes: impl Into<Bytes>, sql: &str) -> (Origin, farquet_core::Result<Vec<String>>) {
    let origin = Origin::builder().file("/1", bytes).start().await;
    let result = ask(&session(), &over(&origin, &["/1"], sql)).await.map(|answer| answer.rows);
    (origin, result)
}

fn kind(result: &farquet_core::Result<Vec<String>>) -> ErrorKind {
    result.as_ref().expect_err("an error").kind()
}

/// `bytes` with another end.
fn ending(bytes: &Bytes, length: Option<u32>, magic: [u8; 4]) -> Bytes {
    let mut bytes = bytes.to_vec();
    let at = bytes.len() - 8;
    if let Some(length) = length {
        bytes[at..at + 4].copy_from_slice(&length.to_le_bytes());
    }
    bytes[at + 4..].copy_from_slice(&magic);
    bytes.into()
}

#[tokio::test(flavor = "multi_thread")]
async fn t27_ends_that_promise_something_else() {
    for file in [tiny(1), large(1)] {
        let size = u32::try_from(file.len()).expect("a small file");
        for (end, expected) in [
            (ending(&file, None, *b"PARE"), ErrorKind::Unsupported),
            (ending(&file, None, *b"PAR2"), ErrorKind::NotParquet),
            (ending(&file, Some(size), *b"PAR1"), ErrorKind::Malformed),
            (ending(&file, Some(size - 11), *b"PAR1"), ErrorKind::Malformed),
            (ending(&file, Some(u32::MAX), *b"PAR1"), ErrorKind::Malformed),
            (ending(&file, Some(0), *b"PAR1"), ErrorKind::Malformed),
        ] {
            let (origin, result) = reading(end, BY_VERSION).await;
            assert_eq!(kind(&result), expected, "{result:?}");
            assert_eq!(origin.requests(), 1, "{:?}", ranges(&origin.log()));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t27_encrypted_columns_behind_a_readable_footer() {
    let corpus = std::env::var_os("FARQUET_CORPUS")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus"), PathBuf::from);
    let data = corpus.join("parquet-testing/data");
    let Ok(bytes) = std::fs::read(data.join("encrypt_columns_plaintext_footer.parquet.encrypted")) else {
        eprintln_skipped(&data);
        return;
    };
    let (_, count) = reading(bytes.clone(), "SELECT count(*) FROM t ").await;
    assert_eq!(count.expect("footers are readable"), ["50"]);
    let (_, plain) = reading(bytes.clone(), "SELECT count(*) FROM t WHERE boolean_field").await;
    assert_eq!(plain.expect("this column is not encrypted"), ["25"]);
    let (_, secret) = reading(bytes, "SELECT sum(double_field) FROM t ").await;
    assert!(matches!(kind(&secret), ErrorKind::Unsupported | ErrorKind::Malformed), "{secret:?}");
    for name in ["encrypt_columns_and_footer.parquet.encrypted", "uniform_encryption.parquet.encrypted"] {
        let bytes = std::fs::read(data.join(name)).expect("a file of the corpus");
        let (_, result) = reading(bytes, "SELECT count(*) FROM t ").await;
        assert_eq!(kind(&result), ErrorKind::Unsupported, "{name}: {result:?}");
    }
}

#[expect(clippy::print_stderr, reason = "whoever runs the tests is to know")]
fn eprintln_skipped(folder: &std::path::Path) {
    eprintln!("skipped: no corpus at {}", folder.display());
}

fn numbers(rows: i64) -> RecordBatch {
    RecordBatch::try_from_iter([("v", Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef)]).expect("a column")
}

/// Five rows of no columns, by hand, since no writer makes it.
fn without_columns() -> Bytes {
    // Thrift's compact protocol: version 1; a schema of one element, "schema", without children; 5 rows; one row group with
    // no columns, 0 bytes and 5 rows.
    let footer = b"\x15\x02\x19\x1c\x48\x06schema\x15\x00\x00\x16\x0a\x19\x1c\x19\x0c\x16\x00\x16\x0a\x00\x00";
    let length = u32::try_from(footer.len()).expect("short").to_le_bytes();
    [b"PAR1", footer.as_slice(), &length, b"PAR1"].concat().into()
}

#[tokio::test(flavor = "multi_thread")]
async fn t27_no_rows_and_no_columns() {
    let empty = write([numbers(0)], WriterProperties::default());
    let (origin, rows) = reading(empty.clone(), "SELECT count(*), sum(v), max(v) FROM t ").await;
    assert_eq!((rows.expect("an answer"), origin.requests()), (vec!["0|NULL|NULL".to_owned()], 1));
    let (_, rows) = reading(empty, "SELECT v FROM t WHERE v > 3").await;
    assert_eq!(rows.expect("an answer"), [] as [String; 0]);

    let (origin, rows) = reading(without_columns(), "SELECT count(*) FROM t ").await;
    assert_eq!((rows.expect("an answer"), origin.requests()), (vec!["5".to_owned()], 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn t27_a_footer_of_20_mb() {
    let mut writer = ArrowWriter::try_new(Vec::new(), numbers(0).schema(), None).expect("a writer");
    writer.write(&numbers(1000)).expect("rows");
    writer.append_key_value_metadata(KeyValue::new("notes".to_owned(), "x".repeat(20 << 20)));
    let file = Bytes::from(writer.into_inner().expect("a file"));
    let origin = Origin::builder().file("/1", file).start().await;
    let sql = over(&origin, &["/1"], "SELECT count(*), sum(v) FROM t WHERE v >= 0");
    let answer = answer(&session(), &sql).await;
    assert_eq!(answer.rows, ["1000|499500"]);
    assert_eq!(origin.requests(), 3, "its end, its rest, the data: {:?}", ranges(&origin.log()));

    origin.clear_log();
    let mut world = World::default();
    world.settings.largest_footer = 1 << 20;
    let error = refusal(&world.session(), &sql).await;
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:?}");
    assert_eq!(origin.requests(), 1, "what is too large is not fetched");
}

/// Runs `sql` on a changed file, for at most 20 s.
async fn outcome(session: &Session, sql: &str, name: &str) -> Option<ErrorKind> {
    let result = tokio::time::timeout(Duration::from_secs(20), ask(session, sql)).await;
    result.unwrap_or_else(|_| panic!("{name}: {sql} hangs")).err().map(|error| {
        assert!(!error.to_string().contains('\n'), "{name}: {error}");
        error.kind()
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn t27_truncated_files() {
    let origin = Origin::builder().file("/good", tiny(1)).start().await;
    let (session, good) = (session(), over(&origin, &["/good"], BY_VERSION));
    let sql = over(&origin, &["/1"], BY_VERSION);
    let small_file = tiny(1);
    let large_file = large(1);
    let lengths = (0..small_file.len()).step_by(9).map(|length| small_file.slice(..length));
    let large_lengths = (0..large_file.len()).step_by(large_file.len() / 20).map(|length| large_file.slice(..length));
    for cut in lengths.chain([small_file.slice(..small_file.len() - 1)]).chain(large_lengths) {
        let length = cut.len();
        origin.put("/1", cut);
        let error = outcome(&session, &sql, &format!("{length} bytes")).await;
        assert_eq!(error, Some(ErrorKind::NotParquet), "{length} bytes");
    }
    assert_eq!(answer(&session, &good).await.rows, [tiny_row(1)]);
}

/// A small random generator, the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % bound
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t27_damaged_footers_are_answered_or_refused() {
    let files = [
        (tiny(1), vec!["SELECT * FROM t ", "SELECT max(v), count(*) FROM t WHERE n > 0"]),
        (first(&small(1000, 200)), vec!["SELECT * FROM t ", "SELECT sum(amount), max(text) FROM t WHERE id >= 5"]),
        (first(&minutes(60, SizeClass::Small)), vec!["SELECT * FROM t ", "SELECT host FROM t WHERE value > 1"]),
    ];
    let origin = Origin::builder().file("/good", large(1)).start().await;
    let (session, good) = (session(), over(&origin, &["/good"], BY_VERSION));
    let mut random = Random(27);
    for (file, statements) in files {
        let end = file.len() - 8;
        let length =
            usize::try_from(u32::from_le_bytes(file[end..end + 4].try_into().expect("4 bytes"))).expect("small");
        for round in 0..120 {
            let mut damaged = file.to_vec();
            let mut changes = Vec::new();
            for _ in 0..=random.below(3) {
                let at = end - length + random.below(length);
                let byte = u8::try_from(random.below(256)).expect("a byte");
                damaged[at] = byte;
                changes.push((at, byte));
            }
            origin.put("/1", damaged);
            for sql in &statements {
                let name = format!("round {round}, {changes:?}");
                let Some(kind) = outcome(&session, &over(&origin, &["/1"], sql), &name).await else { continue };
                assert!(
                    matches!(
                        kind,
                        ErrorKind::Malformed
                            | ErrorKind::Unsupported
                            | ErrorKind::Decoder
                            | ErrorKind::Schema
                            // A name in the statement is not in the file any more, or is of another type.
                            | ErrorKind::Query
                    ),
                    "{name}: {sql}: {kind:?}"
                );
            }
            if round % 20 == 0 {
                assert_eq!(answer(&session, &good).await.rows, [large_row(1)]);
            }
        }
    }
}

fn first(set: &farquet_testkit::fixture::FileSet) -> Bytes {
    set.load().expect("fixtures").remove(0).1
}

#[tokio::test(flavor = "multi_thread")]
async fn t27_a_decoder_that_gives_up_ends_its_query_alone() {
    let origin = Origin::builder().file("/good", large(1)).start().await;
    let session = session();
    let file = first(&small(1000, 200));
    let (bad, good) = (over(&origin, &["/1"], "SELECT * FROM t "), over(&origin, &["/good"], BY_VERSION));
    let mut random = Random(7);
    let mut refused = 0;
    for round in 0..100 {
        let mut damaged = file.to_vec();
        for _ in 0..20 {
            let at = 4 + random.below(file.len() / 2);
            damaged[at] = u8::try_from(random.below(256)).expect("a byte");
        }
        origin.put("/1", damaged);
        let name = format!("round {round}");
        // Beside a query over a good file.
        let (kind, beside) = futures::join!(outcome(&session, &bad, &name), answer(&session, &good));
        assert_eq!(beside.rows, [large_row(1)], "{name}");
        let named = |kind| matches!(kind, ErrorKind::Malformed | ErrorKind::Unsupported | ErrorKind::Decoder);
        assert!(kind.is_none_or(named), "{name}: {kind:?}");
        refused += usize::from(kind.is_some());
    }
    assert!(refused > 50, "most damage to data is noticed: {refused}");
}
