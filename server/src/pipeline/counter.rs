//! The counter: folds the log into the counts and, after the commit, publishes what changed.
//!
//! One pass is idempotent and finds its own work; a hint wakes it for speed, a poll is the guarantee. Any number of
//! nodes may run one: a checkpoint that another holds is skipped. What it published may be lost with the process; then
//! the other nodes see that the checkpoints are further than the bus told them, and read for themselves.

use std::sync::Mutex;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter as Total;
use prometheus_client::metrics::histogram::Histogram;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use crate::domain::{CountCopy, ItemId, Micros};
use crate::error::chain;
use crate::failpoint;
use crate::realtime::Bus;
use crate::store::Store;
use crate::store::fold::{Claim, FoldError, Folded};

/// How often the log is looked at when no hint comes.
const POLL: Duration = Duration::from_millis(100);
/// How long a fold may be without an answer, many times what one takes: then a network has left its connection hanging.
const FOLD_SILENCE_MAX: Duration = Duration::from_secs(10);
/// Pause after a fold that the database could not commit.
const RETRY_PAUSE: Duration = Duration::from_millis(250);
/// Most events of one partition in one fold while others wait for its checkpoint; the rest follows at once.
const FOLD_EVENTS_MAX: i64 = 5_000;
/// The same where nobody waits: a larger fold costs less an event.
const DRAIN_EVENTS_MAX: i64 = 50_000;
/// Most items that are read and published at a time.
const PUBLISH_ITEMS_MAX: usize = 2_000;

/// What the counter measures, for telemetry to name.
#[derive(Debug, Clone)]
pub struct CounterStats {
    /// Seconds from the time of the oldest event of a fold to the first look at the database's clock after its commit.
    pub staleness: Histogram,
    pub events: Total,
    pub folds: Total,
}

impl Default for CounterStats {
    fn default() -> Self {
        let seconds = [0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0];
        Self { staleness: Histogram::new(seconds), events: Total::default(), folds: Total::default() }
    }
}

/// The counter of one node.
pub struct Counter {
    store: Store,
    bus: Bus,
    window: Duration,
    stats: CounterStats,
    /// Time of the oldest event of folds that are committed and whose staleness is not measured yet.
    unmeasured: Mutex<Option<Micros>>,
}

impl Counter {
    /// `window` is the least time between two folds while events keep coming.
    pub fn new(store: Store, bus: Bus, window: Duration, stats: CounterStats) -> Self {
        Self { store, bus, window, stats, unmeasured: Mutex::default() }
    }

    /// Folds until `stop`. An error is a log that must not be folded further: the process should end.
    pub async fn run(self, stop: CancellationToken) -> Result<(), FoldError> {
        let hint = self.bus.append_hint();
        let mut not_before = Instant::now();
        loop {
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = hint.notified() => {}
                () = sleep(POLL) => {}
            }
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = sleep_until(not_before) => {}
            }
            let started = Instant::now();
            if self.pass(&stop).await? {
                not_before = started + self.window;
            }
        }
    }

    /// Folds all that is committed now, for a command that wants consistent counts at its end; what others append
    /// meanwhile may stay. `progress` is told the events of each fold.
    pub async fn drain(&self, progress: impl Fn(u64)) -> Result<(), FoldError> {
        let ends = self.store.log_ends().await?;
        while self.store.has_unfolded_before(&ends).await? {
            let folded = self.store.fold(Claim::Free, DRAIN_EVENTS_MAX).await?;
            if folded.events == 0 {
                // Another node holds the checkpoints, so it is folding.
                sleep(POLL).await;
            }
            progress(folded.events);
            self.settle(folded).await;
        }
        Ok(())
    }

    /// Folds what there is now; true where something was.
    async fn pass(&self, stop: &CancellationToken) -> Result<bool, FoldError> {
        let mut any = false;
        while !stop.is_cancelled() {
            let folded = match self.fold().await {
                Ok(folded) => folded,
                Err(passing @ (FoldError::Passing(_) | FoldError::Silent)) => {
                    warn!(error = %chain(&passing), "a fold is tried again");
                    sleep(RETRY_PAUSE).await;
                    return Ok(any);
                }
                Err(stopping) => {
                    error!(error = %chain(&stopping), "the counter stops");
                    return Err(stopping);
                }
            };
            let more = folded.more;
            any |= folded.events > 0;
            self.settle(folded).await;
            if !more {
                break;
            }
        }
        Ok(any)
    }

    async fn fold(&self) -> Result<Folded, FoldError> {
        let fold = async {
            if !self.store.has_unfolded().await? {
                return Ok(Folded::default());
            }
            self.store.fold(Claim::Free, FOLD_EVENTS_MAX).await
        };
        timeout(FOLD_SILENCE_MAX, fold).await.unwrap_or(Err(FoldError::Silent))
    }

    /// Measures and publishes a committed fold. The items are read again: a total from inside the fold may hold another
    /// worker's fold that is not in the offsets this one knows.
    async fn settle(&self, folded: Folded) {
        if folded.events == 0 {
            return;
        }
        self.stats.folds.inc();
        self.stats.events.inc_by(folded.events);
        self.is_to_measure(folded.oldest);
        let mut ranges = folded.ranges;
        let mut copies: Vec<CountCopy> = Vec::with_capacity(folded.items.len());
        for items in folded.items.chunks(PUBLISH_ITEMS_MAX) {
            match self.read(items).await {
                Some(read) => copies.extend(read),
                // Told without its ranges, the fold counts as lost on every node, and they read for themselves.
                None => ranges.clear(),
            }
        }
        failpoint::reach("counter_before_publish").await;
        self.bus.publish_fold(&ranges, &copies);
    }

    async fn read(&self, items: &[ItemId]) -> Option<Vec<CountCopy>> {
        match self.store.count_copies(items).await {
            Ok((pulse, copies)) => {
                self.measure(pulse.basis.read_at);
                Some(copies.into_values().collect())
            }
            Err(unread) => {
                warn!(error = %chain(&unread), "a fold is committed and cannot be published");
                None
            }
        }
    }

    /// A fold that cannot be read back is measured with the next one: later, and so never too well.
    fn is_to_measure(&self, oldest: Option<Micros>) {
        let mut unmeasured = self.unmeasured.lock().expect("nothing panics under this lock");
        *unmeasured = unmeasured.into_iter().chain(oldest).min();
    }

    /// Once a fold, by the database's clock; below zero, which is a clock that was set back, counts as zero.
    fn measure(&self, now: Micros) {
        let oldest = self.unmeasured.lock().expect("nothing panics under this lock").take();
        if let Some(oldest) = oldest {
            let microseconds = u64::try_from(now - oldest).unwrap_or_default();
            self.stats.staleness.observe(Duration::from_micros(microseconds).as_secs_f64());
        }
    }
}
