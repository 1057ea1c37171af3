//! A store and its lanes without a node, and a log that can be emptied: for properties that need many of them.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use likewise_server::domain::{ItemId, ReactionState, UserId};
use likewise_server::error::Result;
use likewise_server::lifecycle::Lifecycle;
use likewise_server::store::decide::{Answer, Command, Source, UnknownItems};
use likewise_server::store::lanes::{LaneStats, Lanes};
use likewise_server::store::{Store, StoreSettings};

use crate::database::{Database, Sql};
use crate::services::PARTITIONS;

/// Tables that hold what people did and what was counted of it.
const TABLES: [&str; 6] =
    ["reaction", "reaction_event", "idempotency_record", "item_count_shard", "item_count", "item"];

pub struct Bare {
    pub store: Store,
    pub sql: Sql,
    lanes: Lanes,
    lifecycle: Lifecycle,
}

impl Bare {
    /// Opens a database that no node serves, and makes its schema where there is none.
    pub async fn open(database: &Database) -> Self {
        let settings = StoreSettings::new(database.url(), 2);
        let mut store = Store::connect(&settings).await.expect("a store");
        if store.partitions() == 0 {
            store.migrate(if database.is_postgres() { PARTITIONS } else { 1 }).await.expect("a schema");
        }
        let (lanes, tasks) = Lanes::new(&store, LaneStats::default());
        let lifecycle = Lifecycle::new();
        for task in tasks {
            let stop = lifecycle.work();
            lifecycle.spawn("lane", stop.clone(), async {
                task.run(stop).await;
                Ok::<_, Infallible>(())
            });
        }
        Self { sql: database.connect().await, store, lanes, lifecycle }
    }

    /// As after the first migration.
    pub async fn empty(&self) {
        for table in TABLES {
            self.sql.execute(&format!("DELETE FROM {table}")).await;
        }
        self.sql.execute("UPDATE log_partition SET next_offset = 1, last_at = 0").await;
        self.sql.execute("UPDATE checkpoint SET \"offset\" = 0, base_offset = 0").await;
    }

    /// Each command once the one before is answered.
    pub async fn one_by_one(&self, commands: &[Command]) -> Vec<Result<Answer>> {
        let mut answers = Vec::new();
        for command in commands {
            answers.push(self.lanes.submit(command.clone()).await);
        }
        answers
    }

    /// All commands queued in their order before the first is answered.
    pub async fn at_once(&self, commands: &[Command]) -> Vec<Result<Answer>> {
        self.queued(commands, async {}).await
    }

    /// As `at_once`, where the lanes cannot commit until all is queued: what they find then are full batches.
    pub async fn in_full_batches(&self, commands: &[Command]) -> Vec<Result<Answer>> {
        let elsewhere = self.sql.begin().await;
        // Takes the lock that the lanes wait for, on PostgreSQL of every partition, on SQLite of the file.
        elsewhere.execute("UPDATE log_partition SET last_at = last_at").await;
        self.queued(commands, elsewhere.commit()).await
    }

    async fn queued(&self, commands: &[Command], then: impl Future<Output = ()>) -> Vec<Result<Answer>> {
        type Waiting<'a> = Pin<Box<dyn Future<Output = Result<Answer>> + 'a>>;
        let mut waiting: Vec<Waiting<'_>> = Vec::new();
        let mut answers: Vec<Option<Result<Answer>>> = Vec::new();
        for command in commands {
            let mut answer: Waiting<'_> = Box::pin(self.lanes.submit(command.clone()));
            // The first poll queues the command.
            let first = poll_fn(|context| Poll::Ready(answer.as_mut().poll(context))).await;
            answers.push(match first {
                Poll::Ready(answer) => Some(answer),
                Poll::Pending => None,
            });
            waiting.push(answer);
        }
        then.await;
        let mut all = Vec::new();
        for (answer, waiting) in answers.into_iter().zip(waiting) {
            all.push(match answer {
                Some(answer) => answer,
                None => waiting.await,
            });
        }
        all
    }

    pub async fn close(self) {
        self.lifecycle.stop(Duration::ZERO).await;
        self.sql.close().await;
        self.store.close().await;
    }
}

/// The wish of a user of an open catalogue.
pub fn wish(user: &str, item: &str, wanted: ReactionState, key: Option<String>) -> Command {
    Command {
        user: UserId::parse(user).expect("a good id"),
        item: ItemId::parse(item).expect("a good id"),
        wanted,
        key,
        from: Source::User { unknown_items: UnknownItems::Welcome },
    }
}
