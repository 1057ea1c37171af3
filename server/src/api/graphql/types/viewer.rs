//! The authenticated caller.

use std::sync::Arc;

use async_graphql::Object;

use super::connection::LikedItemConnection;
use super::user::User;
use crate::api::graphql::Nullable;
use crate::api::graphql::args::{PageArgs, page_cost};
use crate::api::graphql::cursor::List;
use crate::api::graphql::loaders::Scope;
use crate::domain::UserId;
use crate::error::Result;

pub struct Viewer {
    user: UserId,
    scope: Arc<Scope>,
}

impl Viewer {
    /// `None` for an anonymous caller.
    pub fn of(scope: &Arc<Scope>) -> Option<Self> {
        let user = scope.viewer()?.user.clone();
        Some(Self { user, scope: Arc::clone(scope) })
    }

    async fn liked_page(&self, args: PageArgs) -> Result<LikedItemConnection> {
        let list = List::LikedBy(&self.user);
        let slice = self.scope.service().liked_items(&self.user, &args.parse(list)?).await?;
        Ok(LikedItemConnection::of(list, &slice, &self.scope))
    }
}

/// The signed-in caller.
#[Object]
impl Viewer {
    /// The caller as a user.
    async fn user(&self) -> User {
        User::new(self.user.clone(), &self.scope)
    }

    /// What the viewer likes, newest like first. `first` or `last`, 1 to 100; with neither, the first 20.
    /// BAD_USER_INPUT where a page size is out of range or a cursor is not of this list.
    #[graphql(complexity = "2 + page_cost(first, last) * child_complexity")]
    async fn liked_items(
        &self,
        #[graphql(desc = "The newest rows of the range, 1 to 100.")] first: Option<i32>,
        #[graphql(desc = "Only rows older than this cursor's.")] after: Option<String>,
        #[graphql(desc = "The oldest rows of the range, 1 to 100.")] last: Option<i32>,
        #[graphql(desc = "Only rows newer than this cursor's.")] before: Option<String>,
    ) -> Nullable<LikedItemConnection> {
        Some(self.liked_page(PageArgs { first, after, last, before }).await)
    }
}
