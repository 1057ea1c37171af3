//! What the entries of one list share: the first to need something reads it for all.
//!
//! All entries of a list are asked for the same fields. Each asking for itself would come to the same batch, at the
//! price of a queue at the loader: ten thousand likers of a page are a hundred lists.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use tokio::sync::OnceCell;

use super::loaders::{Scope, missing};
use crate::domain::{ItemId, UserId};
use crate::error::Result;
use crate::service::{FriendLikers, ItemFacts, ItemView, UserFacts};

/// What was found for the ids of a list; an id without an entry has none.
type Answers<K, V> = Result<HashMap<K, V>>;

/// Items of one list.
pub struct Items {
    ids: Vec<ItemId>,
    facts: OnceCell<Answers<ItemId, Result<Option<ItemFacts>>>>,
    views: OnceCell<Answers<ItemId, Result<ItemView>>>,
    friend_likers: OnceCell<Answers<ItemId, FriendLikers>>,
}

impl Items {
    pub fn new(ids: Vec<ItemId>) -> Arc<Self> {
        let (facts, views, friend_likers) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Arc::new(Self { ids, facts, views, friend_likers })
    }

    /// `None` where the catalogue has no row.
    pub async fn facts(&self, scope: &Scope, item: &ItemId) -> Result<Option<ItemFacts>> {
        let facts = shared(&self.facts, item, scope.facts(&self.ids)).await?;
        facts.unwrap_or_else(|| Err(missing("facts", item)))
    }

    pub async fn view(&self, scope: &Scope, item: &ItemId) -> Result<ItemView> {
        let view = shared(&self.views, item, scope.views(&self.ids)).await?;
        view.unwrap_or_else(|| Err(missing("view", item)))
    }

    /// `None` for an anonymous caller.
    pub async fn friend_likers(&self, scope: &Scope, item: &ItemId) -> Result<Option<FriendLikers>> {
        shared(&self.friend_likers, item, scope.friend_likers(&self.ids)).await
    }
}

/// Users of one list.
pub struct Users {
    ids: Vec<UserId>,
    facts: OnceCell<Answers<UserId, UserFacts>>,
}

impl Users {
    pub fn new(ids: Vec<UserId>) -> Arc<Self> {
        Arc::new(Self { ids, facts: OnceCell::new() })
    }

    /// `None` where nobody of this id was upserted or has reacted.
    pub async fn facts(&self, scope: &Scope, user: &UserId) -> Result<Option<UserFacts>> {
        shared(&self.facts, user, scope.users(&self.ids)).await
    }
}

/// The answer for `id`, from a read that the first caller makes. Outside tokio's budget, for the reason the loaders are.
async fn shared<K: Eq + Hash, V: Clone>(
    cell: &OnceCell<Answers<K, V>>,
    id: &K,
    read: impl Future<Output = Answers<K, V>>,
) -> Result<Option<V>> {
    let answers = tokio::task::coop::unconstrained(cell.get_or_init(|| read)).await;
    answers.as_ref().map(|found| found.get(id).cloned()).map_err(Clone::clone)
}
