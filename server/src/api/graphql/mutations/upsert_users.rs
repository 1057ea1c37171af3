//! `upsertUsers`: names and friend lists.

use std::collections::HashSet;

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use crate::api::graphql::args::{at_most, client_mutation_id, user_id};
use crate::api::graphql::types::user::User;
use crate::api::graphql::{Nullable, scope_of, viewer_of};
use crate::domain::UserId;
use crate::error::{Error, Result};
use crate::service::{FRIENDS_MAX, UPSERT_MAX, UserEntry};

/// Longest name in characters.
const NAME_MAX_CHARACTERS: usize = 200;

/// The users to write, at most 1,000.
#[derive(InputObject)]
struct UpsertUsersInput {
    /// At most 1,000.
    users: Vec<UserInput>,
    /// Sent back as it came; at most 255 bytes.
    client_mutation_id: Option<String>,
}

/// A user to write. Null or absent leaves a field as it is.
///
/// Friends are directed: whom this user may see named among the likers of an item. At most 5,000 a user; friends whose
/// accounts were deleted are left out.
#[derive(InputObject)]
struct UserInput {
    /// 1 to 255 printable ASCII characters without spaces.
    id: ID,
    /// 1 to 200 characters, none of them a control character.
    name: Option<String>,
    /// Replaces the friend list; at most 5,000.
    friend_ids: Option<Vec<ID>>,
    /// Adds to the list, after `friendIds`; at most 5,000.
    add_friend_ids: Option<Vec<ID>>,
    /// Takes from the list, last of all; at most 5,000.
    remove_friend_ids: Option<Vec<ID>>,
}

/// The users that were written.
#[derive(SimpleObject)]
struct UpsertUsersPayload {
    /// In the order of the input.
    users: Vec<User>,
    /// As it was sent.
    client_mutation_id: Option<String>,
}

#[derive(Default)]
pub(super) struct UpsertUsers;

#[Object]
impl UpsertUsers {
    /// Writes users, all or none. For callers whose token has the scope `service`.
    ///
    /// UNAUTHENTICATED without a valid token; FORBIDDEN without the scope; LIMIT_EXCEEDED over 1,000 users or 5,000
    /// friends of one; BAD_USER_INPUT names the entry at fault, as `input.users[7].name`; UNAVAILABLE: send the same
    /// again.
    #[graphql(complexity = "1 + input.users.len() * child_complexity")]
    async fn upsert_users(&self, ctx: &Context<'_>, input: UpsertUsersInput) -> Nullable<UpsertUsersPayload> {
        Some(upsert(ctx, input).await)
    }
}

async fn upsert(ctx: &Context<'_>, input: UpsertUsersInput) -> Result<UpsertUsersPayload> {
    let scope = scope_of(ctx)?;
    let viewer = viewer_of(scope)?;
    let client_mutation_id = client_mutation_id(input.client_mutation_id)?;
    at_most("input.users", input.users.len(), UPSERT_MAX)?;
    let entries: Vec<UserEntry> = input.users.iter().enumerate().map(entry).collect::<Result<_>>()?;
    let ids = entries.iter().map(|entry| entry.id.clone()).collect();
    scope.service().upsert_users(viewer, entries).await?;
    Ok(UpsertUsersPayload { users: User::list(ids, &scope.renewed()), client_mutation_id })
}

fn entry((index, input): (usize, &UserInput)) -> Result<UserEntry> {
    let path = |field| format!("input.users[{index}].{field}");
    if input.name.as_ref().is_some_and(|name| !is_name(name)) {
        let message = format!("A name is 1 to {NAME_MAX_CHARACTERS} characters, none of them a control character.");
        return Err(Error::bad_input(path("name"), message));
    }
    let friends = input.friend_ids.as_ref().map(|ids| friends_of(&path("friendIds"), ids)).transpose()?;
    let change = |field, ids: &Option<Vec<ID>>| friends_of(&path(field), ids.as_deref().unwrap_or_default());
    Ok(UserEntry {
        id: user_id(&path("id"), &input.id)?,
        name: input.name.clone(),
        friends,
        add_friends: change("addFriendIds", &input.add_friend_ids)?,
        remove_friends: change("removeFriendIds", &input.remove_friend_ids)?,
    })
}

fn friends_of(argument: &str, ids: &[ID]) -> Result<HashSet<UserId>> {
    at_most(argument, ids.len(), FRIENDS_MAX)?;
    ids.iter().enumerate().map(|(index, id)| user_id(&format!("{argument}[{index}]"), id)).collect()
}

fn is_name(text: &str) -> bool {
    (1..=NAME_MAX_CHARACTERS).contains(&text.chars().count()) && !text.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;

    fn input(id: &str, name: Option<&str>) -> UserInput {
        UserInput {
            id: ID::from(id),
            name: name.map(str::to_owned),
            friend_ids: None,
            add_friend_ids: None,
            remove_friend_ids: None,
        }
    }

    #[test]
    fn a_name_is_1_to_200_characters_without_control_characters() {
        for good in ["Ana", "José María", "李", &"é".repeat(200)] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "a\nb", "a\u{0}", "\u{85}", &"é".repeat(201)] {
            assert!(!is_name(bad), "{bad:?}");
        }
    }

    #[test]
    fn the_entry_at_fault_is_named() {
        let fault = |input| {
            let error = entry((7, &input)).unwrap_err();
            (error.code(), error.argument().unwrap_or_default().to_owned())
        };
        let bad = |argument: &str| (ErrorCode::BadUserInput, argument.to_owned());
        assert_eq!(fault(input("a b", None)), bad("input.users[7].id"));
        assert_eq!(fault(input("a", Some(""))), bad("input.users[7].name"));
        let ids = |ids: &[&str]| Some(ids.iter().map(ID::from).collect());
        let friends = UserInput { friend_ids: ids(&["bob", ""]), ..input("a", None) };
        assert_eq!(fault(friends), bad("input.users[7].friendIds[1]"));
        let many = UserInput { add_friend_ids: ids(&["bob"; FRIENDS_MAX + 1]), ..input("a", None) };
        assert_eq!(fault(many), (ErrorCode::LimitExceeded, "input.users[7].addFriendIds".to_owned()));
    }

    #[test]
    fn an_absent_list_differs_from_an_empty_one() {
        assert!(entry((0, &input("a", None))).unwrap().friends.is_none());
        let empty = UserInput { friend_ids: Some(Vec::new()), ..input("a", None) };
        assert_eq!(entry((0, &empty)).unwrap().friends, Some(HashSet::new()));
    }
}
