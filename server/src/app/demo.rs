//! What a demo starts with: a few people, their friends, and items that some of them like.

use crate::domain::{ItemId, ReactionState, UserId};
use crate::error::{Error, Result};
use crate::service::{ItemEntry, Service, UserEntry, Viewer, Wish};

const PEOPLE: [(&str, &str); 5] = [("ana", "Ana"), ("ben", "Ben"), ("cleo", "Cleo"), ("dan", "Dan"), ("eva", "Eva")];
const ITEMS: [(&str, &str); 6] = [
    ("post:1", "post"),
    ("post:2", "post"),
    ("post:3", "post"),
    ("game:chess", "game"),
    ("game:go", "game"),
    ("photo:sunrise", "photo"),
];

/// Writes what is missing; a restart changes nothing.
pub(super) async fn fill(service: &Service) -> Result<()> {
    let operator = Viewer { user: user("demo")?, is_service: true };
    if !service.items(&[item(ITEMS[0].0)?]).await?.is_empty() {
        return Ok(());
    }
    let everybody = PEOPLE.iter().map(|(id, _)| user(id)).collect::<Result<Vec<_>>>()?;
    let users = PEOPLE.iter().map(|(id, name)| {
        let id = user(id)?;
        let friends = everybody.iter().filter(|friend| **friend != id).cloned().collect();
        Ok(UserEntry {
            id,
            name: Some((*name).into()),
            friends: Some(friends),
            add_friends: Default::default(),
            remove_friends: Default::default(),
        })
    });
    service.upsert_users(&operator, users.collect::<Result<_>>()?).await?;
    let items = ITEMS.iter().map(|(id, item_type)| {
        Ok(ItemEntry { id: item(id)?, item_type: Some((*item_type).into()), creator: None, open: None })
    });
    service.upsert_items(&operator, items.collect::<Result<_>>()?).await?;
    for (index, (id, _)) in PEOPLE.iter().enumerate() {
        let viewer = Viewer { user: user(id)?, is_service: false };
        // Each likes fewer items than the one before, so that the counts differ.
        for (item_id, _) in ITEMS.iter().take(ITEMS.len() - 1 - index) {
            let wish = Wish { item: item(item_id)?, wanted: ReactionState::Like, key: None };
            service.react(&viewer, wish).await?;
        }
    }
    Ok(())
}

fn user(id: &str) -> Result<UserId> {
    UserId::parse(id).map_err(Error::internal)
}

fn item(id: &str) -> Result<ItemId> {
    ItemId::parse(id).map_err(Error::internal)
}
