//! The pools: their sizes, time-outs and session settings.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sea_orm::sqlx::postgres::PgConnectOptions;
use sea_orm::sqlx::sqlite::SqliteConnectOptions;
use sea_orm::sqlx::{self, Connection, Executor};
use sea_orm::{ConnectOptions, Database, DatabaseConnection};
use tokio::time::{sleep, timeout};

use super::{Backend, Statements, Store};
use crate::error::{Error, ErrorCode, Result};

/// How long a write waits for a free connection, or anything for a new one, before it is refused as `UNAVAILABLE`.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a read or a recount waits for a free connection. Longer, because reads go on under a load that writes are
/// shed under.
const READ_ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection may have been idle and still be used without a round trip to see that it lives.
const IDLE_UNTESTED: Duration = Duration::from_secs(1);
/// How long a connection that comes back may take to finish what was under way on it; past it, it is cut off.
const RELEASE_MAX: Duration = Duration::from_secs(2);
/// How long a lane waits for a lock, so that a stopped process elsewhere cannot hold it up for good.
const LOCK_TIMEOUT: &str = "1500ms";
/// How long the database lets a transaction stand idle before it ends it, which frees a stopped process's locks.
const IDLE_IN_TRANSACTION_TIMEOUT: &str = "2s";
/// How long a read may run before the database ends it.
const READ_TIMEOUT: &str = "10s";
/// How long SQLite waits for a lock that another process holds, to open the file and to read.
const SQLITE_BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// The same for one try of a write, of which there are many: SQLite looks at once, after one and after three
/// milliseconds, where in a long wait it would look every tenth of a second.
const SQLITE_WRITE_TRY: &str = "PRAGMA busy_timeout = 3";
/// How long a process may write without leaving the file free for as long as others need to see it.
const SQLITE_WITHOUT_REST: Duration = Duration::from_millis(100);
const SQLITE_REST: Duration = Duration::from_millis(3);
/// Connections for counter, catalogue writes, imports and background work, and some that a network has left hanging.
const PIPELINE_CONNECTIONS: u32 = 12;
/// Connections for the lanes where nobody says otherwise: all the partitions of a large installation, and some that a
/// time-out has left behind.
const LANE_CONNECTIONS: u32 = 24;
/// Connections for recounts: a process has one that counts at a time.
const RECOUNT_CONNECTIONS: u32 = 1;

/// Where the URL comes from.
const SETTING: &str = "LIKEWISE_DATABASE_URL";

/// Where the database is and how many connections reads may use.
#[derive(Debug, Clone)]
pub struct StoreSettings {
    pub url: String,
    /// Reads wait for one of these; at least one.
    pub read_connections: u32,
    /// Batches wait for one of these; at least one. SQLite has the one writer.
    pub lane_connections: u32,
}

impl StoreSettings {
    /// With the usual number of connections for the lanes.
    pub fn new(url: impl Into<String>, read_connections: u32) -> Self {
        Self { url: url.into(), read_connections, lane_connections: LANE_CONNECTIONS }
    }

    /// A path may have spaces, which a URL has not.
    fn url(&self) -> String {
        self.url.replace(' ', "%20")
    }

    pub fn backend(&self) -> Result<Backend> {
        if self.url.starts_with("postgres://") || self.url.starts_with("postgresql://") {
            Ok(Backend::Postgres)
        } else if self.url.starts_with("sqlite:") {
            Ok(Backend::Sqlite)
        } else {
            Err(Error::bad_input(SETTING, "The database URL starts with postgres:// or sqlite://."))
        }
    }

    /// Whether the URL can be read; told here, since the database's driver would say the URL itself, password and all.
    fn check(&self) -> Result<Backend> {
        let backend = self.backend()?;
        match backend {
            Backend::Postgres => self.postgres().map(|_| ())?,
            Backend::Sqlite => self.file().map(|_| ())?,
        }
        Ok(backend)
    }

    fn postgres(&self) -> Result<PgConnectOptions> {
        PgConnectOptions::from_str(&self.url()).map_err(|error| {
            let message = format!(
                "{SETTING} cannot be read. Special characters in a user or password are percent-encoded: %2F for a slash."
            );
            Error::bad_input(SETTING, message).caused_by(error)
        })
    }

    /// SQLite's file.
    pub fn file(&self) -> Result<Option<PathBuf>> {
        if self.backend()? == Backend::Postgres {
            return Ok(None);
        }
        let options = SqliteConnectOptions::from_str(&self.url())
            .map_err(|error| Error::bad_input(SETTING, format!("{SETTING} cannot be read.")).caused_by(error))?;
        Ok(Some(options.get_filename().to_owned()))
    }

    /// Host, port and database, or the file: never a part of the user or the password.
    pub fn address(&self) -> String {
        if let Ok(Some(file)) = self.file() {
            return file.display().to_string();
        }
        let Ok(options) = self.postgres() else { return "an address that cannot be read".to_owned() };
        let database = options.get_database().unwrap_or_default();
        match options.get_socket() {
            Some(socket) => format!("{}/{database}", socket.display()),
            None => format!("{}:{}/{database}", options.get_host(), options.get_port()),
        }
    }
}

impl Store {
    /// Opens the pools; the schema may still be missing, then there are no partitions.
    pub async fn connect(settings: &StoreSettings) -> Result<Self> {
        let backend = settings.check()?;
        let address = settings.address();
        let statements = Arc::new(Statements::default());
        let pools = match backend {
            Backend::Postgres => postgres_pools(settings).await,
            Backend::Sqlite => sqlite_pools(settings).await,
        };
        let [mut lanes, mut pipeline, mut readers, mut recounts] = pools.map_err(|error| {
            let fix = match backend {
                Backend::Postgres => {
                    "Start PostgreSQL there, or correct LIKEWISE_DATABASE_URL, in which special characters are \
                     percent-encoded."
                }
                Backend::Sqlite => "Set LIKEWISE_DATABASE_URL to a file in a folder that can be written.",
            };
            Error::new(ErrorCode::Unavailable, format!("The database at {address} cannot be used. {fix}"))
                .caused_by(error)
        })?;
        for pool in [&mut lanes, &mut pipeline, &mut recounts] {
            let statements = Arc::clone(&statements);
            pool.set_metric_callback(move |_| statements.add_other());
        }
        let counted = Arc::clone(&statements);
        readers.set_metric_callback(move |_| counted.add_read());
        let address = address.into();
        let mut store = Self { backend, address, lanes, pipeline, readers, recounts, statements, partitions: 0 };
        store.partitions = store.count_partitions().await?;
        Ok(store)
    }
}

fn options(url: &str, connections: u32) -> ConnectOptions {
    let mut options = ConnectOptions::new(url);
    options
        .max_connections(connections)
        .min_connections(1)
        .connect_timeout(ACQUIRE_TIMEOUT)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        // A connection in use shows by itself that it is broken; one that stood idle may have died unseen.
        .test_before_acquire_if_idle_for(IDLE_UNTESTED)
        .sqlx_logging(false)
        // The pool itself waits without end for what was under way on a connection that comes back. One that a network
        // left hanging would never be free again, and a few of them are all there are. What is still in a transaction then is
        // of no use to anybody.
        .map_sqlx_postgres_pool_opts(|pool| {
            pool.after_release(|connection, _| {
                Box::pin(async move {
                    match timeout(RELEASE_MAX, connection.ping()).await {
                        Ok(alive) => alive.map(|()| !connection.is_in_transaction()),
                        Err(_) => Err(sqlx::Error::PoolTimedOut),
                    }
                })
            })
        });
    options
}

/// Lanes look few keys up in large tables, by index, whatever the planner thinks of statistics that are young; JIT
/// would compile the plans that are priced out. The other pools keep the planner's defaults.
async fn postgres_pools(settings: &StoreSettings) -> Result<[DatabaseConnection; 4], sea_orm::DbErr> {
    let mut lanes = options(&settings.url(), settings.lane_connections.max(1));
    lanes.map_sqlx_postgres_opts(|connection| {
        connection.application_name("likewise-lanes").options([
            ("lock_timeout", LOCK_TIMEOUT),
            ("idle_in_transaction_session_timeout", IDLE_IN_TRANSACTION_TIMEOUT),
            ("enable_seqscan", "off"),
            ("enable_hashjoin", "off"),
            ("enable_mergejoin", "off"),
            ("jit", "off"),
            ("plan_cache_mode", "force_generic_plan"),
        ])
    });
    let mut pipeline = options(&settings.url(), PIPELINE_CONNECTIONS);
    pipeline.map_sqlx_postgres_opts(|connection| {
        connection
            .application_name("likewise-pipeline")
            .options([("idle_in_transaction_session_timeout", IDLE_IN_TRANSACTION_TIMEOUT)])
    });
    let mut readers = options(&settings.url(), settings.read_connections.max(1));
    readers.acquire_timeout(READ_ACQUIRE_TIMEOUT);
    readers.map_sqlx_postgres_opts(|connection| {
        connection
            .application_name("likewise-readers")
            .options([("statement_timeout", READ_TIMEOUT), ("default_transaction_read_only", "on")])
    });
    // One core counts, so that the others serve. Connected when first asked.
    let mut recounts = options(&settings.url(), RECOUNT_CONNECTIONS);
    recounts.min_connections(0).connect_lazy(true).acquire_timeout(READ_ACQUIRE_TIMEOUT);
    recounts.map_sqlx_postgres_opts(|connection| {
        connection.application_name("likewise-recounts").options([
            ("default_transaction_read_only", "on"),
            ("max_parallel_workers_per_gather", "0"),
            ("jit", "off"),
        ])
    });
    let connect = |options| Database::connect(options);
    Ok([connect(lanes).await?, connect(pipeline).await?, connect(readers).await?, connect(recounts).await?])
}

/// Keeps the one connection that writes out of use for a moment, so that other processes find the file free.
async fn rest_if_due(rested: &Mutex<Instant>) {
    let last = *rested.lock().unwrap_or_else(PoisonError::into_inner);
    if last.elapsed() > SQLITE_WITHOUT_REST {
        sleep(SQLITE_REST).await;
        *rested.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// One connection writes, so that nobody meets SQLITE_BUSY; readers see the last commit through the WAL.
///
/// Where the disk is full or fails, SQLite ends a transaction by itself. The driver then still counts it as open, and would
/// make a savepoint of the next one, whose commit keeps nothing: such a connection is not used again.
async fn sqlite_pools(settings: &StoreSettings) -> Result<[DatabaseConnection; 4], sea_orm::DbErr> {
    let mut writer = options(&settings.url(), 1);
    writer.map_sqlx_sqlite_opts(|file| {
        file.busy_timeout(SQLITE_BUSY_TIMEOUT).pragma("journal_mode", "WAL").pragma("synchronous", "FULL")
    });
    let rested = Arc::new(Mutex::new(Instant::now()));
    writer.map_sqlx_sqlite_pool_opts(move |pool| {
        let rested = Arc::clone(&rested);
        pool.after_connect(|writer, _| Box::pin(async { writer.execute(SQLITE_WRITE_TRY).await.map(drop) }))
            .after_release(move |writer, _| {
                let rested = Arc::clone(&rested);
                Box::pin(async move {
                    // Comes after a rollback that is under way.
                    writer.ping().await?;
                    if writer.is_in_transaction() {
                        return Ok(false);
                    }
                    rest_if_due(&rested).await;
                    Ok(true)
                })
            })
    });
    let writer = Database::connect(writer).await?;
    let mut readers = options(&settings.url(), settings.read_connections.max(1));
    readers.acquire_timeout(READ_ACQUIRE_TIMEOUT);
    readers.map_sqlx_sqlite_opts(|file| file.busy_timeout(SQLITE_BUSY_TIMEOUT).pragma("query_only", "ON"));
    let readers = Database::connect(readers).await?;
    Ok([writer.clone(), writer, readers.clone(), readers])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_no_password() {
        let address = |url: &str| StoreSettings::new(url, 1).address();
        assert_eq!(address("postgres://me:secret@db:5432/likes?sslmode=require"), "db:5432/likes");
        assert_eq!(address("postgres://me:a@db/likes?sslmode=require"), "db:5432/likes");
        assert_eq!(address("postgres:///likes?host=/run/pg&password=a%40b"), "/run/pg/likes");
        assert_eq!(address("sqlite://likewise.db?mode=rwc"), "likewise.db");
        assert_eq!(address("sqlite:in/my file.db"), "in/my file.db");
        assert_eq!(address("sqlite://a@b%20c.db"), "a@b c.db");
    }
}
