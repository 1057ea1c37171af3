//! Recounting: what the rows say against what the counters hold, and writing counters anew.
//!
//! Measuring takes no lock, however many rows an item has. The difference that it finds stays true while writes and
//! folds go on, so the heal only adds it, under the locks of all checkpoints: folds wait for some milliseconds, not for
//! a count of millions of rows.

use std::time::Duration;

use sea_orm::{ConnAcquireErr, ConnectionTrait, DatabaseTransaction, DbErr, QueryResult, Statement, TransactionTrait};
use tokio::time::sleep;

use super::rows::{self, Column};
use super::{Backend, READ_SILENCE_MAX, Store, WORK_SILENCE_MAX, answered, column, fault, statement};
use crate::domain::{ItemId, Micros, UserId};
use crate::error::{Error, Result};

const MEASURE: &str = include_str!("sql/reconcile_measure.sql");
const REWRITE: &str = include_str!("sql/reconcile_rewrite.sql");

/// Most ids of one range. A range ends earlier where its items have `RANGE_REACTIONS_MAX` reactions.
pub const RANGE_ITEMS_MAX: usize = 1_000;
/// Reactions after which a range ends, so that ranges cost alike; an item with more is not divided.
const RANGE_REACTIONS_MAX: i64 = 200_000;
/// Longest recount: of some hundred million reactions to one item.
const RECOUNT_MAX: Duration = Duration::from_secs(600);
/// How often the database is asked whether it is still at work on a recount.
const LOOK: Duration = Duration::from_secs(5);
/// Time for an answer that is under way.
const UNDER_WAY: Duration = Duration::from_secs(1);
/// How long a rewrite waits for folds that hold checkpoints. Past it the rewrite fails as passing; a stopped process's
/// locks are freed earlier, by the time-out of its idle transaction.
const LOCK_WAIT_MAX: &str = "5s";
/// Past every id, in the order of bytes.
const PAST_ALL_IDS: &str = "\u{10ffff}";

/// Likes and dislikes of one item by one of the ways to count them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub likes: i64,
    pub dislikes: i64,
}

/// Items by their ids.
#[derive(Debug, Clone, Copy)]
pub enum Among<'a> {
    Range(&'a ItemRange),
    These(&'a [ItemId]),
}

/// The ids after one, up to and with another. Ranges that follow each other hold every id there may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemRange {
    after: String,
    /// `None` where no known id follows: the range is open.
    up_to: Option<String>,
}

/// What one snapshot says of an item; the rows are counted as of the checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measured {
    pub item: ItemId,
    pub rows: Tally,
    pub shards: Tally,
    pub total: Tally,
    /// One bit for each shard that there was.
    shard_bits: i64,
    /// When the item was last healed; 0 where it never was.
    healed_at: Micros,
}

impl Measured {
    /// True where a count is other than the rows say.
    pub fn drifts(&self) -> bool {
        self.rows != self.shards || self.rows != self.total
    }

    /// Likes and dislikes by which readers see other than the truth.
    pub fn amount(&self) -> u64 {
        self.total.likes.abs_diff(self.rows.likes) + self.total.dislikes.abs_diff(self.rows.dislikes)
    }
}

impl ItemRange {
    /// After which id the next range begins; `None` after the last.
    pub fn next(self) -> Option<String> {
        self.up_to
    }
}

impl Store {
    /// The range that begins after the id, the first one after the empty text.
    pub async fn item_range(&self, after: &str) -> Result<ItemRange> {
        let sql = "SELECT id, CAST(max(n) AS bigint) AS reactions FROM (
                     SELECT id, 0 AS n FROM (SELECT id FROM item WHERE id > $1 ORDER BY id LIMIT $2) AS i
                     UNION ALL SELECT item_id, n FROM (
                       SELECT item_id, {likes} + {dislikes} AS n FROM item_count
                       WHERE item_id > $1 ORDER BY item_id LIMIT $2) AS c) AS known
                   GROUP BY id ORDER BY id LIMIT $2";
        let limit = i64::try_from(RANGE_ITEMS_MAX).unwrap_or(i64::MAX);
        let sql = kept_within_bounds(sql);
        let rows = self.read(statement(self.backend, &sql, vec![after.into(), limit.into()])).await?;
        let known = rows.iter().map(|row| Ok((column(row, "id")?, column(row, "reactions")?)));
        let known: Vec<(String, i64)> = known.collect::<Result<_>>()?;
        Ok(ItemRange { after: after.to_owned(), up_to: range_end(known) })
    }

    /// Items that the user has a row for, by id, at most [`RANGE_ITEMS_MAX`].
    pub async fn items_of(&self, user: &UserId, after: &str) -> Result<Vec<ItemId>> {
        let sql = "SELECT item_id FROM reaction WHERE user_id = $1 AND item_id > $2 ORDER BY item_id LIMIT $3";
        let limit = i64::try_from(RANGE_ITEMS_MAX).unwrap_or(i64::MAX);
        let rows =
            self.read(statement(self.backend, sql, vec![user.as_str().into(), after.into(), limit.into()])).await?;
        rows.iter().map(|row| column(row, "item_id").map(ItemId::from_row)).collect()
    }

    /// Items of the catalogue.
    pub async fn count_items(&self) -> Result<u64> {
        let rows = self.recount(statement(self.backend, "SELECT count(*) AS items FROM item", vec![])).await?;
        let items: i64 = rows.first().map(|row| column(row, "items")).transpose()?.unwrap_or_default();
        Ok(u64::try_from(items).unwrap_or_default())
    }

    /// Counts the rows of items and reads their counters. Takes as long as the rows are many: no time-out ends it.
    pub async fn measure(&self, among: Among<'_>) -> Result<Vec<Measured>> {
        let (among, values) = match (among, self.backend) {
            (Among::Range(range), _) => {
                let up_to = range.up_to.as_deref().unwrap_or(PAST_ALL_IDS);
                ("item_id > $1 AND item_id <= $2", vec![range.after.as_str().into(), up_to.into()])
            }
            (Among::These(items), Backend::Postgres) => {
                let ids: Vec<String> = items.iter().map(ItemId::to_string).collect();
                ("item_id = ANY($1)", vec![ids.into()])
            }
            (Among::These(items), Backend::Sqlite) => {
                let ids: Vec<&str> = items.iter().map(ItemId::as_str).collect();
                let ids = serde_json::to_string(&ids).map_err(Error::internal)?;
                ("item_id IN (SELECT value FROM json_each($1))", vec![ids.into()])
            }
        };
        // Both read the range past each checkpoint by the primary key, which a plain join does on SQLite only, whose
        // CROSS JOIN keeps its order.
        let unfolded = match self.backend {
            Backend::Postgres => {
                "cp CROSS JOIN LATERAL (SELECT * FROM reaction_event r WHERE r.partition = cp.partition
                   AND r.\"offset\" > cp.\"offset\" ORDER BY r.\"offset\" OFFSET 0) e"
            }
            Backend::Sqlite => {
                "cp CROSS JOIN reaction_event e ON e.partition = cp.partition AND e.\"offset\" > cp.\"offset\""
            }
        };
        let sql = kept_within_bounds(MEASURE).replace("{among}", among).replace("{unfolded}", unfolded);
        let rows = self.recount(statement(self.backend, &sql, values)).await?;
        rows.iter().map(measured).collect()
    }

    /// Runs a read that may take minutes. A connection that a network left hanging looks like one that counts, so the
    /// database is asked now and then which it is.
    async fn recount(&self, read: Statement) -> Result<Vec<QueryResult>> {
        let rows = match self.backend {
            Backend::Sqlite => answered(RECOUNT_MAX, self.recounts.query_all_raw(read)).await,
            Backend::Postgres => answered(RECOUNT_MAX, self.recount_postgres(read)).await,
        };
        rows.map_err(fault::to_error)
    }

    async fn recount_postgres(&self, read: Statement) -> Result<Vec<QueryResult>, DbErr> {
        let begin = async {
            let transaction = self.recounts.begin().await?;
            let session = statement(self.backend, "SELECT pg_backend_pid() AS session", vec![]);
            let session = transaction.query_one_raw(session).await?;
            let session = session.ok_or_else(|| DbErr::RecordNotFound("the session's number".into()))?;
            Ok((transaction, session.try_get("", "session")?))
        };
        let (transaction, session) = answered(READ_SILENCE_MAX, begin).await?;
        let rows = tokio::select! {
            rows = transaction.query_all_raw(read) => rows?,
            () = self.until_idle(session) => return Err(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout)),
        };
        answered(READ_SILENCE_MAX, transaction.commit()).await?;
        Ok(rows)
    }

    /// Ends when a session of the database has nothing to do at two looks.
    async fn until_idle(&self, session: i32) {
        loop {
            sleep(LOOK).await;
            if self.is_idle(session).await {
                sleep(UNDER_WAY).await;
                if self.is_idle(session).await {
                    return;
                }
            }
        }
    }

    /// False also where it cannot be known.
    async fn is_idle(&self, session: i32) -> bool {
        let sql = "SELECT 1 AS one FROM pg_stat_activity WHERE pid = $1 AND state = 'active'";
        let active = self.read(statement(self.backend, sql, vec![session.into()])).await;
        active.is_ok_and(|active| active.is_empty())
    }

    /// Sets the counters of measured items to what their rows say, with a new version each, in one transaction that
    /// holds all checkpoints. Returns the items that it has written: the others were rewritten by somebody else, or
    /// their shards have become more or fewer since, and are to be measured again.
    pub async fn rewrite_counters(&self, measured: &[Measured]) -> Result<Vec<ItemId>> {
        answered(WORK_SILENCE_MAX, self.rewrite(measured)).await.map_err(fault::to_error)
    }

    async fn rewrite(&self, measured: &[Measured]) -> Result<Vec<ItemId>, DbErr> {
        let transaction = self.begin_pipeline().await?;
        let written = match self.backend {
            Backend::Postgres => {
                lock_checkpoints(&transaction).await?;
                transaction
                    .query_all_raw(rows::over(
                        self.backend,
                        &kept_within_bounds(REWRITE),
                        vec![],
                        differences(measured),
                    ))
                    .await?
            }
            Backend::Sqlite => rewrite_sqlite(&transaction, measured).await?,
        };
        transaction.commit().await?;
        written.iter().map(|row| row.try_get("", "item_id").map(ItemId::from_row)).collect()
    }
}

/// Waits for the folds that run, and keeps others from beginning.
async fn lock_checkpoints(transaction: &DatabaseTransaction) -> Result<(), DbErr> {
    transaction.execute_unprepared(&format!("SET LOCAL lock_timeout = '{LOCK_WAIT_MAX}'")).await?;
    let sql = "SELECT partition FROM checkpoint ORDER BY partition FOR UPDATE";
    transaction.query_all_raw(statement(Backend::Postgres, sql, vec![])).await?;
    Ok(())
}

/// SQLite has no data-modifying CTE: the same steps as reconcile_rewrite.sql, one after the other under the one write
/// lock. Its log has one partition, so an item has one shard.
async fn rewrite_sqlite(transaction: &DatabaseTransaction, measured: &[Measured]) -> Result<Vec<QueryResult>, DbErr> {
    let now = Store::sqlite_now();
    transaction.execute_unprepared(SQLITE_REWRITES).await?;
    transaction
        .execute_raw(rows::over(Backend::Sqlite, &kept_within_bounds(SQLITE_STILL_TRUE), vec![], differences(measured)))
        .await?;
    let run = |sql, values| transaction.execute_raw(statement(Backend::Sqlite, sql, values));
    run(SQLITE_OTHER_SHARDS, vec![]).await?;
    run(SQLITE_SHARDS, vec![]).await?;
    run(SQLITE_TOTALS, vec![(now / 1_000).into(), now.into()]).await?;
    run(SQLITE_CHECKPOINT, vec![]).await?;
    transaction.query_all_raw(statement(Backend::Sqlite, "SELECT item_id FROM temp.rewrite", vec![])).await
}

const SQLITE_REWRITES: &str = "CREATE TEMP TABLE IF NOT EXISTS rewrite (item_id text PRIMARY KEY, l bigint, d bigint)
    WITHOUT ROWID; DELETE FROM temp.rewrite;";
const SQLITE_STILL_TRUE: &str = "INSERT INTO temp.rewrite (item_id, l, d)
    SELECT x.i, x.l + coalesce((SELECT sum({likes}) FROM item_count_shard s WHERE s.item_id = x.i), 0),
      x.d + coalesce((SELECT sum({dislikes}) FROM item_count_shard s WHERE s.item_id = x.i), 0)
    FROM {rows} LEFT JOIN item_count c ON c.item_id = x.i
    WHERE coalesce(c.reconciled_at, 0) = x.t
      AND coalesce((SELECT sum(CAST(1 AS bigint) << s.partition) FROM item_count_shard s WHERE s.item_id = x.i), 0) = x.b";
/// A shard of no partition may have been planted.
const SQLITE_OTHER_SHARDS: &str = "UPDATE item_count_shard SET like_count = 0, dislike_count = 0
    WHERE partition <> 0 AND item_id IN (SELECT item_id FROM temp.rewrite)";
const SQLITE_SHARDS: &str =
    "INSERT INTO item_count_shard (item_id, partition, like_count, dislike_count, applied_offset)
    SELECT item_id, 0, l, d, (SELECT \"offset\" FROM checkpoint WHERE partition = 0) FROM temp.rewrite WHERE true
    ON CONFLICT (item_id, partition) DO UPDATE SET like_count = excluded.like_count,
      dislike_count = excluded.dislike_count, applied_offset = excluded.applied_offset";
const SQLITE_TOTALS: &str = "INSERT INTO item_count (item_id, like_count, dislike_count, version, reconciled_at)
    SELECT item_id, l, d, $1, $2 FROM temp.rewrite WHERE true
    ON CONFLICT (item_id) DO UPDATE SET like_count = excluded.like_count, dislike_count = excluded.dislike_count,
      version = max(min(version, 9007199254740990) + 1, excluded.version),
      reconciled_at = CASE WHEN reconciled_at < 4611686018427387904
        THEN max(reconciled_at + 1, excluded.reconciled_at) ELSE excluded.reconciled_at END";
const SQLITE_CHECKPOINT: &str = "UPDATE checkpoint SET base_offset = \"offset\", epoch = epoch + 1
    WHERE EXISTS (SELECT 1 FROM temp.rewrite)";

/// What the rows have more than the shards, and what must be as it was for that to hold still.
fn differences(measured: &[Measured]) -> rows::Columns {
    let big = |of: fn(&Measured) -> i64| Column::Big(measured.iter().map(of).collect());
    vec![
        ("i", Column::Text(measured.iter().map(|measured| measured.item.to_string()).collect())),
        ("l", big(|measured| measured.rows.likes - measured.shards.likes)),
        ("d", big(|measured| measured.rows.dislikes - measured.shards.dislikes)),
        ("b", big(|measured| measured.shard_bits)),
        ("t", big(|measured| measured.healed_at)),
    ]
}

/// Puts the columns of counts in the place of `{likes}` and `{dislikes}`, those that were spoiled cut to 2^53: sums of them
/// fit, and a difference is seen. What a heal does not get right of such an item, the next one does.
fn kept_within_bounds(sql: &str) -> String {
    let within = |column| {
        format!(
            "CASE WHEN {column} BETWEEN -9007199254740992 AND 9007199254740992 THEN {column} \
             WHEN {column} > 0 THEN 9007199254740992 ELSE -9007199254740992 END"
        )
    };
    sql.replace("{likes}", &within("like_count")).replace("{dislikes}", &within("dislike_count"))
}

/// Where a range ends that begins with these ids and their reactions; `None` where it takes all there are.
fn range_end(known: Vec<(String, i64)>) -> Option<String> {
    let full = known.len() >= RANGE_ITEMS_MAX;
    let mut reactions: i64 = 0;
    let mut last = None;
    for (id, more) in known {
        reactions = reactions.saturating_add(more.max(0));
        last = Some(id);
        if reactions >= RANGE_REACTIONS_MAX {
            return last;
        }
    }
    last.filter(|_| full)
}

fn measured(row: &QueryResult) -> Result<Measured> {
    let tally = |likes, dislikes| -> Result<Tally> {
        Ok(Tally { likes: column(row, likes)?, dislikes: column(row, dislikes)? })
    };
    Ok(Measured {
        item: ItemId::from_row(column(row, "item_id")?),
        rows: tally("row_likes", "row_dislikes")?,
        shards: tally("shard_likes", "shard_dislikes")?,
        total: tally("total_likes", "total_dislikes")?,
        shard_bits: column(row, "shards")?,
        healed_at: column(row, "healed_at")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_ends_when_it_is_full_or_costly_and_is_open_at_the_end() {
        let ids = |count: usize, reactions| (0..count).map(|id| (format!("{id:04}"), reactions)).collect::<Vec<_>>();
        assert_eq!(range_end(vec![]), None);
        assert_eq!(range_end(ids(RANGE_ITEMS_MAX - 1, 1)), None);
        assert_eq!(range_end(ids(RANGE_ITEMS_MAX, 1)).as_deref(), Some("0999"));
        assert_eq!(range_end(ids(10, RANGE_REACTIONS_MAX / 2)).as_deref(), Some("0001"));
        assert_eq!(range_end(ids(10, i64::MAX)).as_deref(), Some("0000"), "a spoilt count is no reason to overflow");
        assert_eq!(range_end(ids(10, -5)), None);
    }
}
