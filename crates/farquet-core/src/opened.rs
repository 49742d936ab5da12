//! What is known of one version of a file once it was opened. Shared by queries and caches.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::file::metadata::ParquetMetaData;
use url::Url;

use crate::freshness::Lifetime;
use crate::hold::Held;
use crate::validator::Version;

/// One version of a file: its metadata, and its end as far as it is kept. Shared by queries and caches.
#[derive(Debug)]
pub(crate) struct Opened {
    pub version: Version,
    pub size: u64,
    /// Where redirects led.
    pub final_url: Url,
    /// `end` begins here.
    pub offset: u64,
    /// The end of the file, or nothing.
    pub end: Bytes,
    /// Gains the page index when that is loaded.
    pub metadata: Mutex<Arc<ParquetMetaData>>,
    pub lifetime: Lifetime,
    /// Whether queries hold its end.
    pub held: Held,
}

impl Opened {
    /// Whether the whole file is here.
    pub(crate) fn is_complete(&self) -> bool {
        self.end.len() as u64 == self.size
    }

    pub(crate) fn metadata(&self) -> Arc<ParquetMetaData> {
        Arc::clone(&self.metadata.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn put_metadata(&self, metadata: Arc<ParquetMetaData>) {
        *self.metadata.lock().unwrap_or_else(PoisonError::into_inner) = metadata;
    }

    /// The memory that its metadata takes.
    pub(crate) fn footer_bytes(&self) -> u64 {
        self.metadata().memory_size() as u64
    }

    /// The same without the bytes of its end.
    pub(crate) fn without_end(&self) -> Self {
        Self { offset: self.size, end: Bytes::new(), ..self.copy() }
    }

    /// The same, found where `final_url` says.
    pub(crate) fn found_at(self: &Arc<Self>, final_url: Url) -> Arc<Self> {
        if final_url == self.final_url { Arc::clone(self) } else { Arc::new(Self { final_url, ..self.copy() }) }
    }

    /// The same bytes as another answer brought them.
    pub(crate) fn brought_again(&self, version: Version, final_url: Url, lifetime: Lifetime) -> Self {
        Self { version, final_url, lifetime, ..self.copy() }
    }

    fn copy(&self) -> Self {
        Self {
            version: self.version.clone(),
            size: self.size,
            final_url: self.final_url.clone(),
            offset: self.offset,
            end: self.end.clone(),
            metadata: Mutex::new(self.metadata()),
            lifetime: self.lifetime,
            held: Held::default(),
        }
    }
}
