//! What products tell of their items and people, with service scope.

use std::collections::{BTreeMap, HashMap};

use super::{FRIENDS_MAX, ItemEntry, ItemFacts, Service, UPSERT_MAX, UserEntry, UserFacts, Viewer};
use crate::domain::{ItemId, UserId};
use crate::error::{Error, ErrorCode, Result};
use crate::store::catalog::{CatalogRefusal, CatalogWrite, ItemFields, UserFields};

impl Service {
    /// Items that are in the catalogue. One statement.
    pub async fn items(&self, ids: &[ItemId]) -> Result<HashMap<ItemId, ItemFacts>> {
        let types = self.last_known.read(self.store.item_types(ids)).await?;
        Ok(types.into_iter().map(|(id, item_type)| (id, ItemFacts { item_type })).collect())
    }

    /// Users who were upserted or have reacted. One statement.
    pub async fn users(&self, ids: &[UserId]) -> Result<HashMap<UserId, UserFacts>> {
        let users = self.last_known.read(self.store.known_users(ids)).await?;
        Ok(users.into_iter().map(|(id, user)| (id, UserFacts { name: user.name })).collect())
    }

    /// Writes all entries or none. An id that comes twice gets both entries, in their order.
    pub async fn upsert_items(&self, viewer: &Viewer, entries: Vec<ItemEntry>) -> Result<()> {
        check_service(viewer)?;
        check_length("input.items", entries.len())?;
        let mut items: BTreeMap<ItemId, ItemFields> = BTreeMap::new();
        for entry in entries {
            let fields = items.entry(entry.id).or_default();
            fields.item_type = entry.item_type.or(fields.item_type.take());
            fields.creator = entry.creator.or(fields.creator.take());
            fields.open = entry.open.or(fields.open);
        }
        if items.is_empty() {
            return Ok(());
        }
        let written = self.catalog.write(CatalogWrite::Items(items)).await;
        written.map_err(|refusal| refused(refusal, |_| None))
    }

    /// Writes all entries or none. An id that comes twice gets both entries, in their order.
    pub async fn upsert_users(&self, viewer: &Viewer, entries: Vec<UserEntry>) -> Result<()> {
        check_service(viewer)?;
        check_length("input.users", entries.len())?;
        let order: Vec<UserId> = entries.iter().map(|entry| entry.id.clone()).collect();
        let mut users: BTreeMap<UserId, UserFields> = BTreeMap::new();
        for entry in entries {
            merge(users.entry(entry.id.clone()).or_default(), entry);
        }
        if users.is_empty() {
            return Ok(());
        }
        let written = self.catalog.write(CatalogWrite::Users { users, friends_max: FRIENDS_MAX }).await;
        written.map_err(|refusal| refused(refusal, |user| order.iter().rposition(|id| id == user)))
    }
}

fn merge(fields: &mut UserFields, entry: UserEntry) {
    fields.name = entry.name.or(fields.name.take());
    if let Some(friends) = entry.friends {
        fields.replace_friends = true;
        fields.remove_friends.clear();
        fields.add_friends = friends.into_iter().collect();
    }
    for friend in entry.add_friends {
        fields.remove_friends.remove(&friend);
        fields.add_friends.insert(friend);
    }
    for friend in entry.remove_friends {
        fields.add_friends.remove(&friend);
        fields.remove_friends.insert(friend);
    }
}

pub(super) fn check_service(viewer: &Viewer) -> Result<()> {
    if viewer.is_service {
        return Ok(());
    }
    Err(Error::new(ErrorCode::Forbidden, "This needs a token with the scope \"service\"."))
}

fn check_length(argument: &str, length: usize) -> Result<()> {
    if length <= UPSERT_MAX {
        return Ok(());
    }
    let message = format!("At most {UPSERT_MAX} entries in one call; these are {length}.");
    Err(Error::new(ErrorCode::LimitExceeded, message).at(argument))
}

fn refused(refusal: CatalogRefusal, index_of: impl Fn(&UserId) -> Option<usize>) -> Error {
    let at = |user: &UserId, field: &str| match index_of(user) {
        Some(index) => format!("input.users[{index}]{field}"),
        None => "input.users".to_owned(),
    };
    match refusal {
        CatalogRefusal::TooManyFriends(user) => {
            let message = format!("A user has at most {FRIENDS_MAX} friends. Nothing was written.");
            Error::new(ErrorCode::LimitExceeded, message).at(at(&user, ""))
        }
        CatalogRefusal::Erased(user) => {
            Error::bad_input(at(&user, ".id"), "This account was deleted. Nothing was written.")
        }
        CatalogRefusal::Failed(error) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeSet, HashSet};

    fn entry(friends: Option<&[&str]>, add: &[&str], remove: &[&str]) -> UserEntry {
        let ids = |ids: &[&str]| -> HashSet<UserId> { ids.iter().map(|id| UserId::from_row((*id).into())).collect() };
        UserEntry {
            id: UserId::from_row("ana".into()),
            name: None,
            friends: friends.map(ids),
            add_friends: ids(add),
            remove_friends: ids(remove),
        }
    }

    #[test]
    fn entries_of_one_user_apply_in_their_order() {
        let mut fields = UserFields::default();
        merge(&mut fields, entry(None, &["x"], &["y"]));
        merge(&mut fields, entry(Some(&["a", "b"]), &["c"], &["a"]));
        merge(&mut fields, entry(None, &["a"], &["b"]));
        let ids = |ids: &[&str]| -> BTreeSet<UserId> { ids.iter().map(|id| UserId::from_row((*id).into())).collect() };
        assert!(fields.replace_friends);
        assert_eq!(fields.add_friends, ids(&["a", "c"]));
        assert_eq!(fields.remove_friends, ids(&["b"]));
    }
}
