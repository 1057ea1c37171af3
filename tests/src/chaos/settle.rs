//! The second half of a run: the faults are over, every process is up, and everything must come right by itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::join_all;

use super::clients::watcher::Shown;
use super::clients::{SHARED_ITEMS, Shared, eraser, retractor, shared_item, tapper};
use super::cluster::Cluster;
use super::history::{Look, Source, now};
use super::oracles::{CONVERGENCE, PROCESSES, Violation};
use super::snapshot::{Counts, Total, read_totals, unfolded};
use crate::chaos::api::span_since;
use crate::database::Sql;
use crate::wait::outage;

/// Within this everything has converged, from the moment when every process is up.
const CONVERGED_WITHIN: Duration = Duration::from_secs(10);
/// A log that is not folded by then is judged as it is.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(40);
/// Processes that do not come up within this have failed.
const UP_WITHIN: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(50);
/// Tries of each tap that was left open.
const TRIES: usize = 8;

/// A watcher from outside: what it watches and shows.
#[derive(Debug)]
pub struct Watched {
    pub name: String,
    pub items: Vec<String>,
    pub shown: Arc<Mutex<Shown>>,
}

/// How long the parts took, in seconds since every process was up.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Settled {
    pub writes: f64,
    pub folded: f64,
    pub all: f64,
}

/// Waits until each process listens; the violation is a process that does not.
pub async fn up(cluster: &Cluster) -> Option<Violation> {
    let start = Instant::now();
    while start.elapsed() < UP_WITHIN {
        if cluster.nodes.iter().all(|node| node.listens()) {
            return None;
        }
        outage(LOOK).await;
    }
    let down: Vec<_> = cluster.nodes.iter().filter(|node| !node.listens()).collect();
    let what = format!("not up {UP_WITHIN:?} after the last fault: {:?}", down.iter().map(|node| node.number));
    Some(Violation::new(PROCESSES, what))
}

/// Writes on every node, the log folded, watchers and reads with the truth.
pub async fn converge(
    world: &Shared,
    cluster: &Cluster,
    watched: &[Watched],
    since: Instant,
) -> (Settled, Option<Violation>) {
    let mut settled = Settled::default();
    let probes = (0..world.api.len()).map(|place| probe(world, place));
    join_all(probes).await;
    settled.writes = since.elapsed().as_secs_f64();
    let sql = cluster.database.connect().await;
    let mut violation = None;
    loop {
        let waiting = waiting(world, &sql, watched).await;
        let folded = unfolded(&sql).await == 0;
        if folded && settled.folded == 0.0 {
            settled.folded = since.elapsed().as_secs_f64();
        }
        // Late, the log is waited for, so that the oracles have something to judge.
        let late = violation.is_some() && folded;
        if waiting.is_empty() || late || since.elapsed() > GIVEN_UP_AFTER {
            break;
        }
        if since.elapsed() > CONVERGED_WITHIN && violation.is_none() {
            let what = format!("{CONVERGED_WITHIN:?} after everything was up: {}", waiting.join("; "));
            violation = Some(Violation::new(CONVERGENCE, what));
        }
        outage(LOOK).await;
    }
    settled.all = since.elapsed().as_secs_f64();
    sql.close().await;
    (settled, violation)
}

/// Asks once more about all that was left open; what stays open has no node that answers.
pub async fn close_open_ends(world: &Shared) -> Option<Violation> {
    let left = tapper::ask_again(world, TRIES).await;
    if left > 0 {
        return Some(Violation::new(CONVERGENCE, format!("{left} taps have no answer after {TRIES} more tries each")));
    }
    let start = Instant::now();
    while !(eraser::ask_again(world).await && retractor::ask_again(world).await) {
        if start.elapsed() > GIVEN_UP_AFTER {
            return Some(Violation::new(CONVERGENCE, "an erasure or a retraction does not end"));
        }
        outage(LOOK).await;
    }
    None
}

async fn probe(world: &Shared, place: usize) {
    let start = Instant::now();
    while !tapper::probe(world, place).await && start.elapsed() < CONVERGED_WITHIN {
        outage(LOOK).await;
    }
}

/// What is not as it should be in the end.
async fn waiting(world: &Shared, sql: &Sql, watched: &[Watched]) -> Vec<String> {
    let unfolded = unfolded(sql).await;
    if unfolded > 0 {
        return vec![format!("{unfolded} events are not folded")];
    }
    let totals = read_totals(sql).await;
    let mut waiting = Vec::new();
    for watcher in watched {
        let shown = watcher.shown.lock().expect("no holder panics").clone();
        if !shown.connected {
            waiting.push(format!("{} is not connected", watcher.name));
        }
        for item in &watcher.items {
            let what = shown.items.get(item).and_then(|look| wrong(&totals, item, look));
            let what = what.or_else(|| (!shown.items.contains_key(item)).then(|| "nothing".to_owned()));
            waiting.extend(what.map(|what| format!("{} shows {item} with {what}", watcher.name)));
        }
    }
    for place in 0..world.api.len() {
        for number in 0..SHARED_ITEMS {
            let (item, start) = (shared_item(number), now());
            let node = world.api.number(place);
            let Some(read) = world.api.item(place, None, &item).await.data() else {
                waiting.push(format!("node {node} does not answer a read"));
                break;
            };
            let look = Look::of(&read, Source::Read, node, None, span_since(start));
            waiting.extend(wrong(&totals, &item, &look).map(|what| format!("node {node} answers {item} with {what}")));
            world.history.write(|history| history.looks.push(look));
        }
    }
    waiting
}

fn wrong(totals: &BTreeMap<String, Total>, item: &str, look: &Look) -> Option<String> {
    let shown = Counts { likes: look.likes, dislikes: look.dislikes };
    let total = totals.get(item);
    let (counts, version) = total.map_or((Counts::default(), 0), |total| (total.counts, total.version));
    let true_and_live = shown == counts && look.count_version == version && look.live;
    (!true_and_live).then(|| {
        let age = if look.live { "live" } else { "stale" };
        format!("{shown:?} version {} {age}, true is {counts:?} version {version}", look.count_version)
    })
}
