//! Where bytes go: standard output, or a file that is either complete or not there.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::sink::Sink;
use crate::exit::Failure;

/// Where bytes go.
#[derive(Debug)]
pub(super) enum Target {
    Stdout,
    /// A device or a pipe, which is written to and never replaced.
    Special(PathBuf),
    /// A file beside the one that it becomes.
    Pending {
        file: NamedTempFile,
        path: PathBuf,
    },
}

impl Target {
    /// Fails now, before any request is sent, where nothing can be written.
    pub(super) fn open(path: Option<&Path>) -> Result<(Self, Sink), Failure> {
        let Some(path) = path else { return Ok((Self::Stdout, Sink::new(io::stdout()))) };
        Self::file(path).map_err(|error| Failure::usage(format!("{} cannot be written: {error}", path.display())))
    }

    fn file(path: &Path) -> io::Result<(Self, Sink)> {
        // A link stays one; what it leads to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        match fs::metadata(&path) {
            Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(found) if !found.is_file() => {
                let stream = File::options().write(true).open(&path)?;
                return Ok((Self::Special(path), Sink::new(stream)));
            }
            _ => {}
        }
        let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?.to_string_lossy().into_owned();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        let prefix = format!(".{name}.");
        builder.prefix(&prefix).suffix(".part");
        // As any other new file: what the umask leaves.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder)?;
        let stream = file.as_file().try_clone()?;
        Ok((Self::Pending { file, path }, Sink::new(stream)))
    }

    pub(super) fn is_stdout(&self) -> bool {
        matches!(self, Self::Stdout)
    }

    /// Whether Arrow data is written as a stream.
    pub(super) fn is_stream(&self) -> bool {
        match self {
            Self::Stdout | Self::Special(_) => true,
            Self::Pending { path, .. } => path.extension().is_some_and(|extension| extension == "arrows"),
        }
    }

    /// Gives the file its name.
    pub(super) fn commit(self) -> io::Result<()> {
        match self {
            Self::Stdout | Self::Special(_) => Ok(()),
            Self::Pending { file, path } => file.persist(path).map(drop).map_err(|error| error.error),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdout => f.write_str("standard output"),
            Self::Special(path) | Self::Pending { path, .. } => path.display().fmt(f),
        }
    }
}
