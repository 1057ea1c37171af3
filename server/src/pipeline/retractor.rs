//! The retractor: carries out what an abuse system proposed, and undoes it, batch by batch through the batches that the
//! lanes commit.
//!
//! A step may be carried out twice, or by two nodes at once: what is done already is seen under the partition's lock and
//! changes nothing.

use std::collections::BTreeMap;

use prometheus_client::metrics::counter::Counter as Total;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::pace::{BATCH_MAX, poll_pause, rest, retry_pause};
use crate::domain::ReactionChange;
use crate::error::{ErrorCode, Result, chain};
use crate::failpoint;
use crate::realtime::Bus;
use crate::store::Store;
use crate::store::decide::{Answer, Command};
use crate::store::retractions::{Place, RetractionWork};

/// What the retractor measures, for telemetry to name.
#[derive(Debug, Clone, Default)]
pub struct RetractorStats {
    /// Reactions taken back or given back.
    pub reactions: Total,
}

/// The retractor of one node.
pub struct Retractor {
    store: Store,
    bus: Bus,
    stats: RetractorStats,
}

impl Retractor {
    pub fn new(store: Store, bus: Bus, stats: RetractorStats) -> Self {
        Self { store, bus, stats }
    }

    /// Looks for proposals and carries them out, until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            match self.pass(&stop).await {
                Ok(true) => {}
                Ok(false) => _ = poll_pause(&stop).await,
                Err(failed) => {
                    warn!(error = %chain(&failed), "a retraction is tried again");
                    retry_pause(&stop).await;
                }
            }
        }
    }

    /// Carries out one step of one proposal; false where there is none.
    async fn pass(&self, stop: &CancellationToken) -> Result<bool> {
        let Some(work) = self.store.claim_retraction().await? else {
            return Ok(false);
        };
        let mut after: Option<Place> = None;
        loop {
            let begun = Instant::now();
            let (commands, last) = self.store.retraction_commands(&work, after.as_ref(), BATCH_MAX).await?;
            if last.is_none() {
                self.store.finish_retraction_step(&work).await?;
                return Ok(true);
            }
            self.carry_out(&work, commands).await?;
            after = last;
            failpoint::reach("retractor_between_batches").await;
            if rest(begun, stop).await {
                return Ok(true);
            }
        }
    }

    async fn carry_out(&self, work: &RetractionWork, commands: Vec<Command>) -> Result<()> {
        let mut by_partition: BTreeMap<usize, Vec<Command>> = BTreeMap::new();
        for command in commands {
            by_partition.entry(command.user.partition(self.store.partitions())).or_default().push(command);
        }
        for (partition, commands) in by_partition {
            let answers = self.store.commit_chunk(partition, &commands, None).await;
            for (command, answer) in commands.into_iter().zip(answers) {
                match answer {
                    Ok(answer) => self.announce(command, &answer),
                    // A deleted account has nothing to take, and gets nothing back.
                    Err(refusal) if refusal.code() == ErrorCode::Unauthenticated => {}
                    Err(failed) => {
                        warn!(proposal = %work.proposal, "a batch of a retraction failed");
                        return Err(failed);
                    }
                }
            }
        }
        Ok(())
    }

    /// The person's devices follow, as after a tap of their own.
    fn announce(&self, command: Command, answer: &Answer) {
        if !answer.changed() {
            return;
        }
        self.stats.reactions.inc();
        let Command { user, item, .. } = command;
        self.bus.publish_reaction(&ReactionChange { user, item, state: answer.reaction, version: answer.version });
    }
}
