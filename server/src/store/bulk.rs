//! Commits of a bulk load, past the lanes' queues.

use sea_orm::ConnectionTrait;

use super::batch::ImportProgress;
use super::decide::{Answer, Command};
use super::{Backend, Store, fault, lanes};
use crate::error::Result;

/// SQLite's page cache in KiB, and how many pages of 4 KiB its log takes before they are moved into the file. Rows go
/// to random pages of large indexes: each is read, logged and moved less often. A commit does not wait for the disk: one
/// that the machine loses takes its progress along, so the same load goes on before it.
const SQLITE_ROOM: &str = "PRAGMA cache_size = -262144; PRAGMA wal_autocheckpoint = 32768; PRAGMA synchronous = NORMAL";
/// Patient with those who read.
const SQLITE_SETTLE: &str = "PRAGMA busy_timeout = 5000; PRAGMA wal_checkpoint(TRUNCATE)";

impl Store {
    /// Gives a load what a server is not given: room for many pages, up to 256 MiB of memory and 128 MiB of disk, and
    /// commits that do not wait for the disk. On SQLite only, and until the process ends.
    pub async fn make_room_for_load(&self) -> Result<()> {
        if self.backend == Backend::Sqlite {
            self.lanes.execute_unprepared(SQLITE_ROOM).await.map_err(fault::to_error)?;
        }
        Ok(())
    }

    /// Moves what is left of a load from SQLite's log into the file, which the first write afterwards would wait for.
    pub async fn settle_load(&self) -> Result<()> {
        if self.backend == Backend::Sqlite {
            self.lanes.execute_unprepared(SQLITE_SETTLE).await.map_err(fault::to_error)?;
        }
        Ok(())
    }

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
