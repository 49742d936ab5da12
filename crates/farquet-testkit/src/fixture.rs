//! Parquet files for tests and measurements: always the same bytes for the same arguments.
//!
//! Each function returns a [`FileSet`], which is a recipe. Nothing is written before one of its methods is called.
//! No float column has a NaN.

mod cache;
mod columns;
mod encode;
mod larger;
mod logs;
mod minutes;
mod needle;
mod small;
mod taxi;
mod trips;
mod wide;

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;

pub use self::cache::{DIRECTORY_VARIABLE, cached};
pub use self::larger::larger;
pub use self::logs::{logs, logs_of};
pub use self::minutes::{SizeClass, minutes};
pub use self::needle::{NEEDLE_KEY, NEEDLE_MATCHES, needle, needle_of};
pub use self::small::small;
pub use self::taxi::{taxi, taxi_of};
pub use self::trips::trips;
pub use self::wide::{wide, wide_of};

/// Raised whenever the bytes of any set change.
const VERSION: u32 = 1;

/// Files are made by so many threads.
const THREADS: usize = 2;

/// The time of files on disk, so that `Last-Modified` and `ETag` are the same everywhere.
const MODIFIED: Duration = Duration::from_secs(1_717_300_000);

/// The names that [`FileSet::named`] knows.
pub const NAMES: &[&str] =
    &["many120", "minutes60", "minutes60-small", "larger", "logs", "needle", "small1000", "taxi", "wide"];

type Recipe = Box<dyn Fn() -> Bytes + Send + Sync>;

/// A set of files that can be made.
pub struct FileSet {
    name: String,
    files: Vec<(String, Recipe)>,
}

impl fmt::Debug for FileSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileSet({}, {} files)", self.name, self.files.len())
    }
}

impl FileSet {
    fn new(name: String, files: impl IntoIterator<Item = (String, Recipe)>) -> Self {
        Self { name, files: files.into_iter().collect() }
    }

    /// A set with its usual size, by its name in [`NAMES`].
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "many120" => trips(120, 50_000),
            "minutes60" => minutes(60, SizeClass::Mixed),
            "minutes60-small" => minutes(60, SizeClass::Small),
            "larger" => larger(20, 125_000),
            "logs" => logs(4),
            "needle" => needle(),
            "small1000" => small(1000, 280),
            "taxi" => taxi(8),
            "wide" => wide(),
            _ => return None,
        })
    }

    /// What the set and its directory are called; the arguments are part of it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of the files, in order.
    pub fn file_names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|(name, _)| name.as_str())
    }

    /// Makes all files in memory, with their names.
    pub fn generate(&self) -> Vec<(String, Bytes)> {
        let made = Mutex::new(vec![Bytes::new(); self.files.len()]);
        self.each(|index| {
            let bytes = (self.files[index].1)();
            made.lock().unwrap_or_else(PoisonError::into_inner)[index] = bytes;
        });
        let made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.file_names().map(str::to_owned).zip(made).collect()
    }

    /// The directory with the files, see [`cached`]. They are made when they are not there yet.
    pub fn on_disk(&self) -> io::Result<PathBuf> {
        cached(&self.name, VERSION, |directory| {
            let failed = Mutex::new(None);
            self.each(|index| {
                let (name, recipe) = &self.files[index];
                let path = directory.join(name);
                let written = fs::write(&path, recipe())
                    .and_then(|()| File::options().write(true).open(&path))
                    .and_then(|file| file.set_modified(SystemTime::UNIX_EPOCH + MODIFIED));
                if let Err(error) = written {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            });
            failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
        })
    }

    /// The files of [`Self::on_disk`], read into memory.
    pub fn load(&self) -> io::Result<Vec<(String, Bytes)>> {
        let directory = self.on_disk()?;
        self.file_names().map(|name| Ok((name.to_owned(), fs::read(directory.join(name))?.into()))).collect()
    }

    /// Calls `make` with every index, from several threads.
    fn each(&self, make: impl Fn(usize) + Sync) {
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..THREADS.min(self.files.len()) {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::SeqCst);
                        if index >= self.files.len() {
                            break;
                        }
                        make(index);
                    }
                });
            }
        });
    }
}
