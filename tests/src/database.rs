//! The database of one test.

use std::sync::Arc;
use std::time::Instant;

use sea_orm::{
    AccessMode, ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr, IsolationLevel, SqliteTransactionMode,
    Statement, TransactionOptions, TransactionTrait, TryGetable,
};
use tempfile::TempDir;

use crate::postgres::{Postgres, connect};
use crate::services::{self, Services};
use crate::wait::SOON;

/// A private database; dropped or deleted with the test.
#[derive(Debug)]
pub enum Database {
    Sqlite { folder: TempDir },
    Postgres { server: Arc<Postgres>, name: String },
}

impl Database {
    /// A file that `serve` makes and migrates.
    pub fn sqlite() -> Self {
        let folder = tempfile::Builder::new().prefix("likewise-sqlite-").tempdir().expect("a temporary folder");
        Self::Sqlite { folder }
    }

    pub async fn on_shared_postgres(services: &Services) -> Self {
        Self::Postgres { server: services.postgres(), name: services.migrated_database().await }
    }

    /// In a PostgreSQL of its own, which the test may stop.
    pub async fn on_own_postgres() -> Self {
        let server = Arc::new(Postgres::start().unwrap_or_else(|error| panic!("{error}")));
        let name = "own".to_owned();
        server.create_database(&name).await;
        services::migrate(&server.url(&name)).await;
        Self::Postgres { server, name }
    }

    /// Without a schema, in the same kind of place.
    pub async fn empty(&self, services: &Services) -> Self {
        match self {
            Self::Sqlite { .. } => Self::sqlite(),
            Self::Postgres { server, .. } => {
                let name = services.new_name();
                server.create_database(&name).await;
                Self::Postgres { server: Arc::clone(server), name }
            }
        }
    }

    /// As the server's setting has it.
    pub fn url(&self) -> String {
        match self {
            Self::Sqlite { folder } => format!("sqlite://{}?mode=rwc", folder.path().join("likewise.db").display()),
            Self::Postgres { server, name } => server.url(name),
        }
    }

    pub fn is_postgres(&self) -> bool {
        matches!(self, Self::Postgres { .. })
    }

    pub fn postgres(&self) -> &Postgres {
        match self {
            Self::Sqlite { .. } => panic!("this test runs on PostgreSQL only"),
            Self::Postgres { server, .. } => server,
        }
    }

    pub async fn connect(&self) -> Sql {
        Sql { connection: connect(&self.url()).await }
    }

    pub async fn remove(self) {
        match self {
            Self::Sqlite { folder } => folder.close().expect("the folder can be removed"),
            Self::Postgres { server, name } => server.drop_database(&name).await,
        }
    }
}

/// The fixtures' own connection, past the server.
#[derive(Debug)]
pub struct Sql {
    connection: DatabaseConnection,
}

impl Sql {
    /// The first column of every row.
    pub async fn column<T: TryGetable>(&self, sql: &str) -> Vec<T> {
        column(&self.connection, sql).await
    }

    /// The one number that `sql` asks for.
    pub async fn number(&self, sql: &str) -> i64 {
        let numbers = self.column::<i64>(sql).await;
        *numbers.first().unwrap_or_else(|| panic!("no row: {sql}"))
    }

    /// Changes what only the server should change.
    pub async fn execute(&self, sql: &str) {
        let run = || self.connection.execute_unprepared(sql);
        when_free(run).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// A session inside a transaction: what another process has begun and not ended. No time-out ends it.
    pub async fn begin(&self) -> Session {
        let is_sqlite = self.connection.get_database_backend() == sea_orm::DbBackend::Sqlite;
        let sqlite_transaction_mode = is_sqlite.then_some(SqliteTransactionMode::Immediate);
        let options = || TransactionOptions { sqlite_transaction_mode, ..Default::default() };
        let begin = || self.connection.begin_with_options(options());
        Session { transaction: when_free(begin).await.expect("a transaction begins") }
    }

    /// A look at one moment of the database, whatever is committed meanwhile.
    pub async fn moment(&self) -> Session {
        let options = match self.connection.get_database_backend() {
            sea_orm::DbBackend::Sqlite => TransactionOptions {
                sqlite_transaction_mode: Some(SqliteTransactionMode::Deferred),
                ..Default::default()
            },
            _ => TransactionOptions {
                isolation_level: Some(IsolationLevel::RepeatableRead),
                access_mode: Some(AccessMode::ReadOnly),
                ..Default::default()
            },
        };
        Session { transaction: self.connection.begin_with_options(options).await.expect("a transaction begins") }
    }

    pub async fn close(self) {
        self.connection.close().await.expect("an open connection can be closed");
    }
}

/// A transaction of the fixtures' own.
#[derive(Debug)]
pub struct Session {
    transaction: DatabaseTransaction,
}

impl Session {
    pub async fn execute(&self, sql: &str) {
        self.transaction.execute_unprepared(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// The first column of every row.
    pub async fn column<T: TryGetable>(&self, sql: &str) -> Vec<T> {
        column(&self.transaction, sql).await
    }

    /// The one number that `sql` asks for.
    pub async fn number(&self, sql: &str) -> i64 {
        let numbers = self.column::<i64>(sql).await;
        *numbers.first().unwrap_or_else(|| panic!("no row: {sql}"))
    }

    pub async fn commit(self) {
        self.transaction.commit().await.expect("the transaction commits");
    }

    pub async fn rollback(self) {
        self.transaction.rollback().await.expect("the transaction rolls back");
    }
}

/// Runs a write once nobody else has SQLite's write lock, which a server that is at work lets go of for moments only.
async fn when_free<T, W: Future<Output = Result<T, DbErr>>>(write: impl Fn() -> W) -> Result<T, DbErr> {
    let deadline = Instant::now() + SOON;
    loop {
        // Each try takes the busy time-out.
        match write().await {
            Err(busy) if busy.to_string().contains("database is locked") && Instant::now() < deadline => {}
            done => return done,
        }
    }
}

async fn column<T: TryGetable>(on: &impl ConnectionTrait, sql: &str) -> Vec<T> {
    let statement = Statement::from_string(on.get_database_backend(), sql);
    let rows = on.query_all_raw(statement).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let value = |row: &sea_orm::QueryResult| row.try_get_by_index(0);
    rows.iter().map(|row| value(row).unwrap_or_else(|error| panic!("{sql}: {error}"))).collect()
}
