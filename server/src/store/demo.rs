//! Whether a database is a demo's, or somebody's who should not find guests in it.

use super::{Store, rows, statement};
use crate::domain::{ItemId, UserId};
use crate::error::Result;

impl Store {
    /// True where a demo has been: a guest of its own has reacted to the item.
    pub async fn has_guest(&self, item: &ItemId) -> Result<bool> {
        let sql = "SELECT 1 AS one FROM reaction WHERE item_id = $1 AND user_id LIKE 'guest:%' LIMIT 1";
        Ok(!self.read(statement(self.backend, sql, vec![item.as_str().into()])).await?.is_empty())
    }

    /// True where the database knows of anybody but these people and guests, or of any other item.
    pub async fn has_others(&self, people: &[UserId], items: &[ItemId]) -> Result<bool> {
        let other_people = "SELECT 1 AS one FROM (
              SELECT id FROM account UNION ALL SELECT user_id FROM reaction WHERE user_id NOT LIKE 'guest:%') AS known
            WHERE id NOT IN (SELECT x.u FROM {rows}) LIMIT 1";
        let people = rows::ids("u", people.iter().map(UserId::as_str));
        let other_items = "SELECT 1 AS one FROM item WHERE id NOT IN (SELECT x.i FROM {rows}) LIMIT 1";
        let items = rows::ids("i", items.iter().map(ItemId::as_str));
        for (sql, columns) in [(other_people, people), (other_items, items)] {
            if !self.read(rows::over(self.backend, sql, vec![], columns)).await?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
