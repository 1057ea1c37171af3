//! An item as one viewer should see it: everyone's counts with the viewer's own latest tap in them, counted once.

use std::collections::HashMap;
use std::sync::Arc;

use tracing::error;

use super::watch_items::Seen;
use super::{ItemView, PerItem, Service, WhileAway};
use crate::domain::{CountCopy, Freshness, ItemId, OwnReaction, ReactionState, UserId};
use crate::error::{Error, ErrorCode, Result};

/// A viewer's rows, and for those that changed after the counts were made, the state that is in the counts.
struct Own {
    rows: HashMap<ItemId, OwnReaction>,
    counted: HashMap<ItemId, ReactionState>,
}

impl Service {
    /// A view of each item. The counts are read before the viewer's row: the row is then never older than what the
    /// counts include. `pinned` counts, from a push, stand in for a read. At most one statement each for counts, rows
    /// and taps that are not folded yet.
    pub async fn views(
        &self,
        viewer: Option<&UserId>,
        ids: &[ItemId],
        pinned: &HashMap<ItemId, Arc<Seen>>,
        while_away: WhileAway,
    ) -> Result<PerItem<ItemView>> {
        let (given, unread): (Vec<_>, Vec<_>) = ids.iter().cloned().partition(|id| pinned.contains_key(id));
        let mut counts = self.counts(&unread).await?;
        if let (Some(away), WhileAway::Refuse) = (&counts.away, while_away) {
            return Err(away.clone());
        }
        counts.seen.extend(given.into_iter().map(|id| {
            let pinned = Seen::clone(&pinned[&id]);
            (id, Ok(pinned))
        }));
        let own = match (viewer, counts.away) {
            (None, _) => None,
            (Some(_), Some(away)) => Some(Err(away)),
            (Some(viewer), None) => Some(self.own(viewer, ids, &counts.seen).await),
        };
        if let Some(Err(error)) = &own
            && (error.code() != ErrorCode::Unavailable || while_away == WhileAway::Refuse)
        {
            return Err(error.clone());
        }
        let view = |(id, seen): (ItemId, Result<Seen>)| (id, seen.map(|seen| self.view(seen, own.as_ref())));
        Ok(counts.seen.into_iter().map(view).collect())
    }

    async fn own(&self, viewer: &UserId, ids: &[ItemId], seen: &PerItem<Seen>) -> Result<Own> {
        let rows = self.last_known.read(self.store.own_reactions(viewer, ids)).await?;
        let counted = self.states_in_counts(viewer, seen, &rows).await?;
        Ok(Own { rows, counted })
    }

    /// Counts from the store, also offered to this node's watchers: a push that follows on the same socket is then
    /// never older than an answer.
    pub(super) async fn read_counts(&self, ids: &[ItemId]) -> Result<HashMap<ItemId, Seen>> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let (pulse, copies) = self.last_known.read(self.store.count_copies(ids)).await?;
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
        seen: &PerItem<Seen>,
        own: &HashMap<ItemId, OwnReaction>,
    ) -> Result<HashMap<ItemId, ReactionState>> {
        let partition = viewer.partition(self.store.partitions());
        let changed_later = own.iter().filter_map(|(id, row)| {
            let included = seen.get(id)?.as_ref().ok()?.copy.basis.offsets.get(partition).copied()?;
            (row.event_offset > included).then(|| (id.clone(), included))
        });
        let changed_later: Vec<_> = changed_later.collect();
        if changed_later.is_empty() {
            return Ok(HashMap::new());
        }
        self.last_known.read(self.store.states_at(viewer, &changed_later)).await
    }

    fn view(&self, seen: Seen, own: Option<&Result<Own, Error>>) -> ItemView {
        let row = own.map(|own| match own {
            Ok(own) => Ok(own.rows.get(&seen.copy.item).copied().unwrap_or(OwnReaction::ABSENT)),
            Err(away) => Err(away.clone()),
        });
        let counted = own.and_then(|own| own.as_ref().ok()?.counted.get(&seen.copy.item).copied());
        let shift = |state: ReactionState| match (&row, counted) {
            (Some(Ok(row)), Some(counted)) => i64::from(row.state == state) - i64::from(counted == state),
            _ => 0,
        };
        let like_count = self.shown(seen.copy.like_count.saturating_add(shift(ReactionState::Like)), &seen.copy);
        let dislike_count =
            self.shown(seen.copy.dislike_count.saturating_add(shift(ReactionState::Dislike)), &seen.copy);
        // A count that may lack the viewer's own tap is not what the viewer should see now.
        let freshness = if matches!(row, Some(Err(_))) { Freshness::Stale } else { seen.freshness };
        ItemView { copy: seen.copy, like_count, dislike_count, freshness, own: row }
    }

    /// Rows that were lost or tampered with can leave a count below zero: it is shown as zero, and is the reconciler's to
    /// find. Logged at the 1st, 2nd, 4th … time: each look at the item is one.
    fn shown(&self, count: i64, copy: &CountCopy) -> u64 {
        u64::try_from(count).unwrap_or_else(|_| {
            let times = self.stats.below_zero.inc() + 1;
            if times.is_power_of_two() {
                error!(item = %copy.item, count, times, "a count is below zero");
            }
            0
        })
    }
}
