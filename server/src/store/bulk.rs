//! Commits of a bulk load, past the lanes' queues.

use std::time::Duration;

use sea_orm::ConnectionTrait;
use tokio::time::sleep;

use super::batch::ImportProgress;
use super::decide::{Answer, Command};
use super::{Backend, Store, column, fault, lanes, statement};
use crate::error::Result;

/// SQLite's page cache in KiB, and how many pages of 4 KiB its log takes before they are moved into the file. Rows go
/// to random pages of large indexes: each is read, logged and moved less often. A commit does not wait for the disk: one
/// that the machine loses takes its progress along, so the same load goes on before it.
const SQLITE_ROOM: &str = "PRAGMA cache_size = -262144; PRAGMA wal_autocheckpoint = 32768; PRAGMA synchronous = NORMAL";
/// Moves SQLite's log into the file while others write.
const SQLITE_MOVE_LOG: &str = "PRAGMA wal_checkpoint(PASSIVE)";
/// Moves the rest and empties the log. Takes the write lock, and gives it back where somebody reads an older state, or
/// another process moves the log.
const SQLITE_EMPTY_LOG: &str = "PRAGMA wal_checkpoint(TRUNCATE)";
/// How often that is tried at the end of a load, and the pause in between.
const SQLITE_EMPTY_LOG_TRIES: usize = 50;
const SQLITE_EMPTY_LOG_PAUSE: Duration = Duration::from_millis(100);

impl Store {
    /// Gives a load what a server is not given: room for many pages, up to 256 MiB of memory and 128 MiB of disk, and
    /// commits that do not wait for the disk. On SQLite only, and until the process ends.
    pub async fn make_room_for_load(&self) -> Result<()> {
        if self.backend == Backend::Sqlite {
            self.lanes.execute_unprepared(SQLITE_ROOM).await.map_err(fault::to_error)?;
        }
        Ok(())
    }

    /// Empties SQLite's log if nobody is in the way; true where it was emptied. Beside another process that writes, it would
    /// grow for as long as the load takes: there is always something in it that is not yet in the file.
    pub async fn empty_log(&self) -> Result<bool> {
        if self.backend != Backend::Sqlite {
            return Ok(true);
        }
        self.lanes.execute_unprepared(SQLITE_MOVE_LOG).await.map_err(fault::to_error)?;
        let row = self.lanes.query_one_raw(statement(self.backend, SQLITE_EMPTY_LOG, vec![])).await;
        let row = row.map_err(fault::to_error)?;
        let busy: i32 = row.map(|row| column(&row, "busy")).transpose()?.unwrap_or_default();
        Ok(busy == 0)
    }

    /// Moves what is left of a load from SQLite's log into the file, which the first write afterwards would wait for. Where
    /// somebody reads for long, it is left to whoever writes next.
    pub async fn settle_load(&self) -> Result<()> {
        for _ in 0..SQLITE_EMPTY_LOG_TRIES {
            if self.empty_log().await? {
                break;
            }
            sleep(SQLITE_EMPTY_LOG_PAUSE).await;
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
