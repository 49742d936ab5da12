//! Where the corpus is, and how its files are named here.

use std::fs;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use farquet_core::{Limits, Result};
use farquet_sql::Session;
use farquet_testkit::Origin;
use farquet_tests::reference::{Reader, World};

use crate::exceptions;

/// A folder of the corpus, served under `/c/`.
pub(crate) struct Corpus {
    pub(crate) folder: PathBuf,
    pub(crate) origin: Origin,
}

impl Corpus {
    /// The folder `name`, or a word that there is none.
    #[expect(clippy::print_stderr, reason = "a test that checks nothing says so")]
    pub(crate) async fn serve(name: &str) -> Option<Self> {
        let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpus");
        let corpus = std::env::var_os("FARQUET_CORPUS").map_or_else(|| PathBuf::from(default), PathBuf::from);
        let folder = corpus.join("parquet-testing").join(name);
        if !folder.is_dir() {
            eprintln!("skipped: no corpus at {}; FARQUET_CORPUS names its folder", folder.display());
            return None;
        }
        let origin = Origin::builder().directory("/c/", &folder).start().await;
        Some(Self { folder, origin })
    }

    /// The paths of the Parquet files below the folder, in order.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut pending = vec![self.folder.clone()];
        while let Some(directory) = pending.pop() {
            for entry in fs::read_dir(directory).expect("a folder").map(|entry| entry.expect("an entry").path()) {
                if entry.is_dir() {
                    pending.push(entry);
                } else if entry.extension().is_some_and(|ending| ending == "parquet" || ending == "encrypted") {
                    let relative = entry.strip_prefix(&self.folder).expect("below the folder");
                    found.push(relative.to_str().expect("a name in UTF-8").to_owned());
                }
            }
        }
        found.sort();
        found
    }

    /// The files that are compared with the reference, and who reads them for it.
    pub(crate) fn compared(&self) -> Vec<(String, Reader)> {
        let files = self.files().into_iter().filter(|file| !exceptions::is_unreadable(file));
        let files = files.filter(|file| file != exceptions::HUGE);
        files.map(|file| (file.clone(), exceptions::reader(&file))).collect()
    }

    /// `file` as a table of SQL.
    pub(crate) fn table(&self, file: &str) -> String {
        format!("'{}'", self.origin.url(&format!("/c/{file}")))
    }

    /// `file` as the reference's table `t`.
    pub(crate) fn reference(&self, file: &str, reader: Reader) -> World {
        World::of("t", reader, &[self.folder.join(file)])
    }
}

/// Everything in `table`, with its schema.
pub(crate) async fn everything(session: &Session, table: &str) -> Result<(SchemaRef, Vec<RecordBatch>)> {
    let query = session.begin(Limits::default());
    let statement = session.parse(&format!("SELECT * FROM {table}"))?.remove(0);
    let result = session.run(&query, &statement).await?;
    Ok((result.schema(), result.collect().await?))
}

/// `bytes` of a file that lies at `path`.
pub(crate) fn bytes_of(path: &Path) -> bytes::Bytes {
    fs::read(path).expect("a file").into()
}

/// A column's name in SQL.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
