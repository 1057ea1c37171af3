//! How many sockets and subscriptions are open, for the bound on sockets and for telemetry.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The sockets and subscriptions of one node.
#[derive(Debug, Default)]
pub struct Gauges {
    /// Open WebSockets.
    pub sockets: AtomicU64,
    /// Gauges subscriptions.
    pub subscriptions: AtomicU64,
    /// Events sent to subscriptions, since the start.
    pub pushes: AtomicU64,
}

impl Gauges {
    /// Counts a socket for as long as the answer lives; `None` where `most` are open.
    pub(super) fn socket(self: &Arc<Self>, most: u64) -> Option<SocketSlot> {
        take(&self.sockets, most).then(|| SocketSlot(Arc::clone(self)))
    }

    /// Counts a subscription for as long as the answer lives.
    pub(super) fn subscription(self: &Arc<Self>) -> SubscriptionSlot {
        self.subscriptions.fetch_add(1, Ordering::Relaxed);
        SubscriptionSlot(Arc::clone(self))
    }
}

/// Adds one unless that would be more than `most`.
pub(super) fn take(counter: &AtomicU64, most: u64) -> bool {
    let add = |open| (open < most).then_some(open + 1);
    counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
}

/// One open socket; dropping it closes the count.
pub(super) struct SocketSlot(Arc<Gauges>);

impl Drop for SocketSlot {
    fn drop(&mut self) {
        self.0.sockets.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One open subscription; dropping it closes the count.
pub(super) struct SubscriptionSlot(Arc<Gauges>);

impl Drop for SubscriptionSlot {
    fn drop(&mut self) {
        self.0.subscriptions.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_counts_while_it_lives_and_the_bound_holds() {
        let gauges = Arc::new(Gauges::default());
        let first = gauges.socket(1);
        assert!(first.is_some());
        assert!(gauges.socket(1).is_none());
        assert_eq!(gauges.sockets.load(Ordering::Relaxed), 1);
        drop(first);
        assert_eq!(gauges.sockets.load(Ordering::Relaxed), 0);
        let subscription = gauges.subscription();
        assert_eq!(gauges.subscriptions.load(Ordering::Relaxed), 1);
        drop(subscription);
        assert_eq!(gauges.subscriptions.load(Ordering::Relaxed), 0);
    }
}
