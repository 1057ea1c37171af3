//! `eraseUser`: the deletion of an account.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use crate::api::graphql::args::{client_mutation_id, user_id};
use crate::api::graphql::types::erasure::Erasure;
use crate::api::graphql::{Nullable, scope_of, viewer_of};
use crate::error::Result;

/// Whose account to delete.
#[derive(InputObject)]
struct EraseUserInput {
    /// 1 to 255 printable ASCII characters without spaces; it need not be known.
    user_id: ID,
    /// Sent back as it came; at most 255 bytes.
    client_mutation_id: Option<String>,
}

/// How far the deletion is.
#[derive(SimpleObject)]
struct EraseUserPayload {
    /// The deletion.
    erasure: Erasure,
    /// As it was sent.
    client_mutation_id: Option<String>,
}

#[derive(Default)]
pub(super) struct EraseUser;

#[Object]
impl EraseUser {
    /// Deletes an account for good. For callers whose token has the scope `service`.
    ///
    /// Once this is answered, the user's tokens are refused on every node, and nothing that is sent or under way brings
    /// anything of the user back; open sockets are closed within about a second. Reactions, idempotency keys, name and
    /// friendships are removed in the background, and counts follow. Asked again, it answers how far that is.
    ///
    /// UNAUTHENTICATED without a valid token; FORBIDDEN without the scope; BAD_USER_INPUT for a malformed id; OVERLOADED
    /// and UNAVAILABLE: send the same again.
    async fn erase_user(&self, ctx: &Context<'_>, input: EraseUserInput) -> Nullable<EraseUserPayload> {
        Some(erase(ctx, input).await)
    }
}

async fn erase(ctx: &Context<'_>, input: EraseUserInput) -> Result<EraseUserPayload> {
    let scope = scope_of(ctx)?;
    let viewer = viewer_of(scope)?;
    let client_mutation_id = client_mutation_id(input.client_mutation_id)?;
    let user = user_id("input.userId", &input.user_id)?;
    let erasure = scope.service().erase_user(viewer, user).await?.into();
    Ok(EraseUserPayload { erasure, client_mutation_id })
}
