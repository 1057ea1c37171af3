//! The root of reads.

use std::sync::Arc;

use async_graphql::{Context, ID, Object};

use super::args::{item_id, item_ids, user_id};
use super::loaders::Scope;
use super::scope_of;
use super::types::item::Item;
use super::types::user::User;
use super::types::viewer::Viewer;
use crate::domain::ItemId;
use crate::error::Result;
use crate::service::Catalog;

pub struct Query;

/// Reads. They create nothing, and one request sees one state of each item.
#[Object]
impl Query {
    /// One item. Null where the id is unknown and the catalogue is closed; in an open catalogue any well-formed id is
    /// an item. BAD_USER_INPUT where the id is malformed.
    async fn item(&self, ctx: &Context<'_>, id: ID) -> Result<Option<Item>> {
        let scope = scope_of(ctx)?;
        known(scope, item_id("id", &id)?).await
    }

    /// Items of the same length and order as `ids`: null in the place of an unknown id, a duplicate answered twice.
    /// LIMIT_EXCEEDED over 100 ids; BAD_USER_INPUT names a malformed one, as `ids[3]`.
    #[graphql(complexity = "1 + ids.len() * child_complexity")]
    async fn items(&self, ctx: &Context<'_>, ids: Vec<ID>) -> Result<Vec<Option<Item>>> {
        let scope = scope_of(ctx)?;
        let ids = item_ids("ids", &ids)?;
        futures_util::future::try_join_all(ids.into_iter().map(|id| known(scope, id))).await
    }

    /// The caller. Null for an anonymous one.
    async fn viewer(&self, ctx: &Context<'_>) -> Result<Option<Viewer>> {
        Ok(Viewer::of(scope_of(ctx)?))
    }

    /// One user. Null unless the id was upserted or has reacted. BAD_USER_INPUT where the id is malformed.
    async fn user(&self, ctx: &Context<'_>, id: ID) -> Result<Option<User>> {
        let scope = scope_of(ctx)?;
        let id = user_id("id", &id)?;
        Ok(scope.user(&id).await?.map(|_| User::new(id, scope)))
    }
}

/// `None` where the catalogue is closed and has no such item.
async fn known(scope: &Arc<Scope>, id: ItemId) -> Result<Option<Item>> {
    let exists = match scope.service().rules().catalog {
        Catalog::Open => true,
        Catalog::Registered => scope.facts(&id).await?.is_some(),
    };
    Ok(exists.then(|| Item::new(id, scope)))
}
