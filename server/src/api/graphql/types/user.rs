//! A person, as others may see them.

use std::sync::Arc;

use async_graphql::{ID, Object};

use crate::api::graphql::Nullable;
use crate::api::graphql::loaders::Scope;
use crate::api::graphql::siblings::Users;
use crate::domain::UserId;
use crate::error::Result;
use crate::service::UserFacts;

#[derive(Clone)]
pub struct User {
    id: UserId,
    list: Arc<Users>,
    scope: Arc<Scope>,
}

impl User {
    /// Users of one list, which are read together.
    pub fn list(ids: Vec<UserId>, scope: &Arc<Scope>) -> Vec<Self> {
        let list = Users::new(ids.clone());
        ids.into_iter().map(|id| Self { id, list: Arc::clone(&list), scope: Arc::clone(scope) }).collect()
    }

    pub fn new(id: UserId, scope: &Arc<Scope>) -> Self {
        Self { list: Users::new(vec![id.clone()]), id, scope: Arc::clone(scope) }
    }

    /// The user if anything is known of it.
    pub async fn if_known(self) -> Result<Option<Self>> {
        Ok(self.facts().await?.is_some().then_some(self))
    }

    async fn facts(&self) -> Result<Option<UserFacts>> {
        self.list.facts(&self.scope, &self.id).await
    }
}

/// A person who may like things.
#[Object]
impl User {
    /// The caller's own id: 1 to 255 printable ASCII characters without spaces.
    async fn id(&self) -> ID {
        ID(self.id.as_str().to_owned())
    }

    /// The name to show. Null where none was upserted.
    async fn name(&self) -> Nullable<String> {
        self.facts().await.map(|facts| facts?.name).transpose()
    }
}
