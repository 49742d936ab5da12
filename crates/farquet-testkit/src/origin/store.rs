//! The objects of an origin: in memory by path, or files below a directory.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use url::Url;

use super::body::read_at;

/// `Last-Modified` of objects that were there when the origin started: long enough ago to count as a strong validator.
const LONG_AGO: Duration = Duration::from_secs(1_717_300_000);

/// Which `ETag` an object has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Tag {
    /// A strong one that follows from the bytes.
    #[default]
    Strong,
    /// The same, marked as weak.
    Weak,
    /// None.
    None,
    /// This one, with its quotes, whatever the bytes are.
    Custom(String),
}

/// What an object says about its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryTags {
    /// The `ETag`.
    pub etag: Tag,
    /// The `Last-Modified` date, or none to send none. [`crate::Origin::put`] moves it on.
    pub last_modified: Option<SystemTime>,
    /// The `Cache-Control` header.
    pub cache_control: Option<String>,
}

impl Default for EntryTags {
    /// A strong `ETag`, a `Last-Modified` date of 2024, no `Cache-Control`.
    fn default() -> Self {
        Self { etag: Tag::Strong, last_modified: Some(SystemTime::UNIX_EPOCH + LONG_AGO), cache_control: None }
    }
}

/// Where an object's bytes are.
#[derive(Debug)]
pub(crate) enum Content {
    Memory(Bytes),
    Disk(File),
}

/// One version of an object, ready to be served.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) content: Content,
    pub(crate) len: u64,
    pub(crate) etag: Option<String>,
    pub(crate) last_modified: Option<SystemTime>,
    pub(crate) cache_control: Option<String>,
    pub(crate) content_type: &'static str,
}

#[derive(Debug, Clone)]
struct Entry {
    bytes: Bytes,
    tags: EntryTags,
    /// The `ETag` header, made once.
    etag: Option<String>,
}

impl Entry {
    fn new(bytes: Bytes, tags: EntryTags) -> Self {
        let etag = match &tags.etag {
            Tag::Strong => Some(format!("\"{:016x}\"", digest(&bytes))),
            Tag::Weak => Some(format!("W/\"{:016x}\"", digest(&bytes))),
            Tag::None => None,
            Tag::Custom(tag) => Some(tag.clone()),
        };
        Self { bytes, tags, etag }
    }
}

/// All objects of an origin. Paths are as on the wire.
#[derive(Debug, Default)]
pub(crate) struct Store {
    /// A path without an entry has been removed and hides the file on disk.
    entries: RwLock<HashMap<String, Option<Entry>>>,
    directories: Vec<(String, PathBuf)>,
}

impl Store {
    pub(crate) fn add_directory(&mut self, prefix: &str, directory: PathBuf) {
        let mut prefix = wire_path(prefix);
        if !prefix.ends_with('/') {
            prefix.push('/');
        }
        self.directories.push((prefix, directory));
    }

    /// Replaces an object. Its tags stay what they were, and its date moves on.
    pub(crate) fn put(&self, path: &str, bytes: Bytes) {
        let path = wire_path(path);
        let before = self.find(&path).and_then(|object| object.last_modified);
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let mut tags = match entries.get(&path) {
            Some(Some(entry)) => entry.tags.clone(),
            _ => EntryTags::default(),
        };
        if tags.last_modified.is_some() {
            let now = SystemTime::now();
            // Dates have whole seconds: two versions in one second are not to share theirs.
            tags.last_modified = Some(before.map_or(now, |before| now.max(before + Duration::from_secs(1))));
        }
        entries.insert(path, Some(Entry::new(bytes, tags)));
    }

    pub(crate) fn put_with(&self, path: &str, bytes: Bytes, tags: EntryTags) {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        entries.insert(wire_path(path), Some(Entry::new(bytes, tags)));
    }

    pub(crate) fn remove(&self, path: &str) {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        entries.insert(wire_path(path), None);
    }

    /// The object as it is now. `path` is as on the wire.
    pub(crate) fn find(&self, path: &str) -> Option<Object> {
        let entry = self.entries.read().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
        match entry {
            Some(entry) => entry.map(|entry| in_memory(path, entry)),
            None => self.directories.iter().find_map(|(prefix, directory)| on_disk(path, prefix, directory).ok()),
        }
    }

    /// All bytes of an object.
    pub(crate) fn read(&self, path: &str) -> Option<Bytes> {
        let object = self.find(&wire_path(path))?;
        match object.content {
            Content::Memory(bytes) => Some(bytes),
            Content::Disk(file) => Some(read_at(file, 0, usize::try_from(object.len).ok()?).ok()?.1),
        }
    }
}

fn in_memory(path: &str, entry: Entry) -> Object {
    let Entry { bytes, tags, etag } = entry;
    Object {
        len: bytes.len() as u64,
        content: Content::Memory(bytes),
        etag,
        last_modified: tags.last_modified,
        cache_control: tags.cache_control,
        content_type: content_type(path),
    }
}

fn on_disk(path: &str, prefix: &str, directory: &Path) -> io::Result<Object> {
    let relative = path.strip_prefix(prefix).ok_or(io::ErrorKind::NotFound)?;
    let mut file = directory.to_owned();
    for segment in relative.split('/') {
        let name = percent_decoded(segment).ok_or(io::ErrorKind::InvalidInput)?;
        if name.is_empty() || name.contains(['/', '\\']) || name == "." || name == ".." {
            return Err(io::ErrorKind::NotFound.into());
        }
        file.push(name);
    }
    let file = File::open(file)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let modified = metadata.modified()?;
    let nanos = modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    Ok(Object {
        content: Content::Disk(file),
        len: metadata.len(),
        // Reading all of a large file for its tag would be felt, so the tag is made as web servers make it.
        etag: Some(format!("\"{:x}-{nanos:x}\"", metadata.len())),
        last_modified: Some(modified),
        cache_control: None,
        content_type: content_type(path),
    })
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("json") => "application/json",
        Some("xml") => "application/xml",
        Some("js") => "text/javascript",
        Some("wasm") => "application/wasm",
        _ => "application/vnd.apache.parquet",
    }
}

/// The path of a URL as it goes over the wire: what must be encoded is, and nothing is decoded.
pub(crate) fn wire_path(path: &str) -> String {
    let slash = if path.starts_with('/') { "" } else { "/" };
    Url::parse(&format!("http://origin{slash}{path}")).expect("a path makes a URL").path().to_owned()
}

fn percent_decoded(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = tail.get(2..)?;
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}

/// A fast digest of no cryptographic worth.
fn digest(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |state: u64, word: u64| (state.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    let (words, rest) = bytes.as_chunks::<8>();
    let state = words.iter().fold(bytes.len() as u64, |state, word| mix(state, u64::from_le_bytes(*word)));
    rest.iter().fold(state, |state, byte| mix(state, u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag_and_date(store: &Store, path: &str) -> (Option<String>, Option<SystemTime>) {
        let object = store.find(path).expect("the object is there");
        (object.etag, object.last_modified)
    }

    #[test]
    fn a_replaced_object_has_a_new_tag_and_date() {
        let store = Store::default();
        store.put_with("/a", Bytes::from_static(b"one"), EntryTags::default());
        let one = tag_and_date(&store, "/a");
        store.put("/a", Bytes::from_static(b"two"));
        let two = tag_and_date(&store, "/a");
        store.put("/a", Bytes::from_static(b"six"));
        let three = tag_and_date(&store, "/a");
        assert!(one.0 != two.0 && two.0 != three.0);
        assert!(one.1 < two.1);
        assert!(three.1 >= two.1.map(|date| date + Duration::from_secs(1)));
    }

    #[test]
    fn tags_survive_a_replacement() {
        let store = Store::default();
        let tags = EntryTags { etag: Tag::Custom("\"v\"".to_owned()), last_modified: None, cache_control: None };
        store.put_with("/a", Bytes::from_static(b"one"), tags);
        store.put("/a", Bytes::from_static(b"longer"));
        assert_eq!(tag_and_date(&store, "/a"), (Some("\"v\"".to_owned()), None));
    }

    #[test]
    fn encoded_paths_are_kept_apart() {
        let store = Store::default();
        store.put("/p=a%2Fb/x", Bytes::from_static(b"1"));
        store.put("/p=a b/x", Bytes::from_static(b"2"));
        assert!(store.find("/p=a/b/x").is_none());
        assert!(store.find("/p=a%2Fb/x").is_some());
        assert!(store.find("/p=a%20b/x").is_some());
        store.remove("/p=a%2Fb/x");
        assert!(store.find("/p=a%2Fb/x").is_none());
    }

    #[test]
    fn files_on_disk() {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(directory.path().join("kind=a%2Fb")).expect("a directory below");
        std::fs::write(directory.path().join("kind=a%2Fb/x.parquet"), b"bytes").expect("a file");
        let mut store = Store::default();
        store.add_directory("/data", directory.path().to_owned());
        assert_eq!(store.find("/data/kind=a%252Fb/x.parquet").map(|object| object.len), Some(5));
        for path in ["/data/kind=a%2Fb/x.parquet", "/data/../Cargo.toml", "/data/%2E%2E/x", "/data/", "/x.parquet"] {
            assert!(store.find(path).is_none(), "{path}");
        }
        store.remove("/data/kind=a%252Fb/x.parquet");
        assert!(store.find("/data/kind=a%252Fb/x.parquet").is_none());
    }
}
