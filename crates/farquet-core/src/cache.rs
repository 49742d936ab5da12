//! A cache bounded by bytes and by entries, least recently used first out, in constant time.

use std::hash::Hash;

use lru::LruCache;

/// What a cache holds at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes; zero disables the cache.
    pub bytes: u64,
    /// Entries; zero disables the cache.
    pub entries: usize,
}

/// What a cache holds now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Residency {
    /// Bytes.
    pub bytes: u64,
    /// Entries.
    pub entries: usize,
}

/// Values with their sizes, by key.
#[derive(Debug)]
pub struct BoundedLru<K: Hash + Eq, V> {
    bounds: Bounds,
    entries: LruCache<K, (V, u64)>,
    bytes: u64,
}

impl<K: Hash + Eq, V> BoundedLru<K, V> {
    /// An empty cache.
    pub fn new(bounds: Bounds) -> Self {
        // The map grows with its content: memory for the bound is not taken before it is needed.
        Self { bounds, entries: LruCache::unbounded(), bytes: 0 }
    }

    /// The value of `key`, which becomes the most recently used.
    pub fn get(&mut self, key: &K) -> Option<&mut V> {
        self.entries.get_mut(key).map(|(value, _)| value)
    }

    /// Puts `value` of `bytes` in, and tells how many others had to leave. A value that exceeds the bounds by itself, or
    /// any value in a disabled cache, is not kept.
    pub fn put(&mut self, key: K, value: V, bytes: u64) -> u64 {
        if bytes > self.bounds.bytes || self.bounds.entries == 0 || self.bounds.bytes == 0 {
            self.remove(&key);
            return 0;
        }
        if let Some((_, before)) = self.entries.put(key, (value, bytes)) {
            self.bytes -= before;
        }
        self.bytes += bytes;
        let mut evicted = 0;
        while self.bytes > self.bounds.bytes || self.entries.len() > self.bounds.entries {
            let Some((_, (_, freed))) = self.entries.pop_lru() else { break };
            self.bytes -= freed;
            evicted += 1;
        }
        evicted
    }

    /// Whether one more value of `bytes` fits without another one leaving.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.entries.len() < self.bounds.entries && self.bytes + bytes <= self.bounds.bytes
    }

    /// Takes `key` out.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let (value, bytes) = self.entries.pop(key)?;
        self.bytes -= bytes;
        Some(value)
    }

    /// What is held.
    pub fn residency(&self) -> Residency {
        Residency { bytes: self.bytes, entries: self.entries.len() }
    }

    /// What may be held.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(bytes: u64, entries: usize) -> BoundedLru<u32, u32> {
        BoundedLru::new(Bounds { bytes, entries })
    }

    #[test]
    fn the_least_recently_used_leaves_first() {
        let mut lru = cache(100, 3);
        for key in 0..3 {
            assert_eq!(lru.put(key, key, 30), 0);
        }
        assert!(!lru.has_room(1), "by entries");
        assert_eq!(lru.get(&0), Some(&mut 0));
        assert_eq!(lru.put(3, 3, 30), 1, "by entries");
        assert_eq!(lru.get(&1), None);
        assert_eq!(lru.put(4, 4, 90), 3, "by bytes");
        assert_eq!(lru.residency(), Residency { bytes: 90, entries: 1 });
        assert!(lru.has_room(10) && !lru.has_room(11), "by bytes");
    }

    #[test]
    fn sizes_are_exact_through_replacement_and_removal() {
        let mut lru = cache(100, 10);
        lru.put(1, 1, 40);
        lru.put(1, 2, 10);
        assert_eq!(lru.residency(), Residency { bytes: 10, entries: 1 });
        assert_eq!(lru.put(1, 3, 101), 0, "too large: not kept, and neither is what it replaces");
        assert_eq!(lru.residency(), Residency::default());
        lru.put(2, 2, 5);
        assert_eq!((lru.remove(&2), lru.remove(&2)), (Some(2), None));
        assert_eq!(lru.residency(), Residency::default());
        assert_eq!(cache(0, 10).put(1, 1, 1), 0);
        let mut none = cache(10, 0);
        none.put(1, 1, 1);
        assert_eq!(none.residency().entries, 0);
    }
}
