//! Tells every node what was folded and who flipped; it may lose, repeat and reorder, and never makes its caller wait.
//!
//! What is published reaches this process at once, whatever the state of Redis. Other processes learn it over Redis, or
//! else from their own look at the checkpoints: see [`Bus::behind`].

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::{Notify, watch};

use super::coverage::Coverage;
use super::hub::Hub;
use super::redis::RedisBus;
use crate::domain::{CountCopy, FoldedRange, ReactionChange};

/// The one bus of a node; cheap to clone.
#[derive(Clone)]
pub enum Bus {
    /// This process is the only node.
    Local(Arc<LocalBus>),
    /// This process is one of several.
    Redis(Arc<RedisBus>),
}

/// Totals since the start, for whoever measures; read them with relaxed ordering.
#[derive(Debug, Default)]
pub struct BusStats {
    /// Messages that were not sent: the queue was full, Redis was away, or a topic had too many items.
    pub dropped: AtomicU64,
    /// Times that the subscription was made anew after a loss.
    pub reconnects: AtomicU64,
    /// Messages received, the node's own among them.
    pub messages_in: AtomicU64,
    pub messages_out: AtomicU64,
    /// Messages that came in and could not be read.
    pub malformed: AtomicU64,
    /// Whether the subscription stands; always false without Redis.
    pub subscribed: AtomicBool,
}

/// The end of the bus inside this process, where all that is published or received arrives.
pub struct LocalBus {
    pub(super) hub: Arc<Hub>,
    pub(super) stats: BusStats,
    coverage: Mutex<Coverage>,
    append_hint: Arc<Notify>,
    lost_touch: watch::Sender<u64>,
}

impl Bus {
    /// A bus for a process that is alone.
    pub fn local(hub: Arc<Hub>) -> Self {
        Self::Local(Arc::new(LocalBus::new(hub)))
    }

    /// After a fold's commit: the copies include the ranges. A heal or a rebuild has no ranges.
    pub fn publish_fold(&self, ranges: &[FoldedRange], copies: &[CountCopy]) {
        let local = self.end();
        local.hub.offer(copies);
        local.coverage().note_whole(ranges);
        if let Self::Redis(redis) = self {
            redis.send_fold(ranges, copies);
        }
    }

    /// After a flip's commit; also the append hint for the counter of each node.
    pub fn publish_reaction(&self, change: &ReactionChange) {
        self.end().take_reaction(change);
        if let Self::Redis(redis) = self {
            redis.send_reaction(change);
        }
    }

    pub fn hub(&self) -> &Arc<Hub> {
        &self.end().hub
    }

    pub fn stats(&self) -> &BusStats {
        &self.end().stats
    }

    /// Notified when the log has grown, here or on another node; made for one waiter, the node's counter. One permit is
    /// kept while it is busy. Hints may be lost, so the counter polls as well.
    pub fn append_hint(&self) -> Arc<Notify> {
        Arc::clone(&self.end().append_hint)
    }

    /// Rises whenever the subscription was made, the first time and after each loss: messages may have been missed
    /// before, so all the watched items are to be read again.
    pub fn lost_touch_generation(&self) -> watch::Receiver<u64> {
        self.end().lost_touch.subscribe()
    }

    /// True where the log is folded further than the bus has told this node. A message may still be under way, so ask
    /// again a little later; then read the watched items, offer them to the hub and call [`Self::covered_to`].
    pub fn behind(&self, checkpoints: &[i64]) -> bool {
        self.end().coverage().behind(checkpoints)
    }

    /// The hub was offered all its watched items with counts that include these offsets. Read the offsets first and ask
    /// [`Hub::watched`] afterwards: whoever registers later than that reads them in the store.
    pub fn covered_to(&self, offsets: &[i64]) {
        self.end().coverage().covered_to(offsets);
    }

    fn end(&self) -> &LocalBus {
        match self {
            Self::Local(local) => local,
            Self::Redis(redis) => redis.local(),
        }
    }
}

impl LocalBus {
    pub(super) fn new(hub: Arc<Hub>) -> Self {
        Self {
            hub,
            stats: BusStats::default(),
            coverage: Mutex::default(),
            append_hint: Arc::default(),
            lost_touch: watch::Sender::new(0),
        }
    }

    pub(super) fn take_reaction(&self, change: &ReactionChange) {
        self.hub.announce(change);
        self.append_hint.notify_one();
    }

    pub(super) fn lose_touch(&self) {
        self.lost_touch.send_modify(|generation| *generation += 1);
        self.hub.lost_touch();
        self.append_hint.notify_one();
    }

    pub(super) fn coverage(&self) -> std::sync::MutexGuard<'_, Coverage> {
        self.coverage.lock().expect("nothing panics under this lock")
    }
}

impl BusStats {
    /// Adds, and answers whether to say so in the log: at the 1st, 2nd, 4th, 8th … time, so that a flood stays quiet.
    pub(super) fn count_loss(counter: &AtomicU64, by: usize) -> bool {
        let before = counter.fetch_add(by as u64, Ordering::Relaxed);
        before.checked_ilog2() != (before + by as u64).checked_ilog2()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::domain::{Basis, ItemId, ReactionState, UserId};
    use crate::realtime::UserNews;

    #[test]
    fn what_is_published_reaches_the_own_watchers_at_once() {
        let bus = Bus::local(Arc::new(Hub::new()));
        let (item, user) = (ItemId::parse("a").unwrap(), UserId::parse("ana").unwrap());
        let (mut counts, mut reactions) = (bus.hub().watch_item(&item), bus.hub().watch_user(&user));

        let basis = Arc::new(Basis { offsets: vec![1], as_of: 1, read_at: 1 });
        let copy = CountCopy { item: item.clone(), like_count: 1, dislike_count: 0, version: 1, basis };
        assert!(bus.behind(&[1]));
        bus.publish_fold(&[FoldedRange { partition: 0, from: 0, to: 1 }], std::slice::from_ref(&copy));
        assert_eq!(counts.changed().now_or_never().and_then(|seen| seen.copy), Some(copy));
        assert!(!bus.behind(&[1]));

        let change = ReactionChange { user, item, state: ReactionState::Like, version: 1 };
        bus.publish_reaction(&change);
        assert_eq!(reactions.recv().now_or_never(), Some(UserNews::Changed(change)));
        assert!(bus.append_hint().notified().now_or_never().is_some());
    }

    #[test]
    fn a_flood_of_losses_is_logged_a_few_times_only() {
        let counter = AtomicU64::new(0);
        let logged = (0..1_000).filter(|_| BusStats::count_loss(&counter, 1)).count();
        assert_eq!(logged, 10);
    }
}
