//! `upsertItems`: the caller's catalogue.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use crate::api::graphql::args::{at_most, client_mutation_id, item_id, user_id};
use crate::api::graphql::types::item::Item;
use crate::api::graphql::{Nullable, scope_of, viewer_of};
use crate::error::{Error, Result};
use crate::service::{ItemEntry, UPSERT_MAX};

/// Longest item type in bytes.
const TYPE_MAX_BYTES: usize = 32;

/// The items to write, at most 1,000.
#[derive(InputObject)]
struct UpsertItemsInput {
    /// At most 1,000.
    items: Vec<ItemInput>,
    /// Sent back as it came; at most 255 bytes.
    client_mutation_id: Option<String>,
}

/// An item to write. Null or absent leaves a field as it is; a new item is open and of type `item`.
#[derive(InputObject)]
struct ItemInput {
    /// 1 to 255 printable ASCII characters without spaces, unique across item types.
    id: ID,
    /// `[a-z][a-z0-9_]{0,31}`.
    #[graphql(name = "type")]
    item_type: Option<String>,
    /// Whose the item is; left as it is where that account was deleted.
    creator_id: Option<ID>,
    /// False refuses new reactions with ITEM_CLOSED; taking one back still works.
    open: Option<bool>,
}

/// The items that were written.
#[derive(SimpleObject)]
struct UpsertItemsPayload {
    /// In the order of the input.
    items: Vec<Item>,
    /// As it was sent.
    client_mutation_id: Option<String>,
}

#[derive(Default)]
pub(super) struct UpsertItems;

#[Object]
impl UpsertItems {
    /// Writes items, all or none. For callers whose token has the scope `service`.
    ///
    /// UNAUTHENTICATED without a valid token; FORBIDDEN without the scope; LIMIT_EXCEEDED over 1,000 items;
    /// BAD_USER_INPUT names the entry at fault, as `input.items[7].id`; UNAVAILABLE: send the same again.
    #[graphql(complexity = "1 + input.items.len() * child_complexity")]
    async fn upsert_items(&self, ctx: &Context<'_>, input: UpsertItemsInput) -> Nullable<UpsertItemsPayload> {
        Some(upsert(ctx, input).await)
    }
}

async fn upsert(ctx: &Context<'_>, input: UpsertItemsInput) -> Result<UpsertItemsPayload> {
    let scope = scope_of(ctx)?;
    let viewer = viewer_of(scope)?;
    let client_mutation_id = client_mutation_id(input.client_mutation_id)?;
    at_most("input.items", input.items.len(), UPSERT_MAX)?;
    let entries: Vec<ItemEntry> = input.items.iter().enumerate().map(entry).collect::<Result<_>>()?;
    let ids = entries.iter().map(|entry| entry.id.clone()).collect();
    scope.service().upsert_items(viewer, entries).await?;
    Ok(UpsertItemsPayload { items: Item::list(ids, &scope.renewed()), client_mutation_id })
}

fn entry((index, input): (usize, &ItemInput)) -> Result<ItemEntry> {
    let path = |field| format!("input.items[{index}].{field}");
    let creator = input.creator_id.as_ref().map(|id| user_id(&path("creatorId"), id)).transpose()?;
    if input.item_type.as_ref().is_some_and(|text| !is_item_type(text)) {
        let message = format!("A type is a lower-case letter, then up to {} of a-z, 0-9 and _.", TYPE_MAX_BYTES - 1);
        return Err(Error::bad_input(path("type"), message));
    }
    let id = item_id(&path("id"), &input.id)?;
    Ok(ItemEntry { id, item_type: input.item_type.clone(), creator, open: input.open })
}

/// `[a-z][a-z0-9_]{0,31}`
fn is_item_type(text: &str) -> bool {
    let is_good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.len() <= TYPE_MAX_BYTES
        && text.bytes().all(is_good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_a_short_lower_case_word() {
        for good in ["a", "post", "avatar_asset", "x2", &"x".repeat(32)] {
            assert!(is_item_type(good), "{good}");
        }
        for bad in ["", "Post", "2x", "_x", "a-b", "é", &"x".repeat(33)] {
            assert!(!is_item_type(bad), "{bad}");
        }
    }

    #[test]
    fn the_entry_at_fault_is_named() {
        let input = |id: &str, item_type: Option<&str>, creator: Option<&str>| ItemInput {
            id: ID::from(id),
            item_type: item_type.map(str::to_owned),
            creator_id: creator.map(ID::from),
            open: None,
        };
        let argument = |input| entry((7, &input)).unwrap_err().argument().map(str::to_owned);
        assert_eq!(argument(input("a b", None, None)).as_deref(), Some("input.items[7].id"));
        assert_eq!(argument(input("a", Some("A"), None)).as_deref(), Some("input.items[7].type"));
        assert_eq!(argument(input("a", None, Some(""))).as_deref(), Some("input.items[7].creatorId"));
        assert!(entry((0, &input("a", Some("post"), Some("ana")))).is_ok());
    }
}
