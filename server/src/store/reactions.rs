//! A person's own rows, and what they were when a copy of the counts was made.

use std::collections::HashMap;

use super::batch::{own_reaction, state};
use super::rows::{self, Column};
use super::{Backend, Store, column, fault};
use crate::domain::{ItemId, OwnReaction, ReactionState, UserId};
use crate::error::Result;

impl Store {
    /// The user's rows of these items; absent where there is none. One statement.
    pub async fn own_reactions(&self, user: &UserId, items: &[ItemId]) -> Result<HashMap<ItemId, OwnReaction>> {
        let sql = "SELECT r.item_id, r.state, r.version, r.reacted_at, r.event_offset
                   FROM {rows} CROSS JOIN reaction r WHERE r.user_id = $1 AND r.item_id = x.i";
        let columns = rows::ids("i", items.iter().map(ItemId::as_str));
        let found = self.read(rows::over(self.backend, sql, vec![user.as_str().into()], columns)).await?;
        let own = |row| Ok((ItemId::from_row(column(row, "item_id")?), own_reaction(row).map_err(fault::to_error)?));
        found.iter().map(own).collect()
    }

    /// What the user's state of each item was at the given offset of the user's partition: the old state of the first
    /// event past it. Absent where there is no such event. One statement.
    pub async fn states_at(&self, user: &UserId, items: &[(ItemId, i64)]) -> Result<HashMap<ItemId, ReactionState>> {
        let partition = i32::try_from(user.partition(self.partitions)).expect("partitions are few");
        // One range of the primary key: from the oldest offset asked for. It is as long as the lag.
        let first = items.iter().map(|(_, offset)| *offset).min().unwrap_or(i64::MAX);
        let columns = vec![
            ("i", Column::Text(items.iter().map(|(item, _)| item.to_string()).collect())),
            ("o", Column::Big(items.iter().map(|(_, offset)| *offset).collect())),
        ];
        // The event of the lowest offset past the copy's, for each item.
        let sql = match self.backend {
            Backend::Postgres => {
                "SELECT DISTINCT ON (e.item_id) e.item_id, e.old_state FROM {rows} JOIN reaction_event e
                   ON e.item_id = x.i AND e.\"offset\" > x.o
                 WHERE e.partition = $1 AND e.\"offset\" > $2 AND e.user_id = $3 ORDER BY e.item_id, e.\"offset\""
            }
            // The bare column is the one of the row that has the minimum.
            Backend::Sqlite => {
                "SELECT e.item_id, e.old_state, min(e.\"offset\") FROM reaction_event e CROSS JOIN {rows}
                 WHERE e.item_id = x.i AND e.\"offset\" > x.o
                   AND e.partition = $1 AND e.\"offset\" > $2 AND e.user_id = $3 GROUP BY e.item_id"
            }
        };
        let scalars = vec![partition.into(), first.into(), user.as_str().into()];
        let found = self.read(rows::over(self.backend, sql, scalars, columns)).await?;
        let old =
            |row| Ok((ItemId::from_row(column(row, "item_id")?), state(row, "old_state").map_err(fault::to_error)?));
        found.iter().map(old).collect()
    }
}
