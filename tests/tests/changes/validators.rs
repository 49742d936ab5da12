//! What tells versions apart: tags that alternate (T14), are weak or missing (T15) or lie (T16), files that shrink (T17),
//! dates that cannot be trusted (T30).
//!
//! What cannot be noticed, by anybody: an object without an `ETag` that is replaced within a query by another one of the
//! same size and the same `Last-Modified` second, and one with neither validator that is replaced by one of the same size.
//! What is read of it then fails to decode, or is rows of both. Across queries nothing is kept, so a next query always reads
//! what is there.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use bytes::Bytes;
use farquet_core::{ErrorKind, FooterScope, Limits};
use farquet_testkit::{EntryTags, Fault, Origin, Tag};
use farquet_tests::files::{BY_VERSION, bounds, is_suffix, large, large_row, over, ranges, tiny, tiny_row, versioned};
use farquet_tests::{Answer, World, answer, session};

/// A footer request and one for each row group.
const LARGE_REQUESTS: usize = 4;

fn tags(etag: Tag, last_modified: Option<SystemTime>) -> EntryTags {
    EntryTags { etag, last_modified, cache_control: None }
}

/// Long ago, as objects have it that nobody writes to.
fn date() -> Option<SystemTime> {
    EntryTags::default().last_modified
}

/// The error of a query on `origin`, how often it began anew, and what it sent.
async fn given_up(origin: &Origin) -> (ErrorKind, u64, usize) {
    let session = session();
    let query = session.begin(Limits::default());
    let statement = session.parse(&over(origin, &["/1"], BY_VERSION)).expect("a statement").remove(0);
    let error = session.run(&query, &statement).await.expect_err("an error");
    (error.kind(), query.report().restarts, origin.requests())
}

#[tokio::test(flavor = "multi_thread")]
async fn t14_mirrors_that_disagree_end_in_an_error() {
    for weak in ["", "W/"] {
        let origin = Origin::builder().file("/1", large(1)).start().await;
        origin.script(move |seen| Some(Fault::set_header("etag", format!("{weak}\"{}\"", seen.index % 2))));
        let (kind, restarts, requests) = given_up(&origin).await;
        assert_eq!((kind, restarts), (ErrorKind::SourceChanged, 2), "{weak}");
        assert!(requests <= 3 * LARGE_REQUESTS, "{weak}: {:?}", ranges(&origin.log()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t14_a_file_of_one_request_needs_no_agreement() {
    let origin = Origin::builder().file("/1", tiny(1)).start().await;
    origin.script(|seen| Some(Fault::set_header("etag", format!("\"{}\"", seen.index % 2))));
    let session = session();
    for _ in 0..3 {
        let answer = answer(&session, &over(&origin, &["/1"], BY_VERSION)).await;
        assert_eq!((answer.rows, answer.report.restarts), (vec![tiny_row(1)], 0));
    }
    assert_eq!(origin.requests(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn t15_weak_and_missing_tags_work_within_a_query() {
    for etag in [Tag::Strong, Tag::Weak, Tag::None] {
        for date in [date(), None] {
            let tags = tags(etag.clone(), date);
            let strong = etag == Tag::Strong;
            let name = format!("{tags:?}");
            let origin = Origin::builder().file_with("/1", large(1), tags).start().await;
            let answer = answer(&session(), &over(&origin, &["/1"], BY_VERSION)).await;
            assert_eq!((answer.rows, answer.report.restarts), (vec![large_row(1)], 0), "{name}");
            let log = origin.log();
            assert_eq!(log.requests(), LARGE_REQUESTS, "{name}: {:?}", ranges(&log));
            // Only a strong tag can be a condition.
            let conditions: Vec<_> = log.iter().map(|entry| entry.header("if-match").is_some()).collect();
            assert_eq!(conditions, [false, strong, strong, strong], "{name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t15_a_tag_that_vanishes_is_a_change() {
    let origin = Origin::builder().file("/1", large(1)).start().await;
    origin.script(|seen| (seen.index >= 1).then(|| Fault::without_headers(&["etag", "last-modified"])));
    // The restarted query sees no tag from its beginning, and has nothing to compare.
    let answer = answer(&session(), &over(&origin, &["/1"], BY_VERSION)).await;
    assert_eq!((answer.rows, answer.report.restarts), (vec![large_row(1)], 1));
}

/// A file whose versions have the tags `tags`, replaced by `new` just before a data request is answered.
async fn replaced_before_data(tags: EntryTags, new: Bytes) -> (Origin, Answer) {
    let origin = Origin::builder().file_with("/1", large(1), tags.clone()).start().await;
    let replaced = AtomicBool::new(false);
    origin.script(move |seen| {
        // Not the first row group, which begins within any file.
        let data = bounds(seen.range.as_deref()).is_some_and(|(first, _)| first > 4);
        (data && !replaced.swap(true, Ordering::SeqCst))
            .then(|| Fault::Replace { path: "/1".to_owned(), bytes: new.clone() })
    });
    let answer = answer(&session(), &over(&origin, &["/1"], BY_VERSION)).await;
    (origin, answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn t16_the_same_tag_with_another_size_is_a_change() {
    let lying = || tags(Tag::Custom("\"same\"".to_owned()), None);
    for (rows, groups) in [(45_000, 3), (39_999, 3), (40_000, 4)] {
        let (origin, answer) = replaced_before_data(lying(), versioned(2, groups, rows)).await;
        assert_eq!(answer.rows, [format!("2|{}", groups * rows)]);
        assert_eq!(answer.report.restarts, 1, "{:?}", ranges(&origin.log()));
    }
    // And with another size every time.
    let origin = Origin::builder().file_with("/1", large(1), lying()).start().await;
    let new: Vec<_> = (0..40).map(|n| versioned(2, 3, 40_001 + n)).collect();
    origin.script(move |seen| {
        Some(Fault::ReplaceAfter { path: "/1".to_owned(), bytes: new[seen.index % new.len()].clone() })
    });
    let (kind, restarts, requests) = given_up(&origin).await;
    assert_eq!((kind, restarts), (ErrorKind::SourceChanged, 2));
    assert!(requests <= 3 * (LARGE_REQUESTS + 1), "{:?}", ranges(&origin.log()));
}

#[tokio::test(flavor = "multi_thread")]
async fn t17_a_file_that_shrinks_below_a_range() {
    // Without a tag, so that the range is what the server refuses, and not the condition.
    for date in [date(), None] {
        let (origin, answer) = replaced_before_data(tags(Tag::None, date), tiny(2)).await;
        assert_eq!((answer.rows, answer.report.restarts), (vec![tiny_row(2)], 1));
        assert!(origin.log().by_status().contains_key(&416), "{:?}", origin.log().by_status());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t17_a_file_that_shrank_since_its_size_was_learned() {
    // Told by the server, or not.
    for told in [true, false] {
        let origin = Origin::builder().file("/1", large(1)).start().await;
        let mut world = World::default();
        world.settings.footer_scope = FooterScope::Query;
        let session = world.session();
        let sql = over(&origin, &["/1"], BY_VERSION);
        origin.script(|seen| is_suffix(seen).then(|| Fault::status(501)));
        assert_eq!(answer(&session, &sql).await.rows, [large_row(1)]);
        let (new, rows) = (versioned(2, 3, 20_000), "2|60000".to_owned());
        let size = new.len();
        origin.put("/1", new);
        origin.clear_log();
        origin.script(move |seen| {
            let first = bounds(seen.range.as_deref()).map_or(0, |(first, _)| first);
            let outside = usize::try_from(first).expect("a small file") >= size;
            (outside && !told).then(|| Fault::status(416))
        });
        let answer = answer(&session, &sql).await;
        // What was learned was a guess: the query itself saw one version.
        assert_eq!((answer.rows, answer.report.restarts), (vec![rows], 0), "{:?}", ranges(&origin.log()));
        assert_eq!(origin.log()[0].status, Some(416));
        assert!(origin.requests() <= 2 + LARGE_REQUESTS, "{:?}", ranges(&origin.log()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t30_dates_in_the_future_and_equal_seconds() {
    for date in ["Fri, 31 Dec 2049 23:59:59 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "yesterday"] {
        let origin = Origin::builder().file_with("/1", large(1), tags(Tag::None, None)).start().await;
        let equal = Fault::set_header("last-modified", date);
        let always = equal.clone();
        origin.script(move |_| Some(always.clone()));
        let session = session();
        let sql = over(&origin, &["/1"], BY_VERSION);
        // Nothing changes: the date is compared and not believed.
        let unchanged = answer(&session, &sql).await;
        assert_eq!((unchanged.rows, unchanged.report.restarts), (vec![large_row(1)], 0), "{date}");

        // Another version of the same size in the same second: across queries it is read anew.
        origin.put("/1", large(2));
        let next = answer(&session, &sql).await;
        assert_eq!((next.rows, next.report.restarts), (vec![large_row(2)], 0), "{date}");

        // Within a query the size tells.
        let new = versioned(3, 3, 45_000);
        origin.clear_log();
        origin.script(move |seen| {
            let replaced = Fault::Replace { path: "/1".to_owned(), bytes: new.clone() };
            Some(if seen.index == 1 { replaced.then(equal.clone()) } else { equal.clone() })
        });
        let changed = answer(&session, &sql).await;
        assert_eq!((changed.rows, changed.report.restarts), (vec!["3|135000".to_owned()], 1), "{date}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t30_another_date_is_a_change_whichever_way_it_moves() {
    for (before, after) in [
        ("Fri, 31 Dec 2049 23:59:59 GMT", "Sat, 01 Jan 2050 00:00:00 GMT"),
        ("Fri, 31 Dec 2049 23:59:59 GMT", "Thu, 01 Jan 1970 00:00:00 GMT"),
    ] {
        let origin = Origin::builder().file_with("/1", large(1), tags(Tag::None, None)).start().await;
        let new = large(2);
        origin.script(move |seen| {
            let date = Fault::set_header("last-modified", if seen.index == 0 { before } else { after });
            let replaced = Fault::Replace { path: "/1".to_owned(), bytes: new.clone() };
            Some(if seen.index == 1 { replaced.then(date) } else { date })
        });
        let answer = answer(&session(), &over(&origin, &["/1"], BY_VERSION)).await;
        assert_eq!((answer.rows, answer.report.restarts), (vec![large_row(2)], 1), "{after}");
    }
}
