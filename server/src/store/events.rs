//! The log as it is read from outside, its own figures, and how far an import has come in it.

use std::collections::HashMap;

use sea_orm::QueryResult;

use super::batch::state;
use super::{Store, column, fault, statement};
use crate::domain::{ItemId, Micros, Origin, ReactionState, UserId};
use crate::error::{Error, Result};

/// A committed flip as it stands in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEvent {
    pub partition: usize,
    pub offset: i64,
    /// `None` where the user was erased.
    pub user: Option<UserId>,
    pub item: ItemId,
    pub old_state: ReactionState,
    pub new_state: ReactionState,
    pub like_delta: i16,
    pub dislike_delta: i16,
    /// Of the user's row after this event.
    pub version: i64,
    pub origin: Origin,
    pub created_at: Micros,
}

/// A stretch of a partition's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPage {
    /// In the order of their offsets.
    pub events: Vec<LogEvent>,
    /// The offset after the partition's last event when the page was read: what is below it and not in the page's range
    /// is missing, not late.
    pub next_offset: i64,
}

/// Where a partition's log begins and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogExtent {
    /// Offset of the first event that is left, `next` where there is none.
    pub first: i64,
    /// The offset after the last event.
    pub next: i64,
}

impl Store {
    /// The events of a partition at `from` and the next `limit - 1` offsets. One statement.
    pub async fn log_page(&self, partition: usize, from: i64, limit: i64) -> Result<LogPage> {
        let sql = "SELECT l.next_offset, e.* FROM log_partition l LEFT JOIN reaction_event e
                     ON e.partition = l.id AND e.\"offset\" >= $2 AND e.\"offset\" < $2 + $3
                   WHERE l.id = $1 ORDER BY e.\"offset\" LIMIT $3";
        let values = vec![i32::try_from(partition).unwrap_or(i32::MAX).into(), from.into(), limit.into()];
        let rows = self.read(statement(self.backend, sql, values)).await?;
        let first = rows.first().ok_or_else(|| Error::internal_detail(format!("there is no partition {partition}")))?;
        let next_offset = column(first, "next_offset")?;
        let events = rows.iter().filter_map(|row| event(row).transpose()).collect::<Result<_>>()?;
        Ok(LogPage { events, next_offset })
    }

    /// Where each partition's log begins and ends. One statement.
    pub async fn log_extents(&self) -> Result<Vec<LogExtent>> {
        let sql = "SELECT l.next_offset, coalesce((SELECT min(e.\"offset\") FROM reaction_event e
                     WHERE e.partition = l.id), l.next_offset) AS first_offset
                   FROM log_partition l ORDER BY l.id";
        let rows = self.read(statement(self.backend, sql, vec![])).await?;
        let extent = |row| Ok(LogExtent { first: column(row, "first_offset")?, next: column(row, "next_offset")? });
        rows.iter().map(extent).collect()
    }

    /// Events that are committed and not folded, over all partitions.
    pub async fn log_lag_events(&self) -> Result<u64> {
        let sql = "SELECT CAST(sum(l.next_offset - 1 - c.\"offset\") AS bigint) AS lag
                   FROM checkpoint c JOIN log_partition l ON l.id = c.partition";
        let rows = self.read(statement(self.backend, sql, vec![])).await?;
        let lag: Option<i64> = rows.first().map(|row| column(row, "lag")).transpose()?.flatten();
        Ok(u64::try_from(lag.unwrap_or_default()).unwrap_or_default())
    }

    /// The last committed line of an import, per partition; absent where none is.
    pub async fn import_progress(&self, import_id: &str) -> Result<HashMap<usize, i64>> {
        let sql = "SELECT partition, line FROM import_progress WHERE import_id = $1";
        let rows = self.read(statement(self.backend, sql, vec![import_id.into()])).await?;
        let line = |row| {
            let partition: i32 = column(row, "partition")?;
            Ok((usize::try_from(partition).unwrap_or_default(), column(row, "line")?))
        };
        rows.iter().map(line).collect()
    }
}

/// `None` for the row that says there is no event in the range.
fn event(row: &QueryResult) -> Result<Option<LogEvent>> {
    let Some(offset): Option<i64> = column(row, "offset")? else { return Ok(None) };
    let (partition, origin): (i32, i16) = (column(row, "partition")?, column(row, "origin")?);
    let of_state = |name| state(row, name).map_err(fault::to_error);
    Ok(Some(LogEvent {
        partition: usize::try_from(partition).unwrap_or_default(),
        offset,
        user: column::<Option<String>>(row, "user_id")?.map(UserId::from_row),
        item: ItemId::from_row(column(row, "item_id")?),
        old_state: of_state("old_state")?,
        new_state: of_state("new_state")?,
        like_delta: column(row, "like_delta")?,
        dislike_delta: column(row, "dislike_delta")?,
        version: column(row, "version")?,
        origin: Origin::from_code(origin)
            .ok_or_else(|| Error::internal_detail(format!("{origin} is no origin of an event")))?,
        created_at: column(row, "created_at")?,
    }))
}
