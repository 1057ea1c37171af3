//! Bringing the schema up to date, once, however many nodes try at the same time.

use likewise_entity::log_partition;
use likewise_migration::{Migrator, MigratorTrait, SchemaManager};
use sea_orm::{ConnectionTrait, DbErr, EntityTrait, PaginatorTrait, Statement};

use super::{Backend, Store, fault, statement};
use crate::error::{Error, ErrorCode, Result};

/// Key of the advisory lock that migrating nodes take in turn; any number that nobody else takes.
const MIGRATION_LOCK: i64 = 0x6c69_6b65_7769_7365;

/// What a migration did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    pub applied: usize,
    pub partitions: usize,
}

impl Store {
    /// True where a migration is missing, or the schema is not there at all.
    pub async fn is_behind(&self) -> Result<bool> {
        let pending = self.pending().await.map_err(|error| self.unreadable(error))?;
        Ok(pending > 0 || self.partitions == 0)
    }

    /// Applies what is missing. `partitions` counts only when the schema is new: it is fixed from then on.
    pub async fn migrate(&mut self, partitions: usize) -> Result<Migrated> {
        // Most times there is nothing to do, and nobody to wait for.
        if self.partitions > 0 && !self.is_behind().await? {
            return Ok(Migrated { applied: 0, partitions: self.partitions });
        }
        let applied = match self.backend {
            Backend::Postgres => self.migrate_under_lock(partitions).await,
            Backend::Sqlite => self.migrate_at_once(partitions).await,
        };
        let applied = applied.map_err(|error| self.unreadable(error))?;
        self.partitions = self.count_partitions().await?;
        Ok(Migrated { applied, partitions: self.partitions })
    }

    /// A migration that this binary does not know is a newer one's, as an older node meets it in a rolling upgrade.
    fn unreadable(&self, error: DbErr) -> Error {
        if !matches!(error, DbErr::Custom(_) | DbErr::Migration(_)) {
            return fault::to_error(error);
        }
        let address = self.address();
        let message = format!("The schema of the database at {address} is newer than this binary. Start a newer one.");
        Error::new(ErrorCode::Unavailable, message).caused_by(error)
    }

    /// 0 where there is no schema yet.
    pub(super) async fn count_partitions(&self) -> Result<usize> {
        if !SchemaManager::new(&self.pipeline).has_table("log_partition").await.map_err(fault::to_error)? {
            return Ok(0);
        }
        let count = log_partition::Entity::find().count(&self.pipeline).await.map_err(fault::to_error)?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    async fn pending(&self) -> Result<usize, DbErr> {
        Ok(Migrator::get_pending_migrations(&self.pipeline).await?.len())
    }

    async fn migrate_under_lock(&self, partitions: usize) -> Result<usize, DbErr> {
        let lock = self.begin_pipeline().await?;
        // The lock is held by a transaction that stands idle while another connection migrates.
        lock.execute_unprepared("SET LOCAL idle_in_transaction_session_timeout = 0").await?;
        let sql = "SELECT pg_advisory_xact_lock($1)";
        lock.execute_raw(statement(self.backend, sql, vec![MIGRATION_LOCK.into()])).await?;
        let applied = self.apply(partitions).await?;
        lock.commit().await?;
        Ok(applied)
    }

    async fn apply(&self, partitions: usize) -> Result<usize, DbErr> {
        let applied = self.pending().await?;
        Migrator::up(&self.pipeline, None).await?;
        self.found_partitions(&self.pipeline, partitions).await?;
        Ok(applied)
    }

    /// For SQLite the migrations are not in a transaction by themselves, and a process that dies would leave some of the
    /// tables and no word of them.
    async fn migrate_at_once(&self, partitions: usize) -> Result<usize, DbErr> {
        let transaction = self.begin_pipeline().await?;
        let applied = Migrator::get_pending_migrations(&transaction).await?.len();
        Migrator::up(&transaction, None).await?;
        self.found_partitions(&transaction, partitions).await?;
        transaction.commit().await?;
        Ok(applied)
    }

    /// The partitions and their checkpoints, where there are none.
    async fn found_partitions(&self, on: &impl ConnectionTrait, partitions: usize) -> Result<(), DbErr> {
        let numbers = "WITH RECURSIVE n(id) AS (SELECT 0 UNION ALL SELECT id + 1 FROM n WHERE id + 1 < $1)";
        let founding = [
            format!(
                "{numbers} INSERT INTO log_partition (id, next_offset, last_at)
                 SELECT id, 1, 0 FROM n WHERE NOT EXISTS (SELECT 1 FROM log_partition)"
            ),
            "INSERT INTO checkpoint (partition, \"offset\", base_offset, epoch)
             SELECT id, 0, 0, 0 FROM log_partition WHERE $1 > 0 AND NOT EXISTS (SELECT 1 FROM checkpoint)"
                .to_owned(),
        ];
        let count = i32::try_from(partitions).unwrap_or(i32::MAX);
        for sql in founding {
            let founding: Statement = statement(self.backend, &sql, vec![count.into()]);
            on.execute_raw(founding).await?;
        }
        Ok(())
    }
}
