//! Erasure of accounts and retraction of reactions.

use sea_orm_migration::prelude::*;

use crate::dialect::render;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

const STATEMENTS: &[&str] = &[
    "CREATE TABLE erasure (
        user_id {id} NOT NULL PRIMARY KEY, requested_at bigint NOT NULL, removed bigint NOT NULL, finished_at bigint,
        lease_until bigint NOT NULL){without_rowid}",
    "CREATE INDEX erasure_requested ON erasure (requested_at)",
    "CREATE INDEX erasure_unfinished ON erasure (requested_at) WHERE finished_at IS NULL",
    // What an erasure looks for by the person.
    "CREATE INDEX item_creator ON item (creator_id) WHERE creator_id IS NOT NULL",
    "CREATE TABLE retraction (
        proposal_id {id} NOT NULL PRIMARY KEY, fingerprint text NOT NULL, user_id {id}, reason text, cuts text NOT NULL,
        status smallint NOT NULL, retracted bigint NOT NULL, restored bigint NOT NULL, created_at bigint NOT NULL,
        lease_until bigint NOT NULL){without_rowid}",
    "CREATE INDEX retraction_unfinished ON retraction (created_at) WHERE status IN (0, 2, 4)",
    "CREATE INDEX retraction_user ON retraction (user_id) WHERE user_id IS NOT NULL",
    "CREATE TABLE retraction_entry (
        proposal_id {id} NOT NULL, user_id {id} NOT NULL, item_id {id} NOT NULL, state smallint NOT NULL,
        reacted_at bigint NOT NULL, version bigint NOT NULL, PRIMARY KEY (proposal_id, user_id, item_id)){without_rowid}",
    "CREATE INDEX retraction_entry_user ON retraction_entry (user_id)",
];

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let connection = manager.get_connection();
        for statement in STATEMENTS {
            let sql = render(manager.get_database_backend(), statement);
            connection.execute_unprepared(&sql).await?;
        }
        Ok(())
    }
}
