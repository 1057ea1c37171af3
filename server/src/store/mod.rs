//! The store: everything that is written in SQL. It stores what it is given and decides nothing but what must be
//! decided under a partition's lock.
//!
//! PostgreSQL and SQLite differ in the pools of `connect`, in the row sources of `rows`, and where a `match` on
//! [`Backend`] says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sea_orm::{
    ConnAcquireErr, ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr, QueryResult,
    SqliteTransactionMode, Statement, TransactionOptions, TransactionTrait, Value,
};

use tokio::time::{Instant, timeout};

use crate::domain::Micros;
use crate::error::{Error, Result};

pub mod batch;
mod bulk;
pub mod catalog;
pub mod connect;
pub mod counts;
pub mod decide;
mod demo;
pub mod erasures;
pub mod events;
mod fault;
pub mod fold;
pub mod lanes;
pub mod lists;
pub mod migrate;
pub mod reactions;
pub mod reconcile;
pub mod retention;
pub mod retractions;
mod rows;

pub use connect::StoreSettings;

/// How long a read may be without an answer. The database ends it earlier; this is for a connection that a network left
/// hanging, which would never say so. Past it the read fails as passing, and the connection is given up.
const READ_SILENCE_MAX: Duration = Duration::from_secs(16);
/// The same for a piece of background work: some thousand rows.
const WORK_SILENCE_MAX: Duration = Duration::from_secs(30);
/// How long a write waits for SQLite's write lock; past it, it fails as passing.
const SQLITE_LOCK_WAIT_MAX: Duration = Duration::from_secs(5);
/// How long a pool may take to say goodbye to the database.
const CLOSE_MAX: Duration = Duration::from_secs(2);

/// The kind of database behind the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    Postgres,
    Sqlite,
}

/// The database, through one pool per kind of work.
#[derive(Debug, Clone)]
pub struct Store {
    backend: Backend,
    /// Where it is, without a password, for messages.
    address: Arc<str>,
    /// Write lanes. On SQLite the one writer connection, shared with everything else that writes.
    lanes: DatabaseConnection,
    /// Counter, catalogue writes, imports: the planner's defaults.
    pipeline: DatabaseConnection,
    readers: DatabaseConnection,
    /// Long reads of the reconciler, which no time-out ends. On SQLite the readers.
    recounts: DatabaseConnection,
    statements: Arc<Statements>,
    partitions: usize,
}

/// Statements sent since the start.
#[derive(Debug, Default)]
struct Statements {
    reads: AtomicU64,
    others: AtomicU64,
}

impl Statements {
    fn add_read(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
    }

    fn add_other(&self) {
        self.others.fetch_add(1, Ordering::Relaxed);
    }
}

impl Store {
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Number of log partitions, fixed when the schema was made.
    pub fn partitions(&self) -> usize {
        self.partitions
    }

    /// Host, port and database, or the file; never a password.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Statements sent since the start, over all pools.
    pub fn statements(&self) -> u64 {
        self.reads() + self.statements.others.load(Ordering::Relaxed)
    }

    /// Reads of queries and watchers among them; background work reads through [`Self::for_background`].
    pub fn reads(&self) -> u64 {
        self.statements.reads.load(Ordering::Relaxed)
    }

    /// The same pools for work that nobody asked for: its reads are not counted as those of queries.
    #[must_use]
    pub fn for_background(&self) -> Self {
        let mut background = self.clone();
        let statements = Arc::clone(&self.statements);
        background.readers.set_metric_callback(move |_| statements.add_other());
        background
    }

    /// Succeeds where the database answers a read.
    pub async fn ping(&self) -> Result<()> {
        let statement = Statement::from_string(self.readers.get_database_backend(), "SELECT 1");
        self.readers.query_one_raw(statement).await.map_err(fault::to_error)?;
        Ok(())
    }

    /// Closes all pools; whatever waits for a connection fails.
    pub async fn close(self) {
        for pool in [self.lanes, self.pipeline, self.readers, self.recounts] {
            // Pools may share a connection that is closed already, and one that the network left hanging never says
            // goodbye: neither is worth waiting for.
            let _ = timeout(CLOSE_MAX, pool.close()).await;
        }
    }

    async fn read(&self, statement: Statement) -> Result<Vec<QueryResult>> {
        answered(READ_SILENCE_MAX, self.readers.query_all_raw(statement)).await.map_err(fault::to_error)
    }

    async fn begin_lane(&self) -> Result<DatabaseTransaction, DbErr> {
        begin(&self.lanes, self.backend).await
    }

    async fn begin_pipeline(&self) -> Result<DatabaseTransaction, DbErr> {
        begin(&self.pipeline, self.backend).await
    }

    /// Locks a partition against all who write its users' reactions, until the transaction ends; its next offset and
    /// the time of its last event.
    async fn lock_partition(&self, on: &DatabaseTransaction, partition: usize) -> Result<(i64, Micros), DbErr> {
        let lock = match self.backend {
            Backend::Postgres => " FOR UPDATE",
            // BEGIN IMMEDIATE has the only write lock there is.
            Backend::Sqlite => "",
        };
        let sql = format!("SELECT next_offset, last_at FROM log_partition WHERE id = $1{lock}");
        let partition = i32::try_from(partition).expect("partitions are few");
        let row = on.query_one_raw(statement(self.backend, &sql, vec![partition.into()])).await?;
        let row = row.ok_or_else(|| DbErr::RecordNotFound("the row of a log partition is missing".into()))?;
        Ok((row.try_get("", "next_offset")?, row.try_get("", "last_at")?))
    }

    /// The database's time at this moment. `now()` would be the transaction's start, from before a lock was waited for.
    async fn clock(&self, on: &impl ConnectionTrait) -> Result<Micros, DbErr> {
        if self.backend == Backend::Sqlite {
            return Ok(Self::sqlite_now());
        }
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now_us";
        let row = on.query_one_raw(statement(self.backend, sql, vec![])).await?;
        row.ok_or_else(|| DbErr::RecordNotFound("the time".into()))?.try_get("", "now_us")
    }

    /// The clock of the database: for PostgreSQL in SQL, for SQLite this process's own, since it is the database.
    fn sqlite_now() -> i64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    }
}

/// Gives up what has no answer in time.
async fn answered<T>(limit: Duration, work: impl Future<Output = Result<T, DbErr>>) -> Result<T, DbErr> {
    timeout(limit, work).await.unwrap_or(Err(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout)))
}

/// SQLite takes its write lock at BEGIN: a transaction that reads first and writes later fails at once when another
/// has written in between, whatever the busy time-out.
async fn begin(pool: &DatabaseConnection, backend: Backend) -> Result<DatabaseTransaction, DbErr> {
    let sqlite_transaction_mode = match backend {
        Backend::Postgres => None,
        Backend::Sqlite => Some(SqliteTransactionMode::Immediate),
    };
    let options = || TransactionOptions { sqlite_transaction_mode, ..Default::default() };
    when_free(|| pool.begin_with_options(options())).await
}

/// Tries a write again while another process has SQLite's write lock.
async fn when_free<T, W: Future<Output = Result<T, DbErr>>>(write: impl Fn() -> W) -> Result<T, DbErr> {
    let deadline = Instant::now() + SQLITE_LOCK_WAIT_MAX;
    loop {
        // Each try takes the writer's busy time-out.
        match write().await {
            Err(busy) if fault::is_busy(&busy) && Instant::now() < deadline => {}
            done => return done,
        }
    }
}

fn column<T: sea_orm::TryGetable>(row: &QueryResult, name: &str) -> Result<T> {
    row.try_get("", name).map_err(Error::internal)
}

fn statement(backend: Backend, sql: &str, values: Vec<Value>) -> Statement {
    let backend = match backend {
        Backend::Postgres => sea_orm::DbBackend::Postgres,
        Backend::Sqlite => sea_orm::DbBackend::Sqlite,
    };
    Statement::from_sql_and_values(backend, sql, values)
}

#[cfg(test)]
mod tests;
