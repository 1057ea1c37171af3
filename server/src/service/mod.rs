//! The rules: who may do what, what a viewer sees of the counts, and what a watcher is told.

use std::sync::Arc;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;

use crate::domain::ReactionChange;
use crate::error::{Error, ErrorCode, Result};
use crate::realtime::Bus;
use crate::store::Store;
use crate::store::catalog::CatalogWriter;
use crate::store::decide::{Answer, Command, Source, UnknownItems};
use crate::store::lanes::Lanes;

mod catalog;
mod erasure;
mod last_known;
mod lists;
pub mod refresh;
mod retraction;
mod types;
mod views;
mod watch_items;
mod watch_reactions;

pub use crate::store::erasures::Erasure;
pub use crate::store::retractions::{Proposal, Retraction, RetractionStatus, Suspects};
use last_known::LastKnown;
pub use types::*;
pub use watch_items::{ItemsWatch, Seen};
pub use watch_reactions::ReactionsWatch;

/// How a write ended, as a metric's label.
pub type Outcome = [(&'static str, &'static str); 1];

/// What the service measures, for telemetry to name.
#[derive(Debug, Clone)]
pub struct ServiceStats {
    /// Seconds from a wish to its answer.
    pub write_duration: Histogram,
    pub writes: Family<Outcome, Counter>,
    /// Times that a count below zero was shown as zero.
    pub below_zero: Counter,
}

impl Default for ServiceStats {
    fn default() -> Self {
        let seconds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0];
        Self { write_duration: Histogram::new(seconds), writes: Family::default(), below_zero: Counter::default() }
    }
}

/// The service of one node.
pub struct Service {
    store: Store,
    lanes: Lanes,
    catalog: CatalogWriter,
    bus: Bus,
    rules: Rules,
    stats: ServiceStats,
    last_known: LastKnown,
}

impl Service {
    pub fn new(
        store: Store,
        lanes: Lanes,
        catalog: CatalogWriter,
        bus: Bus,
        rules: Rules,
        stats: ServiceStats,
    ) -> Arc<Self> {
        Arc::new(Self { store, lanes, catalog, bus, rules, stats, last_known: LastKnown::default() })
    }

    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Succeeds where the store answers.
    pub async fn ready(&self) -> Result<()> {
        self.store.ping().await
    }

    /// Writes the state that the viewer wants. The answer is durable; others see the count when it is folded.
    pub async fn react(&self, viewer: &Viewer, wish: Wish) -> Result<Reacted> {
        let started = tokio::time::Instant::now();
        let answer = self.write(viewer, wish).await;
        self.stats.write_duration.observe(started.elapsed().as_secs_f64());
        let outcome = match &answer {
            Ok(answer) if answer.replayed => "replayed",
            Ok(answer) if answer.changed => "changed",
            Ok(_) => "unchanged",
            Err(error) => error.code().word(),
        };
        self.stats.writes.get_or_create(&[("outcome", outcome)]).inc();
        answer
    }

    async fn write(&self, viewer: &Viewer, wish: Wish) -> Result<Reacted> {
        if wish.key.is_none() && self.rules.require_idempotency_key {
            let message = "This server wants an idempotency key: one per tap, kept across its retries.";
            return Err(Error::bad_input("input.idempotencyKey", message));
        }
        let unknown_items = match self.rules.catalog {
            Catalog::Open => UnknownItems::Welcome,
            Catalog::Registered => UnknownItems::Refused,
        };
        let command = Command {
            user: viewer.user.clone(),
            item: wish.item.clone(),
            wanted: wish.wanted,
            key: wish.key.map(IdempotencyKey::into_string),
            from: Source::User { unknown_items },
        };
        let answer = self.lanes.submit(command).await?;
        if answer.changed() && !answer.replayed {
            self.bus.publish_reaction(&ReactionChange {
                user: viewer.user.clone(),
                item: wish.item,
                state: answer.reaction,
                version: answer.version,
            });
        }
        Ok(Reacted::from(answer))
    }

    /// FORBIDDEN where the setting LIKERS keeps this viewer from an item's likers.
    pub fn check_likers_visible(&self, viewer: Option<&Viewer>) -> Result<()> {
        match self.rules.likers {
            LikersVisibility::Public => Ok(()),
            LikersVisibility::SignedIn if viewer.is_some() => Ok(()),
            LikersVisibility::SignedIn => Err(Error::new(ErrorCode::Forbidden, "Sign in to see who liked this.")),
            LikersVisibility::Off => Err(Error::new(ErrorCode::Forbidden, "This server does not show who liked.")),
        }
    }
}

impl From<Answer> for Reacted {
    fn from(answer: Answer) -> Self {
        Self {
            reaction: answer.reaction,
            previous: answer.previous,
            changed: answer.changed(),
            version: answer.version,
            like_delta: answer.like_delta,
            dislike_delta: answer.dislike_delta,
            replayed: answer.replayed,
        }
    }
}
