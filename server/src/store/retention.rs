//! Removes what is old: events that are folded, and idempotency records. Each batch is one short statement.
//!
//! Only a beginning of a partition's log is ever removed, so its offsets stay gapless from the first that is left. An
//! event past the checkpoint stays, however old: it is not counted yet.

use std::time::Duration;

use sea_orm::ConnectionTrait;

use super::{Backend, Store, WORK_SILENCE_MAX, answered, column, fault, statement, when_free};
use crate::domain::Micros;
use crate::error::{Error, Result};

/// Most rows of one batch: some ten milliseconds of work, during which nobody waits but for these rows (on SQLite, for
/// the one writer).
pub const REMOVE_MAX: i64 = 2_000;

/// Where a partition's log may be shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OldEvents {
    pub partition: usize,
    /// Offset of the partition's first event.
    pub first: i64,
}

impl Store {
    /// The instant `age` ago by the database's clock.
    pub async fn instant_before(&self, age: Duration) -> Result<Micros> {
        let now = match self.backend {
            Backend::Sqlite => Self::sqlite_now(),
            Backend::Postgres => {
                let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now_us";
                let rows = self.read(statement(self.backend, sql, vec![])).await?;
                let row = rows.first().ok_or_else(|| Error::internal_detail("the database does not tell the time"))?;
                column(row, "now_us")?
            }
        };
        Ok(now.saturating_sub(i64::try_from(age.as_micros()).unwrap_or(i64::MAX)))
    }

    /// The partitions whose first event is folded and from before `cutoff`.
    pub async fn old_events(&self, cutoff: Micros) -> Result<Vec<OldEvents>> {
        // CROSS JOIN keeps SQLite from reading the whole log first.
        let sql = "SELECT e.partition, e.\"offset\" FROM checkpoint c CROSS JOIN reaction_event e
                   WHERE e.partition = c.partition
                     AND e.\"offset\" = (SELECT min(f.\"offset\") FROM reaction_event f WHERE f.partition = c.partition)
                     AND e.\"offset\" <= c.\"offset\" AND e.created_at < $1 ORDER BY e.partition";
        let rows = self.read(statement(self.backend, sql, vec![cutoff.into()])).await?;
        let old = |row| {
            let partition: i32 = column(row, "partition")?;
            let partition = usize::try_from(partition).unwrap_or_default();
            Ok(OldEvents { partition, first: column(row, "offset")? })
        };
        rows.iter().map(old).collect()
    }

    /// Removes the first events of a partition that are folded and from before `cutoff`, at most `limit`; returns how
    /// many. `old.first` must be the partition's first offset.
    pub async fn remove_events(&self, old: OldEvents, cutoff: Micros, limit: i64) -> Result<u64> {
        // The first event that is too young ends the stretch even where an older one follows: times are the database's,
        // and a clock may have been tampered with.
        let sql = "DELETE FROM reaction_event WHERE partition = $1 AND \"offset\" >= $2 AND \"offset\" < $2 + $3
                     AND \"offset\" <= (SELECT c.\"offset\" FROM checkpoint c WHERE c.partition = $1)
                     AND \"offset\" < coalesce((SELECT min(k.\"offset\") FROM reaction_event k
                       WHERE k.partition = $1 AND k.\"offset\" >= $2 AND k.\"offset\" < $2 + $3
                         AND k.created_at >= $4), $2 + $3)";
        let partition = i32::try_from(old.partition).expect("partitions are few");
        self.remove(sql, vec![partition.into(), old.first.into(), limit.into(), cutoff.into()]).await
    }

    /// Removes idempotency records from before `cutoff`, oldest first and at most `limit`; returns how many. A retry with
    /// the key of a removed record is a new request.
    pub async fn remove_records(&self, cutoff: Micros, limit: i64) -> Result<u64> {
        let sql = match self.backend {
            // By place: joined by key, a generic plan reads the whole table. Two nodes that remove at once skip what the
            // other has locked, and so never wait for each other.
            Backend::Postgres => {
                "DELETE FROM idempotency_record WHERE ctid = ANY (ARRAY(
                   SELECT i.ctid FROM idempotency_record i WHERE i.created_at < $1
                   ORDER BY i.created_at LIMIT $2 FOR UPDATE SKIP LOCKED))"
            }
            Backend::Sqlite => {
                "DELETE FROM idempotency_record WHERE (user_id, key) IN (
                   SELECT i.user_id, i.key FROM idempotency_record i WHERE i.created_at < $1
                   ORDER BY i.created_at LIMIT $2)"
            }
        };
        self.remove(sql, vec![cutoff.into(), limit.into()]).await
    }

    async fn remove(&self, sql: &str, values: Vec<sea_orm::Value>) -> Result<u64> {
        let remove = statement(self.backend, sql, values);
        let removed = when_free(|| self.pipeline.execute_raw(remove.clone()));
        let removed = answered(WORK_SILENCE_MAX, removed).await;
        removed.map(|removed| removed.rows_affected()).map_err(fault::to_error)
    }
}
