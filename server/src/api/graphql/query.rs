//! The root of reads.

use async_graphql::{Context, ID, Object};
use futures_util::future::join_all;

use super::args::{item_id, item_ids, proposal_id, user_id};
use super::types::erasure::Erasure;
use super::types::item::Item;
use super::types::retraction::Retraction;
use super::types::user::User;
use super::types::viewer::Viewer;
use super::{Nullable, scope_of, viewer_of};
use crate::error::Result;

pub struct Query;

/// Reads. They create nothing, and one request sees one state of each item.
#[Object]
impl Query {
    /// One item. Null where the id is unknown and the catalogue is closed; in an open catalogue any well-formed id is
    /// an item. BAD_USER_INPUT where the id is malformed.
    async fn item(&self, ctx: &Context<'_>, #[graphql(desc = "The item's id.")] id: ID) -> Nullable<Item> {
        item(ctx, &id).await.transpose()
    }

    /// Items of the same length and order as `ids`: null in the place of an unknown id, a duplicate answered twice.
    /// LIMIT_EXCEEDED over 100 ids; BAD_USER_INPUT names a malformed one, as `ids[3]`.
    #[graphql(complexity = "1 + ids.len() * child_complexity")]
    async fn items(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "At most 100.")] ids: Vec<ID>,
    ) -> Result<Vec<Nullable<Item>>> {
        let scope = scope_of(ctx)?;
        let items = Item::list(item_ids("ids", &ids)?, scope);
        let items = join_all(items.into_iter().map(Item::if_known)).await;
        Ok(items.into_iter().map(Result::transpose).collect())
    }

    /// The caller. Null for an anonymous one.
    async fn viewer(&self, ctx: &Context<'_>) -> Nullable<Viewer> {
        scope_of(ctx).map(Viewer::of).transpose()
    }

    /// One user. Null unless the id was upserted or has reacted. BAD_USER_INPUT where the id is malformed.
    async fn user(&self, ctx: &Context<'_>, #[graphql(desc = "The user's id.")] id: ID) -> Nullable<User> {
        user(ctx, &id).await.transpose()
    }

    /// How far the deletion of an account is. Null where none was asked for. For callers whose token has the scope
    /// `service`.
    ///
    /// UNAUTHENTICATED without a valid token; FORBIDDEN without the scope; BAD_USER_INPUT where the id is malformed.
    async fn erasure(&self, ctx: &Context<'_>, #[graphql(desc = "Whose account.")] user_id: ID) -> Nullable<Erasure> {
        erasure(ctx, &user_id).await.transpose()
    }

    /// How far a proposal of an abuse system is. Null where there is none of this id. For callers whose token has the
    /// scope `service`.
    ///
    /// UNAUTHENTICATED without a valid token; FORBIDDEN without the scope; BAD_USER_INPUT where the id is malformed.
    async fn retraction(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "As it was given to `retractReactions`.")] proposal_id: ID,
    ) -> Nullable<Retraction> {
        retraction(ctx, &proposal_id).await.transpose()
    }
}

async fn erasure(ctx: &Context<'_>, id: &ID) -> Result<Option<Erasure>> {
    let scope = scope_of(ctx)?;
    let user = user_id("userId", id)?;
    Ok(scope.service().erasure(viewer_of(scope)?, &user).await?.map(Erasure::from))
}

async fn retraction(ctx: &Context<'_>, id: &ID) -> Result<Option<Retraction>> {
    let scope = scope_of(ctx)?;
    let proposal = proposal_id("proposalId", id)?;
    Ok(scope.service().retraction(viewer_of(scope)?, &proposal).await?.map(Retraction::from))
}

async fn item(ctx: &Context<'_>, id: &ID) -> Result<Option<Item>> {
    Item::new(item_id("id", id)?, scope_of(ctx)?).if_known().await
}

async fn user(ctx: &Context<'_>, id: &ID) -> Result<Option<User>> {
    User::new(user_id("id", id)?, scope_of(ctx)?).if_known().await
}
