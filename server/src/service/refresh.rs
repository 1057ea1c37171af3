//! Keeps a node's watchers true whatever the bus loses: looks at the checkpoints once a second, and reads all watched
//! items again where the bus left a gap, was made anew, or the counters were rewritten. It also tells when counts
//! become stale and live again, and which accounts were deleted.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::Service;
use crate::domain::{Freshness, Micros, UserId};
use crate::error::{Error, Result, chain};
use crate::store::Store;
use crate::store::counts::Pulse;

const LOOK: Duration = Duration::from_secs(1);
/// Time that a message may be under way after its fold's commit.
const UNDER_WAY: Duration = Duration::from_millis(100);
/// How long the store may take to answer; past it the store counts as away. As long as a read waits for a connection,
/// so that a crowd of reads is not taken for a loss of the store.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// Most items read in one statement.
const READ_MAX: usize = 5_000;

/// How far a look at the deleted accounts goes back behind the one before, in microseconds: longer than a deletion may
/// take from its time to its commit.
const ERASED_OVERLAP: Micros = 10_000_000;

/// What the refresher measures, for telemetry to name.
#[derive(Debug, Clone, Default)]
pub struct RefreshStats {
    pub lag_events: Gauge,
    pub rereads: Counter,
    /// 1 while the store has not answered the last look.
    pub store_away: Gauge,
}

/// The refresher of one node.
pub struct Refresher {
    service: Arc<Service>,
    store: Store,
    stats: RefreshStats,
    epoch: Option<i64>,
    /// What was last known of the counts' age, in microseconds, and when.
    known: Option<(i64, Instant)>,
    /// The database's time of the last look at deleted accounts, and the ones that it found.
    erased: (Option<Micros>, HashSet<UserId>),
}

impl Refresher {
    pub fn new(service: Arc<Service>, store: Store, stats: RefreshStats) -> Self {
        Self { service, store, stats, epoch: None, known: None, erased: (None, HashSet::new()) }
    }

    /// Looks once a second until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut lost_touch = self.service.bus.lost_touch_generation();
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The senders live in the bus, which this task holds.
        loop {
            let lost = tokio::select! {
                () = stop.cancelled() => return,
                _ = look.tick() => false,
                _ = lost_touch.changed() => true,
            };
            match self.look(lost).await {
                Ok(age) => self.known = Some((age, Instant::now())),
                Err(away) => {
                    warn!(error = %chain(&away), "the checkpoints cannot be read");
                    self.set_away(true);
                    self.grow_old();
                    if lost {
                        lost_touch.mark_changed();
                        sleep(UNDER_WAY).await;
                    }
                }
            }
        }
    }

    /// Returns the age of the counts in microseconds.
    async fn look(&mut self, lost_touch: bool) -> Result<i64> {
        let pulse = in_time(self.store.pulse()).await?;
        self.set_away(false);
        self.tell_erased(pulse.basis.read_at).await?;
        let rewritten = self.epoch.is_some_and(|epoch| epoch != pulse.epoch);
        let age = pulse.basis.read_at - pulse.basis.as_of;
        let freshness = self.service.freshness(age);
        let hub = self.service.bus.hub();
        // What watchers are told when freshness flips is then of now, not of the item's last fold.
        let flips = hub.freshness() != freshness;
        if lost_touch || rewritten || flips || self.left_behind(&pulse).await {
            self.read_again(&pulse).await?;
        }
        self.epoch = Some(pulse.epoch);
        hub.set_freshness(freshness);
        let lag = in_time(self.store.log_lag_events()).await?;
        self.stats.lag_events.set(i64::try_from(lag).unwrap_or(i64::MAX));
        Ok(age)
    }

    fn set_away(&self, away: bool) {
        self.service.last_known.set_away(away);
        self.stats.store_away.set(i64::from(away));
    }

    /// The sockets of deleted accounts are to be closed, on whichever node the deletion was asked for.
    async fn tell_erased(&mut self, now: Micros) -> Result<()> {
        let (looked_at, known) = &self.erased;
        let since = looked_at.unwrap_or(now) - ERASED_OVERLAP;
        let erased = in_time(self.store.erased_since(since)).await?;
        let erased = HashSet::from_iter(erased);
        let news: HashSet<UserId> = erased.difference(known).cloned().collect();
        if !news.is_empty() {
            self.service.bus.hub().tell_erased(news);
        }
        self.erased = (Some(now), erased);
        Ok(())
    }

    async fn left_behind(&self, pulse: &Pulse) -> bool {
        let bus = &self.service.bus;
        if !bus.behind(&pulse.basis.offsets) {
            return false;
        }
        sleep(UNDER_WAY).await;
        bus.behind(&pulse.basis.offsets)
    }

    /// The offsets are from before the reading, so that nothing read is claimed to be newer than it is.
    async fn read_again(&self, pulse: &Pulse) -> Result<()> {
        let watched = self.service.bus.hub().watched();
        self.stats.rereads.inc();
        for items in watched.chunks(READ_MAX) {
            in_time(self.service.read_counts(items)).await?;
        }
        self.service.bus.covered_to(&pulse.basis.offsets);
        Ok(())
    }

    /// While the store cannot be read, the counts age by this process's clock.
    fn grow_old(&self) {
        let Some((age, at)) = self.known else { return };
        let passed = i64::try_from(at.elapsed().as_micros()).unwrap_or(i64::MAX);
        if self.service.freshness(age.saturating_add(passed)) == Freshness::Stale {
            self.service.bus.hub().set_freshness(Freshness::Stale);
        }
    }
}

async fn in_time<T>(read: impl Future<Output = Result<T>>) -> Result<T> {
    timeout(ANSWER_MAX, read).await.unwrap_or_else(|late| Err(Error::unavailable(late)))
}
