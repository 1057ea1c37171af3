//! Lists in the order of likes, newest first: an item's likers, a user's liked items, friends among the last likers.
//!
//! Both lists are keyset pages of one index each. A page of several lists is one statement: each list comes as one
//! JSON text, since SQLite has no LATERAL.

use std::collections::HashMap;

use sea_orm::{QueryResult, Value};

use super::{Backend, Store, column, rows};
use crate::domain::{ItemId, Micros, UserId};
use crate::error::{Error, Result};

/// A row of a list: its time in microseconds and the id at its other end.
pub type ListRow = (Micros, String);

/// Rows strictly between two rows of a list, from one end of the range.
#[derive(Debug, Clone, Copy)]
pub struct ListRange<'a> {
    pub after: Option<(Micros, &'a str)>,
    pub before: Option<(Micros, &'a str)>,
    pub end: RangeEnd,
    pub limit: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeEnd {
    Newest,
    Oldest,
}

/// What a range holds, newest first, and whether there are rows at or beyond its bounds.
#[derive(Debug, Clone, Default)]
pub struct ListRows {
    pub rows: Vec<ListRow>,
    pub at_or_newer_than_after: bool,
    pub at_or_older_than_before: bool,
}

/// Friends among an item's last likers, newest like first.
#[derive(Debug, Clone, Default)]
pub struct FriendRows {
    pub friends: Vec<ListRow>,
    /// Likers that there are, counted up to one more than were searched.
    pub likers: i64,
}

impl Store {
    /// For each item, its likers in the range.
    pub async fn likers(&self, items: &[ItemId], range: ListRange<'_>) -> Result<HashMap<ItemId, ListRows>> {
        let owners: Vec<_> = items.iter().map(ItemId::as_str).collect();
        let lists = self.lists("item_id", "user_id", &owners, range).await?;
        Ok(lists.into_iter().map(|(owner, rows)| (ItemId::from_row(owner), rows)).collect())
    }

    /// The items that a user likes, in the range.
    pub async fn liked_items(&self, user: &UserId, range: ListRange<'_>) -> Result<ListRows> {
        let mut lists = self.lists("user_id", "item_id", &[user.as_str()], range).await?;
        Ok(lists.remove(user.as_str()).unwrap_or_default())
    }

    /// For each item, the user's friends among its last `searched` likers, the user left out.
    pub async fn friend_likers(
        &self,
        user: &UserId,
        items: &[ItemId],
        searched: u32,
    ) -> Result<HashMap<ItemId, FriendRows>> {
        let list = self.json_list("l.reacted_at", "l.user_id");
        let sql = format!(
            "SELECT x.i AS item_id,
               (SELECT count(*) FROM (SELECT 1 AS one FROM reaction r WHERE r.item_id = x.i AND r.state = 1
                                      LIMIT {more}) c) AS likers,
               (SELECT {list} FROM
                  (SELECT r.user_id, r.reacted_at FROM reaction r WHERE r.item_id = x.i AND r.state = 1
                   ORDER BY r.reacted_at DESC, r.user_id DESC LIMIT {searched}) l
                  JOIN friendship f ON f.user_id = $1 AND f.friend_id = l.user_id
                  WHERE l.user_id <> $1) AS list
             FROM {{rows}}",
            more = searched + 1,
        );
        let columns = rows::ids("i", items.iter().map(ItemId::as_str));
        let found = self.read(rows::over(self.backend, &sql, vec![user.as_str().into()], columns)).await?;
        let friends = |row| {
            let rows = FriendRows { friends: newest_first(row)?, likers: column(row, "likers")? };
            Ok((ItemId::from_row(column(row, "item_id")?), rows))
        };
        found.iter().map(friends).collect()
    }

    /// `owner` and `other` are column names of `reaction`.
    async fn lists(
        &self,
        owner: &str,
        other: &str,
        owners: &[&str],
        range: ListRange<'_>,
    ) -> Result<HashMap<String, ListRows>> {
        let mut scalars: Vec<Value> = Vec::new();
        let mut bound = |key: Option<(Micros, &str)>| {
            key.map(|(at, id)| {
                scalars.extend([at.into(), id.into()]);
                format!("(${}, ${})", scalars.len() - 1, scalars.len())
            })
        };
        let (after, before) = (bound(range.after), bound(range.before));
        let key = format!("(r.reacted_at, r.{other})");
        let of = format!("reaction r WHERE r.{owner} = x.i AND r.state = 1");
        let within = |comparison: &str, bound: &Option<String>| {
            bound.as_ref().map_or(String::new(), |bound| format!(" AND {key} {comparison} {bound}"))
        };
        let beyond = |comparison: &str, bound: &Option<String>| {
            let exists = |bound| format!("EXISTS (SELECT 1 FROM {of} AND {key} {comparison} {bound})");
            bound.as_ref().map_or("(1 = 0)".to_owned(), exists)
        };
        let direction = match range.end {
            RangeEnd::Newest => "DESC",
            RangeEnd::Oldest => "ASC",
        };
        let sql = format!(
            "SELECT x.i AS owner, {newer} AS newer, {older} AS older,
               (SELECT {list} FROM (SELECT r.reacted_at, r.{other} FROM {of}{below}{above}
                                    ORDER BY r.reacted_at {direction}, r.{other} {direction} LIMIT {limit}) l) AS list
             FROM {{rows}}",
            newer = beyond(">=", &after),
            older = beyond("<=", &before),
            list = self.json_list("l.reacted_at", &format!("l.{other}")),
            below = within("<", &after),
            above = within(">", &before),
            limit = range.limit,
        );
        let columns = rows::ids("i", owners.iter().copied());
        let found = self.read(rows::over(self.backend, &sql, scalars, columns)).await?;
        let list = |row| {
            let rows = ListRows {
                rows: newest_first(row)?,
                at_or_newer_than_after: column(row, "newer")?,
                at_or_older_than_before: column(row, "older")?,
            };
            Ok((column(row, "owner")?, rows))
        };
        found.iter().map(list).collect()
    }

    /// An aggregate that gives the rows as a JSON text of pairs, in any order.
    fn json_list(&self, at: &str, id: &str) -> String {
        match self.backend {
            Backend::Postgres => format!("coalesce(json_agg(json_build_array({at}, {id})), '[]')::text"),
            Backend::Sqlite => format!("json_group_array(json_array({at}, {id}))"),
        }
    }
}

fn newest_first(row: &QueryResult) -> Result<Vec<ListRow>> {
    let list: String = column(row, "list")?;
    let mut rows: Vec<ListRow> = serde_json::from_str(&list).map_err(Error::internal)?;
    rows.sort_unstable_by(|a, b| b.cmp(a));
    Ok(rows)
}
