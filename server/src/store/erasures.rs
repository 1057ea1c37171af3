//! Deleted accounts: the tombstone, and the removal of all that is stored of a person, in small transactions.
//!
//! The tombstone is committed first. Whoever writes for the person afterwards reads it under a lock that the removal
//! takes as well: the lanes under their partition's, the catalogue under an advisory one. So what a last look under
//! both finds empty stays empty.

use std::time::Duration;

use sea_orm::{ConnectionTrait, DatabaseTransaction, DbErr, Value};

use super::batch::BatchError;
use super::decide::Decision;
use super::rows::{self, Column};
use super::{Backend, Store, WORK_SILENCE_MAX, answered, column, fault, statement, when_free};
use crate::domain::{ItemId, Micros, UserId};
use crate::error::Result;

/// How long an erasure is left to the node that is at work on it. Longer than a batch takes through all its attempts;
/// two nodes at once would do no harm, they would do it twice.
pub(super) const LEASE: Duration = Duration::from_secs(5);
/// Most users that [`Store::erased_since`] tells at a time, the newest. Sockets of the others are refused at their next
/// operation.
const TOLD_MAX: i64 = 10_000;

/// How far an erasure is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erasure {
    pub user: UserId,
    pub requested_at: Micros,
    /// Rows of reactions removed so far, those that were taken back among them.
    pub removed: i64,
    pub finished_at: Option<Micros>,
}

/// Whether anything of a person is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remains {
    Some,
    Nothing,
}

/// Everything that names a person but the rows and events of reactions, at most $2 rows of each. The id in the
/// tombstone and in the erasure stays: it is what keeps the person out.
const REMOVALS: [&str; 7] = [
    "DELETE FROM idempotency_record WHERE user_id = $1
       AND key IN (SELECT key FROM idempotency_record WHERE user_id = $1 LIMIT $2)",
    "DELETE FROM friendship WHERE user_id = $1
       AND friend_id IN (SELECT friend_id FROM friendship WHERE user_id = $1 LIMIT $2)",
    "DELETE FROM friendship WHERE friend_id = $1
       AND user_id IN (SELECT user_id FROM friendship WHERE friend_id = $1 LIMIT $2)",
    "UPDATE item SET creator_id = NULL WHERE id IN (SELECT id FROM item WHERE creator_id = $1 ORDER BY id LIMIT $2)",
    // A reason may name the person: first of the proposals whose entries are the next to go.
    "UPDATE retraction SET reason = NULL WHERE reason IS NOT NULL AND proposal_id IN (
       SELECT proposal_id FROM retraction_entry WHERE user_id = $1 ORDER BY proposal_id, item_id LIMIT $2)",
    "DELETE FROM retraction_entry WHERE user_id = $1 AND (proposal_id, item_id) IN (
       SELECT proposal_id, item_id FROM retraction_entry WHERE user_id = $1 ORDER BY proposal_id, item_id LIMIT $2)",
    "UPDATE retraction SET user_id = NULL, reason = NULL
     WHERE proposal_id IN (SELECT proposal_id FROM retraction WHERE user_id = $1 LIMIT $2)",
];

impl Store {
    /// True where the account was deleted. One look at a primary key.
    pub async fn is_erased(&self, user: &UserId) -> Result<bool> {
        let sql = "SELECT id FROM account WHERE id = $1 AND erased_at IS NOT NULL";
        Ok(!self.read(statement(self.backend, sql, vec![user.as_str().into()])).await?.is_empty())
    }

    /// The accounts whose deletion was asked for at this time or later, the newest first.
    pub async fn erased_since(&self, since: Micros) -> Result<Vec<UserId>> {
        let sql = "SELECT user_id FROM erasure WHERE requested_at >= $1 ORDER BY requested_at DESC LIMIT $2";
        let rows = self.read(statement(self.backend, sql, vec![since.into(), TOLD_MAX.into()])).await?;
        rows.iter().map(|row| column(row, "user_id").map(UserId::from_row)).collect()
    }

    /// How far a user's erasure is; `None` where none was asked for.
    pub async fn erasure(&self, user: &UserId) -> Result<Option<Erasure>> {
        let sql = "SELECT requested_at, removed, finished_at FROM erasure WHERE user_id = $1";
        let rows = self.read(statement(self.backend, sql, vec![user.as_str().into()])).await?;
        let erasure = |row| {
            Ok(Erasure {
                user: user.clone(),
                requested_at: column(row, "requested_at")?,
                removed: column(row, "removed")?,
                finished_at: column(row, "finished_at")?,
            })
        };
        rows.first().map(erasure).transpose()
    }

    /// Rows of the user's reactions.
    pub async fn reactions_len(&self, user: &UserId) -> Result<u64> {
        let sql = "SELECT count(*) AS rows FROM reaction WHERE user_id = $1";
        let rows = self.read(statement(self.backend, sql, vec![user.as_str().into()])).await?;
        let count: i64 = rows.first().map(|row| column(row, "rows")).transpose()?.unwrap_or_default();
        Ok(u64::try_from(count).unwrap_or_default())
    }

    /// Items of the user's rows after `after`, in their order. The place to go on from matters: a read from the first
    /// would pass over all that was removed before.
    pub async fn items_to_erase(&self, user: &UserId, after: Option<&ItemId>, limit: usize) -> Result<Vec<ItemId>> {
        let sql = "SELECT item_id FROM reaction WHERE user_id = $1 AND item_id > $2 ORDER BY item_id LIMIT $3";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let values: Vec<Value> = vec![user.as_str().into(), after.map_or("", ItemId::as_str).into(), limit.into()];
        let rows = self.read(statement(self.backend, sql, values)).await?;
        rows.iter().map(|row| column(row, "item_id").map(ItemId::from_row)).collect()
    }

    /// The oldest erasure that nobody is at work on, now the caller's for the length of a lease, which each batch
    /// renews.
    pub async fn claim_erasure(&self) -> Result<Option<UserId>> {
        let unfinished = "SELECT user_id FROM erasure WHERE finished_at IS NULL LIMIT 1";
        if self.read(statement(self.backend, unfinished, vec![])).await?.is_empty() {
            return Ok(None);
        }
        let lock = match self.backend {
            Backend::Postgres => "FOR UPDATE SKIP LOCKED",
            // One process, one writer.
            Backend::Sqlite => "",
        };
        let sql = format!(
            "UPDATE erasure SET lease_until = $2 WHERE user_id = (
               SELECT user_id FROM erasure WHERE finished_at IS NULL AND lease_until <= $1
               ORDER BY requested_at LIMIT 1 {lock}) RETURNING user_id"
        );
        let now = answered(WORK_SILENCE_MAX, self.clock(&self.pipeline)).await.map_err(fault::to_error)?;
        let claim = statement(self.backend, &sql, vec![now.into(), lease_from(now).into()]);
        let claimed = when_free(|| self.pipeline.query_one_raw(claim.clone()));
        let row = answered(WORK_SILENCE_MAX, claimed).await.map_err(fault::to_error)?;
        row.map(|row| column(&row, "user_id").map(UserId::from_row)).transpose()
    }

    /// Removes, under the lock of the user's partition, up to `limit` rows of each kind but reactions. Where nothing of
    /// any kind was left, reactions and all, the erasure is finished.
    pub async fn erase_remains(&self, user: &UserId, limit: usize) -> Result<Remains> {
        answered(WORK_SILENCE_MAX, self.try_erase_remains(user, limit)).await.map_err(fault::to_error)
    }

    async fn try_erase_remains(&self, user: &UserId, limit: usize) -> Result<Remains, DbErr> {
        let transaction = self.begin_lane().await?;
        self.lock_partition(&transaction, user.partition(self.partitions)).await?;
        let now = self.clock(&transaction).await?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let run = |sql, values| transaction.execute_raw(statement(self.backend, sql, values));
        let mut removed = 0;
        for sql in REMOVALS {
            removed += run(sql, vec![user.as_str().into(), limit.into()]).await?.rows_affected();
        }
        let row = "SELECT item_id FROM reaction WHERE user_id = $1 LIMIT 1";
        let row = transaction.query_one_raw(statement(self.backend, row, vec![user.as_str().into()])).await?;
        let remains = if removed == 0 && row.is_none() { Remains::Nothing } else { Remains::Some };
        match remains {
            Remains::Some => {
                let renew = "UPDATE erasure SET lease_until = $2 WHERE user_id = $1";
                run(renew, vec![user.as_str().into(), lease_from(now).into()]).await?;
            }
            Remains::Nothing => {
                let finish = "UPDATE erasure SET finished_at = $2 WHERE user_id = $1 AND finished_at IS NULL";
                run(finish, vec![user.as_str().into(), now.into()]).await?;
            }
        }
        transaction.commit().await?;
        Ok(remains)
    }

    /// From its commit on the user is kept out for good; the name goes at once, the rest by an eraser.
    pub(super) async fn entomb(&self, on: &DatabaseTransaction, user: &UserId) -> Result<(), DbErr> {
        let now = self.clock(on).await?;
        let tombstone = "INSERT INTO account (id, erased_at) VALUES ($1, $2)
            ON CONFLICT (id) DO UPDATE SET name = NULL, erased_at = coalesce(account.erased_at, excluded.erased_at)";
        let erasure = "INSERT INTO erasure (user_id, requested_at, removed, lease_until) VALUES ($1, $2, 0, 0)
            ON CONFLICT DO NOTHING";
        for sql in [tombstone, erasure] {
            on.execute_raw(statement(self.backend, sql, vec![user.as_str().into(), now.into()])).await?;
        }
        Ok(())
    }

    /// A batch's part in erasures: deletes the rows, which must be as they were read, and says how many.
    pub(super) async fn remove_rows(&self, on: &DatabaseTransaction, decision: &Decision) -> Result<(), BatchError> {
        let removals = &decision.removals;
        let delete = "DELETE FROM reaction WHERE (user_id, item_id, version) IN (SELECT x.u, x.i, x.v FROM {rows})";
        let columns = vec![
            ("u", Column::Text(removals.iter().map(|row| row.user.to_string()).collect())),
            ("i", Column::Text(removals.iter().map(|row| row.item.to_string()).collect())),
            ("v", Column::Big(removals.iter().map(|row| row.version).collect())),
        ];
        let deleted = on.execute_raw(rows::over(self.backend, delete, vec![], columns)).await?.rows_affected();
        if deleted != removals.len() as u64 {
            return Err(BatchError::Guard);
        }
        let users = Column::Text(removals.iter().map(|row| row.user.to_string()).collect());
        let count = "UPDATE erasure SET removed = removed + x.n, lease_until = $1
                     FROM (SELECT u, count(*) AS n FROM {rows} GROUP BY u) AS x WHERE erasure.user_id = x.u";
        let lease = vec![lease_from(decision.at).into()];
        on.execute_raw(rows::over(self.backend, count, lease, vec![("u", users)])).await?;
        Ok(())
    }
}

pub(super) fn lease_from(now: Micros) -> Micros {
    now + i64::try_from(LEASE.as_micros()).unwrap_or(i64::MAX)
}
