//! Running the binary, and something to run it on.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{
    ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int64Array, ListArray, RecordBatch, StringArray,
    TimestampMillisecondArray,
};
use arrow::datatypes::Int32Type;
use farquet_testkit::{Origin, OriginBuilder};
use parquet::arrow::ArrowWriter;

/// What became of a run.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// Ended with this code; shows what was said otherwise.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// Printed exactly this.
    #[track_caller]
    pub(crate) fn prints(self, out: &str) -> Self {
        let ran = self.exits(0);
        assert_eq!(ran.out, out, "stderr:\n{}", ran.err);
        ran
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        Self { code: output.status.code(), bytes: output.stdout, out, err }
    }
}

/// The binary with these arguments, away from the environment of whoever runs the tests.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_farquet"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in ["COLUMNS", "NO_COLOR", "RUST_BACKTRACE", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"] {
        command.env_remove(name);
    }
    command.env("NO_PROXY", "*");
    command
}

pub(crate) fn farquet(args: &[&str]) -> Ran {
    command(args).output().expect("the binary runs").into()
}

/// Runs it in a directory.
pub(crate) fn farquet_in(directory: &Path, args: &[&str]) -> Ran {
    command(args).current_dir(directory).output().expect("the binary runs").into()
}

/// Runs it with something on its standard input.
pub(crate) fn farquet_reading(input: &str, args: &[&str]) -> Ran {
    let mut child = command(args).stdin(Stdio::piped()).spawn().expect("the binary runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    // Whoever fails early does not read.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("it ends").into()
}

/// Sends a signal by its name.
pub(crate) fn send_signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(status.expect("kill runs").success());
}

pub(crate) fn start(builder: OriginBuilder) -> Origin {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(builder.start())
}

/// An origin with [`tiny`] at `/tiny.parquet`, and its URL.
pub(crate) fn tiny_origin() -> (Origin, String) {
    let origin = start(Origin::builder().file("/tiny.parquet", tiny()));
    let url = origin.url("/tiny.parquet").to_string();
    (origin, url)
}

/// Three rows with what formats find difficult.
pub(crate) fn tiny() -> Vec<u8> {
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), None, Some(vec![])]);
    let amounts = Decimal128Array::from(vec![Some(1050), None, Some(-7)]).with_precision_and_scale(10, 2);
    let columns: [(&str, ArrayRef); 7] = [
        ("id", Arc::new(Int64Array::from(vec![1, 2, 3]))),
        ("name", Arc::new(StringArray::from(vec![Some("a,\"b\""), None, Some("c|d\ttab")]))),
        ("amount", Arc::new(amounts.expect("a decimal"))),
        ("ratio", Arc::new(Float64Array::from(vec![Some(0.5), Some(1e20), None]))),
        ("at", Arc::new(TimestampMillisecondArray::from(vec![Some(0), Some(1_717_300_000_123), None]))),
        ("flag", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
        ("list", Arc::new(lists)),
    ];
    let columns = columns.into_iter().map(|(name, column)| (name, column, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).expect("a batch");
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("rows");
    writer.into_inner().expect("a file")
}

/// Waits for something that another process does.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(20), "not within 20 s: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The names in a directory, hidden ones too.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Compares with `tests/snapshots/NAME.txt`; writes it instead when `FARQUET_BLESS` is set.
#[track_caller]
pub(crate) fn snapshot(name: &str, found: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(format!("{name}.txt"));
    if std::env::var_os("FARQUET_BLESS").is_some() {
        fs::write(&path, found).expect("a snapshot");
        return;
    }
    let mut expected = String::new();
    File::open(&path).and_then(|mut file| file.read_to_string(&mut expected)).expect("a snapshot");
    assert_eq!(found, expected, "FARQUET_BLESS=1 accepts what was found");
}
