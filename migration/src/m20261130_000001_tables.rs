//! The first tables.
//!
//! No foreign keys on reactions, events and counters: each write would take a shared lock on a hot item's row. No
//! `CHECK (… >= 0)` on counters: an upsert of −1 onto 5 is refused by the row that was proposed.

use sea_orm_migration::prelude::*;

use crate::dialect::render;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

const STATEMENTS: &[&str] = &[
    "CREATE TABLE reaction (
        user_id {id} NOT NULL, item_id {id} NOT NULL, state smallint NOT NULL, version bigint NOT NULL,
        reacted_at bigint NOT NULL, event_offset bigint NOT NULL, PRIMARY KEY (user_id, item_id)){without_rowid}",
    // The partial indexes serve only queries that write the state as a literal.
    "CREATE INDEX reaction_liked ON reaction (user_id, reacted_at DESC, item_id DESC) WHERE state = 1",
    "CREATE INDEX reaction_likers ON reaction (item_id, reacted_at DESC, user_id DESC) WHERE state = 1",
    "CREATE INDEX reaction_dislikes ON reaction (item_id) WHERE state = 2",
    "CREATE TABLE reaction_event (
        partition integer NOT NULL, \"offset\" bigint NOT NULL, batch uuid NOT NULL, user_id {id}, item_id {id} NOT NULL,
        old_state smallint NOT NULL, new_state smallint NOT NULL, like_delta smallint NOT NULL,
        dislike_delta smallint NOT NULL, version bigint NOT NULL, origin smallint NOT NULL, created_at bigint NOT NULL,
        PRIMARY KEY (partition, \"offset\")){without_rowid}",
    "CREATE TABLE log_partition (id integer PRIMARY KEY, next_offset bigint NOT NULL, last_at bigint NOT NULL)",
    "CREATE TABLE idempotency_record (
        user_id {id} NOT NULL, key {id} NOT NULL, fingerprint text NOT NULL, answer text NOT NULL,
        created_at bigint NOT NULL, PRIMARY KEY (user_id, key)){without_rowid}",
    "CREATE INDEX idempotency_created ON idempotency_record (created_at)",
    "CREATE TABLE checkpoint (
        partition integer PRIMARY KEY, \"offset\" bigint NOT NULL, base_offset bigint NOT NULL, epoch bigint NOT NULL)",
    "CREATE TABLE item_count_shard (
        item_id {id} NOT NULL, partition integer NOT NULL, like_count bigint NOT NULL, dislike_count bigint NOT NULL,
        applied_offset bigint NOT NULL, PRIMARY KEY (item_id, partition)){without_rowid}",
    "CREATE TABLE item_count (
        item_id {id} NOT NULL PRIMARY KEY, like_count bigint NOT NULL, dislike_count bigint NOT NULL,
        version bigint NOT NULL, reconciled_at bigint){without_rowid}",
    "CREATE TABLE item (
        id {id} NOT NULL PRIMARY KEY, type text NOT NULL DEFAULT 'item', creator_id {id},
        is_open boolean NOT NULL DEFAULT true, created_at bigint NOT NULL){without_rowid}",
    "CREATE TABLE account (id {id} NOT NULL PRIMARY KEY, name text, erased_at bigint){without_rowid}",
    "CREATE TABLE friendship (
        user_id {id} NOT NULL, friend_id {id} NOT NULL, PRIMARY KEY (user_id, friend_id)){without_rowid}",
    "CREATE INDEX friendship_friend ON friendship (friend_id)",
    "CREATE TABLE import_progress (
        import_id text NOT NULL, partition integer NOT NULL, line bigint NOT NULL,
        PRIMARY KEY (import_id, partition)){without_rowid}",
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
