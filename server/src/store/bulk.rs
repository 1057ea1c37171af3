//! Commits of a bulk load, past the lanes' queues.

use super::batch::ImportProgress;
use super::decide::{Answer, Command};
use super::{Store, lanes};
use crate::error::Result;

impl Store {
    /// Commits commands of one partition in their order, as its lane does, and answers each; `progress` goes along in
    /// the same transaction. The partition's lock is held meanwhile, and an attempt has two seconds: a chunk should be
    /// small enough for a fraction of that.
    pub async fn commit_chunk(
        &self,
        partition: usize,
        commands: &[Command],
        progress: Option<&ImportProgress>,
    ) -> Vec<Result<Answer>> {
        lanes::commit(self, partition, commands, progress).await
    }
}
