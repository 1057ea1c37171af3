//! The servers that tests share: started when the first test asks, stopped when the run ends.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use likewise_server::store::{Store, StoreSettings};
use tokio::sync::{Mutex, OnceCell};

use crate::postgres::Postgres;
use crate::redis::Redis;

/// More than one, so that folds meet several; PostgreSQL's default.
pub const PARTITIONS: usize = 4;
const TEMPLATE: &str = "likewise_template";

/// PostgreSQL and Redis for whoever needs no fault of theirs.
#[derive(Debug, Default)]
pub struct Services {
    postgres: OnceLock<Result<Arc<Postgres>, String>>,
    redis: OnceLock<Result<Arc<Redis>, String>>,
    template: OnceCell<()>,
    /// One copy of the template at a time: two that overlap refuse each other.
    copying: Mutex<()>,
    names: AtomicU32,
}

impl Services {
    /// The shared PostgreSQL; a machine without one fails the test with what to install.
    pub fn postgres(&self) -> Arc<Postgres> {
        let started = self.postgres.get_or_init(|| Postgres::start().map(Arc::new));
        started.clone().unwrap_or_else(|error| panic!("{error}"))
    }

    pub fn redis(&self) -> Arc<Redis> {
        let started = self.redis.get_or_init(|| Redis::start().map(Arc::new));
        started.clone().unwrap_or_else(|error| panic!("{error}"))
    }

    /// A name that no other test of this run has: of a database, of a Redis namespace.
    pub fn new_name(&self) -> String {
        format!("test{}", self.names.fetch_add(1, Ordering::Relaxed))
    }

    /// A database of the shared PostgreSQL with the schema in it, copied from one that was migrated once.
    pub async fn migrated_database(&self) -> String {
        let postgres = self.postgres();
        let template = async {
            postgres.create_database(TEMPLATE).await;
            migrate(&postgres.url(TEMPLATE)).await;
        };
        self.template.get_or_init(|| template).await;
        let name = self.new_name();
        let _copying = self.copying.lock().await;
        postgres.copy_database(TEMPLATE, &name).await;
        name
    }
}

/// Brings the schema up to date.
pub async fn migrate(url: &str) {
    let settings = StoreSettings::new(url, 1);
    let mut store = Store::connect(&settings).await.unwrap_or_else(|error| panic!("{url}: {error}"));
    store.migrate(PARTITIONS).await.unwrap_or_else(|error| panic!("{url}: {error}"));
    store.close().await;
}
