//! Pages of likers and liked items, and friends who liked.

use std::collections::HashMap;

use super::{FRIENDS_SHOWN_MAX, FriendLikers, ListKey, Page, PageEnd, Service, Slice};
use crate::domain::{ItemId, UserId};
use crate::error::Result;
use crate::store::lists::{FriendRows, ListRange, ListRows, RangeEnd};

/// The last likers of an item among whom friends are searched.
const LIKERS_SEARCHED: u32 = 100;

impl Service {
    /// The same page of each item's likers. One statement.
    pub async fn likers(&self, ids: &[ItemId], page: &Page) -> Result<HashMap<ItemId, Slice>> {
        let lists = self.last_known.read(self.store.likers(ids, range(page))).await?;
        Ok(lists.into_iter().map(|(id, rows)| (id, slice(rows, page))).collect())
    }

    /// A page of what a user likes. One statement.
    pub async fn liked_items(&self, user: &UserId, page: &Page) -> Result<Slice> {
        Ok(slice(self.last_known.read(self.store.liked_items(user, range(page))).await?, page))
    }

    /// The viewer's friends among the last likers of each item. One statement.
    pub async fn friend_likers(&self, viewer: &UserId, ids: &[ItemId]) -> Result<HashMap<ItemId, FriendLikers>> {
        let found = self.last_known.read(self.store.friend_likers(viewer, ids, LIKERS_SEARCHED)).await?;
        Ok(found.into_iter().map(|(id, rows)| (id, friend_likers(rows))).collect())
    }
}

fn friend_likers(rows: FriendRows) -> FriendLikers {
    let friends = rows.friends.into_iter().take(FRIENDS_SHOWN_MAX).map(|(_, id)| UserId::from_row(id));
    FriendLikers { friends: friends.collect(), searched_all: rows.likers <= i64::from(LIKERS_SEARCHED) }
}

/// One row more than the page, which tells whether there is more on that side.
fn range(page: &Page) -> ListRange<'_> {
    fn bound(key: Option<&ListKey>) -> Option<(i64, &str)> {
        key.map(|key| (key.at, key.id.as_str()))
    }
    let end = match page.end {
        PageEnd::First => RangeEnd::Newest,
        PageEnd::Last => RangeEnd::Oldest,
    };
    ListRange { after: bound(page.after.as_ref()), before: bound(page.before.as_ref()), end, limit: page.size + 1 }
}

fn slice(mut list: ListRows, page: &Page) -> Slice {
    let size = page.size as usize;
    let more = list.rows.len() > size;
    match page.end {
        PageEnd::First => list.rows.truncate(size),
        PageEnd::Last if more => {
            list.rows.remove(0);
        }
        PageEnd::Last => {}
    }
    Slice {
        rows: list.rows.into_iter().map(|(at, id)| ListKey { at, id }).collect(),
        has_next: (more && page.end == PageEnd::First) || list.at_or_older_than_before,
        has_previous: (more && page.end == PageEnd::Last) || list.at_or_newer_than_after,
    }
}
