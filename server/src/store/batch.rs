//! One batch of a partition as one transaction: lock, read, decide, write, commit.
//!
//! The number of statements does not grow with the batch. Reads come after the lock in statements of their own: one
//! that locks and reads at once reads with the snapshot from before the wait. PostgreSQL runs this at READ COMMITTED.

use std::collections::{HashMap, HashSet};

use sea_orm::{ConnectionTrait, DatabaseTransaction, DbErr, QueryResult, Statement, TryGetable, Value};
use uuid::Uuid;

use super::decide::{Answer, Command, Decision, EventWrite, Found, Record, decide};
use super::fault::{Fault, classify};
use super::rows::{self, Column, Columns};
use super::{Store, statement};
use crate::domain::{ItemId, OwnReaction, ReactionState, UserId};
use crate::error::Result;
use crate::failpoint;

/// Why a batch was not committed.
#[derive(Debug)]
pub(super) enum BatchError {
    /// The database refuses some command's data, now and always.
    Refused(DbErr),
    /// Worth another try: nothing is committed, or nobody knows yet.
    Again(DbErr),
    /// A row was not as it was read: somebody wrote without the partition's lock. Nothing is committed.
    Guard,
}

impl From<DbErr> for BatchError {
    fn from(error: DbErr) -> Self {
        match classify(&error) {
            Fault::Refused | Fault::Ours => Self::Refused(error),
            Fault::Passing => Self::Again(error),
        }
    }
}

/// A commit whose reply was lost. The log tells what became of it: the batch's id stands at its first offset, or not.
#[derive(Debug)]
pub(super) struct Doubt {
    first_offset: i64,
    answers: Vec<Result<Answer>>,
}

/// One batch through all its attempts.
#[derive(Debug)]
pub(super) struct Batch<'a> {
    store: &'a Store,
    partition: usize,
    id: Uuid,
    commands: &'a [Command],
    /// The import that the commands are lines of, and the last of these lines.
    progress: Option<&'a ImportProgress>,
    doubt: Option<Doubt>,
}

/// How far an import has come in one partition; committed with the rows.
#[derive(Debug, Clone)]
pub struct ImportProgress {
    pub import_id: String,
    pub line: i64,
}

impl<'a> Batch<'a> {
    pub(super) fn new(store: &'a Store, partition: usize, commands: &'a [Command]) -> Self {
        Self { store, partition, id: Uuid::now_v7(), commands, progress: None, doubt: None }
    }

    pub(super) fn with_progress(self, progress: &'a ImportProgress) -> Self {
        Self { progress: Some(progress), ..self }
    }

    /// True while a COMMIT was sent and its reply is missing.
    pub(super) fn in_doubt(&self) -> bool {
        self.doubt.is_some()
    }

    /// One attempt. After an attempt in doubt, the next one first finds the truth: holding the lock, it knows that
    /// the old transaction is over.
    pub(super) async fn attempt(&mut self) -> Result<Vec<Result<Answer>>, BatchError> {
        let transaction = self.store.begin_lane().await?;
        let (next_offset, last_at) = self.store.lock_partition(&transaction, self.partition).await?;
        failpoint::reach("lane_after_lock").await;
        if let Some(doubt) = &self.doubt {
            if self.batch_at(&transaction, doubt.first_offset).await? == Some(self.id) {
                transaction.rollback().await?;
                return Ok(self.doubt.take().map(|doubt| doubt.answers).unwrap_or_default());
            }
            self.doubt = None;
        }
        let found = self.read(&transaction).await?;
        let decision = decide(self.commands, found, next_offset, last_at);
        if decision.writes_nothing() && self.progress.is_none() {
            transaction.rollback().await?;
            return Ok(decision.answers);
        }
        self.write(&transaction, next_offset, &decision).await?;
        if !decision.events.is_empty() {
            self.doubt = Some(Doubt { first_offset: next_offset, answers: decision.answers.clone() });
        }
        failpoint::reach("lane_before_commit").await;
        transaction.commit().await.map_err(BatchError::Again)?;
        failpoint::reach("lane_after_commit").await;
        self.doubt = None;
        Ok(decision.answers)
    }

    async fn batch_at(&self, transaction: &DatabaseTransaction, offset: i64) -> Result<Option<Uuid>, DbErr> {
        let sql = "SELECT batch FROM reaction_event WHERE partition = $1 AND \"offset\" = $2";
        let values = vec![self.partition_number().into(), offset.into()];
        let row = transaction.query_one_raw(self.statement(sql, values)).await?;
        row.map(|row| row.try_get("", "batch")).transpose()
    }

    async fn read(&self, transaction: &DatabaseTransaction) -> Result<Found, DbErr> {
        Ok(Found {
            now: self.store.clock(transaction).await?,
            records: self.read_records(transaction).await?,
            rows: self.read_rows(transaction).await?,
            items: self.read_items(transaction).await?,
            erased: self.read_erased(transaction).await?,
        })
    }

    async fn read_records(&self, on: &DatabaseTransaction) -> Result<HashMap<(UserId, String), Record>, DbErr> {
        let keyed = self.commands.iter().filter_map(|command| Some((command.user.as_str(), command.key.clone()?)));
        let (users, keys): (Vec<_>, Vec<_>) = keyed.map(|(user, key)| (user.to_owned(), key)).unzip();
        if keys.is_empty() {
            return Ok(HashMap::new());
        }
        let sql = "SELECT i.user_id, i.key, i.fingerprint, i.answer
                   FROM {rows} CROSS JOIN idempotency_record i WHERE i.user_id = x.u AND i.key = x.k";
        let columns = vec![("u", Column::Text(users)), ("k", Column::Text(keys))];
        let found = on.query_all_raw(self.over(sql, vec![], columns)).await?;
        let record = |row: &QueryResult| {
            let key = (UserId::from_row(get(row, "user_id")?), get(row, "key")?);
            Ok((key, Record { fingerprint: get(row, "fingerprint")?, answer: get(row, "answer")? }))
        };
        found.iter().map(record).collect()
    }

    async fn read_rows(&self, on: &DatabaseTransaction) -> Result<HashMap<(UserId, ItemId), OwnReaction>, DbErr> {
        let pairs: HashSet<_> = self.commands.iter().map(|command| (&command.user, &command.item)).collect();
        let (users, items) = pairs.iter().map(|(user, item)| (user.to_string(), item.to_string())).unzip();
        let sql = "SELECT r.user_id, r.item_id, r.state, r.version, r.reacted_at, r.event_offset
                   FROM {rows} CROSS JOIN reaction r WHERE r.user_id = x.u AND r.item_id = x.i";
        let columns = vec![("u", Column::Text(users)), ("i", Column::Text(items))];
        let found = on.query_all_raw(self.over(sql, vec![], columns)).await?;
        let own = |row: &QueryResult| {
            let key = (UserId::from_row(get(row, "user_id")?), ItemId::from_row(get(row, "item_id")?));
            Ok((key, own_reaction(row)?))
        };
        found.iter().map(own).collect()
    }

    async fn read_items(&self, on: &DatabaseTransaction) -> Result<HashMap<ItemId, bool>, DbErr> {
        let items: HashSet<_> = self.commands.iter().map(|command| command.item.as_str()).collect();
        let sql = "SELECT i.id, i.is_open FROM {rows} CROSS JOIN item i WHERE i.id = x.i";
        let found = on.query_all_raw(self.over(sql, vec![], rows::ids("i", items))).await?;
        found.iter().map(|row| Ok((ItemId::from_row(get(row, "id")?), get(row, "is_open")?))).collect()
    }

    async fn read_erased(&self, on: &DatabaseTransaction) -> Result<HashSet<UserId>, DbErr> {
        let users: HashSet<_> = self.commands.iter().map(|command| command.user.as_str()).collect();
        let sql = "SELECT a.id FROM {rows} CROSS JOIN account a WHERE a.id = x.u AND a.erased_at IS NOT NULL";
        let found = on.query_all_raw(self.over(sql, vec![], rows::ids("u", users))).await?;
        found.iter().map(|row| get(row, "id").map(UserId::from_row)).collect()
    }

    async fn write(&self, on: &DatabaseTransaction, next_offset: i64, decision: &Decision) -> Result<(), BatchError> {
        if !decision.events.is_empty() {
            self.write_rows(on, decision).await?;
            failpoint::reach("lane_after_rows").await;
            self.write_events(on, decision).await?;
            failpoint::reach("lane_after_events").await;
        }
        if !decision.removals.is_empty() {
            self.store.remove_rows(on, decision).await?;
        }
        self.store.note_retractions(on, decision).await?;
        if !decision.records.is_empty() {
            self.write_records(on, decision).await?;
            failpoint::reach("lane_after_records").await;
        }
        if !decision.new_items.is_empty() {
            let sql = "INSERT INTO item (id, created_at) SELECT x.i, CAST($1 AS bigint) FROM {rows} WHERE true
                       ORDER BY x.i ON CONFLICT DO NOTHING";
            let columns = rows::ids("i", decision.new_items.iter().map(ItemId::as_str));
            on.execute_raw(self.over(sql, vec![decision.at.into()], columns)).await?;
        }
        if let Some(progress) = self.progress {
            let sql = "INSERT INTO import_progress (import_id, partition, line) VALUES ($1, $2, $3)
                       ON CONFLICT (import_id, partition) DO UPDATE SET line = excluded.line";
            let values = vec![progress.import_id.as_str().into(), self.partition_number().into(), progress.line.into()];
            on.execute_raw(self.statement(sql, values)).await?;
        }
        let events = i64::try_from(decision.events.len()).unwrap_or(i64::MAX);
        let sql = "UPDATE log_partition SET next_offset = $2, last_at = $3 WHERE id = $1";
        let values = vec![self.partition_number().into(), (next_offset + events).into(), decision.at.into()];
        on.execute_raw(self.statement(sql, values)).await?;
        Ok(())
    }

    /// Rows that were there are guarded by the version that was read: somebody who wrote without the partition's lock
    /// makes the batch run again, not lose a flip.
    async fn write_rows(&self, on: &DatabaseTransaction, decision: &Decision) -> Result<(), BatchError> {
        let update = "UPDATE reaction SET state = x.s, version = x.v, reacted_at = x.t, event_offset = x.o
                      FROM {rows} WHERE reaction.user_id = x.u AND reaction.item_id = x.i AND reaction.version = x.b";
        let insert = "INSERT INTO reaction (user_id, item_id, state, version, reacted_at, event_offset)
                      SELECT x.u, x.i, x.s, x.v, x.t, x.o FROM {rows} WHERE true ON CONFLICT DO NOTHING";
        let (new, old): (Vec<_>, Vec<_>) = decision.rows.iter().partition(|row| row.base_version == 0);
        for (sql, rows) in [(update, old), (insert, new)] {
            if rows.is_empty() {
                continue;
            }
            let columns = vec![
                ("u", Column::Text(rows.iter().map(|row| row.user.to_string()).collect())),
                ("i", Column::Text(rows.iter().map(|row| row.item.to_string()).collect())),
                ("s", Column::Small(rows.iter().map(|row| row.row.state.code()).collect())),
                ("b", Column::Big(rows.iter().map(|row| row.base_version).collect())),
                ("v", Column::Big(rows.iter().map(|row| row.row.version).collect())),
                ("t", Column::Big(rows.iter().map(|row| row.row.reacted_at).collect())),
                ("o", Column::Big(rows.iter().map(|row| row.row.event_offset).collect())),
            ];
            let written = on.execute_raw(self.over(sql, vec![], columns)).await?.rows_affected();
            if written != rows.len() as u64 {
                return Err(BatchError::Guard);
            }
        }
        Ok(())
    }

    async fn write_events(&self, on: &DatabaseTransaction, decision: &Decision) -> Result<(), DbErr> {
        let sql = "INSERT INTO reaction_event (partition, \"offset\", batch, user_id, item_id, old_state, new_state,
                     like_delta, dislike_delta, version, origin, created_at)
                   SELECT CAST($1 AS integer), x.o, $2, nullif(x.u, ''), x.i, x.os, x.ns, x.l, x.d, x.v, x.g, CAST($3 AS bigint)
                   FROM {rows} WHERE true";
        let events = &decision.events;
        let text = |of: fn(&EventWrite) -> String| Column::Text(events.iter().map(of).collect());
        let small = |of: fn(&EventWrite) -> i16| Column::Small(events.iter().map(of).collect());
        let big = |of: fn(&EventWrite) -> i64| Column::Big(events.iter().map(of).collect());
        let columns = vec![
            ("o", big(|event| event.offset)),
            // No id is empty: an empty text stands for nobody.
            ("u", text(|event| event.user.as_ref().map(UserId::to_string).unwrap_or_default())),
            ("i", text(|event| event.item.to_string())),
            ("os", small(|event| event.old.code())),
            ("ns", small(|event| event.new.code())),
            ("l", small(|event| event.like_delta)),
            ("d", small(|event| event.dislike_delta)),
            ("v", big(|event| event.version)),
            ("g", small(|event| event.origin.code())),
        ];
        let scalars: Vec<Value> = vec![self.partition_number().into(), self.id.into(), decision.at.into()];
        on.execute_raw(self.over(sql, scalars, columns)).await?;
        Ok(())
    }

    async fn write_records(&self, on: &DatabaseTransaction, decision: &Decision) -> Result<(), DbErr> {
        let sql = "INSERT INTO idempotency_record (user_id, key, fingerprint, answer, created_at)
                   SELECT x.u, x.k, x.f, x.a, CAST($1 AS bigint) FROM {rows} WHERE true";
        let records = &decision.records;
        let columns = vec![
            ("u", Column::Text(records.iter().map(|record| record.user.to_string()).collect())),
            ("k", Column::Text(records.iter().map(|record| record.key.clone()).collect())),
            ("f", Column::Text(records.iter().map(|record| record.fingerprint.clone()).collect())),
            ("a", Column::Text(records.iter().map(|record| record.answer.clone()).collect())),
        ];
        on.execute_raw(self.over(sql, vec![decision.at.into()], columns)).await?;
        Ok(())
    }

    fn partition_number(&self) -> i32 {
        i32::try_from(self.partition).expect("partitions are few")
    }

    fn statement(&self, sql: &str, values: Vec<Value>) -> Statement {
        statement(self.store.backend, sql, values)
    }

    fn over(&self, sql: &str, scalars: Vec<Value>, columns: Columns) -> Statement {
        rows::over(self.store.backend, sql, scalars, columns)
    }
}

fn get<T: TryGetable>(row: &QueryResult, name: &str) -> Result<T, DbErr> {
    row.try_get("", name)
}

/// The columns `state`, `version`, `reacted_at` and `event_offset` of a row.
pub(super) fn own_reaction(row: &QueryResult) -> Result<OwnReaction, DbErr> {
    Ok(OwnReaction {
        state: state(row, "state")?,
        version: get(row, "version")?,
        reacted_at: get(row, "reacted_at")?,
        event_offset: get(row, "event_offset")?,
    })
}

pub(super) fn state(row: &QueryResult, name: &str) -> Result<ReactionState, DbErr> {
    let code: i16 = get(row, name)?;
    ReactionState::from_code(code).ok_or_else(|| DbErr::Type(format!("{code} is no reaction state")))
}
