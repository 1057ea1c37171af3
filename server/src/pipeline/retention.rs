//! Keeps the log and the idempotency records from growing for ever: removes what is past its time, a batch at a time
//! with a rest after each, so that writers do not feel it.
//!
//! One pass is idempotent and finds its own work. Any number of nodes may run one: what another has removed is gone.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::error::{Result, chain};
use crate::store::Store;
use crate::store::retention::REMOVE_MAX;

/// How long an answer is given again to a retry with the same key.
pub const RECORDS_KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// Pause between two passes.
const PASS_EVERY: Duration = Duration::from_secs(10);
/// Longest pass; what is left is the next one's.
const PASS_MAX: Duration = Duration::from_secs(60);
/// Rest after a batch, in times of what the batch took: removing takes at most a quarter of a connection.
const REST_TIMES: u32 = 3;
/// Shortest rest after a batch.
const REST_MIN: Duration = Duration::from_millis(20);

/// What the retention measures, for telemetry to name.
#[derive(Debug, Clone, Default)]
pub struct RetentionStats {
    pub events_removed: Counter,
    pub records_removed: Counter,
}

/// The retention of one node.
pub struct Retention {
    store: Store,
    /// Age at which a folded event is removed.
    log_kept: Duration,
    stats: RetentionStats,
}

impl Retention {
    pub fn new(store: Store, log_kept: Duration, stats: RetentionStats) -> Self {
        Self { store, log_kept, stats }
    }

    /// Removes until `stop`. A pass that fails is tried again with the next one.
    pub async fn run(self, stop: CancellationToken) {
        let all = async {
            loop {
                if let Err(away) = self.pass().await {
                    warn!(error = %chain(&away), "what is past its time could not be removed, and is tried again");
                }
                sleep(PASS_EVERY).await;
            }
        };
        // Each batch is one statement, so it may be cut off anywhere.
        tokio::select! {
            () = stop.cancelled() => {}
            () = all => {}
        }
    }

    async fn pass(&self) -> Result<()> {
        let deadline = Instant::now() + PASS_MAX;
        let cutoff = self.store.instant_before(self.log_kept).await?;
        let mut events = 0;
        for mut old in self.store.old_events(cutoff).await? {
            loop {
                let started = Instant::now();
                let removed = self.store.remove_events(old, cutoff, REMOVE_MAX).await?;
                self.stats.events_removed.inc_by(removed);
                events += removed;
                old.first += REMOVE_MAX;
                if is_last(removed, deadline) {
                    break;
                }
                rest_after(started).await;
            }
        }
        let records = self.remove_records(deadline).await?;
        if events + records > 0 {
            info!(events, records, "removed what was past its time");
        }
        Ok(())
    }

    async fn remove_records(&self, deadline: Instant) -> Result<u64> {
        let cutoff = self.store.instant_before(RECORDS_KEPT).await?;
        let mut records = 0;
        loop {
            let started = Instant::now();
            let removed = self.store.remove_records(cutoff, REMOVE_MAX).await?;
            self.stats.records_removed.inc_by(removed);
            records += removed;
            if is_last(removed, deadline) {
                return Ok(records);
            }
            rest_after(started).await;
        }
    }
}

/// True after a batch that was not full, and once the pass has had its time.
fn is_last(removed: u64, deadline: Instant) -> bool {
    removed < REMOVE_MAX.unsigned_abs() || Instant::now() > deadline
}

async fn rest_after(started: Instant) {
    sleep((started.elapsed() * REST_TIMES).max(REST_MIN)).await;
}
