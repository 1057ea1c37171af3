//! The few words in which PostgreSQL and SQLite differ.

use sea_orm_migration::sea_orm::DbBackend;

/// Fills `{id}` and `{without_rowid}` in a statement.
///
/// Ids are compared byte by byte: SQLite does so by itself, PostgreSQL under the collation "C". SQLite tables with a
/// key of their own are stored by that key.
pub(crate) fn render(backend: DbBackend, statement: &str) -> String {
    let (id, without_rowid) = match backend {
        DbBackend::Postgres => ("text COLLATE \"C\"", ""),
        _ => ("text", " WITHOUT ROWID"),
    };
    statement.replace("{id}", id).replace("{without_rowid}", without_rowid)
}
