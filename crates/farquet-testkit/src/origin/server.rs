//! The thread that accepts connections and serves them.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

use super::Shared;
use super::handler::answer;
use super::socket::{Connection, Socket};

/// Streams of one HTTP/2 connection. RFC 9113 recommends at least 100.
const STREAMS: u32 = 256;

/// A running server. Dropping it stops it and waits until the port is closed.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves on a thread of its own, so that a busy client does not slow its server down.
    pub(crate) async fn start(port: u16, tls: Option<TlsAcceptor>, shared: Arc<Shared>) -> io::Result<Self> {
        let (ready, bound) = oneshot::channel();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name("origin".to_owned()).spawn(move || {
            let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return drop(ready.send(Err(error))),
            };
            runtime.block_on(run(port, tls, shared, ready, stopped));
            runtime.shutdown_background();
        })?;
        let address = bound.await.map_err(io::Error::other)??;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed; it is not to become an abort here.
            let _panicked = thread.join();
        }
    }
}

async fn run(
    port: u16,
    tls: Option<TlsAcceptor>,
    shared: Arc<Shared>,
    ready: oneshot::Sender<io::Result<SocketAddr>>,
    stopped: oneshot::Receiver<()>,
) {
    let bound = async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    let listener = match bound.await {
        Ok((listener, address)) => {
            let _gone = ready.send(Ok(address));
            listener
        }
        Err(error) => return drop(ready.send(Err(error))),
    };
    tokio::select! {
        () = accept(listener, tls, shared) => {}
        _ = stopped => {}
    }
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, shared: Arc<Shared>) {
    loop {
        // An error here is one connection's: it was reset before it was accepted, or there are too many open files.
        let Ok((stream, _peer)) = listener.accept().await else {
            tokio::task::yield_now().await;
            continue;
        };
        let id = shared.accepted.fetch_add(1, Ordering::SeqCst);
        let connection = Arc::new(Connection::new(id, Arc::clone(&shared.open)));
        tokio::spawn(serve(stream, connection, tls.clone(), Arc::clone(&shared)));
    }
}

async fn serve(stream: TcpStream, connection: Arc<Connection>, tls: Option<TlsAcceptor>, shared: Arc<Shared>) {
    let _unsupported = stream.set_nodelay(true);
    let socket = Socket::new(stream, Arc::clone(&connection));
    match tls {
        None => exchange(socket, false, connection, shared).await,
        Some(acceptor) => {
            let Ok(stream) = acceptor.accept(socket).await else { return };
            let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            exchange(stream, http2, connection, shared).await;
        }
    }
}

/// Serves one connection until it ends by itself or by a fault.
async fn exchange<S>(socket: S, http2: bool, connection: Arc<Connection>, shared: Arc<Shared>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    connection.multiplexed.store(http2, Ordering::SeqCst);
    let of_connection = Arc::clone(&connection);
    let service = service_fn(move |request| answer(Arc::clone(&shared), Arc::clone(&of_connection), request));
    let io = TokioIo::new(socket);
    // How a connection ended is in the log of its requests.
    if http2 {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.max_concurrent_streams(STREAMS).auto_date_header(false);
        tokio::select! {
            _ = builder.serve_connection(io, service) => {}
            () = connection.broken_off() => {}
        }
    } else {
        let mut builder = http1::Builder::new();
        builder.auto_date_header(false);
        tokio::select! {
            _ = builder.serve_connection(io, service) => {}
            () = connection.broken_off() => {}
        }
    }
}
