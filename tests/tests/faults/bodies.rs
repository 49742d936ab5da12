//! Bodies that are not what was asked for (T06, T08, T09, T10), and bodies that break off (T20).

use bytes::Bytes;
use farquet_core::ErrorKind;
use farquet_testkit::{EntryTags, Fault, Origin, Seen, Tag};
use farquet_tests::files::{
    BY_VERSION, bounds, is_suffix, large, large_row, over, ranges, times, tiny, tiny_row, versioned,
};
use farquet_tests::{Answer, World, answer, refusal, session};

/// A footer request and one for each row group.
const LARGE_REQUESTS: usize = 4;
const FIRST_TAIL: u64 = 512 << 10;

/// The request for the data of the first row group.
fn is_first_data(seen: &Seen) -> bool {
    bounds(seen.range.as_deref()).is_some_and(|(first, _)| first == 4)
}

fn wrong_bodies() -> [(&'static str, Fault); 5] {
    [
        ("another range (T06)", Fault::OtherRange),
        ("short (T08)", Fault::ShortBody(100)),
        ("long (T09)", Fault::LongBody(10)),
        ("gzip (T10)", Fault::Gzip),
        ("gzip by name (T10)", Fault::GzipLabel),
    ]
}

async fn one_large() -> (Origin, String) {
    let origin = Origin::builder().file("/large", large(1)).start().await;
    let sql = over(&origin, &["/large"], BY_VERSION);
    (origin, sql)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_footer_body_is_asked_for_once_more() {
    for (name, fault) in wrong_bodies() {
        let (origin, sql) = one_large().await;
        origin.script(move |seen| (seen.index == 0).then(|| fault.clone()));
        let answer = answer(&session(), &sql).await;
        assert_eq!(answer.rows, [large_row(1)], "{name}");
        let log = origin.log();
        assert_eq!(log.requests(), LARGE_REQUESTS + 1, "{name}: {:?}", ranges(&log));
        assert_eq!(log[0].range, log[1].range, "{name}");
        assert_eq!(log[0].header("cache-control"), None, "{name}");
        assert_eq!(log[1].header("cache-control"), Some("no-cache"), "{name}: past all caches");
        assert_eq!(answer.report.retries, 1, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_footer_body_that_stays_wrong_is_an_error() {
    for (name, fault) in wrong_bodies() {
        let (origin, sql) = one_large().await;
        origin.script(move |_| Some(fault.clone()));
        let error = refusal(&session(), &sql).await;
        assert_eq!(error.kind(), ErrorKind::BadResponse, "{name}: {error:?}");
        // The suffix twice, and in case it was the form that was misunderstood, the beginning twice.
        let log = origin.log();
        let expected = ["bytes=-524288", "bytes=-524288", "bytes=0-524287", "bytes=0-524287"];
        assert_eq!(ranges(&log), expected, "{name}");
        let past: Vec<_> = log.iter().map(|entry| entry.header("cache-control").is_some()).collect();
        assert_eq!(past, [false, true, false, true], "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_data_body_is_asked_for_once_more() {
    for (name, fault) in wrong_bodies() {
        let (origin, sql) = one_large().await;
        origin
            .script(move |seen| (is_first_data(seen) && seen.header("cache-control").is_none()).then(|| fault.clone()));
        let answer = answer(&session(), &sql).await;
        assert_eq!(answer.rows, [large_row(1)], "{name}");
        assert_eq!(origin.requests(), LARGE_REQUESTS + 1, "{name}: {:?}", ranges(&origin.log()));
        assert_eq!((answer.report.retries, answer.report.restarts), (1, 0), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_body_that_stays_wrong_is_an_error() {
    for (name, fault) in wrong_bodies() {
        let (origin, sql) = one_large().await;
        origin.script(move |seen| is_first_data(seen).then(|| fault.clone()));
        let error = refusal(&session(), &sql).await;
        assert_eq!(error.kind(), ErrorKind::BadResponse, "{name}: {error:?}");
        let log = origin.log();
        let range = log.iter().find(|entry| is_first_data(entry)).and_then(|entry| entry.range.clone());
        assert_eq!(times(&log, &range.expect("a data request")), 2, "{name}: {:?}", ranges(&log));
    }
}

/// The first request for which `when` holds breaks off after `bytes`.
fn break_once(origin: &Origin, when: fn(&Seen) -> bool, fault: Fault) {
    let broken = std::sync::atomic::AtomicBool::new(false);
    origin.script(move |seen| {
        (when(seen) && !broken.swap(true, std::sync::atomic::Ordering::SeqCst)).then(|| fault.clone())
    });
}

/// Breaks one request for which `when` holds, and looks at how the rest of its range was asked for.
async fn rest_is_asked_for(when: fn(&Seen) -> bool) {
    for (fault, exact) in [(Fault::CloseAfter(100_000), true), (Fault::ResetAfter(100_000), false)] {
        let (origin, sql) = one_large().await;
        break_once(&origin, when, fault);
        let answer = answer(&session(), &sql).await;
        assert_eq!((answer.rows, answer.report.retries), (vec![large_row(1)], 1));
        let log = origin.log();
        assert_eq!(log.requests(), LARGE_REQUESTS + 1, "{:?}", ranges(&log));
        let size = large(1).len() as u64;
        let broken = log.iter().find(|entry| when(entry)).expect("the broken request");
        let (start, end) = bounds(broken.range.as_deref()).unwrap_or((size - FIRST_TAIL, size - 1));
        let again = log.iter().filter(|entry| entry.index != broken.index);
        let rest = again
            .filter_map(|entry| Some((bounds(entry.range.as_deref())?, entry)))
            .find(|((first, last), _)| *last == end && *first > start);
        match rest {
            Some(((first, _), entry)) => {
                assert!(first == start + 100_000 || (!exact && first < start + 100_000), "{first} from {start}");
                let condition = entry.header("if-match");
                assert!(condition.is_some_and(|tag| tag.starts_with('"')), "the rest of the same version");
            }
            // A reset may lose all that was under way.
            None => assert!(!exact && log.iter().filter(|entry| when(entry)).count() == 2, "{:?}", ranges(&log)),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t20_a_broken_footer_is_resumed() {
    rest_is_asked_for(is_suffix).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn t20_broken_data_is_resumed() {
    rest_is_asked_for(is_first_data).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn t20_what_breaks_again_is_resumed_again() {
    let (origin, sql) = one_large().await;
    // 320 kB of data in pieces of at most 100 kB.
    origin.script(|seen| (!is_suffix(seen)).then_some(Fault::CloseAfter(100_000)));
    let answer = answer(&session(), &sql).await;
    assert_eq!(answer.rows, [large_row(1)]);
    let log = origin.log();
    let mut seen: Vec<_> = log.iter().filter_map(|entry| entry.range.clone()).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), log.requests(), "nothing was asked for twice: {:?}", ranges(&log));
}

#[tokio::test(flavor = "multi_thread")]
async fn t20_patience_ends() {
    let (origin, sql) = one_large().await;
    let mut world = World::default();
    world.settings.retries = 2;
    for fault in [Fault::Abort, Fault::ResetAfter(0), Fault::CloseAfter(0)] {
        origin.clear_log();
        let name = format!("{fault:?}");
        origin.script(move |_| Some(fault.clone()));
        let error = refusal(&world.session(), &sql).await;
        assert_eq!(error.kind(), ErrorKind::Network, "{name}: {error:?}");
        assert_eq!(origin.requests(), 3, "{name}: {:?}", ranges(&origin.log()));
    }
}

/// The object is replaced after the broken answer; `other` is a version with other rows.
async fn replaced_while_broken(when: fn(&Seen) -> bool, etag: Tag, dated: bool, other: Bytes) -> (String, Answer) {
    let name = format!("{etag:?}, dated {dated}, {} bytes", other.len());
    let mut tags = EntryTags { etag, ..EntryTags::default() };
    if !dated {
        tags.last_modified = None;
    }
    let origin = Origin::builder().file_with("/large", large(1), tags).start().await;
    let replace = Fault::ReplaceAfter { path: "/large".to_owned(), bytes: other };
    break_once(&origin, when, Fault::CloseAfter(100_000).then(replace));
    let answer = answer(&session(), &over(&origin, &["/large"], BY_VERSION)).await;
    assert!(origin.requests() <= 2 + 2 * LARGE_REQUESTS, "{name}: {:?}", ranges(&origin.log()));
    (name, answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn t20_halves_of_two_versions_are_never_joined() {
    let mut cases = Vec::new();
    for etag in [Tag::Strong, Tag::Weak, Tag::None, Tag::Custom("\"same\"".to_owned())] {
        for dated in [true, false] {
            // Where the tag is the same for both, or there is none, only the date or the size can tell.
            let told = matches!(etag, Tag::Strong | Tag::Weak) || (etag == Tag::None && dated);
            if told {
                cases.push((etag.clone(), dated, large(2), large_row(2)));
            }
            let rows = 45_000;
            cases.push((etag.clone(), dated, versioned(2, 3, rows), format!("2|{}", 3 * rows)));
        }
    }
    for (etag, dated, other, expected) in cases {
        let (name, answer) = replaced_while_broken(is_suffix, etag.clone(), dated, other.clone()).await;
        assert_eq!(answer.rows, std::slice::from_ref(&expected), "footer, {name}");
        let (name, answer) = replaced_while_broken(is_first_data, etag, dated, other).await;
        assert_eq!(answer.rows, [expected], "data, {name}");
        assert!((1..=2).contains(&answer.report.restarts), "data, {name}: {} restarts", answer.report.restarts);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t20_a_whole_file_instead_of_its_rest_is_not_appended() {
    for twice in [false, true] {
        let origin = Origin::builder().file("/tiny", tiny(1)).start().await;
        origin.script(move |seen| match seen.index {
            0 => Some(Fault::CloseAfter(500)),
            1 if twice => Some(Fault::IgnoreRange.then(Fault::CloseAfter(700))),
            1 => Some(Fault::IgnoreRange),
            _ => None,
        });
        let answer = answer(&session(), &over(&origin, &["/tiny"], BY_VERSION)).await;
        assert_eq!(answer.rows, [tiny_row(1)]);
        assert_eq!(origin.requests(), if twice { 3 } else { 2 }, "{:?}", ranges(&origin.log()));
    }
}
