//! The root of live updates.
//!
//! Each event is resolved with a scope of its own. An event that could not be read whole is dropped by the executor,
//! which closes the subscription's [`EventGate`]; the source finds it closed when it is asked for the next event, and
//! puts the last one back. Events of one subscription are resolved one after the other, so the last is the one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_graphql::{Context, ID, Subscription as GraphQlSubscription};
use futures_util::stream::{self, BoxStream, StreamExt};

use super::args::distinct_item_ids;
use super::loaders::Scope;
use super::types::item::Item;
use super::types::reaction::MyReaction;
use super::{scope_of, viewer_of};
use crate::domain::{ItemId, ReactionChange};
use crate::error::{Error, Result};
use crate::service::{ItemsWatch, ReactionsWatch};

/// Between the executor and the source of one subscription: whether the last event was dropped.
#[derive(Clone, Default)]
pub struct EventGate(Arc<AtomicBool>);

impl EventGate {
    pub fn drop_event(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn took_dropped_event(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

pub struct Subscription;

/// Live updates, over a WebSocket (`graphql-transport-ws`). A subscription has one of these fields.
#[GraphQlSubscription]
impl Subscription {
    /// First one event per id with the current state, then the newest state of an item whenever any reaction to it is
    /// folded or its freshness changes: at once after a quiet spell, at most one per push interval (200 ms unless the
    /// operator set another) while they keep coming, and always the last one.
    ///
    /// Viewer fields are the viewer's, fresh in each event. In a closed catalogue an unknown id is silent until it
    /// exists. An event that cannot be read whole is held back and tried again, never sent with errors. Changed names,
    /// friend lists or openness make no event. LIMIT_EXCEEDED over 100 ids; BAD_USER_INPUT names a malformed one.
    async fn item_updated(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "At most 100; duplicates count once.")] ids: Vec<ID>,
    ) -> Result<BoxStream<'static, Item>> {
        let scope = Arc::clone(scope_of(ctx)?);
        let gate = gate_of(ctx)?;
        let watch = scope.service().watch_items(distinct_item_ids("ids", &ids)?);
        Ok(stream::unfold(ItemEvents { watch, last: None, gate, scope }, ItemEvents::next).boxed())
    }

    /// The viewer's own reactions as they change on any device or tab. With `itemIds` (at most 100): first their
    /// state, and again whenever the server may have missed a change; without: changes only, best effort.
    ///
    /// UNAUTHENTICATED without a valid token; LIMIT_EXCEEDED over 100 ids; BAD_USER_INPUT names a malformed one.
    async fn my_reaction_changed(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Only these items, at most 100; all where absent.")] item_ids: Option<Vec<ID>>,
    ) -> Result<BoxStream<'static, MyReaction>> {
        let scope = Arc::clone(scope_of(ctx)?);
        let gate = gate_of(ctx)?;
        let viewer = viewer_of(&scope)?.user.clone();
        let items = item_ids.map(|ids| distinct_item_ids("itemIds", &ids)).transpose()?;
        let watch = scope.service().watch_reactions(viewer, items);
        Ok(stream::unfold(ReactionEvents { watch, last: None, gate, scope }, ReactionEvents::next).boxed())
    }
}

fn gate_of(ctx: &Context<'_>) -> Result<EventGate> {
    let gate = ctx.data_opt::<EventGate>().cloned();
    gate.ok_or_else(|| Error::internal_detail("a subscription was run without its gate"))
}

struct ItemEvents {
    watch: ItemsWatch,
    last: Option<ItemId>,
    gate: EventGate,
    scope: Arc<Scope>,
}

impl ItemEvents {
    async fn next(mut self) -> Option<(Item, Self)> {
        if self.gate.took_dropped_event()
            && let Some(item) = self.last.take()
        {
            self.watch.put_back(&item);
        }
        let seen = self.watch.next().await;
        let item = seen.copy.item.clone();
        self.last = Some(item.clone());
        let scope = self.scope.for_event(item.clone(), seen);
        Some((Item::new(item, &scope), self))
    }
}

struct ReactionEvents {
    watch: ReactionsWatch,
    last: Option<ReactionChange>,
    gate: EventGate,
    scope: Arc<Scope>,
}

impl ReactionEvents {
    async fn next(mut self) -> Option<(MyReaction, Self)> {
        if self.gate.took_dropped_event()
            && let Some(change) = self.last.take()
        {
            self.watch.put_back(change).await;
        }
        let change = self.watch.next().await;
        self.last = Some(change.clone());
        let item = Item::new(change.item, &self.scope.renewed());
        Some((MyReaction { item, reaction: change.state.into(), version: change.version.into() }, self))
    }
}
