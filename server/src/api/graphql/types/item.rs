//! An item as one viewer sees it.

use std::sync::Arc;

use async_graphql::{ID, Object, SimpleObject};

use super::connection::LikerConnection;
use super::reaction::{Freshness, Reaction};
use super::user::User;
use crate::api::graphql::Nullable;
use crate::api::graphql::args::{PageArgs, friends_cost, friends_shown, page_cost};
use crate::api::graphql::cursor::List;
use crate::api::graphql::loaders::Scope;
use crate::api::graphql::scalars::{Count, DateTime};
use crate::api::graphql::siblings::Items;
use crate::domain::{ItemId, OwnReaction, ReactionState};
use crate::error::Result;
use crate::service::{Catalog, ItemView};

/// The type of an item that nobody gave one.
const PLAIN_TYPE: &str = "item";

#[derive(Clone)]
pub struct Item {
    id: ItemId,
    list: Arc<Items>,
    scope: Arc<Scope>,
}

impl Item {
    /// Items of one list, which are read together.
    pub fn list(ids: Vec<ItemId>, scope: &Arc<Scope>) -> Vec<Self> {
        let list = Items::new(ids.clone());
        ids.into_iter().map(|id| Self { id, list: Arc::clone(&list), scope: Arc::clone(scope) }).collect()
    }

    pub fn new(id: ItemId, scope: &Arc<Scope>) -> Self {
        Self { list: Items::new(vec![id.clone()]), id, scope: Arc::clone(scope) }
    }

    /// The item unless the catalogue is closed and does not have it.
    pub async fn if_known(self) -> Result<Option<Self>> {
        let is_known = match self.scope.service().rules().catalog {
            Catalog::Open => true,
            Catalog::Registered => self.list.facts(&self.scope, &self.id).await?.is_some(),
        };
        Ok(is_known.then_some(self))
    }

    async fn view(&self) -> Result<ItemView> {
        self.list.view(&self.scope, &self.id).await
    }

    /// The viewer's row; for an anonymous caller, what stands where there is none.
    async fn own(&self) -> Result<OwnReaction> {
        if self.scope.viewer().is_none() {
            return Ok(OwnReaction::ABSENT);
        }
        self.view().await?.own.unwrap_or(Ok(OwnReaction::ABSENT))
    }

    async fn friends(&self, first: Option<i32>) -> Result<FriendLikers> {
        let shown = friends_shown(first)?;
        // The count before the likers: a like in between is then a named friend too many, not an "other" too many.
        let view = self.view().await?;
        let found = self.list.friend_likers(&self.scope, &self.id).await?;
        let (mut friends, complete) = found.map_or((Vec::new(), true), |found| (found.friends, found.searched_all));
        friends.truncate(shown);
        let viewer_likes = view.own.transpose()?.is_some_and(|own| own.state == ReactionState::Like);
        let named = u64::from(viewer_likes) + friends.len() as u64;
        let others_count = view.like_count.saturating_sub(named).into();
        Ok(FriendLikers { users: User::list(friends, &self.scope), others_count, complete })
    }

    async fn likers_page(&self, args: PageArgs) -> Result<LikerConnection> {
        self.scope.check_likers_visible()?;
        let list = List::LikersOf(&self.id);
        let slice = self.scope.likers(&self.id, args.parse(list)?).await?;
        Ok(LikerConnection::of(list, &slice, &self.scope))
    }
}

/// A thing that can be liked. Its likes are kept here, its content is elsewhere.
///
/// Counts and the viewer's reaction are read together, so those of one answer agree.
#[Object]
impl Item {
    /// The caller's own id: 1 to 255 printable ASCII characters without spaces, unique across item types.
    async fn id(&self) -> ID {
        ID(self.id.as_str().to_owned())
    }

    /// The kind of thing, such as `post` or `game`: `[a-z][a-z0-9_]{0,31}`. `item` where nobody has set one.
    #[graphql(name = "type")]
    async fn item_type(&self) -> Result<String> {
        let facts = self.list.facts(&self.scope, &self.id).await?;
        Ok(facts.map_or_else(|| PLAIN_TYPE.to_owned(), |facts| facts.item_type))
    }

    /// Likes as this viewer should see them: every reaction folded so far, and the viewer's own latest reaction in
    /// any case, counted once. Other people's may lag, by what `countAsOf` says. Never negative; past 2^53 − 1 it is
    /// shown as 2^53 − 1.
    ///
    /// While the store cannot be reached, a query answers with the last known count as everyone sees it, STALE; the
    /// viewer's own latest reaction may then be missing from it, and `likedByMe` is null. UNAVAILABLE where no count is
    /// known: never a zero in its place.
    async fn like_count(&self) -> Result<Count> {
        Ok(self.view().await?.like_count.into())
    }

    /// Dislikes, counted as `likeCount` is.
    async fn dislike_count(&self) -> Result<Count> {
        Ok(self.view().await?.dislike_count.into())
    }

    /// Every reaction committed before this instant, on the database's clock, is in the counts. It is taken no later
    /// than the counts themselves.
    async fn count_as_of(&self) -> Result<DateTime> {
        Ok(DateTime(self.view().await?.copy.basis.as_of))
    }

    /// Grows whenever any reaction to the item is folded, also where the sum stays the same; never goes back, also
    /// after the counts were rebuilt. 0 where nobody has reacted. A client drops an answer whose version is lower
    /// than the one it has, and also a count whose answer has a lower `myReactionVersion` than the heart it knows.
    async fn count_version(&self) -> Result<Count> {
        Ok(self.view().await?.copy.version.into())
    }

    /// STALE where the counts are older than the staleness bound (5 seconds unless the operator set another), or are the
    /// last known ones because the store cannot be reached.
    async fn count_freshness(&self) -> Result<Freshness> {
        Ok(self.view().await?.freshness.into())
    }

    /// Whether the viewer likes the item, from the viewer's own row and right at once. False for an anonymous caller.
    /// Null with an error where it cannot be read; never guessed.
    async fn liked_by_me(&self) -> Nullable<bool> {
        Some(self.own().await.map(|own| own.state == ReactionState::Like))
    }

    /// The viewer's reaction, as `likedByMe`. NONE for an anonymous caller.
    async fn my_reaction(&self) -> Nullable<Reaction> {
        Some(self.own().await.map(|own| own.state.into()))
    }

    /// Version of the viewer's row, +1 with each real change; 0 where there is none. Of two answers, a client keeps
    /// the heart with the higher one.
    async fn my_reaction_version(&self) -> Nullable<Count> {
        Some(self.own().await.map(|own| own.version.into()))
    }

    /// When the viewer last reacted. Null where the viewer never has.
    async fn my_reaction_at(&self) -> Nullable<DateTime> {
        let own = self.own().await;
        own.map(|own| (own.version > 0).then_some(DateTime(own.reacted_at))).transpose()
    }

    /// Friends of the viewer who like the item, newest like first, searched among its last 100 likers. None for an
    /// anonymous caller. BAD_USER_INPUT where `first` is out of range.
    #[graphql(complexity = "2 + friends_cost(first) * child_complexity")]
    async fn friend_likers(
        &self,
        #[graphql(default = 3, desc = "At most how many to show, 0 to 20.")] first: Option<i32>,
    ) -> Nullable<FriendLikers> {
        Some(self.friends(first).await)
    }

    /// Who likes the item, newest like first. `first` or `last`, 1 to 100; with neither, the first 20.
    /// FORBIDDEN where the operator shows likers to nobody, or to signed-in viewers only; BAD_USER_INPUT where a page
    /// size is out of range or a cursor is not of this list.
    #[graphql(complexity = "2 + page_cost(first, last) * child_complexity")]
    async fn likers(
        &self,
        #[graphql(desc = "The newest rows of the range, 1 to 100.")] first: Option<i32>,
        #[graphql(desc = "Only rows older than this cursor's.")] after: Option<String>,
        #[graphql(desc = "The oldest rows of the range, 1 to 100.")] last: Option<i32>,
        #[graphql(desc = "Only rows newer than this cursor's.")] before: Option<String>,
    ) -> Nullable<LikerConnection> {
        Some(self.likers_page(PageArgs { first, after, last, before }).await)
    }
}

/// The friends of the viewer among an item's likers, for a line such as “Liked by you, Ana and 41 others”.
#[derive(SimpleObject)]
pub struct FriendLikers {
    /// Newest like first, at most `first`.
    users: Vec<User>,
    /// `likeCount`, less the viewer if the viewer likes the item, less the users shown; never below 0. Exact once
    /// everything is folded.
    others_count: Count,
    /// False where the item has more likers than were searched, so a friend may be missing.
    complete: bool,
}
