//! Healing and rebuilding while people tap, folds run, stretches of the log are folded again, and drift comes anew.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use likewise_server::pipeline::recount::Recounter;
use likewise_server::realtime::{Bus, Hub};
use likewise_server::store::fold::Claim;
use likewise_server::store::reconcile::{Among, Measured};
use likewise_server::store::{Store, StoreSettings};
use likewise_tests::app::App;
use likewise_tests::binary::ServerProcess;
use likewise_tests::client::Client;
use likewise_tests::database::Sql;
use likewise_tests::harness::Test;
use likewise_tests::services::PARTITIONS;
use likewise_tests::views::Reaction;
use likewise_tests::wait::{SOON, outage, until_true};
use likewise_tests::{invariants, on_both, say, seeded, test_on};
use nix::sys::signal::Signal;
use rand::RngExt;
use rand::rngs::StdRng;
use tokio::task::JoinHandle;

use crate::reconcile::{command, folder, metric, serve};

const ITEMS: usize = 8;
/// Clients that tap while counts are healed.
const PEOPLE: usize = 200;
/// Between two drifts, and between two looks of a healer: most of the machine is for the writes.
const REST: Duration = Duration::from_millis(150);
/// Between comparing and healing.
const PAUSE: Duration = Duration::from_millis(20);
const HEALED: &str = "likewise_counts_healed_total";

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test_on!([Postgres], a_minute_of_heals_under_load_ends_exact).without_nodes().with_binary().limit(240),
        test_on!([Sqlite], some_heals_under_load_end_exact).without_nodes().with_binary(),
        on_both!(replays_around_a_heal_bring_no_drift_back).limit(240),
    ]
}

/// People who tap until they are told to stop.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    taps: Arc<AtomicU64>,
    people: Vec<JoinHandle<()>>,
    began: Instant,
}

impl Load {
    pub(crate) fn start(client: &Client, people: usize) -> Self {
        let (stop, taps) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let person = |number: usize| {
            let client = client.as_user(&format!("user{number}"));
            let (stop, taps) = (Arc::clone(&stop), Arc::clone(&taps));
            tokio::spawn(async move {
                for round in 0_usize.. {
                    let reaction = Reaction::ALL[(number * 7 + round) % 3];
                    let item = format!("post:{}", (number + round) % ITEMS);
                    client.tap_until_done(&item, reaction, &format!("tap{round}")).await;
                    taps.fetch_add(1, Ordering::Relaxed);
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                }
            })
        };
        let people = (0..people).map(person).collect();
        Self { stop, taps, people, began: Instant::now() }
    }

    pub(crate) fn taps(&self) -> u64 {
        self.taps.load(Ordering::Relaxed)
    }

    fn taps_per_second(&self) -> f64 {
        self.taps() as f64 / self.began.elapsed().as_secs_f64()
    }

    pub(crate) async fn finish(self) {
        self.stop.store(true, Ordering::Relaxed);
        for person in join_all(self.people).await {
            person.expect("every tap is answered in the end");
        }
    }
}

/// Spoils the counts of one item, which has some.
async fn spoil(app: &App, sql: &Sql, random: &mut StdRng) -> String {
    let item = format!("post:{}", random.random_range(0..ITEMS));
    let column = ["like_count", "dislike_count"][random.random_range(0..2)];
    let amount = [5, -5][random.random_range(0..2)];
    let one = "partition = (SELECT min(partition) FROM item_count_shard m WHERE m.item_id = item_count_shard.item_id)";
    let statement = match random.random_range(0..4) {
        0 => format!("UPDATE item_count SET {column} = {column} + {amount} WHERE item_id = '{item}'"),
        1 => format!("UPDATE item_count_shard SET {column} = {column} + {amount} WHERE item_id = '{item}' AND {one}"),
        2 => format!("DELETE FROM item_count WHERE item_id = '{item}'"),
        // Several rows: whoever else writes them holds the checkpoints, or there are deadlocks.
        _ if app.database.is_postgres() => format!(
            "SELECT 1 FROM checkpoint ORDER BY partition FOR UPDATE;
             DELETE FROM item_count_shard WHERE item_id = '{item}'"
        ),
        _ => format!("DELETE FROM item_count_shard WHERE item_id = '{item}'"),
    };
    sql.execute(&statement).await;
    item
}

async fn store(app: &App) -> Store {
    let settings = StoreSettings::new(app.database.url(), 2);
    Store::connect(&settings).await.expect("a store beside the node's")
}

async fn a_minute_of_heals_under_load_ends_exact(app: &App) {
    heals_under_load(app, Duration::from_secs(60), 110).await;
}

async fn some_heals_under_load_end_exact(app: &App) {
    heals_under_load(app, Duration::from_secs(10), 20).await;
}

/// Compares all items without a rest, and heals after a pause, as a node's reconciler with a failpoint does.
struct Healer {
    stop: Arc<AtomicBool>,
    /// Pauses that ended with a heal.
    heals: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Healer {
    fn start(store: Store) -> Self {
        let (stop, heals) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, healed) = (Arc::clone(&stop), Arc::clone(&heals));
        let task = tokio::spawn(async move {
            let recounter = Recounter::new(store.clone(), Bus::local(Arc::new(Hub::new())));
            while !stopped.load(Ordering::Relaxed) {
                let range = store.item_range("").await.expect("the store can be read");
                let found = recounter.check(Among::Range(&range)).await.expect("the store can be read");
                outage(PAUSE).await;
                if !found.drifting.is_empty() {
                    recounter.heal(found.drifting).await.expect("what is in the way passes");
                    healed.fetch_add(1, Ordering::Relaxed);
                }
                outage(REST).await;
            }
            store.close().await;
        });
        Self { stop, heals, task }
    }

    fn heals(&self) -> u64 {
        self.heals.load(Ordering::Relaxed)
    }

    async fn finish(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.task.await.expect("the healer ends");
    }
}

/// A server whose reconciler pauses between comparing and healing, two healers beside it that do the same more often,
/// rebuilds, and stretches folded again. Each round plants a drift, and most times waits for a heal.
async fn heals_under_load(app: &App, least: Duration, least_heals: u64) {
    let mut random = seeded::rng("heals_under_load");
    let folder = folder();
    let variables = [("FAILPOINTS", format!("reconciler_before_heal=return(pause {})", PAUSE.as_millis()))];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    let settings = serve(app, &["--reconcile-seconds", "0.1", "--log", "off"]);
    let server = ServerProcess::start_with(folder.path(), &settings, &variables);
    let client = Client::new(app.http(), &server.address);
    let load = Load::start(&client, PEOPLE);
    until_true("every item has counts", SOON, async || load.taps() > 500).await;
    let healers = [Healer::start(store(app).await), Healer::start(store(app).await)];
    let (sql, replays) = (app.sql().await, store(app).await);
    let (mut planted, mut folded_again, mut rebuilds) = (0_u32, 0, 0_u32);
    let mut rebuild: Option<JoinHandle<_>> = None;
    let heals = || healers.iter().map(Healer::heals).sum::<u64>();
    while load.began.elapsed() < least || heals() < least_heals {
        // Before it is spoilt: the server's own reconciler may be first, or a rebuild that ends meanwhile.
        let quiet = rebuild.as_ref().is_none_or(JoinHandle::is_finished);
        let (before, own) = (heals(), metric(&client, HEALED).await);
        spoil(app, &sql, &mut random).await;
        planted += 1;
        // Anything that passes by itself, such as a lock time-out, is part of the game.
        if let Ok(folded) = replays.fold_again(Claim::Free, random.random_range(1..500), 500).await {
            folded_again += folded.events;
        }
        outage(REST).await;
        if quiet && planted % 30 == 3 {
            rebuild = Some(command(app, &["rebuild"]));
            rebuilds += 1;
        } else if quiet && random.random_bool(0.7) {
            let healed = async || heals() > before || metric(&client, HEALED).await > own;
            until_true("somebody heals", SOON, healed).await;
        }
    }
    let speed = load.taps_per_second();
    load.finish().await;
    if let Some(rebuild) = rebuild {
        rebuild.await.expect("the command ends").success();
    }
    invariants::drained(&sql).await;
    let exact = async || invariants::broken(&sql).await.is_empty();
    until_true("every drift that was planted is healed", SOON, exact).await;
    let (heals, own) = (heals(), metric(&client, HEALED).await);
    say(&format!(
        "{planted} drifts, {heals} pauses that ended with a heal, {own} items healed by the server itself, {rebuilds} \
         rebuilds, {folded_again} events folded again, {speed:.0} taps/s"
    ));
    assert!(rebuilds > 0 && folded_again > 0, "{rebuilds} rebuilds, {folded_again} events folded again");
    for healer in healers {
        healer.finish().await;
    }
    replays.close().await;
    sql.close().await;
    assert_eq!(server.stop(Signal::SIGTERM), Some(0));
}

/// Deletes the shard that an item has in one partition, if it has one.
async fn lose_a_shard(sql: &Sql, random: &mut StdRng) -> String {
    let (item, partition) = (format!("post:{}", random.random_range(0..ITEMS)), random.random_range(0..PARTITIONS));
    sql.execute(&format!("DELETE FROM item_count_shard WHERE item_id = '{item}' AND partition = {partition}")).await;
    item
}

/// Between measuring and writing, and after it, stretches of the log are folded again while shards are missing. An item
/// that was written and not spoilt since must not drift at any later look, nor be written by the same measurement again.
async fn replays_around_a_heal_bring_no_drift_back(app: &App) {
    let mut random = seeded::rng("replays_around_a_heal");
    let load = Load::start(&app.client(), 8);
    until_true("every item has counts", SOON, async || load.taps() > 200).await;
    let (sql, store) = (app.sql().await, store(app).await);
    let range = store.item_range("").await.expect("a range");
    let mut spoilt: HashSet<String> = HashSet::new();
    let (mut written_after_replays, mut left) = (0, 0);
    let replay = async |random: &mut StdRng| {
        let folded = store.fold_again(Claim::Free, random.random_range(1..300), 400).await;
        folded.map_or(0, |folded| folded.events)
    };
    let look = async |spoilt: &HashSet<String>| -> Vec<Measured> {
        let measured = store.measure(Among::Range(&range)).await.expect("the store can be read");
        for drifting in measured.iter().filter(|measured| measured.drifts()) {
            assert!(spoilt.contains(drifting.item.as_str()), "nobody spoilt {drifting:?}");
        }
        measured
    };
    for _ in 0..250 {
        // Some events that a replay may add to a missing shard.
        let taps = load.taps() + 12;
        until_true("the load goes on", SOON, async || load.taps() >= taps).await;
        spoilt.insert(match random.random_bool(0.6) {
            true => lose_a_shard(&sql, &mut random).await,
            false => spoil(app, &sql, &mut random).await,
        });
        if random.random_bool(0.3) {
            replay(&mut random).await;
        }
        let measured = look(&spoilt).await;
        // All items as a rebuild does, or only those that drift.
        let all = random.random_bool(0.2);
        let chosen: Vec<Measured> = measured.into_iter().filter(|measured| all || measured.drifts()).collect();
        let events = replay(&mut random).await;
        let written = store.rewrite_counters(&chosen).await.expect("nothing is in the way for long");
        let again = store.rewrite_counters(&chosen).await.expect("nothing is in the way for long");
        assert!(written.iter().all(|item| !again.contains(item)), "{written:?} was healed twice: {again:?}");
        written_after_replays += u32::from(events > 0 && !written.is_empty());
        left += chosen.len() - written.len();
        for item in written.iter().chain(&again) {
            spoilt.remove(item.as_str());
        }
        replay(&mut random).await;
        look(&spoilt).await;
    }
    load.finish().await;
    app.drained().await;
    let recounter = Recounter::new(store.clone(), Bus::local(Arc::new(Hub::new())));
    let drifting = look(&spoilt).await.into_iter().filter(Measured::drifts).collect();
    assert_eq!(recounter.heal(drifting).await.expect("nothing is in the way"), []);
    say(&format!("{written_after_replays} rewrites after replays, {left} items left to another measurement"));
    assert!(written_after_replays > 20, "{written_after_replays} rewrites came after replays");
    store.close().await;
    sql.close().await;
}
