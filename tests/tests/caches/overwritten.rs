//! Files that are overwritten between two queries: each in one step, from and to each kind, with all that was kept of it stale.

use bytes::Bytes;
use farquet_core::ErrorKind;
use farquet_sql::Session;
use farquet_testkit::{EntryTags, Fault, Origin, OriginBuilder, Tag};
use farquet_tests::files::{BY_VERSION, GROUPS, is_suffix, large, over, ranges, tiny, versioned};
use farquet_tests::{Answer, answer, ask, ms, refusal, session};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tiny,
    /// Several row groups, and small all the same.
    Small,
    Large,
    /// As large, with other offsets.
    Longer,
}

use Kind::{Large, Longer, Small, Tiny};

const KINDS: [Kind; 4] = [Tiny, Small, Large, Longer];

impl Kind {
    fn bytes(self, version: i64) -> Bytes {
        match self {
            Tiny => tiny(version),
            Small => versioned(version, 2, 1_000),
            Large => large(version),
            Longer => versioned(version, GROUPS, 45_000),
        }
    }

    fn rows(self) -> usize {
        match self {
            Tiny => 100,
            Small => 2_000,
            Large => 120_000,
            Longer => 135_000,
        }
    }

    fn is_small(self) -> bool {
        matches!(self, Tiny | Small)
    }
}

/// A session that knows the file in version 1, and its origin, where it is in version 2.
async fn overwritten(from: Kind, to: Kind, tags: &EntryTags, sql: &str) -> (Origin, Session, String) {
    let origin = Origin::builder().file_with("/1", from.bytes(1), tags.clone()).start().await;
    let (session, sql) = (session(), over(&origin, &["/1"], sql));
    for _ in 0..2 {
        answer(&session, &sql).await;
    }
    origin.put("/1", to.bytes(2));
    origin.clear_log();
    (origin, session, sql)
}

/// The answer, and how many requests it took.
async fn asked(origin: &Origin, session: &Session, sql: &str) -> (Answer, usize) {
    origin.clear_log();
    let found = answer(session, sql).await;
    (found, origin.requests())
}

#[tokio::test(flavor = "multi_thread")]
async fn any_kind_follows_any_other() {
    for (from, to) in KINDS.into_iter().flat_map(|from| KINDS.map(|to| (from, to))) {
        let (origin, session, sql) = overwritten(from, to, &EntryTags::default(), BY_VERSION).await;
        let (found, requests) = asked(&origin, &session, &sql).await;
        let name = format!("{from:?} to {to:?}: {:?}", ranges(&origin.log()));
        assert_eq!(found.rows, [format!("2|{}", to.rows())], "{name}");
        // What was small is asked about before it is planned for; what was large shows its change with the data.
        assert_eq!(found.report.restarts, u64::from(!from.is_small()), "{name}");
        let data = if to.is_small() { 0 } else { GROUPS };
        let expected = match (from.is_small(), to.is_small()) {
            (true, true) => 1..=1,
            (true, false) => 2 + data..=2 + data,
            // Its end is asked for as that of a large file, and may not hold all of it.
            (false, true) if to == Small => 3..=2 + GROUPS + 1,
            // The first refusal cancels the other requests, sent or not.
            (false, _) => 2 + data..=1 + GROUPS + data,
        };
        assert!(expected.contains(&requests), "{requests}, {name}");
        let (again, requests) = asked(&origin, &session, &sql).await;
        assert_eq!((again.rows, again.report.restarts), (found.rows, 0), "{name}");
        // Its end was asked for in the way of large files, and did not hold all of it.
        assert_eq!(requests, if to.is_small() { 1 } else { GROUPS }, "{name}");

        origin.remove("/1");
        assert_eq!(refusal(&session, &sql).await.kind(), ErrorKind::NotFound, "{name}");
        let usage = session.client().usage();
        assert_eq!((usage.bodies.entries, usage.footers.entries), (0, 0), "{name}");
        origin.put("/1", from.bytes(3));
        assert_eq!(answer(&session, &sql).await.rows, [format!("3|{}", from.rows())], "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_from_footers_cost_one_look_and_one_more_after_a_change() {
    for (from, to) in KINDS.into_iter().flat_map(|from| KINDS.map(|to| (from, to))) {
        let sql = "SELECT max(v), count(*) FROM t ";
        let (origin, session, sql) = overwritten(from, to, &EntryTags::default(), sql).await;
        let (found, requests) = asked(&origin, &session, &sql).await;
        let name = format!("{from:?} to {to:?}: {:?}", ranges(&origin.log()));
        assert_eq!(found.rows, [format!("2|{}", to.rows())], "{name}");
        assert_eq!(requests, if from.is_small() && to.is_small() { 1 } else { 2 }, "{name}");
        assert!(origin.log()[0].header("if-none-match").is_some(), "{name}");
        let (again, requests) = asked(&origin, &session, &sql).await;
        assert_eq!((again.rows, again.report.restarts, requests), (found.rows, 0, 1), "{name}");
        // Where large files were expected, only its end was asked for: from now on it is kept whole.
        let status = if !from.is_small() && to == Small { 206 } else { 304 };
        assert_eq!(origin.log().by_status(), [(status, 1)].into(), "{name}");
        assert_eq!(answer(&session, &sql).await.report.status, [(304, 1)].into(), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sizes_are_remembered_and_may_be_wrong() {
    // Nothing but its size is known of a file with a weak tag.
    let tags = EntryTags { etag: Tag::Weak, ..EntryTags::default() };
    for suffixes in [true, false] {
        for (from, to) in KINDS.into_iter().flat_map(|from| KINDS.map(|to| (from, to))) {
            let origin = Origin::builder().file_with("/1", from.bytes(1), tags.clone()).start().await;
            if !suffixes {
                origin.script(|seen| is_suffix(seen).then(|| Fault::status(501)));
            }
            let (session, sql) = (session(), over(&origin, &["/1"], BY_VERSION));
            answer(&session, &sql).await;
            origin.put("/1", to.bytes(2));
            for current in [false, true] {
                let (found, requests) = asked(&origin, &session, &sql).await;
                let name = format!("{from:?} to {to:?}, {suffixes}, {current}: {:?}", ranges(&origin.log()));
                assert_eq!(found.rows, [format!("2|{}", to.rows())], "{name}");
                assert!(origin.log().iter().all(|request| request.header("if-none-match").is_none()), "{name}");
                let wrong = !current && from != to;
                let data = if to.is_small() { 0 } else { GROUPS };
                // A size that is right decides only between a small file's beginning and a large one's end. One that is wrong
                // may cost a refusal, the file's beginning, its end, and data that the end of a large file would not hold.
                let expected = if wrong { 1 + data..=4 + data } else { 1 + data..=1 + data };
                assert!(expected.contains(&requests), "{requests}, {name}");
                assert!(found.report.restarts <= u64::from(wrong && !suffixes && !from.is_small()), "{name}");
            }
        }
    }
}

/// Files of which each has another size than it had, where every range needs a size. They answer one after another, so that
/// the failure of one cancels the requests for the others.
async fn resized(paths: &[&str], to: Kind, tags: &EntryTags) -> (Origin, Session, String) {
    let file = |builder: OriginBuilder, path: &&str| builder.file_with(path, Large.bytes(1), tags.clone());
    let origin = paths.iter().fold(Origin::builder(), file).start().await;
    origin.script(|seen| is_suffix(seen).then(|| Fault::status(501)));
    let (session, sql) = (session(), over(&origin, paths, BY_VERSION));
    answer(&session, &sql).await;
    for path in paths {
        origin.put(path, to.bytes(2));
    }
    origin.clear_log();
    origin.script(|seen| {
        let refused = is_suffix(seen).then(|| Fault::status(501));
        let wait = Fault::Delay(ms(30 * seen.path[1..].parse::<u64>().expect("a number")));
        Some(refused.into_iter().fold(wait, Fault::then))
    });
    (origin, session, sql)
}

async fn resized_files_are_read(tags: EntryTags) {
    let paths = ["/1", "/2", "/3", "/4", "/5"];
    for files in [1, 2, 5] {
        for to in [Tiny, Small, Longer] {
            let (origin, session, sql) = resized(&paths[..files], to, &tags).await;
            let found = ask(&session, &sql).await;
            let name = format!("{files} files to {to:?}: {:?}", ranges(&origin.log()));
            let found = found.unwrap_or_else(|error| panic!("{name}: {error:?}"));
            assert_eq!(found.rows, [format!("2|{}", files * to.rows())], "{name}");
            assert!(found.report.restarts <= 2, "{name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t17_many_files_with_kept_footers_are_resized() {
    resized_files_are_read(EntryTags::default()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn t17_many_files_with_known_sizes_are_resized() {
    resized_files_are_read(EntryTags { etag: Tag::Weak, ..EntryTags::default() }).await;
}
