//! Pages of the two lists: an item's likers and a viewer's liked items.

use std::sync::Arc;

use async_graphql::SimpleObject;

use super::item::Item;
use super::user::User;
use crate::api::graphql::cursor::List;
use crate::api::graphql::loaders::Scope;
use crate::api::graphql::scalars::DateTime;
use crate::domain::{ItemId, UserId};
use crate::service::Slice;

/// A page of an item's likers, newest like first.
#[derive(SimpleObject)]
pub struct LikerConnection {
    /// The rows of the page.
    edges: Vec<LikerEdge>,
    /// Where the page lies in the list.
    page_info: PageInfo,
}

/// A person who likes the item.
#[derive(SimpleObject)]
pub struct LikerEdge {
    /// Who.
    node: User,
    /// Opaque; good for `after` and `before` of this item's likers only.
    cursor: String,
    /// Since when.
    liked_at: DateTime,
}

/// A page of what a viewer likes, newest like first.
#[derive(SimpleObject)]
pub struct LikedItemConnection {
    /// The rows of the page.
    edges: Vec<LikedItemEdge>,
    /// Where the page lies in the list.
    page_info: PageInfo,
}

/// An item that the viewer likes.
#[derive(SimpleObject)]
pub struct LikedItemEdge {
    /// What.
    node: Item,
    /// Opaque; good for `after` and `before` of this viewer's liked items only.
    cursor: String,
    /// Since when.
    liked_at: DateTime,
}

/// Where a page lies in its list.
#[derive(SimpleObject)]
pub struct PageInfo {
    /// Whether there are older rows than this page's.
    has_next_page: bool,
    /// Whether there are newer rows than this page's.
    has_previous_page: bool,
    /// Cursor of the page's first row; null where the page is empty.
    start_cursor: Option<String>,
    /// Cursor of the page's last row; null where the page is empty.
    end_cursor: Option<String>,
}

impl PageInfo {
    fn of(list: List<'_>, slice: &Slice) -> Self {
        Self {
            has_next_page: slice.has_next,
            has_previous_page: slice.has_previous,
            start_cursor: slice.rows.first().map(|key| list.encode(key)),
            end_cursor: slice.rows.last().map(|key| list.encode(key)),
        }
    }
}

impl LikerConnection {
    pub fn of(list: List<'_>, slice: &Slice, scope: &Arc<Scope>) -> Self {
        let page_info = PageInfo::of(list, slice);
        let users = User::list(slice.rows.iter().map(|key| UserId::from_row(key.id.clone())).collect(), scope);
        let edges = slice.rows.iter().zip(users).map(|(key, node)| LikerEdge {
            node,
            cursor: list.encode(key),
            liked_at: DateTime(key.at),
        });
        Self { edges: edges.collect(), page_info }
    }
}

impl LikedItemConnection {
    pub fn of(list: List<'_>, slice: &Slice, scope: &Arc<Scope>) -> Self {
        let page_info = PageInfo::of(list, slice);
        let items = Item::list(slice.rows.iter().map(|key| ItemId::from_row(key.id.clone())).collect(), scope);
        let edges = slice.rows.iter().zip(items).map(|(key, node)| LikedItemEdge {
            node,
            cursor: list.encode(key),
            liked_at: DateTime(key.at),
        });
        Self { edges: edges.collect(), page_info }
    }
}
