//! The schema: one set of migrations for PostgreSQL and SQLite.

pub use sea_orm_migration::prelude::*;

mod dialect;
mod m20261130_000001_tables;
mod m20261201_000002_erasure;

/// Every migration, oldest first.
#[derive(Debug)]
pub struct Migrator;

#[async_trait::async_trait]
impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![Box::new(m20261130_000001_tables::Migration), Box::new(m20261201_000002_erasure::Migration)]
    }
}
