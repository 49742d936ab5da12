//! The cache alone, at three sizes: 64 times the entries make a hit, a miss and a put that evicts slower only by what the
//! processor's caches no longer hold.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use farquet_core::cache::{BoundedLru, Bounds};
use url::Url;

/// What a session keeps by default is in the middle.
const SIZES: [usize; 3] = [512, 4_096, 32_768];
/// Bytes of one small file.
const BYTES: u64 = 40 << 10;

fn urls(numbers: std::ops::Range<usize>) -> Vec<Url> {
    let url = |n| Url::parse(&format!("https://data.example/2024/06/01/minute-{n:08}.parquet")).expect("a URL");
    numbers.map(url).collect()
}

fn full(keys: &[Url]) -> BoundedLru<Url, u64> {
    let mut cache = BoundedLru::new(Bounds { bytes: BYTES * keys.len() as u64, entries: keys.len() });
    for key in keys {
        assert_eq!(cache.put(key.clone(), 0, BYTES), 0);
    }
    cache
}

fn cache(c: &mut Criterion) {
    for entries in SIZES {
        let (keys, others) = (urls(0..entries), urls(entries..2 * entries));
        let mut cache = full(&keys);
        for (name, asked, there) in [("hit", &keys, true), ("miss", &others, false)] {
            // Not in the order of use, as queries do not ask either: an odd stride visits all.
            let mut n = 0;
            c.bench_function(&format!("{name}/{entries}"), |b| {
                b.iter(|| {
                    n = (n + 1_001) % entries;
                    assert_eq!(cache.get(black_box(&asked[n])).is_some(), there);
                });
            });
        }
        let mut new = others.iter().chain(&keys).cycle();
        c.bench_function(&format!("put/{entries}"), |b| {
            b.iter_batched(
                || new.next().expect("without end").clone(),
                |key| assert_eq!(cache.put(black_box(key), 0, BYTES), 1, "one leaves for each that comes"),
                BatchSize::SmallInput,
            );
        });
        assert_eq!(cache.residency().entries, entries);
    }
}

criterion_group!(benches, cache);
criterion_main!(benches);
