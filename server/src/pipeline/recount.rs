//! Compares counters with the rows, heals what drifts and rebuilds what is asked for: the part that the reconciler and
//! the commands share.
//!
//! Safe at any time and any number of times at once: nothing is written but under the locks of all checkpoints, and
//! only where what was measured still holds.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::sleep;
use tracing::{error, warn};

use crate::domain::ItemId;
use crate::error::{Result, chain};
use crate::failpoint;
use crate::realtime::Bus;
use crate::store::Store;
use crate::store::reconcile::{Among, Measured};

/// Most items of one rewrite. Folds wait for as long as it takes: some tens of milliseconds.
const REWRITE_ITEMS_MAX: usize = 500;
/// Tries of a rewrite, each with a new measurement of what is left; then it is left as it is, for another time.
const TRIES: u32 = 8;
/// Pause after a rewrite that other transactions were in the way of.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// What was looked at, and what of it drifts.
#[derive(Debug, Default)]
pub struct Checked {
    pub items: u64,
    pub drifting: Vec<Measured>,
}

/// Recounts on one store, and tells what it has changed.
#[derive(Clone)]
pub struct Recounter {
    store: Store,
    bus: Bus,
}

impl Recounter {
    pub fn new(store: Store, bus: Bus) -> Self {
        Self { store, bus }
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Compares without a lock.
    pub async fn check(&self, among: Among<'_>) -> Result<Checked> {
        let measured = self.store.measure(among).await?;
        let items = measured.len() as u64;
        Ok(Checked { items, drifting: measured.into_iter().filter(Measured::drifts).collect() })
    }

    /// Sets what drifts to what the rows say; returns what could not be healed in all tries.
    pub async fn heal(&self, drifting: Vec<Measured>) -> Result<Vec<Measured>> {
        if drifting.is_empty() {
            return Ok(drifting);
        }
        failpoint::reach("reconciler_before_heal").await;
        self.rewrite(drifting, Measured::drifts).await
    }

    /// Writes all counters anew, range by range, while reactions go on; `progress` is told the items of each range.
    /// Returns how many items it has written, and what could not be written in all tries.
    pub async fn rebuild(&self, progress: impl Fn(u64)) -> Result<(u64, Vec<Measured>)> {
        let (mut written, mut left) = (0, Vec::new());
        let mut after = Some(String::new());
        while let Some(from) = after {
            let range = self.store.item_range(&from).await?;
            let measured = self.store.measure(Among::Range(&range)).await?;
            let items = measured.len() as u64;
            let unwritten = self.rewrite(measured, |_| true).await?;
            written += items - unwritten.len() as u64;
            left.extend(unwritten);
            progress(items);
            after = range.next();
        }
        Ok((written, left))
    }

    /// Rewrites, and measures again what has moved meanwhile, for as long as it is `wanted`.
    async fn rewrite(&self, measured: Vec<Measured>, wanted: fn(&Measured) -> bool) -> Result<Vec<Measured>> {
        let mut left = measured;
        for _ in 0..TRIES {
            let mut unwritten: Vec<ItemId> = Vec::new();
            for chunk in left.chunks(REWRITE_ITEMS_MAX) {
                let written = self.write(chunk).await?;
                let of_chunk = chunk.iter().map(|measured| &measured.item);
                unwritten.extend(of_chunk.filter(|item| !written.contains(item)).cloned());
            }
            left.clear();
            for items in unwritten.chunks(REWRITE_ITEMS_MAX) {
                left.extend(self.store.measure(Among::These(items)).await?.into_iter().filter(wanted));
            }
            if left.is_empty() {
                break;
            }
        }
        Ok(left)
    }

    /// One transaction; nothing is written where others are in its way.
    async fn write(&self, chunk: &[Measured]) -> Result<HashSet<ItemId>> {
        match self.store.rewrite_counters(chunk).await {
            Ok(written) => {
                self.publish(&written).await;
                Ok(written.into_iter().collect())
            }
            Err(passing) if passing.code().retryable() => {
                warn!(error = %chain(&passing), "counters are to be rewritten and are measured again");
                sleep(RETRY_PAUSE).await;
                Ok(HashSet::new())
            }
            Err(failed) => Err(failed),
        }
    }

    /// No checkpoint has moved, so the nodes do not miss this message; those who get none see the new epoch.
    async fn publish(&self, items: &[ItemId]) {
        if items.is_empty() {
            return;
        }
        match self.store.count_copies(items).await {
            Ok((_, copies)) => self.bus.publish_fold(&[], &copies.into_values().collect::<Vec<_>>()),
            Err(unread) => warn!(error = %chain(&unread), "rewritten counts cannot be published"),
        }
    }
}

/// Says in the log what drifts, one line an item.
pub fn log_drift(measured: &Measured) {
    let Measured { item, rows, shards, total, .. } = measured;
    error!(
        %item,
        row_likes = rows.likes,
        row_dislikes = rows.dislikes,
        shard_likes = shards.likes,
        shard_dislikes = shards.dislikes,
        total_likes = total.likes,
        total_dislikes = total.dislikes,
        "a stored count is other than its rows say"
    );
}
