//! Accepts connections and serves them until the node drains.
//!
//! `axum::serve` sets no time limit on a request's head, so a byte every ten seconds would hold a connection for ever;
//! hyper with a timer does.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};

/// Time for the head of a request to arrive; also how long an idle connection is kept.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Open connections; upgraded sockets are bounded elsewhere. More wait in the kernel's queue until one ends.
const CONNECTIONS_MAX: usize = 20_000;
/// Pause after a connection could not be accepted, such as for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop`; requests in flight go on as tasks of `tracker`.
pub async fn serve(listener: TcpListener, router: Router, stop: CancellationToken, tracker: TaskTracker) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = accept(&listener, &places) => accepted,
        };
        match accepted {
            Ok((stream, place)) => {
                tracker.spawn(connection(stream, router.clone(), stop.clone(), place));
            }
            Err(cause) => {
                warn!(error = %cause, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> std::io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.expect("the semaphore is never closed");
    let (stream, _) = listener.accept().await?;
    // Small answers must not wait for more to send with them.
    stream.set_nodelay(true)?;
    Ok((stream, place))
}

async fn connection(stream: TcpStream, router: Router, stop: CancellationToken, place: OwnedSemaphorePermit) {
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .with_upgrades();
    let mut serving = pin!(serving);
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = stop.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(cause) = ended {
        debug!(error = %cause, "a connection ended early");
    }
    drop(place);
}
