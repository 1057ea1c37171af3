//! What a demo starts with: people who are friends, items, and who likes them.

use std::collections::HashSet;

use serde::Deserialize;

use super::StartError;
use crate::bulk;
use crate::config::SettingError;
use crate::domain::{ItemId, Micros, UserId};
use crate::error::{Error, Result};
use crate::service::{ItemEntry, Service, UserEntry, Viewer};
use crate::store::Store;

/// The people and items, which the demo page shows with titles and texts.
const CATALOGUE: &str = include_str!("../../../client-demo/src/demo/catalogue.json");

/// When the first like was: 2026-01-01. Always the same, so that a restart writes no like anew, whatever became of it.
const FIRST_LIKE_AT: Micros = 1_767_225_600_000_000;
const MINUTE: Micros = 60_000_000;
/// From the first like to those of the people. Friends are looked for among the newest hundred of an item's likers.
const PEOPLE_AFTER: Micros = 30 * 24 * 60 * MINUTE;

#[derive(Deserialize)]
struct Catalogue {
    people: Vec<Person>,
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Person {
    id: String,
    name: String,
}

#[derive(Deserialize)]
struct Item {
    id: String,
    #[serde(rename = "type")]
    item_type: String,
    /// Simulated users who like it.
    guests: u32,
}

type Like = (UserId, ItemId, Micros);

/// Writes what is missing, and leaves what people have changed.
pub(super) async fn fill(service: &Service, store: &Store) -> Result<(), StartError> {
    let catalogue = catalogue()?;
    let operator = Viewer { user: user("demo")?, is_service: true };
    add_people(service, &operator, &catalogue.people).await?;
    add_items(service, &operator, &catalogue.items).await?;
    bulk::add_likes(store, likes(&catalogue)?).await?;
    Ok(())
}

fn catalogue() -> Result<Catalogue> {
    serde_json::from_str(CATALOGUE).map_err(Error::internal)
}

/// A database with data that no demo made is somebody's: guests in its counts would be false, and it is most likely there
/// because its address stands in the environment.
pub(super) async fn refuse_strangers(store: &Store) -> Result<(), StartError> {
    let catalogue = catalogue()?;
    let people = catalogue.people.iter().map(|person| user(&person.id)).collect::<Result<Vec<_>>>()?;
    let items = catalogue.items.iter().map(|entry| item(&entry.id)).collect::<Result<Vec<_>>>()?;
    let most_liked = catalogue.items.iter().max_by_key(|entry| entry.guests);
    let most_liked = most_liked.map(|entry| item(&entry.id)).transpose()?;
    let is_demo = match &most_liked {
        Some(most_liked) => store.has_guest(most_liked).await?,
        None => false,
    };
    if is_demo || !store.has_others(&people, &items).await? {
        return Ok(());
    }
    let message = format!(
        "the database at {} has data that no demo made: unset LIKEWISE_DATABASE_URL, or serve without --demo",
        store.address()
    );
    Err(SettingError { setting: "LIKEWISE_DEMO", message }.into())
}

/// Everybody is everybody's friend; whoever is new becomes a friend of those who were there.
async fn add_people(service: &Service, operator: &Viewer, people: &[Person]) -> Result<()> {
    let ids = people.iter().map(|person| user(&person.id)).collect::<Result<Vec<_>>>()?;
    let known = service.users(&ids).await?;
    let is_known = |id: &UserId| known.get(id).is_some_and(|facts| facts.name.is_some());
    let mut present = Vec::new();
    for (id, person) in ids.into_iter().zip(people) {
        // A deleted account stays deleted.
        if is_known(&id) || service.erasure(operator, &id).await?.is_none() {
            present.push((id, person));
        }
    }
    let new: HashSet<UserId> = present.iter().map(|(id, _)| id.clone()).filter(|id| !is_known(id)).collect();
    if new.is_empty() {
        return Ok(());
    }
    let entries = present.iter().map(|(id, person)| {
        let is_new = new.contains(id);
        let friends = present.iter().map(|(friend, _)| friend).filter(|friend| is_new || new.contains(*friend));
        UserEntry {
            id: id.clone(),
            name: is_new.then(|| person.name.clone()),
            friends: None,
            add_friends: friends.filter(|friend| *friend != id).cloned().collect(),
            remove_friends: HashSet::new(),
        }
    });
    service.upsert_users(operator, entries.collect()).await
}

async fn add_items(service: &Service, operator: &Viewer, items: &[Item]) -> Result<()> {
    let ids = items.iter().map(|entry| item(&entry.id)).collect::<Result<Vec<_>>>()?;
    let known = service.items(&ids).await?;
    let new = ids.into_iter().zip(items).filter(|(id, _)| !known.contains_key(id));
    let entries = new.map(|(id, entry)| {
        let item_type = Some(entry.item_type.clone());
        ItemEntry { id, item_type, creator: None, open: None }
    });
    service.upsert_items(operator, entries.collect()).await
}

/// Each item's guests, and then some of the people, not the same for each item.
fn likes(catalogue: &Catalogue) -> Result<Vec<Like>> {
    let mut likes = Vec::new();
    for (row, entry) in (0..).zip(&catalogue.items) {
        let id = item(&entry.id)?;
        for guest in 1..=entry.guests {
            likes.push((user(&format!("guest:{guest}"))?, id.clone(), FIRST_LIKE_AT + Micros::from(guest) * MINUTE));
        }
        for (column, person) in (0..).zip(&catalogue.people) {
            if likes_it(row, column) {
                let at = FIRST_LIKE_AT + PEOPLE_AFTER + Micros::from(row + column) * MINUTE;
                likes.push((user(&person.id)?, id.clone(), at));
            }
        }
    }
    Ok(likes)
}

/// Some pattern by which none, one or several people like an item.
fn likes_it(item: u32, person: u32) -> bool {
    (item * item + item * person + 3 * person) % 7 < 3
}

fn user(id: &str) -> Result<UserId> {
    UserId::parse(id).map_err(Error::internal)
}

fn item(id: &str) -> Result<ItemId> {
    ItemId::parse(id).map_err(Error::internal)
}
