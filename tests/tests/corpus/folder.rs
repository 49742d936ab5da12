//! Where the corpus is, and which of its files are not compared.

use std::fs;
use std::path::{Path, PathBuf};

use farquet_testkit::Origin;

/// A folder of the corpus, or a word that there is none.
#[expect(clippy::print_stderr, reason = "a test that checks nothing says so")]
pub(crate) fn folder(name: &str) -> Option<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpus");
    let corpus = std::env::var_os("FARQUET_CORPUS").map_or_else(|| PathBuf::from(default), PathBuf::from);
    let folder = corpus.join("parquet-testing").join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no corpus at {}; FARQUET_CORPUS names its folder", folder.display());
    None
}

/// The paths of the Parquet files below `folder`, relative to it and in order.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            let is_parquet = |ending: &str| entry.extension().is_some_and(|extension| extension == ending);
            if entry.is_dir() {
                pending.push(entry);
            } else if is_parquet("parquet") || is_parquet("encrypted") {
                let relative = entry.strip_prefix(folder).expect("below the folder");
                found.push(relative.to_str().expect("a name in UTF-8").to_owned());
            }
        }
    }
    found.sort();
    found
}

/// Serves `folder` under `/c/`.
pub(crate) async fn serve(folder: &Path) -> Origin {
    Origin::builder().directory("/c/", folder).start().await
}
