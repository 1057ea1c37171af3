//! Waiting for a state, never for a time.

use std::time::{Duration, Instant};

/// How long most states may take to come; generous, since two cores may be busy with four tests.
pub const SOON: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(10);

/// Asks again until `state` gives something; fails with `what` was waited for.
#[expect(clippy::disallowed_methods, reason = "the one place that pauses between two looks")]
pub async fn until<T>(what: &str, limit: Duration, mut state: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(found) = state().await {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {limit:?} in vain until {what}");
        tokio::time::sleep(PAUSE).await;
    }
}

/// As `until`, for a condition.
pub async fn until_true(what: &str, limit: Duration, mut condition: impl AsyncFnMut() -> bool) {
    until(what, limit, async || condition().await.then_some(())).await;
}

/// Lets a fault last: for outages that must take a while to mean something, never to wait for a result.
#[expect(clippy::disallowed_methods, reason = "the length of an outage is the test's input")]
pub async fn outage(length: Duration) {
    tokio::time::sleep(length).await;
}

/// Awaits `future`, or fails with `what` was waited for.
pub async fn within<T>(what: &str, limit: Duration, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(limit, future).await.unwrap_or_else(|_| panic!("waited {limit:?} in vain until {what}"))
}
