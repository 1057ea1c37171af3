//! The root of reads.

use async_graphql::{Context, ID, Object};
use futures_util::future::join_all;

use super::args::{item_id, item_ids, user_id};
use super::types::item::Item;
use super::types::user::User;
use super::types::viewer::Viewer;
use super::{Nullable, scope_of};
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
}

async fn item(ctx: &Context<'_>, id: &ID) -> Result<Option<Item>> {
    Item::new(item_id("id", id)?, scope_of(ctx)?).if_known().await
}

async fn user(ctx: &Context<'_>, id: &ID) -> Result<Option<User>> {
    User::new(user_id("id", id)?, scope_of(ctx)?).if_known().await
}
