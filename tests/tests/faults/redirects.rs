//! Redirects (T21): followed exactly and within limits, remembered for the query, left again where they expire.
//!
//! That a public server may not redirect to a private address cannot be tried on loopback, where all addresses are private;
//! the unit tests of the native backend cover it.

use std::sync::atomic::{AtomicUsize, Ordering};

use farquet_core::ErrorKind;
use farquet_testkit::{Fault, Origin};
use farquet_tests::files::{BY_VERSION, is_suffix, large, large_row, over, ranges, tiny, tiny_row};
use farquet_tests::{World, answer, refusal, session};

/// A footer request and one for each row group.
const LARGE_REQUESTS: usize = 4;
const MOVED: &str = "/in/moved";

/// Redirects `MOVED` by `code` to `location`.
fn redirect(origin: &Origin, code: u16, location: &str) {
    let location = location.to_owned();
    origin.script(move |seen| (seen.path == MOVED).then(|| Fault::redirect(code, &*location)));
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_are_followed_and_their_end_is_asked_directly() {
    let home = Origin::builder().file("/in/large", large(1)).start().await;
    let away = Origin::builder().file("/in/large", large(1)).start().await;
    for code in [301, 302, 303, 307, 308] {
        let near = ["large".to_owned(), "/in/large".to_owned(), home.url("/in/large").to_string()];
        let far = [away.url("/in/large").to_string()];
        for (location, target) in near.iter().map(|near| (near, &home)).chain(far.iter().map(|far| (far, &away))) {
            home.clear_log();
            away.clear_log();
            redirect(&home, code, location);
            let answer = answer(&session(), &over(&home, &[MOVED], BY_VERSION)).await;
            let name = format!("{code} to {location}");
            assert_eq!(answer.rows, [large_row(1)], "{name}");
            assert_eq!(home.log().of_path(MOVED).requests(), 1, "{name}");
            let log = target.log().of_path("/in/large");
            assert_eq!(log.requests(), LARGE_REQUESTS, "{name}: {:?}", ranges(&log));
            assert!(log.iter().all(|entry| entry.status == Some(206)), "{name}");
            // The redirect is a step of its own.
            assert_eq!(answer.report.hops, 3, "{name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn locations_are_asked_for_as_they_were_sent() {
    const EXACT: &str = "/type=a%2Fb/100%25/x y.parquet?sig=a%2Fb%3D&plus=1+2";
    const WIRE: &str = "/type=a%2Fb/100%25/x%20y.parquet";
    let origin = Origin::builder().file(WIRE, large(1)).start().await;
    redirect(&origin, 302, EXACT);
    let answer = answer(&session(), &over(&origin, &[MOVED], BY_VERSION)).await;
    assert_eq!(answer.rows, [large_row(1)]);
    let log = origin.log().of_path(WIRE);
    assert_eq!(log.requests(), LARGE_REQUESTS);
    assert!(log.iter().all(|entry| entry.query.as_deref() == Some("sig=a%2Fb%3D&plus=1+2")));
}

#[tokio::test(flavor = "multi_thread")]
async fn circles_and_endless_ways_are_refused() {
    let origin = Origin::builder().start().await;
    origin.script(|_| Some(Fault::redirect(302, MOVED)));
    let error = refusal(&session(), &over(&origin, &[MOVED], BY_VERSION)).await;
    assert_eq!(error.kind(), ErrorKind::Network, "{error:?}");
    assert!(error.to_string().contains("circle"), "{error}");
    assert_eq!(origin.requests(), 1, "a circle is not asked for again");

    origin.clear_log();
    origin.script(|seen| Some(Fault::redirect(307, format!("/{}", seen.index + 1))));
    let error = refusal(&session(), &over(&origin, &[MOVED], BY_VERSION)).await;
    assert_eq!(error.kind(), ErrorKind::Network, "{error:?}");
    assert_eq!(origin.requests(), 11, "ten redirects are followed");
}

#[tokio::test(flavor = "multi_thread")]
async fn https_is_not_left() {
    let plain = Origin::builder().file("/in/large", large(1)).start().await;
    let secure = Origin::builder().http2_tls().start().await;
    redirect(&secure, 302, plain.url("/in/large?sig=s3cr3t").as_str());
    let certificate = secure.certificate_pem().map(str::to_owned);
    let session = World { certificate, ..World::default() }.session();
    let error = refusal(&session, &over(&secure, &[MOVED], BY_VERSION)).await;
    assert_eq!(error.kind(), ErrorKind::Network, "{error:?}");
    assert!(error.to_string().contains("https"), "{error}");
    assert!(!format!("{error} {error:?} {:?}", error.hint_text()).contains("s3cr3t"), "{error}");
    assert_eq!((secure.requests(), plain.requests()), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_expires_is_looked_up_again() {
    let origin = Origin::builder().file("/in/large", large(1)).start().await;
    // Each look-up gives a new link, which is good for one request.
    let links = AtomicUsize::new(0);
    origin.script(move |seen| {
        if seen.path == MOVED {
            let link = links.fetch_add(1, Ordering::SeqCst);
            return Some(Fault::redirect(302, format!("/in/large?link={link}")));
        }
        (seen.query.as_deref() == Some("link=0") && !is_suffix(seen)).then(|| Fault::status(403))
    });
    let answer = answer(&session(), &over(&origin, &[MOVED], BY_VERSION)).await;
    assert_eq!((answer.rows, answer.report.restarts), (vec![large_row(1)], 0));
    let log = origin.log();
    assert_eq!(log.by_status()[&403], 3, "each data request in flight finds out");
    assert_eq!(log.of_path(MOVED).requests(), 1 + 3, "and looks up once");
    assert_eq!(log.requests(), 2 + 3 * 3, "{:?}", ranges(&log));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_stays_forbidden_is_an_error() {
    for (status, kind) in [(403, ErrorKind::Access), (404, ErrorKind::NotFound)] {
        let origin = Origin::builder().file("/in/large", large(1)).start().await;
        origin.script(move |seen| {
            if seen.path == MOVED {
                return Some(Fault::redirect(302, "/in/large?X-Amz-Signature=s3cr3t"));
            }
            (!is_suffix(seen)).then(|| Fault::status(status))
        });
        let error = refusal(&session(), &over(&origin, &[MOVED], BY_VERSION)).await;
        assert_eq!((error.kind(), error.http_status()), (kind, Some(status)), "{error:?}");
        assert!(!format!("{error} {error:?} {:?}", error.hint_text()).contains("s3cr3t"), "{error}");
        // Each of three data requests once, and once more by way of the redirect.
        assert!(origin.requests() <= 2 + 3 * 3, "{:?}", ranges(&origin.log()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_behind_redirects_are_told_apart() {
    let origin = Origin::builder().file("/x/1", tiny(1)).file("/x/2", large(2)).start().await;
    origin.script(|seen| {
        let name = seen.path.strip_prefix("/by-name/")?;
        Some(Fault::redirect(307, format!("/x/{name}")))
    });
    let answer = answer(&session(), &over(&origin, &["/by-name/1", "/by-name/2"], BY_VERSION)).await;
    assert_eq!(answer.rows, [tiny_row(1), large_row(2)]);
    assert_eq!(origin.requests(), 2 + 1 + LARGE_REQUESTS, "{:?}", ranges(&origin.log()));
}
