//! The commands that recount: `reconcile` and `rebuild`, and what they report.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::warn;

use super::commands::COMMAND_READ_CONNECTIONS;
use super::{StartError, connect_existing};
use crate::bulk::Progress;
use crate::config::{RebuildConfig, ReconcileConfig, SettingError};
use crate::domain::{ItemId, UserId};
use crate::error::Result;
use crate::pipeline::reconciler::LAG_MAX_EVENTS;
use crate::pipeline::recount::Recounter;
use crate::realtime::{Bus, Hub};
use crate::store::Store;
use crate::store::reconcile::{Among, Measured, RANGE_ITEMS_MAX, Tally};

/// Most differences that are printed; the summary counts them all.
const PRINTED_MAX: usize = 1_000;
/// Exit code where counts differed, whether they were healed or only reported.
const EXIT_DIFFERED: u8 = 3;
/// Exit code where something is left that could not be written.
const EXIT_LEFT: u8 = 1;

/// What `likewise reconcile` has found and done.
#[derive(Debug, Default)]
pub struct ReconcileReport {
    pub checked: u64,
    pub differing: u64,
    /// The first of them, as they were found.
    pub printed: Vec<Measured>,
    pub unhealed: u64,
    pub dry_run: bool,
    pub elapsed: Duration,
}

/// What `likewise rebuild` has done.
#[derive(Debug)]
pub struct RebuildReport {
    pub items: u64,
    pub unwritten: u64,
    pub elapsed: Duration,
}

/// Compares all counts with the rows, or those that are asked for, and heals them unless told not to.
pub async fn reconcile(config: &ReconcileConfig) -> Result<ReconcileReport, StartError> {
    config.database.check()?;
    let items = config.item.iter().map(|id| ItemId::parse(id).map_err(|why| wrong("--item", why)));
    let items: BTreeSet<ItemId> = items.collect::<Result<_, _>>()?;
    let user = config.user.as_deref().map(|id| UserId::parse(id).map_err(|why| wrong("--user", why))).transpose()?;
    let recounter = recounter(connect_existing(&config.database, COMMAND_READ_CONNECTIONS).await?);
    let began = Instant::now();
    let mut run = Reconcile { recounter, report: ReconcileReport { dry_run: config.dry_run, ..Default::default() } };
    run.these(items.iter().cloned()).await?;
    if let Some(user) = &user {
        run.items_of(user, &items).await?;
    }
    if items.is_empty() && user.is_none() {
        run.everything().await?;
    }
    run.report.elapsed = began.elapsed();
    Ok(run.report)
}

/// Writes all counters anew from the rows.
pub async fn rebuild(config: &RebuildConfig) -> Result<RebuildReport, StartError> {
    config.database.check()?;
    let recounter = recounter(connect_existing(&config.database, COMMAND_READ_CONNECTIONS).await?);
    let began = Instant::now();
    warn_of_lag(recounter.store()).await?;
    let progress = Progress::new("rebuilding", recounter.store().count_items().await?);
    let (items, left) = recounter.rebuild(|items| progress.add(items)).await?;
    progress.finish();
    Ok(RebuildReport { items, unwritten: left.len() as u64, elapsed: began.elapsed() })
}

/// Watchers are on other nodes, which learn by the epoch that counters were rewritten.
fn recounter(store: Store) -> Recounter {
    Recounter::new(store, Bus::local(Arc::new(Hub::new())))
}

/// A command does not wait for the counter, which may not run: what is found is right all the same, only later.
async fn warn_of_lag(store: &Store) -> Result<()> {
    let lag_events = store.log_lag_events().await?;
    if lag_events > LAG_MAX_EVENTS {
        warn!(lag_events, "each range of items reads the events that are not folded: this is quicker once they are");
    }
    Ok(())
}

fn wrong(setting: &'static str, why: impl fmt::Display) -> SettingError {
    SettingError { setting, message: why.to_string() }
}

struct Reconcile {
    recounter: Recounter,
    report: ReconcileReport,
}

impl Reconcile {
    async fn everything(&mut self) -> Result<()> {
        warn_of_lag(self.recounter.store()).await?;
        let progress = Progress::new("checking", self.recounter.store().count_items().await?);
        let mut after = Some(String::new());
        while let Some(from) = after {
            let range = self.recounter.store().item_range(&from).await?;
            progress.add(self.settle(Among::Range(&range)).await?);
            after = range.next();
        }
        progress.finish();
        Ok(())
    }

    async fn these(&mut self, items: impl Iterator<Item = ItemId>) -> Result<()> {
        let items: Vec<ItemId> = items.collect();
        for items in items.chunks(RANGE_ITEMS_MAX) {
            self.settle(Among::These(items)).await?;
        }
        Ok(())
    }

    /// All but those that were looked at before.
    async fn items_of(&mut self, user: &UserId, before: &BTreeSet<ItemId>) -> Result<()> {
        let mut after = String::new();
        loop {
            let items = self.recounter.store().items_of(user, &after).await?;
            let Some(last) = items.last() else { return Ok(()) };
            after = last.to_string();
            self.these(items.into_iter().filter(|item| !before.contains(item))).await?;
        }
    }

    /// Returns how many items were checked.
    async fn settle(&mut self, among: Among<'_>) -> Result<u64> {
        let found = self.recounter.check(among).await?;
        let report = &mut self.report;
        report.checked += found.items;
        report.differing += found.drifting.len() as u64;
        let room = PRINTED_MAX.saturating_sub(report.printed.len());
        report.printed.extend(found.drifting.iter().take(room).cloned());
        if !report.dry_run {
            report.unhealed += self.recounter.heal(found.drifting).await?.len() as u64;
        }
        Ok(found.items)
    }
}

impl ReconcileReport {
    /// 0 where nothing differed, 3 where counts did, 1 where some of them are not healed.
    pub fn exit_code(&self) -> u8 {
        match (self.differing, self.unhealed) {
            (0, _) => 0,
            (_, 0) => EXIT_DIFFERED,
            _ => EXIT_LEFT,
        }
    }
}

impl RebuildReport {
    pub fn exit_code(&self) -> u8 {
        if self.unwritten == 0 { 0 } else { EXIT_LEFT }
    }
}

impl fmt::Display for ReconcileReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.printed.is_empty() {
            writeln!(f, "{:<32} {:>16} {:>16} {:>16}", "likes/dislikes of", "by rows", "by shards", "shown")?;
        }
        for Measured { item, rows, shards, total, .. } in &self.printed {
            let [rows, shards, total] =
                [rows, shards, total].map(|Tally { likes, dislikes }| format!("{likes}/{dislikes}"));
            writeln!(f, "{:<32} {rows:>16} {shards:>16} {total:>16}", item.as_str())?;
        }
        let unprinted = self.differing - self.printed.len() as u64;
        if unprinted > 0 {
            writeln!(f, "and {unprinted} more")?;
        }
        let Self { checked, differing, unhealed, .. } = self;
        let seconds = self.elapsed.as_secs_f64();
        match (differing, self.dry_run) {
            (0, _) => write!(f, "items checked: {checked}, differing: none; {seconds:.1} s"),
            (_, true) => write!(f, "items checked: {checked}, differing: {differing}, nothing changed; {seconds:.1} s"),
            (_, false) => {
                let healed = differing - unhealed;
                write!(f, "items checked: {checked}, differing: {differing}, healed: {healed}; {seconds:.1} s")
            }
        }
    }
}

impl fmt::Display for RebuildReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "items rebuilt: {}", self.items)?;
        if self.unwritten > 0 {
            write!(f, ", left: {}, since others kept writing them; run it again", self.unwritten)?;
        }
        write!(f, "; {:.1} s", self.elapsed.as_secs_f64())
    }
}
