//! The reconciler: goes through all items at a bounded cost, and says and heals where a count is other than its rows say.
//!
//! It takes a tenth of one connection's time at most, and rests while the counter is behind. Each node may run one:
//! several at once find the same and heal it once. What it cannot do now, it does in a later pass.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prometheus_client::metrics::counter::Counter as Total;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, warn};

use super::recount::{Recounter, log_drift};
use crate::error::{Result, chain};
use crate::store::reconcile::{Among, ItemRange, Measured};

/// Rest after a range, in multiples of the time that its comparison took.
const REST_FACTOR: u32 = 9;
/// Rest after a range that could not be compared: most of its time was spent waiting for an answer.
const REST_AFTER_FAILURE: Duration = Duration::from_secs(1);
/// Events not folded above which no range is compared: each comparison reads them all, and the counter needs the
/// database more.
pub const LAG_MAX_EVENTS: u64 = 50_000;
/// Time until the lag is looked at again.
const LAG_PAUSE: Duration = Duration::from_secs(1);
/// Items that drift and are named in the log, by pass; the metric has them all.
const LOG_LINES_MAX: usize = 20;

/// What the reconciler measures, for telemetry to name.
#[derive(Debug, Clone)]
pub struct ReconcilerStats {
    /// Items found to drift.
    pub drift: Total,
    /// Likes and dislikes by which totals were found to be wrong, over all items.
    pub drift_reactions: Total,
    /// Items whose counts were healed.
    pub healed: Total,
    pub ranges: Total,
    /// Seconds that a range took, without the rest after it.
    pub range_seconds: Histogram,
    /// Times that a range had to wait for the counter.
    pub skipped: Total,
    /// When the last pass ended that saw every item, in seconds since 1970; 0 before the first.
    pub last_pass: Gauge,
}

impl Default for ReconcilerStats {
    fn default() -> Self {
        let seconds = [0.001, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0];
        Self {
            drift: Total::default(),
            drift_reactions: Total::default(),
            healed: Total::default(),
            ranges: Total::default(),
            range_seconds: Histogram::new(seconds),
            skipped: Total::default(),
            last_pass: Gauge::default(),
        }
    }
}

/// The reconciler of one node.
pub struct Reconciler {
    recounter: Recounter,
    interval: Duration,
    stats: ReconcilerStats,
}

/// What became of one pass so far.
#[derive(Debug, Default)]
struct Pass {
    drifting: usize,
    failed_ranges: usize,
}

impl Reconciler {
    /// `interval` is the least time between the beginnings of two passes.
    pub fn new(recounter: Recounter, interval: Duration, stats: ReconcilerStats) -> Self {
        Self { recounter, interval, stats }
    }

    /// Passes until `stop`. The first begins at a random time of the first interval, so that nodes which were started
    /// together do not count together.
    pub async fn run(self, stop: CancellationToken) {
        let mut rest = self.interval.mul_f64(rand::random::<f64>());
        while stop.run_until_cancelled(sleep(rest)).await.is_some() {
            let began = Instant::now();
            if let Err(failed) = self.pass(&stop).await {
                warn!(error = %chain(&failed), "a pass of the reconciler ends early");
            }
            rest = self.interval.saturating_sub(began.elapsed());
        }
    }

    async fn pass(&self, stop: &CancellationToken) -> Result<()> {
        let mut pass = Pass::default();
        let mut after = Some(String::new());
        while let Some(from) = &after {
            if !self.counter_keeps_up(stop).await? {
                return Ok(());
            }
            let began = Instant::now();
            let range = self.recounter.store().item_range(from).await?;
            // A comparison may be cut off; a heal runs to its end.
            let Some(compared) = stop.run_until_cancelled(self.compare(&range)).await else { return Ok(()) };
            let counted = began.elapsed();
            let (rest, done) = match compared {
                Ok(drifting) => (counted * REST_FACTOR, self.heal(drifting, &mut pass).await),
                Err(failed) => (REST_AFTER_FAILURE, Err(failed)),
            };
            self.stats.ranges.inc();
            self.stats.range_seconds.observe(began.elapsed().as_secs_f64());
            if let Err(failed) = done {
                pass.failed_ranges += 1;
                warn!(error = %chain(&failed), "a range of items is left for the next pass");
            }
            after = range.next();
            if stop.run_until_cancelled(sleep(rest)).await.is_none() {
                return Ok(());
            }
        }
        if pass.failed_ranges == 0 {
            let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            self.stats.last_pass.set(i64::try_from(since_1970.as_secs()).unwrap_or(i64::MAX));
        }
        if pass.drifting > LOG_LINES_MAX {
            error!(items = pass.drifting, named = LOG_LINES_MAX, "more items drifted than the log names");
        }
        debug!(drifting = pass.drifting, failed_ranges = pass.failed_ranges, "a pass of the reconciler is over");
        Ok(())
    }

    /// Waits for the counter; false where it is time to stop.
    async fn counter_keeps_up(&self, stop: &CancellationToken) -> Result<bool> {
        let mut said = false;
        loop {
            let lag_events = self.recounter.store().log_lag_events().await?;
            if lag_events <= LAG_MAX_EVENTS {
                return Ok(!stop.is_cancelled());
            }
            self.stats.skipped.inc();
            if !said {
                said = true;
                warn!(lag_events, most = LAG_MAX_EVENTS, "the reconciler waits for the counter");
            }
            if stop.run_until_cancelled(sleep(LAG_PAUSE)).await.is_none() {
                return Ok(false);
            }
        }
    }

    async fn compare(&self, range: &ItemRange) -> Result<Vec<Measured>> {
        Ok(self.recounter.check(Among::Range(range)).await?.drifting)
    }

    async fn heal(&self, drifting: Vec<Measured>, pass: &mut Pass) -> Result<()> {
        for measured in &drifting {
            if pass.drifting < LOG_LINES_MAX {
                log_drift(measured);
            }
            pass.drifting += 1;
            self.stats.drift.inc();
            self.stats.drift_reactions.inc_by(measured.amount());
        }
        let found = drifting.len();
        let left = self.recounter.heal(drifting).await?;
        self.stats.healed.inc_by((found - left.len()) as u64);
        if !left.is_empty() {
            warn!(items = left.len(), "counts that drift are left for the next pass");
        }
        Ok(())
    }
}
