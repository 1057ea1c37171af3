//! An item as one viewer should see it: everyone's counts with the viewer's own latest tap in them, counted once.

use std::collections::HashMap;
use std::sync::Arc;

use tracing::error;

use super::watch_items::Seen;
use super::{ItemView, Service};
use crate::domain::{CountCopy, Freshness, ItemId, OwnReaction, ReactionState, UserId};
use crate::error::Result;

impl Service {
    /// A view of each item. The counts are read before the viewer's row: the row is then never older than what the
    /// counts include. `pinned` counts, from a push, stand in for a read. At most one statement each for counts, rows
    /// and taps that are not folded yet.
    pub async fn views(
        &self,
        viewer: Option<&UserId>,
        ids: &[ItemId],
        pinned: &HashMap<ItemId, Arc<Seen>>,
    ) -> Result<HashMap<ItemId, ItemView>> {
        let mut seen = HashMap::with_capacity(ids.len());
        let (given, unread): (Vec<_>, Vec<_>) = ids.iter().cloned().partition(|id| pinned.contains_key(id));
        for id in given {
            let pinned = Seen::clone(&pinned[&id]);
            seen.insert(id, pinned);
        }
        if !unread.is_empty() {
            seen.extend(self.read_counts(&unread).await?);
        }
        let Some(viewer) = viewer else {
            return Ok(seen.into_iter().map(|(id, seen)| (id, self.view(seen, None, None))).collect());
        };
        let own = self.store.own_reactions(viewer, ids).await?;
        let past = self.states_in_counts(viewer, &seen, &own).await?;
        let view = |(id, seen): (ItemId, Seen)| {
            let row = own.get(&id).copied().unwrap_or(OwnReaction::ABSENT);
            let counted = past.get(&id).copied();
            (id, self.view(seen, Some(row), counted))
        };
        Ok(seen.into_iter().map(view).collect())
    }

    /// Counts from the store, also offered to this node's watchers: a push that follows on the same socket is then
    /// never older than an answer.
    pub(super) async fn read_counts(&self, ids: &[ItemId]) -> Result<HashMap<ItemId, Seen>> {
        let (pulse, copies) = self.store.count_copies(ids).await?;
        let freshness = self.freshness(pulse.basis.read_at - pulse.basis.as_of);
        let copies: Vec<CountCopy> = copies.into_values().collect();
        self.bus.hub().offer(&copies);
        Ok(copies.into_iter().map(|copy| (copy.item.clone(), Seen { copy, freshness })).collect())
    }

    /// Stale where counts are older than the bound, in microseconds of the database's clock.
    pub(super) fn freshness(&self, age: i64) -> Freshness {
        let bound = i64::try_from(self.rules.staleness_bound.as_micros()).unwrap_or(i64::MAX);
        if age > bound { Freshness::Stale } else { Freshness::Live }
    }

    /// For rows that changed after the counts were made: the state that is in the counts.
    async fn states_in_counts(
        &self,
        viewer: &UserId,
        seen: &HashMap<ItemId, Seen>,
        own: &HashMap<ItemId, OwnReaction>,
    ) -> Result<HashMap<ItemId, ReactionState>> {
        let partition = viewer.partition(self.store.partitions());
        let changed_later = own.iter().filter_map(|(id, row)| {
            let included = seen.get(id)?.copy.basis.offsets.get(partition).copied()?;
            (row.event_offset > included).then(|| (id.clone(), included))
        });
        let changed_later: Vec<_> = changed_later.collect();
        if changed_later.is_empty() {
            return Ok(HashMap::new());
        }
        self.store.states_at(viewer, &changed_later).await
    }

    fn view(&self, seen: Seen, own: Option<OwnReaction>, counted: Option<ReactionState>) -> ItemView {
        let shift = |state: ReactionState| match (own, counted) {
            (Some(row), Some(counted)) => i64::from(row.state == state) - i64::from(counted == state),
            _ => 0,
        };
        let like_count = self.shown(seen.copy.like_count + shift(ReactionState::Like), &seen.copy);
        let dislike_count = self.shown(seen.copy.dislike_count + shift(ReactionState::Dislike), &seen.copy);
        ItemView { copy: seen.copy, like_count, dislike_count, freshness: seen.freshness, own }
    }

    /// Rows that were lost or tampered with can leave a count below zero: it is shown as zero and counts as drift.
    fn shown(&self, count: i64, copy: &CountCopy) -> u64 {
        u64::try_from(count).unwrap_or_else(|_| {
            error!(item = %copy.item, count, "a count is below zero");
            self.stats.drift.inc();
            0
        })
    }
}
