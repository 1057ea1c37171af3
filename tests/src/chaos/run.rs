//! One run: prepare, break things while clients go on, let it settle, judge.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use tokio::task::JoinSet;

use super::api::Api;
use super::clients::eraser::Eraser;
use super::clients::pager::Pager;
use super::clients::retractor::Retractor;
use super::clients::tapper::{self, Tapper};
use super::clients::watcher::Watcher;
use super::clients::{SHARED_ITEMS, Shared, World, shared_item, solo_item};
use super::cluster::Cluster;
use super::history::{Cause, Death, now};
use super::killer::{self, Faults};
use super::options::{Backend, Options};
use super::oracles;
use super::plan::{self, Step};
use super::plants::Plant;
use super::report::Report;
use super::settle::{self, Settled, Watched};
use super::snapshot::Snapshot;
use crate::wait::{outage, until_true};

const TAPPERS: usize = 12;
const PAGERS: usize = 2;
/// A plant grows into a run that is under way.
const PLANTED_AFTER: Duration = Duration::from_millis(1_500);
/// Requests that it meets before the run ends, on the slowest machine too.
const PLANTED_REQUESTS: usize = 500;
const PLANTED_LIMIT: Duration = Duration::from_secs(120);
/// Off where a plant is to be found, and not to be healed.
const RECONCILE: &str = "LIKEWISE_RECONCILE_SECONDS";

/// Runs and judges; an error is a run that could not be made.
pub async fn run(options: &Options) -> Result<Report, String> {
    let seed = options.seed.unwrap_or_else(|| u64::from(rand::random::<u32>()));
    let (backend, reconcile) = match options.plant {
        Some(_) => (Backend::Sqlite, "0"),
        None => (options.backend, "1"),
    };
    crate::say(&format!("chaos: seed {seed}, {:?} on {backend:?}", options.length()));
    let cluster = Arc::new(Cluster::prepare(backend, &[(RECONCILE, reconcile)]).await?);
    let world = World::new(Api::new(cluster.api_nodes(), options.plant), seed);
    let mut supervisors = JoinSet::new();
    for node in &cluster.nodes {
        let (node, world, faults) = (Arc::clone(node), Arc::clone(&world), options.plant.is_none());
        supervisors.spawn(async move { node.supervise(world, faults).await });
    }
    if let Some(violation) = settle::up(&cluster).await {
        return Err(format!("{}\n{}", violation.what, cluster.nodes[0].logged()));
    }
    let plan = match options.plant {
        Some(_) => Vec::new(),
        None => plan::make(seed, options.length(), cluster.shape()),
    };
    for step in &plan {
        crate::say(&step.to_string());
    }
    let erases = world.api.has_mutation("eraseUser").await;
    let retracts = world.api.has_mutation("retractReactions").await;
    let mut watchers = JoinSet::new();
    let watched = start_watchers(&world, &mut watchers);
    let mut clients = start_clients(&world, erases, retracts);
    let faults = break_things(options, &cluster, &world, plan.clone()).await?;

    for node in &cluster.nodes {
        node.calm_down();
    }
    let mut violations: Vec<_> = settle::up(&cluster).await.into_iter().collect();
    let up = Instant::now();
    while let Some(ended) = clients.join_next().await {
        ended.map_err(|error| format!("a client: {error}"))?;
    }
    let (settled, late) = settle::converge(&world, &cluster, &watched, up).await;
    match late {
        Some(late) => violations.push(late),
        None => violations.extend(after(&world, &cluster, &watched).await),
    }
    read_logs(&world, &cluster);
    let snapshot = Snapshot::take(&cluster.database).await;
    let history = world.history.read(Clone::clone);
    violations.extend(oracles::check(&history, &snapshot));
    let (length, lost_commits) = (options.length(), cluster.lost_commits());
    Ok(Report { seed, backend, length, plan, history, snapshot, faults, lost_commits, settled, violations })
}

/// The first half: clients go on, and the plan is carried out or a plant grows.
async fn break_things(
    options: &Options,
    cluster: &Arc<Cluster>,
    world: &Shared,
    plan: Vec<Step>,
) -> Result<Faults, String> {
    let started = Instant::now();
    let killer = tokio::spawn(killer::run(Arc::clone(cluster), plan));
    if let Some(plant) = options.plant {
        outage(PLANTED_AFTER).await;
        grow(plant, cluster, world).await;
    }
    outage(options.length().saturating_sub(started.elapsed() + plan::CLIENTS_END)).await;
    world.stop.store(true, Ordering::Relaxed);
    outage(options.length().saturating_sub(started.elapsed())).await;
    killer.await.map_err(|error| format!("the killer: {error}"))
}

/// The open ends are closed, and what that changed converges too.
async fn after(world: &Shared, cluster: &Cluster, watched: &[Watched]) -> Vec<oracles::Violation> {
    let open = settle::close_open_ends(world).await;
    let (_, late): (Settled, _) = settle::converge(world, cluster, watched, Instant::now()).await;
    open.into_iter().chain(late).collect()
}

/// At each node a page that nobody has signed in to, and one of a user with an item of their own.
fn start_watchers(world: &Shared, tasks: &mut JoinSet<()>) -> Vec<Watched> {
    let mut watched = Vec::new();
    for place in 0..world.api.len() {
        for user in [None, Some(tapper::user(place, 0))] {
            let mut items: Vec<_> = (0..SHARED_ITEMS).map(shared_item).collect();
            items.extend(user.as_deref().map(solo_item));
            let name = format!("{} at node {}", user.as_deref().unwrap_or("anybody"), world.api.number(place));
            let watcher = Watcher::new(Arc::clone(world), place, user, items.clone());
            watched.push(Watched { name, items, shown: Arc::clone(&watcher.shown) });
            tasks.spawn(watcher.run());
        }
    }
    watched
}

fn start_clients(world: &Shared, erases: bool, retracts: bool) -> JoinSet<()> {
    let mut clients = JoinSet::new();
    for number in 0..TAPPERS {
        clients.spawn(Tapper::new(Arc::clone(world), number).run());
    }
    let users: Vec<_> = (0..TAPPERS).map(|number| tapper::user(number, 1)).collect();
    for number in 0..PAGERS {
        clients.spawn(Pager::new(Arc::clone(world), number, users.clone()).run());
    }
    if erases {
        clients.spawn(Eraser::new(Arc::clone(world)).run());
    }
    if retracts {
        clients.spawn(Retractor::new(Arc::clone(world), TAPPERS).run());
    }
    clients
}

async fn grow(plant: Plant, cluster: &Cluster, world: &World) {
    let requests = || world.history.read(|history| history.ops.len());
    let before = requests();
    if let Some(sql) = plant.sql() {
        let connection = cluster.database.connect().await;
        connection.execute(&sql).await;
        connection.close().await;
    }
    if plant == Plant::EndsByItself {
        cluster.nodes[0].signal(Signal::SIGTERM);
    }
    until_true("the plant has met requests", PLANTED_LIMIT, async || requests() >= before + PLANTED_REQUESTS).await;
}

/// What only the nodes' logs tell. A panic is an end by itself, also where the process went on.
fn read_logs(world: &Shared, cluster: &Cluster) {
    for node in &cluster.nodes {
        let log = node.logged();
        if let Some(line) = log.lines().find(|line| line.contains("panicked at")) {
            let death = Death { node: node.number, at: now(), cause: Cause::ByItself(line.to_owned()) };
            world.history.write(|history| history.deaths.push(death));
        }
        if let Some(line) = log.lines().find(|line| line.contains("a count is below zero")) {
            world.history.write(|history| history.clamped.push(line.to_owned()));
        }
    }
}
