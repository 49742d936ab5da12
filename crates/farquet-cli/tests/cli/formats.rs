//! Each format, byte by byte where it is text, and read back where it is not.

use std::fs::{self, File};
use std::io::Cursor;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{DataType, Int64Type};
use arrow::ipc::reader::{FileReader, StreamReader};
use farquet_testkit::Origin;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;

use crate::support::{farquet, farquet_in, names, snapshot, start, tiny_origin};

const ALL: &str = "SELECT * FROM t ORDER BY id";

fn run(format: &str, sql: &str) -> crate::support::Ran {
    let (_origin, url) = tiny_origin();
    farquet(&["-t", &format!("t={url}"), "--format", format, sql]).exits(0)
}

#[test]
fn text_formats() {
    for format in ["table", "csv", "tsv", "json", "ndjson", "markdown"] {
        let ran = run(format, ALL);
        assert_eq!(ran.err, "", "{format}");
        snapshot(&format!("tiny.{format}"), &ran.out);
    }
}

#[test]
fn csv_is_the_default_where_nobody_watches() {
    let (_origin, url) = tiny_origin();
    let sql = format!("SELECT id, amount, flag FROM '{url}' ORDER BY id");
    farquet(&[&sql]).prints("id,amount,flag\n1,10.50,true\n2,,false\n3,-0.07,\n");
}

#[test]
fn no_rows_are_a_result_too() {
    let sql = "SELECT id, name FROM t WHERE id > 100";
    for (format, out) in [
        ("csv", "id,name\n"),
        ("tsv", "id\tname\n"),
        ("json", "[]\n"),
        ("ndjson", ""),
        ("markdown", "| id | name |\n| ---: | --- |\n"),
        ("table", "+----+------+\n| id | name |\n+----+------+\n+----+------+\n"),
    ] {
        assert_eq!(run(format, sql).out, out, "{format}");
    }
    assert!(rows(StreamReader::try_new(Cursor::new(run("arrow", sql).bytes), None).expect("a stream")).is_empty());
}

fn rows<E: std::fmt::Debug>(reader: impl Iterator<Item = Result<RecordBatch, E>>) -> Vec<i64> {
    reader.flat_map(|batch| batch.expect("a batch").column(0).as_primitive::<Int64Type>().values().to_vec()).collect()
}

#[test]
fn arrow_streams() {
    let reader = StreamReader::try_new(Cursor::new(run("arrow", ALL).bytes), None).expect("a stream");
    assert_eq!(reader.schema().field(1).data_type(), &DataType::Utf8, "no views");
    assert_eq!(rows(reader), [1, 2, 3]);
}

#[test]
fn the_extension_names_the_format() {
    let (_origin, url) = tiny_origin();
    let directory = tempfile::tempdir().expect("a directory");
    let write = |name: &str, more: &[&str]| {
        let table = format!("t={url}");
        let args = [&["-t", &table, "-o", name, "SELECT id, name FROM t ORDER BY id"], more].concat();
        let ran = farquet_in(directory.path(), &args).exits(0);
        assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""), "{name}");
        directory.path().join(name)
    };
    let text = |name: &str, more: &[&str]| fs::read_to_string(write(name, more)).expect("text");
    assert_eq!(text("x.csv", &[]), "id,name\n1,\"a,\"\"b\"\"\"\n2,\n3,c|d\ttab\n");
    assert_eq!(text("x.tsv", &[]), "id\tname\n1\t\"a,\"\"b\"\"\"\n2\t\n3\t\"c|d\ttab\"\n");
    assert_eq!(
        text("x.json", &[]),
        "[{\"id\":1,\"name\":\"a,\\\"b\\\"\"},{\"id\":2,\"name\":null},{\"id\":3,\"name\":\"c|d\\ttab\"}]\n"
    );
    assert_eq!(
        text("x.jsonl", &[]),
        "{\"id\":1,\"name\":\"a,\\\"b\\\"\"}\n{\"id\":2,\"name\":null}\n{\"id\":3,\"name\":\"c|d\\ttab\"}\n"
    );
    assert!(text("x.md", &[]).starts_with("| id | name |\n| ---: | --- |\n| 1 | a,\"b\" |\n"));
    assert!(text("x.bin", &["--format", "ndjson"]).starts_with("{\"id\":1,"));

    let file = |path| File::open(path).expect("a file");
    assert_eq!(rows(FileReader::try_new(file(write("x.arrow", &[])), None).expect("a file")), [1, 2, 3]);
    assert_eq!(rows(StreamReader::try_new(file(write("x.arrows", &[])), None).expect("a stream")), [1, 2, 3]);
    let reader = ParquetRecordBatchReaderBuilder::try_new(file(write("x.parquet", &[]))).expect("Parquet");
    assert!(matches!(reader.metadata().row_group(0).column(0).compression(), Compression::ZSTD(_)));
    assert_eq!(reader.schema().field(1).data_type(), &DataType::Utf8);
    assert_eq!(rows(reader.build().expect("a reader")), [1, 2, 3]);

    assert_eq!(
        names(directory.path()),
        ["x.arrow", "x.arrows", "x.bin", "x.csv", "x.json", "x.jsonl", "x.md", "x.parquet", "x.tsv"]
    );
}

#[test]
fn parquet_on_standard_output() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("x");
    fs::write(&path, run("parquet", ALL).bytes).expect("a file");
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).expect("a file")).expect("Parquet");
    assert_eq!(rows(reader.build().expect("a reader")), [1, 2, 3]);
}

#[cfg(unix)]
#[test]
fn a_written_file_is_as_any_other() {
    use std::os::unix::fs::{MetadataExt, symlink};

    let directory = tempfile::tempdir().expect("a directory");
    let path = |name| directory.path().join(name);
    fs::write(path("real.csv"), "old").expect("a file");
    symlink("real.csv", path("link.csv")).expect("a link");
    farquet_in(directory.path(), &["-o", "link.csv", "SELECT 1 AS a"]).exits(0);
    assert_eq!(fs::read_to_string(path("real.csv")).expect("text"), "a\n1\n");
    assert!(fs::symlink_metadata(path("link.csv")).expect("a link").is_symlink());
    fs::write(path("other"), "").expect("a file");
    let mode = |name| fs::metadata(path(name)).expect("a file").mode();
    assert_eq!(mode("real.csv"), mode("other"));
    farquet(&["-o", "/dev/null", "--format", "csv", "SELECT 1"]).exits(0);
    assert!(!fs::metadata("/dev/null").expect("a device").is_file());
}

#[test]
fn a_long_table_is_cut() {
    let files = farquet_testkit::fixture::small(1, 10_003).generate();
    let origin = start(Origin::builder().files("/", files));
    let sql = format!("SELECT id FROM '{}'", origin.url("/small_0000.parquet"));
    let ran = farquet(&["--format", "table", &sql]).exits(0);
    assert_eq!(ran.out.lines().count(), 10_000 + 4);
    assert_eq!(ran.err, "3 more rows are not shown; --format csv writes all\n");
    assert_eq!(farquet(&["--format", "table", "-q", &sql]).exits(0).err, "");
    assert_eq!(farquet(&[&sql]).exits(0).out.lines().count(), 10_003 + 1);
}

#[test]
fn data_does_not_act_on_the_terminal() {
    let ran = farquet(&["--format", "table", "SELECT chr(27) || '[2J' AS a"]).exits(0);
    assert!(ran.out.contains("| \\u{1b}[2J |"), "{}", ran.out);
}
