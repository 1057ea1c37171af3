//! The pace of background writes: small batches, and a rest after each that is as long as several of them, so that other
//! writes seldom meet one and then wait for little.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// Most rows of one batch: the partition's other writes wait for so many at a time.
pub(super) const BATCH_MAX: usize = 100;
/// The rest after a batch, in its own lengths: a partition's lock is held for at most a quarter of the time.
const REST_LENGTHS: u32 = 3;
/// The shortest and the longest rest.
const REST: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1));
/// How often work is looked for.
const POLL: Duration = Duration::from_millis(500);
/// Pause after work that the store could not carry out.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Rests after a batch that was begun at this time; true where the work is to stop.
pub(super) async fn rest(begun: Instant, stop: &CancellationToken) -> bool {
    pause((begun.elapsed() * REST_LENGTHS).clamp(REST.0, REST.1), stop).await
}

/// True where the work is to stop.
pub(super) async fn poll_pause(stop: &CancellationToken) -> bool {
    pause(POLL, stop).await
}

/// True where the work is to stop.
pub(super) async fn retry_pause(stop: &CancellationToken) -> bool {
    pause(RETRY_PAUSE, stop).await
}

async fn pause(length: Duration, stop: &CancellationToken) -> bool {
    tokio::select! {
        biased;
        () = stop.cancelled() => true,
        () = sleep(length) => false,
    }
}
