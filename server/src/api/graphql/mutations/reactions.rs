//! `like`, `unlike` and `setReaction`: the state the viewer wants. There is no toggle, since a retry would undo it.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use crate::api::graphql::args::{client_mutation_id, item_id};
use crate::api::graphql::scalars::Count;
use crate::api::graphql::types::item::Item;
use crate::api::graphql::types::reaction::{CountStatus, Reaction};
use crate::api::graphql::{Nullable, scope_of, viewer_of};
use crate::error::{Error, Result};
use crate::service::{IdempotencyKey, KEY_MAX_BYTES, Reacted, Wish};

/// Which item to like.
#[derive(InputObject)]
struct LikeInput {
    /// The item's id.
    item_id: ID,
    /// 1 to 128 of `[A-Za-z0-9_.:-]`: one per tap, kept across its retries. A repeated call with the same key, item and
    /// wanted state has no second effect and gets the first answer. Kept for 24 hours, per viewer.
    idempotency_key: Option<String>,
    /// Sent back as it came; at most 255 bytes.
    client_mutation_id: Option<String>,
}

/// Which item to like no longer.
#[derive(InputObject)]
struct UnlikeInput {
    /// The item's id.
    item_id: ID,
    /// 1 to 128 of `[A-Za-z0-9_.:-]`: one per tap, kept across its retries. A repeated call with the same key, item and
    /// wanted state has no second effect and gets the first answer. Kept for 24 hours, per viewer.
    idempotency_key: Option<String>,
    /// Sent back as it came; at most 255 bytes.
    client_mutation_id: Option<String>,
}

/// Which state an item should have for the viewer.
#[derive(InputObject)]
struct SetReactionInput {
    /// The item's id.
    item_id: ID,
    /// The state the viewer wants.
    reaction: Reaction,
    /// 1 to 128 of `[A-Za-z0-9_.:-]`: one per tap, kept across its retries. A repeated call with the same key, item and
    /// wanted state has no second effect and gets the first answer. Kept for 24 hours, per viewer.
    idempotency_key: Option<String>,
    /// Sent back as it came; at most 255 bytes.
    client_mutation_id: Option<String>,
}

/// What became of the viewer's wish. A replay gives what was answered first; `item`, `replayed` and
/// `clientMutationId` are of this call.
#[derive(SimpleObject)]
struct ReactionPayload {
    /// The item as the viewer should see it now, this change included.
    item: Item,
    /// The viewer's reaction after the call.
    reaction: Reaction,
    /// The viewer's reaction before it.
    previous_reaction: Reaction,
    /// False for a duplicate: liking what is liked is success and changes nothing.
    changed: bool,
    /// Version of the viewer's row, +1 with each real change.
    version: Count,
    /// By how much this call moved the likes: −1, 0 or 1.
    client_like_delta: i32,
    /// By how much this call moved the dislikes: −1, 0 or 1.
    client_dislike_delta: i32,
    /// QUEUED where others will see a change.
    count_status: CountStatus,
    /// True where the idempotency key had been used for the same wish before.
    replayed: bool,
    /// As it was sent.
    client_mutation_id: Option<String>,
}

/// A wish as it was sent.
struct Request {
    item_id: ID,
    reaction: Reaction,
    idempotency_key: Option<String>,
    client_mutation_id: Option<String>,
}

#[derive(Default)]
pub(super) struct Reactions;

#[Object]
impl Reactions {
    /// The viewer wants LIKE. Success also where that is so already.
    ///
    /// UNAUTHENTICATED without a valid token; BAD_USER_INPUT for a malformed id or key; ITEM_NOT_FOUND where the
    /// catalogue is closed and does not know the item; ITEM_CLOSED; IDEMPOTENCY_KEY_REUSED where the key stands for
    /// another item or state; OVERLOADED and UNAVAILABLE: send the same again, with the same key.
    async fn like(&self, ctx: &Context<'_>, input: LikeInput) -> Nullable<ReactionPayload> {
        let LikeInput { item_id, idempotency_key, client_mutation_id } = input;
        Some(react(ctx, Request { item_id, reaction: Reaction::Like, idempotency_key, client_mutation_id }).await)
    }

    /// The viewer wants NONE; it takes a dislike back too. Always allowed, also on a closed item.
    ///
    /// UNAUTHENTICATED without a valid token; BAD_USER_INPUT for a malformed id or key; ITEM_NOT_FOUND where the
    /// catalogue is closed and does not know the item; IDEMPOTENCY_KEY_REUSED where the key stands for another item or
    /// state; OVERLOADED and UNAVAILABLE: send the same again, with the same key.
    async fn unlike(&self, ctx: &Context<'_>, input: UnlikeInput) -> Nullable<ReactionPayload> {
        let UnlikeInput { item_id, idempotency_key, client_mutation_id } = input;
        Some(react(ctx, Request { item_id, reaction: Reaction::None, idempotency_key, client_mutation_id }).await)
    }

    /// The general form: the state the viewer wants, whatever it was before.
    ///
    /// The error codes are those of `like`.
    async fn set_reaction(&self, ctx: &Context<'_>, input: SetReactionInput) -> Nullable<ReactionPayload> {
        let SetReactionInput { item_id, reaction, idempotency_key, client_mutation_id } = input;
        Some(react(ctx, Request { item_id, reaction, idempotency_key, client_mutation_id }).await)
    }
}

async fn react(ctx: &Context<'_>, request: Request) -> Result<ReactionPayload> {
    let scope = scope_of(ctx)?;
    let viewer = viewer_of(scope)?;
    let client_mutation_id = client_mutation_id(request.client_mutation_id)?;
    let item = item_id("input.itemId", &request.item_id)?;
    let key = request.idempotency_key.as_deref().map(idempotency_key).transpose()?;
    let wish = Wish { item: item.clone(), wanted: request.reaction.into(), key };
    let reacted = scope.service().react(viewer, wish).await?;
    // A new scope: what an earlier field of the request read of the item is older than this change.
    Ok(payload(Item::new(item, &scope.renewed()), &reacted, client_mutation_id))
}

fn idempotency_key(text: &str) -> Result<IdempotencyKey> {
    IdempotencyKey::parse(text).ok_or_else(|| {
        let message = format!("An idempotency key is 1 to {KEY_MAX_BYTES} of A-Z, a-z, 0-9 and _ . : -.");
        Error::bad_input("input.idempotencyKey", message)
    })
}

fn payload(item: Item, reacted: &Reacted, client_mutation_id: Option<String>) -> ReactionPayload {
    ReactionPayload {
        item,
        reaction: reacted.reaction.into(),
        previous_reaction: reacted.previous.into(),
        changed: reacted.changed,
        version: reacted.version.into(),
        client_like_delta: reacted.like_delta.into(),
        client_dislike_delta: reacted.dislike_delta.into(),
        count_status: if reacted.changed { CountStatus::Queued } else { CountStatus::Unchanged },
        replayed: reacted.replayed,
        client_mutation_id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_key_is_named() {
        assert!(idempotency_key("tap-1:a.b_C").is_ok());
        for text in ["", "a b", "é", &"x".repeat(KEY_MAX_BYTES + 1)] {
            assert_eq!(idempotency_key(text).unwrap_err().argument(), Some("input.idempotencyKey"), "{text}");
        }
    }
}
