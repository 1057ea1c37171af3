//! A person, as others may see them.

use std::sync::Arc;

use async_graphql::{ID, Object};

use crate::api::graphql::loaders::Scope;
use crate::domain::UserId;
use crate::error::Result;

#[derive(Clone)]
pub struct User {
    id: UserId,
    scope: Arc<Scope>,
}

impl User {
    pub fn new(id: UserId, scope: &Arc<Scope>) -> Self {
        Self { id, scope: Arc::clone(scope) }
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
    async fn name(&self) -> Result<Option<String>> {
        Ok(self.scope.user(&self.id).await?.and_then(|facts| facts.name))
    }
}
