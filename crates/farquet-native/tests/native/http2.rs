//! HTTP/2: many exchanges on one connection.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use farquet_core::fetch::Fetch;
use farquet_native::HttpFetch;
use futures::{StreamExt, stream};
use http::{Response, Version};
use http_body_util::StreamBody;
use hyper::body::Frame;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_rustls::TlsAcceptor;

use crate::tls::certified;
use crate::{body_of, builder, get};

const CHUNK: usize = 64 << 10;

/// Sends a word when it is dropped, which is when the server has given up on a body.
struct Watched(UnboundedSender<&'static str>);

impl Drop for Watched {
    fn drop(&mut self) {
        // The test may be over by now.
        let _ = self.0.send("body dropped");
    }
}

/// A server whose bodies have as many chunks as the path says, its client, and the ends of its bodies.
async fn start() -> (String, HttpFetch, UnboundedReceiver<&'static str>) {
    let (certificate, config) = certified("h2");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
    let url = format!("https://localhost:{}", listener.local_addr().expect("an address").port());
    let (dropped, drops) = unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, dropped) = (TlsAcceptor::from(Arc::clone(&config)), dropped.clone());
            tokio::spawn(async move {
                let stream = acceptor.accept(stream).await.ok()?;
                let service = service_fn(move |request: http::Request<hyper::body::Incoming>| {
                    assert_eq!(request.version(), Version::HTTP_2);
                    let chunks: usize = request.uri().path()[1..].parse().unwrap_or(0);
                    let watched = Watched(dropped.clone());
                    let body = stream::iter(0..chunks).map(move |_| {
                        let _watched = &watched;
                        Ok::<_, Infallible>(Frame::data(Bytes::from(vec![7; CHUNK])))
                    });
                    async move { Ok::<_, Infallible>(Response::new(StreamBody::new(body))) }
                });
                let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                connection.serve_connection(TokioIo::new(stream), service).await.ok()
            });
        }
    });
    let client = builder().root_certificate_pem(certificate.as_bytes()).expect("a root").build().expect("a client");
    (url, client, drops)
}

#[tokio::test]
async fn exchanges_share_a_connection() {
    let (url, client, _) = start().await;
    body_of(client.fetch(get(&format!("{url}/0"))).await.expect("an answer")).await.expect("a body");
    let together = (0..32).map(async |_| body_of(client.fetch(get(&format!("{url}/4"))).await?).await);
    for body in futures::future::join_all(together).await {
        assert_eq!(body.expect("a body").len(), 4 * CHUNK);
    }
    assert_eq!(client.connections_opened(), Some(1));
}

#[tokio::test]
async fn a_cold_burst_is_answered_whatever_it_costs_in_connections() {
    let (url, client, _) = start().await;
    let together = (0..16).map(async |_| body_of(client.fetch(get(&format!("{url}/1"))).await?).await);
    for body in futures::future::join_all(together).await {
        assert_eq!(body.expect("a body").len(), CHUNK);
    }
    let opened = client.connections_opened().expect("counted");
    assert!((1..=16).contains(&opened), "{opened}");
}

#[tokio::test]
async fn dropping_a_body_ends_its_stream_and_not_its_connection() {
    let (url, client, mut drops) = start().await;
    // Far more than the windows hold: the server cannot come to the end of it alone.
    let mut response = client.fetch(get(&format!("{url}/100000"))).await.expect("a head");
    response.body.next().await.expect("a chunk").expect("no error");
    assert!(drops.try_recv().is_err());
    drop(response);
    let dropped = tokio::time::timeout(Duration::from_secs(5), drops.recv()).await.expect("the stream should be reset");
    assert_eq!(dropped, Some("body dropped"));
    body_of(client.fetch(get(&format!("{url}/1"))).await.expect("an answer")).await.expect("a body");
    assert_eq!(client.connections_opened(), Some(1));
}

#[tokio::test]
async fn bodies_that_wait_to_be_read_do_not_keep_others_from_arriving() {
    let (url, client, _) = start().await;
    let mut waiting = Vec::new();
    for _ in 0..7 {
        waiting.push(client.fetch(get(&format!("{url}/1000"))).await.expect("a head"));
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let response = client.fetch(get(&format!("{url}/40"))).await.expect("an answer");
    assert_eq!(body_of(response).await.expect("a body").len(), 40 * CHUNK);
}
