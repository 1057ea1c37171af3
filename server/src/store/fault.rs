//! What a database error means for the one who caused it.

use sea_orm::sqlx;
use sea_orm::{DbErr, RuntimeErr};

use crate::error::Error;

/// What is to be done about a failed statement of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The database refuses the data itself; the same statement can never succeed.
    Refused,
    /// Another transaction was in the way, or the database is away; the same work may succeed later.
    Passing,
    /// Neither: a fault of ours.
    Ours,
}

/// SQLSTATE classes 22 (data) and 23 (integrity) refuse; 40 (rollback), 53, 55 (busy), 57 (shutting down), 08
/// (connection) and 25 (a transaction that a time-out ended) pass.
pub(super) fn classify(error: &DbErr) -> Fault {
    let Some(error) = sqlx_error(error) else {
        return match error {
            DbErr::ConnectionAcquire(_) => Fault::Passing,
            _ => Fault::Ours,
        };
    };
    match error {
        sqlx::Error::Database(database) => match database.code().as_deref() {
            Some(code) if code.len() == 5 => match &code[..2] {
                "22" | "23" => Fault::Refused,
                "08" | "25" | "40" | "53" | "55" | "57" => Fault::Passing,
                _ => Fault::Ours,
            },
            Some(code) => classify_sqlite(code),
            None => Fault::Ours,
        },
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => Fault::Passing,
        _ => Fault::Ours,
    }
}

/// SQLite's primary result code is the lowest byte: 5 busy, 6 locked, 10 I/O, 13 full; 18 too big, 19 constraint,
/// 20 mismatch.
fn classify_sqlite(code: &str) -> Fault {
    match code.parse::<u32>().unwrap_or_default() & 0xff {
        5 | 6 | 10 | 13 => Fault::Passing,
        18..=20 => Fault::Refused,
        _ => Fault::Ours,
    }
}

/// True where another process has SQLite's write lock.
pub(super) fn is_busy(error: &DbErr) -> bool {
    let Some(sqlx::Error::Database(database)) = sqlx_error(error) else { return false };
    let is_sqlite = |code: &str| code.len() < 5 && code.parse::<u32>().is_ok_and(|code| code & 0xff == 5);
    database.code().as_deref().is_some_and(is_sqlite)
}

/// The error that a caller gets for a failed statement.
pub(super) fn to_error(error: DbErr) -> Error {
    match classify(&error) {
        Fault::Passing => Error::unavailable(error),
        Fault::Refused | Fault::Ours => Error::internal(error),
    }
}

fn sqlx_error(error: &DbErr) -> Option<&sqlx::Error> {
    match error {
        DbErr::Conn(RuntimeErr::SqlxError(error))
        | DbErr::Exec(RuntimeErr::SqlxError(error))
        | DbErr::Query(RuntimeErr::SqlxError(error)) => Some(error),
        _ => None,
    }
}
