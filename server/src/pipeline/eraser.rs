//! The eraser: removes for good what is stored of deleted accounts, batch by batch.
//!
//! Reactions go through the batches that the lanes commit, as events without a person, so that the counts follow as by
//! an unlike. Any number of nodes may run one: an erasure is left to one of them at a time, and to the next where that
//! one dies, which goes on with what it finds.

use prometheus_client::metrics::counter::Counter as Total;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::pace::{BATCH_MAX, poll_pause, rest, retry_pause};
use crate::domain::{ItemId, ReactionState, UserId};
use crate::error::{Result, chain};
use crate::failpoint;
use crate::store::Store;
use crate::store::decide::{Command, Source};
use crate::store::erasures::Remains;

/// What the eraser measures, for telemetry to name.
#[derive(Debug, Clone, Default)]
pub struct EraserStats {
    pub rows: Total,
    pub finished: Total,
}

/// The eraser of one node.
pub struct Eraser {
    store: Store,
    stats: EraserStats,
}

impl Eraser {
    pub fn new(store: Store, stats: EraserStats) -> Self {
        Self { store, stats }
    }

    /// Looks for deleted accounts and erases them, until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            match self.pass(&stop).await {
                Ok(true) => {}
                Ok(false) => _ = poll_pause(&stop).await,
                Err(failed) => {
                    warn!(error = %chain(&failed), "an erasure is tried again");
                    retry_pause(&stop).await;
                }
            }
        }
    }

    /// Erases one account; false where there is none to erase.
    async fn pass(&self, stop: &CancellationToken) -> Result<bool> {
        let Some(user) = self.store.claim_erasure().await? else {
            return Ok(false);
        };
        self.erase(&user, stop, |_| ()).await?;
        Ok(true)
    }

    /// Removes all that is stored of a user whose tombstone stands; returns when nothing is left, or at `stop`.
    /// `progress` is told the rows of each batch.
    pub async fn erase(&self, user: &UserId, stop: &CancellationToken, progress: impl Fn(u64)) -> Result<()> {
        let mut after: Option<ItemId> = None;
        loop {
            let begun = Instant::now();
            let items = self.store.items_to_erase(user, after.as_ref(), BATCH_MAX).await?;
            match (items.last(), after.take()) {
                (Some(last), _) => {
                    after = Some(last.clone());
                    let rows = self.remove(user, items).await?;
                    self.stats.rows.inc_by(rows);
                    progress(rows);
                }
                // From the beginning once more: a write that had begun before the tombstone may have come since.
                (None, Some(_)) => continue,
                (None, None) => {
                    if self.store.erase_remains(user, BATCH_MAX).await? == Remains::Nothing {
                        self.stats.finished.inc();
                        info!("an account is erased");
                        return Ok(());
                    }
                }
            }
            failpoint::reach("eraser_between_batches").await;
            if rest(begun, stop).await {
                return Ok(());
            }
        }
    }

    async fn remove(&self, user: &UserId, items: Vec<ItemId>) -> Result<u64> {
        let erase =
            |item| Command { user: user.clone(), item, wanted: ReactionState::None, key: None, from: Source::Erase };
        let commands: Vec<Command> = items.into_iter().map(erase).collect();
        let partition = user.partition(self.store.partitions());
        let answers = self.store.commit_chunk(partition, &commands, None).await;
        let answers = answers.into_iter().collect::<Result<Vec<_>>>()?;
        // What another has removed meanwhile is absent.
        Ok(answers.iter().filter(|answer| answer.version > 0).count() as u64)
    }
}
