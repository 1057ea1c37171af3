//! Items, names and friends. Reads are one statement; writes go through one task per node, so that a client that
//! hangs up cannot leave a transaction half-way.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use sea_orm::{ConnAcquireErr, ConnectionTrait, DatabaseTransaction, DbErr, Value};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::fault::{self, Fault, classify};
use super::retractions::Proposal;
use super::rows::{self, Column, Columns};
use super::{Backend, Store, column, statement};
use crate::domain::{ItemId, ProposalId, UserId};
use crate::error::{Error, ErrorCode, Result};
use crate::failpoint;

/// Catalogue writes that wait; one more is answered `OVERLOADED`.
const QUEUE_MAX: usize = 64;
/// A write that waited this long is answered `OVERLOADED` and not run.
const QUEUE_WAIT_MAX: Duration = Duration::from_secs(2);
/// Tries of a write that other transactions are in the way of; then it is answered `UNAVAILABLE`.
const TRIES: u32 = 5;
/// Longest try; past it the connection is taken for dead.
const TRY_MAX: Duration = Duration::from_secs(10);
/// After this no further try is made.
const TRIES_UNTIL: Duration = Duration::from_millis(2_500);
/// Key of the advisory lock by which erasures wait for other writes of the catalogue; any number that nobody else takes.
const ERASURE_LOCK: i64 = 0x6c69_6b65_6772_6176;

/// An item to write, by its id; `None` leaves a field as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ItemFields {
    pub item_type: Option<String>,
    pub creator: Option<UserId>,
    pub open: Option<bool>,
}

/// A person to write: replace first, then remove, then add.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserFields {
    pub name: Option<String>,
    pub replace_friends: bool,
    pub add_friends: BTreeSet<UserId>,
    pub remove_friends: BTreeSet<UserId>,
}

/// A write of the catalogue, all or nothing. Sorted by id: one lock order.
#[derive(Debug, Clone)]
pub enum CatalogWrite {
    Items(BTreeMap<ItemId, ItemFields>),
    /// A user with more friends than `friends_max` afterwards refuses all.
    Users {
        users: BTreeMap<UserId, UserFields>,
        friends_max: usize,
    },
    /// Keeps a user out for good.
    Erase(UserId),
    Retract(Proposal),
    Restore(ProposalId),
}

/// Why a write of the catalogue was refused.
#[derive(Debug, Clone)]
pub enum CatalogRefusal {
    TooManyFriends(UserId),
    Erased(UserId),
    Failed(Error),
}

/// What is stored of a user.
#[derive(Debug, Clone)]
pub struct UserRow {
    pub name: Option<String>,
}

type Reply = oneshot::Sender<Result<(), CatalogRefusal>>;

/// The entrance to a node's catalogue writes.
#[derive(Debug, Clone)]
pub struct CatalogWriter {
    queue: mpsc::Sender<Queued>,
}

/// The task behind it.
#[derive(Debug)]
pub struct CatalogTask {
    store: Store,
    queue: mpsc::Receiver<Queued>,
}

#[derive(Debug)]
struct Queued {
    write: CatalogWrite,
    since: Instant,
    reply: Reply,
}

impl CatalogWriter {
    pub fn new(store: &Store) -> (Self, CatalogTask) {
        let (sender, queue) = mpsc::channel(QUEUE_MAX);
        (Self { queue: sender }, CatalogTask { store: store.clone(), queue })
    }

    /// Returns once the write is durable.
    pub async fn write(&self, write: CatalogWrite) -> Result<(), CatalogRefusal> {
        let (reply, done) = oneshot::channel();
        let queued = Queued { write, since: Instant::now(), reply };
        self.queue.try_send(queued).map_err(|_| overloaded())?;
        let stopping = "This node is stopping. Send the same request again.";
        done.await.unwrap_or_else(|_| Err(CatalogRefusal::Failed(Error::new(ErrorCode::Unavailable, stopping))))
    }
}

impl CatalogTask {
    /// Writes until `stop`, then what is still queued.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                next = self.queue.recv() => {
                    let Some(Queued { write, since, reply }) = next else { return };
                    let answer = match since.elapsed() > QUEUE_WAIT_MAX {
                        true => Err(overloaded()),
                        false => self.store.write_catalog(&write).await,
                    };
                    let _ = reply.send(answer);
                }
                () = stop.cancelled(), if !self.queue.is_closed() => self.queue.close(),
            }
        }
    }
}

fn overloaded() -> CatalogRefusal {
    let message = "Too many catalogue writes are waiting. Send the same request again a little later.";
    CatalogRefusal::Failed(Error::new(ErrorCode::Overloaded, message))
}

pub(super) enum TryError {
    Refused(CatalogRefusal),
    Database(DbErr),
}

impl From<DbErr> for TryError {
    fn from(error: DbErr) -> Self {
        Self::Database(error)
    }
}

impl Store {
    /// The types of the items that are in the catalogue. One statement.
    pub async fn item_types(&self, items: &[ItemId]) -> Result<HashMap<ItemId, String>> {
        let sql = "SELECT i.id, i.type FROM {rows} CROSS JOIN item i WHERE i.id = x.i";
        let columns = rows::ids("i", items.iter().map(ItemId::as_str));
        let found = self.read(rows::over(self.backend, sql, vec![], columns)).await?;
        found.iter().map(|row| Ok((ItemId::from_row(column(row, "id")?), column(row, "type")?))).collect()
    }

    /// The users who were upserted or have reacted, erased ones left out. One statement.
    pub async fn known_users(&self, users: &[UserId]) -> Result<HashMap<UserId, UserRow>> {
        let sql = "SELECT x.u AS id, a.name FROM {rows} LEFT JOIN account a ON a.id = x.u
                   WHERE a.erased_at IS NULL
                     AND (a.id IS NOT NULL OR EXISTS (SELECT 1 FROM reaction r WHERE r.user_id = x.u))";
        let columns = rows::ids("u", users.iter().map(UserId::as_str));
        let found = self.read(rows::over(self.backend, sql, vec![], columns)).await?;
        let user = |row| Ok((UserId::from_row(column(row, "id")?), UserRow { name: column(row, "name")? }));
        found.iter().map(user).collect()
    }

    /// Writes all or nothing. Meant for a task of its own: see [`CatalogTask`].
    pub async fn write_catalog(&self, write: &CatalogWrite) -> Result<(), CatalogRefusal> {
        let begun = Instant::now();
        let mut tries = 1;
        loop {
            let tried = timeout(TRY_MAX, self.try_write(write)).await;
            let silent = || Err(TryError::Database(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout)));
            match tried.unwrap_or_else(|_| silent()) {
                Ok(()) => return Ok(()),
                Err(TryError::Refused(refusal)) => return Err(refusal),
                Err(TryError::Database(error))
                    if classify(&error) == Fault::Passing && tries < TRIES && begun.elapsed() < TRIES_UNTIL =>
                {
                    tries += 1;
                }
                Err(TryError::Database(error)) => return Err(CatalogRefusal::Failed(fault::to_error(error))),
            }
        }
    }

    async fn try_write(&self, write: &CatalogWrite) -> Result<(), TryError> {
        let transaction = self.begin_pipeline().await?;
        self.keep_erasures_apart(&transaction, write).await?;
        let written = match write {
            CatalogWrite::Items(items) => self.write_items(&transaction, items).await.map_err(TryError::from),
            CatalogWrite::Users { users, friends_max } => self.write_users(&transaction, users, *friends_max).await,
            CatalogWrite::Erase(user) => self.entomb(&transaction, user).await.map_err(TryError::from),
            CatalogWrite::Retract(proposal) => self.propose(&transaction, proposal).await,
            CatalogWrite::Restore(proposal) => self.ask_to_restore(&transaction, proposal).await,
        };
        match written {
            Ok(()) => {
                failpoint::reach("catalog_before_commit").await;
                Ok(transaction.commit().await?)
            }
            Err(error) => {
                // The first error is the one to tell; a failed rollback ends with the connection.
                let _ = transaction.rollback().await;
                Err(error)
            }
        }
    }

    /// An erasure begins when no other write is half-way, so that whoever writes later sees its tombstone, and what was
    /// written before is there to be removed.
    async fn keep_erasures_apart(&self, on: &DatabaseTransaction, write: &CatalogWrite) -> Result<(), DbErr> {
        let sql = match (self.backend, write) {
            // One writer.
            (Backend::Sqlite, _) => return Ok(()),
            (Backend::Postgres, CatalogWrite::Erase(_)) => "SELECT pg_advisory_xact_lock($1)",
            (Backend::Postgres, _) => "SELECT pg_advisory_xact_lock_shared($1)",
        };
        on.execute_raw(statement(self.backend, sql, vec![ERASURE_LOCK.into()])).await?;
        Ok(())
    }

    async fn write_items(&self, on: &DatabaseTransaction, items: &BTreeMap<ItemId, ItemFields>) -> Result<(), DbErr> {
        let ids = || rows::ids("i", items.keys().map(ItemId::as_str));
        let insert = "INSERT INTO item (id, created_at) SELECT x.i, CAST($1 AS bigint) FROM {rows} WHERE true
                      ORDER BY x.i ON CONFLICT DO NOTHING";
        // When an item came is for operators to read; the process's clock will do.
        on.execute_raw(rows::over(self.backend, insert, vec![Self::sqlite_now().into()], ids())).await?;
        self.lock_in_order(on, "item", ids()).await?;
        let update = "UPDATE item SET type = CASE x.t WHEN '' THEN item.type ELSE x.t END,
                        creator_id = CASE WHEN x.c = ''
                          OR EXISTS (SELECT 1 FROM account a WHERE a.id = x.c AND a.erased_at IS NOT NULL)
                        THEN item.creator_id ELSE x.c END,
                        is_open = CASE x.o WHEN -1 THEN item.is_open WHEN 0 THEN false ELSE true END
                      FROM {rows} WHERE item.id = x.i";
        let absent = String::new;
        let columns = vec![
            ("i", Column::Text(items.keys().map(ItemId::to_string).collect())),
            ("t", Column::Text(items.values().map(|item| item.item_type.clone().unwrap_or_else(absent)).collect())),
            (
                "c",
                Column::Text(
                    items.values().map(|item| item.creator.as_ref().map_or_else(absent, UserId::to_string)).collect(),
                ),
            ),
            ("o", Column::Small(items.values().map(|item| item.open.map_or(-1, i16::from)).collect())),
        ];
        on.execute_raw(rows::over(self.backend, update, vec![], columns)).await?;
        Ok(())
    }

    async fn write_users(
        &self,
        on: &DatabaseTransaction,
        users: &BTreeMap<UserId, UserFields>,
        friends_max: usize,
    ) -> Result<(), TryError> {
        let run = |sql: &'static str, columns: Columns| async move {
            if columns[0].1.is_empty() {
                return Ok(());
            }
            on.execute_raw(rows::over(self.backend, sql, vec![], columns)).await.map(|_| ())
        };
        let ids = || rows::ids("u", users.keys().map(UserId::as_str));
        run("INSERT INTO account (id) SELECT x.u FROM {rows} WHERE true ORDER BY x.u ON CONFLICT DO NOTHING", ids())
            .await?;
        self.lock_in_order(on, "account", rows::ids("i", users.keys().map(UserId::as_str))).await?;
        let erased = "SELECT a.id FROM {rows} CROSS JOIN account a WHERE a.id = x.u AND a.erased_at IS NOT NULL";
        if let Some(user) = self.first_user(on, erased, vec![], ids()).await? {
            return Err(TryError::Refused(CatalogRefusal::Erased(user)));
        }
        let named = users.iter().filter_map(|(id, user)| Some((id.to_string(), user.name.clone()?)));
        let (named, names) = named.unzip();
        let columns = vec![("u", Column::Text(named)), ("n", Column::Text(names))];
        run("UPDATE account SET name = x.n FROM {rows} WHERE account.id = x.u", columns).await?;

        let replaced = users.iter().filter(|(_, user)| user.replace_friends).map(|(id, _)| id.as_str());
        run("DELETE FROM friendship WHERE user_id IN (SELECT x.u FROM {rows})", rows::ids("u", replaced)).await?;
        let remove = "DELETE FROM friendship WHERE (user_id, friend_id) IN (SELECT x.u, x.f FROM {rows})";
        run(remove, pairs(users, |user| &user.remove_friends)).await?;
        let add = "INSERT INTO friendship (user_id, friend_id) SELECT x.u, x.f FROM {rows}
                   WHERE NOT EXISTS (SELECT 1 FROM account a WHERE a.id = x.f AND a.erased_at IS NOT NULL)
                   ORDER BY x.u, x.f ON CONFLICT DO NOTHING";
        run(add, pairs(users, |user| &user.add_friends)).await?;
        let crowded = "SELECT f.user_id AS id FROM {rows} CROSS JOIN friendship f WHERE f.user_id = x.u
                       GROUP BY f.user_id HAVING count(*) > $1 ORDER BY f.user_id LIMIT 1";
        let most = i64::try_from(friends_max).unwrap_or(i64::MAX);
        match self.first_user(on, crowded, vec![most.into()], ids()).await? {
            Some(user) => Err(TryError::Refused(CatalogRefusal::TooManyFriends(user))),
            None => Ok(()),
        }
    }

    async fn first_user(
        &self,
        on: &DatabaseTransaction,
        sql: &str,
        scalars: Vec<Value>,
        columns: Columns,
    ) -> Result<Option<UserId>, DbErr> {
        let row = on.query_one_raw(rows::over(self.backend, sql, scalars, columns)).await?;
        row.map(|row| row.try_get("", "id").map(UserId::from_row)).transpose()
    }

    /// Locks the rows in the order of their ids, so that two writes of the same rows wait and never deadlock.
    async fn lock_in_order(&self, on: &DatabaseTransaction, table: &str, ids: Columns) -> Result<(), DbErr> {
        if self.backend == Backend::Sqlite {
            return Ok(());
        }
        let sql =
            format!("SELECT t.id FROM {table} t WHERE t.id IN (SELECT x.i FROM {{rows}}) ORDER BY t.id FOR UPDATE");
        on.query_all_raw(rows::over(self.backend, &sql, vec![], ids)).await?;
        Ok(())
    }
}

fn pairs(users: &BTreeMap<UserId, UserFields>, of: fn(&UserFields) -> &BTreeSet<UserId>) -> Columns {
    let pairs = users.iter().flat_map(|(id, user)| of(user).iter().map(|friend| (id.to_string(), friend.to_string())));
    let (users, friends) = pairs.unzip();
    vec![("u", Column::Text(users)), ("f", Column::Text(friends))]
}
