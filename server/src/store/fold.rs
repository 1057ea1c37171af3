//! Folding the log into the counters: claim, fold, commit.

use sea_orm::{ConnectionTrait, DatabaseTransaction, DbErr, QueryResult, TryGetable};

use super::fault::{Fault, classify};
use super::{Backend, READ_SILENCE_MAX, Store, answered, statement};
use crate::domain::{FoldedRange, ItemId, Micros};
use crate::failpoint;

const FOLD: &str = include_str!("sql/fold.sql");

/// What a fold has committed.
#[derive(Debug, Clone, Default)]
pub struct Folded {
    /// Only the partitions that moved.
    pub ranges: Vec<FoldedRange>,
    pub items: Vec<ItemId>,
    pub events: u64,
    /// Time of the oldest event that was folded.
    pub oldest: Option<Micros>,
    /// True where a partition had more events than one fold takes.
    pub more: bool,
}

/// Why a fold did not happen.
#[derive(Debug, thiserror::Error)]
pub enum FoldError {
    /// The log is not what it must be. Going on would lose events in silence, so the counter stops.
    #[error("the log has a gap or a shard moved without its lock, after the offsets {0:?}: the counter stops")]
    Gap(Vec<(usize, i64)>),
    /// Another try may succeed.
    #[error("the fold could not be committed")]
    Passing(#[source] DbErr),
    /// The connection has said nothing for so long that it was given up; another try may succeed.
    #[error("the database did not answer a fold")]
    Silent,
    #[error("the fold was refused by the database")]
    Refused(#[source] DbErr),
}

impl From<DbErr> for FoldError {
    fn from(error: DbErr) -> Self {
        match classify(&error) {
            Fault::Passing => Self::Passing(error),
            Fault::Refused | Fault::Ours => Self::Refused(error),
        }
    }
}

/// Which checkpoints a fold may claim.
#[derive(Debug, Clone, Copy)]
pub enum Claim<'a> {
    /// All that nobody else holds.
    Free,
    /// The same, of these partitions only.
    Among(&'a [usize]),
}

impl Store {
    /// Folds up to `limit` events of each partition that nobody else is folding.
    pub async fn fold(&self, claim: Claim<'_>, limit: i64) -> Result<Folded, FoldError> {
        let transaction = self.begin_pipeline().await?;
        let claimed = self.claim(&transaction, claim).await?;
        self.fold_claimed(transaction, &claimed, limit).await
    }

    /// Hands a stretch of the log to the fold that it may have folded before: at most `back` offsets before each
    /// checkpoint. The fences make it add nothing.
    pub async fn fold_again(&self, claim: Claim<'_>, back: i64, limit: i64) -> Result<Folded, FoldError> {
        let transaction = self.begin_pipeline().await?;
        let mut claimed = self.claim(&transaction, claim).await?;
        for (_, offset) in &mut claimed {
            *offset = (*offset - back).max(0);
        }
        self.fold_claimed(transaction, &claimed, limit).await
    }

    /// True where a partition has events past its checkpoint. Cheap, so that an idle poll claims nothing.
    pub async fn has_unfolded(&self) -> Result<bool, FoldError> {
        let sql = "SELECT 1 AS one FROM checkpoint c JOIN log_partition l ON l.id = c.partition
                   WHERE c.\"offset\" < l.next_offset - 1 LIMIT 1";
        let found = self.readers.query_one_raw(statement(self.backend, sql, vec![]));
        Ok(answered(READ_SILENCE_MAX, found).await?.is_some())
    }

    /// Offset of the last committed event, per partition.
    pub async fn log_ends(&self) -> Result<Vec<i64>, FoldError> {
        self.offsets("SELECT next_offset - 1 AS o FROM log_partition ORDER BY id").await
    }

    /// True where a partition's checkpoint has not reached its offset of `ends`.
    pub async fn has_unfolded_before(&self, ends: &[i64]) -> Result<bool, FoldError> {
        let checkpoints = self.offsets("SELECT \"offset\" AS o FROM checkpoint ORDER BY partition").await?;
        Ok(checkpoints.iter().zip(ends).any(|(checkpoint, end)| checkpoint < end))
    }

    async fn offsets(&self, sql: &str) -> Result<Vec<i64>, FoldError> {
        let rows = self.readers.query_all_raw(statement(self.backend, sql, vec![]));
        let rows = answered(READ_SILENCE_MAX, rows).await?;
        rows.iter().map(|row| Ok(get(row, "o")?)).collect()
    }

    async fn claim(&self, transaction: &DatabaseTransaction, claim: Claim<'_>) -> Result<Vec<(usize, i64)>, FoldError> {
        let lock = match self.backend {
            Backend::Postgres => " FOR UPDATE SKIP LOCKED",
            Backend::Sqlite => "",
        };
        let sql = match claim {
            Claim::Free => format!("SELECT partition, \"offset\" FROM checkpoint ORDER BY partition{lock}"),
            Claim::Among(partitions) => {
                let among: Vec<_> = partitions.iter().map(usize::to_string).collect();
                let among = among.join(", ");
                format!(
                    "SELECT partition, \"offset\" FROM checkpoint WHERE partition IN ({among}) ORDER BY partition{lock}"
                )
            }
        };
        let rows = transaction.query_all_raw(statement(self.backend, &sql, vec![])).await?;
        rows.iter().map(|row| Ok((partition(row)?, get(row, "offset")?))).collect()
    }

    async fn fold_claimed(
        &self,
        transaction: DatabaseTransaction,
        claimed: &[(usize, i64)],
        limit: i64,
    ) -> Result<Folded, FoldError> {
        failpoint::reach("counter_after_claim").await;
        let folded = match self.backend {
            _ if claimed.is_empty() => Ok(Folded::default()),
            Backend::Postgres => fold_postgres(&transaction, claimed, limit).await,
            Backend::Sqlite => fold_sqlite(&transaction, claimed[0].1, limit).await,
        };
        let folded = match folded {
            Ok(folded) => folded,
            Err(refused) => {
                // Dropped, it would keep the checkpoints until its connection is used again. Where it cannot be rolled
                // back, the connection is broken and the database does it.
                let _ = transaction.rollback().await;
                return Err(refused);
            }
        };
        if folded.events == 0 {
            transaction.rollback().await?;
        } else {
            failpoint::reach("counter_before_commit").await;
            transaction.commit().await?;
            failpoint::reach("counter_after_commit").await;
        }
        Ok(folded)
    }
}

async fn fold_postgres(
    transaction: &DatabaseTransaction,
    claimed: &[(usize, i64)],
    limit: i64,
) -> Result<Folded, FoldError> {
    let partitions: Vec<i32> = claimed.iter().filter_map(|(partition, _)| i32::try_from(*partition).ok()).collect();
    let offsets: Vec<i64> = claimed.iter().map(|(_, offset)| *offset).collect();
    let values = vec![partitions.into(), offsets.into(), limit.into()];
    let rows = transaction.query_all_raw(statement(Backend::Postgres, FOLD, values)).await?;
    // One statement has read, moved the shards and moved the totals.
    failpoint::reach("counter_after_totals").await;
    let mut folded = Folded::default();
    for row in &rows {
        if let Some(item) = get::<Option<String>>(row, "item_id")? {
            folded.items.push(ItemId::from_row(item));
            continue;
        }
        if get(row, "gap")? {
            return Err(FoldError::Gap(claimed.to_vec()));
        }
        let range =
            FoldedRange { partition: partition(row)?, from: get(row, "from_offset")?, to: get(row, "to_offset")? };
        folded.add(range, get(row, "oldest")?, limit);
    }
    Ok(folded)
}

/// SQLite has no data-modifying CTE: the same steps as fold.sql, one after the other under the one write lock, with
/// the sums in a temporary table of the writer's connection.
async fn fold_sqlite(transaction: &DatabaseTransaction, from: i64, limit: i64) -> Result<Folded, FoldError> {
    let range = "e.partition = 0 AND e.\"offset\" > $1 AND e.\"offset\" <= $1 + $2";
    let extent = format!(
        "SELECT count(*) AS events, max(e.\"offset\") AS to_offset, min(e.created_at) AS oldest,
                (SELECT next_offset - 1 FROM log_partition WHERE id = 0) AS last
         FROM reaction_event e WHERE {range}"
    );
    let span = vec![from.into(), limit.into()];
    let row = transaction.query_one_raw(statement(Backend::Sqlite, &extent, span.clone())).await?;
    let row = row.ok_or_else(|| DbErr::RecordNotFound("the extent of the log".into()))?;
    let (events, last): (i64, i64) = (get(&row, "events")?, get(&row, "last")?);
    if last > from && events != last.min(from + limit) - from {
        return Err(FoldError::Gap(vec![(0, from)]));
    }
    let Some(to) = get::<Option<i64>>(&row, "to_offset")? else {
        return Ok(Folded::default());
    };
    let sums = format!(
        "INSERT INTO temp.fold_sum (item_id, l, d, o)
         SELECT e.item_id, sum(e.like_delta), sum(e.dislike_delta), max(e.\"offset\") FROM reaction_event e
         WHERE {range} AND e.\"offset\" > coalesce(
             (SELECT s.applied_offset FROM item_count_shard s WHERE s.item_id = e.item_id AND s.partition = 0),
             (SELECT base_offset FROM checkpoint WHERE partition = 0))
         GROUP BY 1"
    );
    transaction.execute_unprepared(SQLITE_SUMS).await?;
    transaction.execute_raw(statement(Backend::Sqlite, &sums, span)).await?;
    failpoint::reach("counter_after_read").await;
    let version: i64 = Store::sqlite_now() / 1_000;
    let run = |sql, values| transaction.execute_raw(statement(Backend::Sqlite, sql, values));
    run(SQLITE_SHARDS, vec![]).await?;
    failpoint::reach("counter_after_shards").await;
    run(SQLITE_TOTALS, vec![version.into()]).await?;
    failpoint::reach("counter_after_totals").await;
    run(SQLITE_CHECKPOINT, vec![to.into()]).await?;
    let changed = statement(Backend::Sqlite, "SELECT item_id FROM temp.fold_sum", vec![]);
    let changed = transaction.query_all_raw(changed).await?;
    let items = changed.iter().map(|row| get(row, "item_id").map(ItemId::from_row));
    let mut folded = Folded { items: items.collect::<Result<_, _>>()?, ..Folded::default() };
    folded.add(FoldedRange { partition: 0, from, to }, get(&row, "oldest")?, limit);
    Ok(folded)
}

const SQLITE_SUMS: &str = "CREATE TEMP TABLE IF NOT EXISTS fold_sum (item_id text PRIMARY KEY, l bigint, d bigint,
    o bigint) WITHOUT ROWID; DELETE FROM temp.fold_sum;";
const SQLITE_SHARDS: &str =
    "INSERT INTO item_count_shard (item_id, partition, like_count, dislike_count, applied_offset)
    SELECT item_id, 0, l, d, o FROM temp.fold_sum WHERE true
    ON CONFLICT (item_id, partition) DO UPDATE
      SET like_count = max(min(like_count, 4611686018427387904), -4611686018427387904) + excluded.like_count,
        dislike_count = max(min(dislike_count, 4611686018427387904), -4611686018427387904) + excluded.dislike_count,
        applied_offset = excluded.applied_offset";
const SQLITE_TOTALS: &str = "INSERT INTO item_count (item_id, like_count, dislike_count, version)
    SELECT item_id, l, d, $1 FROM temp.fold_sum WHERE true
    ON CONFLICT (item_id) DO UPDATE
      SET like_count = max(min(like_count, 4611686018427387904), -4611686018427387904) + excluded.like_count,
        dislike_count = max(min(dislike_count, 4611686018427387904), -4611686018427387904) + excluded.dislike_count,
        version = max(min(version, 9007199254740990) + 1, excluded.version)";
const SQLITE_CHECKPOINT: &str = "UPDATE checkpoint SET \"offset\" = max(\"offset\", $1) WHERE partition = 0";

impl Folded {
    fn add(&mut self, range: FoldedRange, oldest: Option<Micros>, limit: i64) {
        let events = range.to - range.from;
        if events > 0 {
            self.ranges.push(range);
            self.events += u64::try_from(events).unwrap_or_default();
            self.more |= events >= limit;
            self.oldest = self.oldest.into_iter().chain(oldest).min();
        }
    }
}

fn partition(row: &QueryResult) -> Result<usize, DbErr> {
    let partition: i32 = get(row, "partition")?;
    usize::try_from(partition).map_err(|_| DbErr::Type(format!("{partition} is no partition")))
}

fn get<T: TryGetable>(row: &QueryResult, name: &str) -> Result<T, DbErr> {
    row.try_get("", name)
}
