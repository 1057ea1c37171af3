//! Parses arguments into ids and pages; an error names the argument, such as `ids[3]`.

use std::collections::HashSet;

use async_graphql::ID;

use super::cursor::List;
use crate::domain::{ItemId, ProposalId, UserId};
use crate::error::{Error, ErrorCode, Result};
use crate::service::{FRIENDS_SHOWN_MAX, IDS_MAX, ListKey, PAGE_DEFAULT, PAGE_MAX, Page, PageEnd};

/// Longest `clientMutationId` in bytes; it is only sent back.
const CLIENT_MUTATION_ID_MAX_BYTES: usize = 255;
/// Friends shown where the caller asks for no number.
const FRIENDS_SHOWN_DEFAULT: usize = 3;

pub fn item_id(argument: &str, id: &ID) -> Result<ItemId> {
    ItemId::parse(id).map_err(|error| Error::bad_input(argument, format!("Not an item id: {error}.")))
}

pub fn user_id(argument: &str, id: &ID) -> Result<UserId> {
    UserId::parse(id).map_err(|error| Error::bad_input(argument, format!("Not a user id: {error}.")))
}

pub fn proposal_id(argument: &str, id: &ID) -> Result<ProposalId> {
    ProposalId::parse(id).map_err(|error| Error::bad_input(argument, format!("Not a proposal id: {error}.")))
}

/// At most [`IDS_MAX`] ids, in their order, duplicates and all.
pub fn item_ids(argument: &str, ids: &[ID]) -> Result<Vec<ItemId>> {
    at_most(argument, ids.len(), IDS_MAX)?;
    ids.iter().enumerate().map(|(index, id)| item_id(&format!("{argument}[{index}]"), id)).collect()
}

/// The same without duplicates.
pub fn distinct_item_ids(argument: &str, ids: &[ID]) -> Result<Vec<ItemId>> {
    let mut seen = HashSet::new();
    let ids = item_ids(argument, ids)?;
    Ok(ids.into_iter().filter(|id| seen.insert(id.clone())).collect())
}

/// LIMIT_EXCEEDED where a list is longer than it may be.
pub fn at_most(argument: &str, length: usize, most: usize) -> Result<()> {
    if length <= most {
        return Ok(());
    }
    let message = format!("At most {most} entries at once; this list has {length}.");
    Err(Error::new(ErrorCode::LimitExceeded, message).at(argument))
}

pub fn client_mutation_id(id: Option<String>) -> Result<Option<String>> {
    if id.as_ref().is_none_or(|id| id.len() <= CLIENT_MUTATION_ID_MAX_BYTES) {
        return Ok(id);
    }
    let message = format!("A clientMutationId has at most {CLIENT_MUTATION_ID_MAX_BYTES} bytes.");
    Err(Error::bad_input("input.clientMutationId", message))
}

/// How many friends to show; null is the default.
pub fn friends_shown(first: Option<i32>) -> Result<usize> {
    let Some(first) = first else {
        return Ok(FRIENDS_SHOWN_DEFAULT);
    };
    usize::try_from(first)
        .ok()
        .filter(|first| *first <= FRIENDS_SHOWN_MAX)
        .ok_or_else(|| Error::bad_input("first", format!("`first` is 0 to {FRIENDS_SHOWN_MAX}.")))
}

/// At most how many friends are shown, for the cost of a document; what is out of bounds is refused later.
pub fn friends_cost(first: Option<i32>) -> usize {
    friends_shown(first).unwrap_or(FRIENDS_SHOWN_MAX)
}

/// The arguments of a connection, as they were sent.
pub struct PageArgs {
    pub first: Option<i32>,
    pub after: Option<String>,
    pub last: Option<i32>,
    pub before: Option<String>,
}

impl PageArgs {
    pub fn parse(&self, list: List<'_>) -> Result<Page> {
        let (end, size) = match (self.first, self.last) {
            (Some(_), Some(_)) => {
                return Err(Error::bad_input("last", "Send `first` or `last`, not both."));
            }
            (Some(first), None) => (PageEnd::First, page_size("first", first)?),
            (None, Some(last)) => (PageEnd::Last, page_size("last", last)?),
            (None, None) => (PageEnd::First, PAGE_DEFAULT),
        };
        let after = self.after.as_deref().map(|text| place(list, "after", text)).transpose()?;
        let before = self.before.as_deref().map(|text| place(list, "before", text)).transpose()?;
        Ok(Page { end, size, after, before })
    }
}

fn page_size(argument: &'static str, size: i32) -> Result<u32> {
    u32::try_from(size)
        .ok()
        .filter(|size| (1..=PAGE_MAX).contains(size))
        .ok_or_else(|| Error::bad_input(argument, format!("`{argument}` is 1 to {PAGE_MAX}.")))
}

fn place(list: List<'_>, argument: &'static str, text: &str) -> Result<ListKey> {
    list.decode(text).ok_or_else(|| Error::bad_input(argument, "This is no cursor of this list."))
}

/// At most how many rows a page has, for the cost of a document; what is out of bounds is refused later.
pub fn page_cost(first: Option<i32>, last: Option<i32>) -> usize {
    let size = first.or(last).and_then(|size| u32::try_from(size).ok());
    size.unwrap_or(PAGE_DEFAULT).min(PAGE_MAX) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(first: Option<i32>, last: Option<i32>) -> Result<Page> {
        let item = ItemId::parse("post:1").unwrap();
        PageArgs { first, after: None, last, before: None }.parse(List::LikersOf(&item))
    }

    #[test]
    fn a_page_is_first_or_last_from_1_to_100() {
        let twenty = Page { end: PageEnd::First, size: 20, after: None, before: None };
        assert_eq!(page(None, None).unwrap(), twenty);
        assert_eq!(page(Some(1), None).unwrap().size, 1);
        assert_eq!(page(None, Some(100)).unwrap().end, PageEnd::Last);
        for (first, last, argument) in [
            (Some(0), None, "first"),
            (Some(-1), None, "first"),
            (Some(101), None, "first"),
            (None, Some(0), "last"),
            (None, Some(-1), "last"),
            (None, Some(101), "last"),
            (Some(1), Some(1), "last"),
        ] {
            let error = page(first, last).unwrap_err();
            assert_eq!((error.code(), error.argument()), (ErrorCode::BadUserInput, Some(argument)));
        }
    }

    #[test]
    fn a_cursor_that_is_none_is_named() {
        let item = ItemId::parse("post:1").unwrap();
        for argument in ["after", "before"] {
            let text = |name| (name == argument).then(|| "nonsense".to_owned());
            let args = PageArgs { first: None, after: text("after"), last: None, before: text("before") };
            let error = args.parse(List::LikersOf(&item)).unwrap_err();
            assert_eq!((error.code(), error.argument()), (ErrorCode::BadUserInput, Some(argument)));
        }
    }

    #[test]
    fn friends_shown_are_0_to_20() {
        assert_eq!(friends_shown(None).unwrap(), 3);
        assert_eq!(friends_shown(Some(0)).unwrap(), 0);
        assert_eq!(friends_shown(Some(20)).unwrap(), 20);
        for wrong in [-1, 21] {
            assert_eq!(friends_shown(Some(wrong)).unwrap_err().argument(), Some("first"));
        }
    }

    #[test]
    fn ids_are_bounded_and_the_bad_one_is_named() {
        let ids = |count: usize| vec![ID::from("post:1"); count];
        assert_eq!(item_ids("ids", &ids(100)).unwrap().len(), 100);
        assert_eq!(distinct_item_ids("ids", &ids(100)).unwrap().len(), 1);
        let error = item_ids("ids", &ids(101)).unwrap_err();
        assert_eq!((error.code(), error.argument()), (ErrorCode::LimitExceeded, Some("ids")));
        let error = item_ids("ids", &[ID::from("a"), ID::from("b c")]).unwrap_err();
        assert_eq!((error.code(), error.argument()), (ErrorCode::BadUserInput, Some("ids[1]")));
    }
}
