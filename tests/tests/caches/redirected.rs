//! URLs that lead elsewhere: where they led an earlier query says nothing of where they lead now.

use farquet_core::ErrorKind;
use farquet_testkit::{Fault, Origin};
use farquet_tests::files::{BY_VERSION, GROUPS, large, large_row, over, ranges, tiny, tiny_row};
use farquet_tests::{answer, refusal, session};

/// Sends whoever asks for `/latest` to `target`, which is relative.
fn lead(origin: &Origin, target: &'static str) {
    origin.script(move |seen| (seen.path == "/latest").then(|| Fault::redirect(302, target)));
}

fn asked_for(origin: &Origin, path: &str) -> usize {
    origin.log().of_path(path).requests()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_old_target_is_not_asked() {
    for (statement, old, new) in [
        (BY_VERSION, large_row(1), large_row(7)),
        ("SELECT max(v) FROM t ", "1".to_owned(), "7".to_owned()),
        ("SELECT count(n) FROM t WHERE v = 7", "0".to_owned(), "120000".to_owned()),
        ("SELECT n FROM t ORDER BY n DESC LIMIT 1", "1000119999".to_owned(), "7000119999".to_owned()),
    ] {
        let origin = Origin::builder().file("/old", large(1)).file("/new", large(7)).start().await;
        let (session, sql) = (session(), over(&origin, &["/latest"], statement));
        lead(&origin, "/old");
        assert_eq!(answer(&session, &sql).await.rows, [old], "{statement}");
        lead(&origin, "/new");
        origin.clear_log();
        // The old target is still there, and still has its tag.
        assert_eq!(answer(&session, &sql).await.rows, [new], "{statement}");
        assert_eq!(asked_for(&origin, "/old"), 0, "{statement}: {:?}", ranges(&origin.log()));
        assert!(asked_for(&origin, "/latest") > 0, "{statement}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn small_files_are_asked_about_at_their_own_url() {
    let origin = Origin::builder().file("/old", tiny(1)).file("/new", tiny(2)).start().await;
    let (session, sql) = (session(), over(&origin, &["/latest"], BY_VERSION));
    for (target, version, status) in
        [("/old", 1, 206), ("/old", 1, 304), ("/new", 2, 206), ("/new", 2, 304), ("/old", 1, 206)]
    {
        lead(&origin, target);
        origin.clear_log();
        assert_eq!(answer(&session, &sql).await.rows, [tiny_row(version)], "{target}");
        assert_eq!(origin.log().by_status(), [(302, 1), (status, 1)].into(), "{target}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_file_at_another_place_is_read_there() {
    let builder = Origin::builder().file("/old", large(1)).file("/new", large(1));
    let origin = builder.file("/other", large(1)).start().await;
    let (session, sql) = (session(), over(&origin, &["/latest", "/other"], BY_VERSION));
    lead(&origin, "/old");
    answer(&session, &sql).await;
    lead(&origin, "/new");
    // Its neighbour has changed, so that the query begins anew, and is told that this one has not.
    origin.put("/other", large(2));
    origin.clear_log();
    let found = answer(&session, &sql).await;
    assert_eq!((found.rows, found.report.restarts), (vec![large_row(1), large_row(2)], 1));
    let log = origin.log();
    assert_eq!(log.by_status().get(&304), Some(&1), "{:?}", log.by_status());
    assert_eq!(asked_for(&origin, "/old"), 0, "{:?}", log.iter().map(|entry| &entry.path).collect::<Vec<_>>());
    assert!(asked_for(&origin, "/new") > GROUPS);
}

#[tokio::test(flavor = "multi_thread")]
async fn targets_come_and_go() {
    let origin = Origin::builder().file("/old", large(1)).file("/new", large(2)).start().await;
    let (session, sql) = (session(), over(&origin, &["/latest"], BY_VERSION));
    lead(&origin, "/old");
    answer(&session, &sql).await;
    origin.remove("/old");
    assert_eq!(refusal(&session, &sql).await.kind(), ErrorKind::NotFound);
    lead(&origin, "/new");
    assert_eq!(answer(&session, &sql).await.rows, [large_row(2)]);
    // Without any redirect, it is a file itself.
    origin.put("/latest", tiny(3));
    origin.clear_script();
    for status in [206, 304] {
        let found = answer(&session, &sql).await;
        assert_eq!(found.rows, [tiny_row(3)]);
        assert!(found.report.status.contains_key(&status), "{:?}", found.report.status);
    }
}
