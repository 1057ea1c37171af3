//! Processes that are stopped in the middle of their work and woken later: the others go on, and nothing counts twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use likewise_server::store::fold::{Claim, FoldError};
use likewise_server::store::{Store, StoreSettings};
use likewise_tests::app::App;
use likewise_tests::binary::ServerProcess;
use likewise_tests::client::Client;
use likewise_tests::harness::Test;
use likewise_tests::services::PARTITIONS;
use likewise_tests::views::Reaction;
use likewise_tests::wait::{SOON, outage, until_true};
use likewise_tests::{invariants, say, seeded, test_on};
use nix::sys::signal::Signal;
use rand::RngExt;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The others go on within three seconds; four times that.
const GO_ON: Duration = Duration::from_secs(12);
/// How long an app waits for an answer before it asks another node.
const PATIENCE: Duration = Duration::from_secs(1);
/// As many that every partition has some.
const PEOPLE: usize = 12;
/// Short enough that a stopped transaction is still open, and long enough that the database has ended it.
const STOPS: [Duration; 3] = [Duration::from_millis(300), Duration::from_secs(3), Duration::from_millis(300)];

pub(crate) fn tests() -> Vec<Test> {
    let tests = vec![
        test_on!([Cluster], a_worker_stopped_in_its_fold_holds_nobody_up),
        test_on!([Cluster], a_node_stopped_in_its_batch_holds_nobody_up),
        test_on!([Cluster], stretches_folded_again_beside_a_stopped_worker_count_once),
    ];
    tests.into_iter().map(|test| test.without_nodes().with_binary()).collect()
}

fn folder() -> TempDir {
    tempfile::Builder::new().prefix("likewise-stopped-").tempdir().expect("a temporary folder")
}

/// People who like and unlike in turn, each tap with a key until it is answered: by the first node they know or, when
/// that does not answer, by the next.
struct People {
    stop: Arc<AtomicBool>,
    taps: Vec<Arc<AtomicUsize>>,
    tasks: Vec<JoinHandle<Duration>>,
}

impl People {
    fn start(nodes: &[Client]) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let taps: Vec<_> = (0..PEOPLE).map(|_| Arc::new(AtomicUsize::new(0))).collect();
        let person = |number: usize| {
            let nodes: Vec<_> = (0..nodes.len())
                .map(|node| nodes[(number + node) % nodes.len()].as_user(&format!("user{number}")))
                .collect();
            let (stop, done) = (Arc::clone(&stop), Arc::clone(&taps[number]));
            tokio::spawn(async move {
                let item = format!("post:{}", number % 3);
                let mut longest = Duration::ZERO;
                while !stop.load(Ordering::Relaxed) {
                    let round = done.load(Ordering::Relaxed);
                    longest = longest.max(tap(&nodes, &item, round).await);
                    done.fetch_add(1, Ordering::Relaxed);
                }
                longest
            })
        };
        Self { tasks: (0..PEOPLE).map(person).collect(), stop, taps }
    }

    /// Everybody's taps so far.
    fn taps(&self) -> Vec<usize> {
        self.taps.iter().map(|taps| taps.load(Ordering::Relaxed)).collect()
    }

    /// Everybody has done so many more.
    async fn go_on(&self, more: usize) {
        let before = self.taps();
        let went_on = async || self.taps().iter().zip(&before).all(|(now, before)| *now >= before + more);
        until_true("everybody goes on", SOON * 3, went_on).await;
    }

    /// Stops them and compares the log with what they were answered; returns the longest tap.
    async fn finish(self, app: &App) -> Duration {
        self.stop.store(true, Ordering::Relaxed);
        let mut longest = Duration::ZERO;
        for task in self.tasks {
            longest = longest.max(task.await.expect("every tap is answered with the truth"));
        }
        let sql = app.sql().await;
        invariants::drained(&sql).await;
        for (number, taps) in self.taps.iter().enumerate() {
            let events = format!("SELECT count(*) FROM reaction_event WHERE user_id = 'user{number}'");
            let taps = i64::try_from(taps.load(Ordering::Relaxed)).expect("few");
            assert_eq!(sql.number(&events).await, taps, "each tap of user{number} had one effect");
        }
        let partitions = sql.number("SELECT count(DISTINCT partition) FROM reaction_event").await;
        assert_eq!(partitions, i64::try_from(PARTITIONS).expect("few"), "the people are of every partition");
        sql.close().await;
        longest
    }
}

/// One tap, sent to one node after the other until it is answered; returns how long that took.
async fn tap(nodes: &[Client], item: &str, round: usize) -> Duration {
    let (reaction, key) =
        (if round.is_multiple_of(2) { Reaction::Like } else { Reaction::None }, format!("tap{round}"));
    let start = Instant::now();
    for node in nodes.iter().cycle() {
        assert!(start.elapsed() < SOON * 3, "tap {round} on {item} is never answered");
        match timeout(PATIENCE, node.try_tap(item, reaction, Some(&key))).await {
            Ok(Ok(Ok(payload))) => {
                let version = i64::try_from(round).expect("few") + 1;
                assert_eq!((payload.changed, payload.version), (true, version), "tap {round} on {item}: {payload:?}");
                break;
            }
            Ok(Ok(Err(failure))) => {
                let may_come_again = ["OVERLOADED", "UNAVAILABLE"].contains(&failure.code.as_str());
                assert!(may_come_again, "tap {round} on {item}: {failure:?}");
            }
            Ok(Err(_)) | Err(_) => {}
        }
    }
    start.elapsed()
}

/// Waits until the process has stopped itself, and sees that the transaction it stopped in is open. `pool` is the name
/// of its connection.
async fn stops(process: &ServerProcess, app: &App, pool: &str) {
    // Connected before: the database ends the transaction after two seconds.
    let sql = app.sql().await;
    sql.number("SELECT 1::bigint").await;
    until_true("the process stops itself", SOON * 3, async || process.is_stopped()).await;
    let open = format!(
        "SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = '{pool}' AND state = 'idle in transaction'
           AND state_change < clock_timestamp() - interval '200 ms'"
    );
    until_true("its transaction stands idle", SOON, async || sql.number(&open).await > 0).await;
    sql.close().await;
}

async fn a_worker_stopped_in_its_fold_holds_nobody_up(app: &App) {
    let folder = folder();
    let node = app.start_node(&[]).await;
    let place = "counter_after_totals=3*off->1*return(stop)";
    let worker = app.start_process(folder.path(), &[("--role", "worker")], place);
    let people = People::start(&[app.node(node)]);
    stops(&worker, app, "likewise-pipeline").await;
    let since = Instant::now();
    let longest = people.finish(app).await;
    let took = since.elapsed();
    say(&format!("with a worker stopped in its fold, all was folded after {took:?}; the longest tap took {longest:?}"));
    assert!(took < GO_ON, "all was folded {took:?} after the worker stopped");

    worker.signal(Signal::SIGCONT);
    app.node(node).as_user("late").like("post:0").await;
    app.drained().await;
    assert_eq!(worker.stop(Signal::SIGTERM), Some(0), "woken, it works on and stops in order");
}

async fn a_node_stopped_in_its_batch_holds_nobody_up(app: &App) {
    let folder = folder();
    let node = app.start_node(&[]).await;
    let stopped = app.start_process(folder.path(), &[], "lane_after_events=40*off->1*return(stop)");
    let people = People::start(&[app.node(node), Client::new(app.http(), &stopped.address)]);
    stops(&stopped, app, "likewise-lanes").await;
    let since = Instant::now();
    people.go_on(2).await;
    let took = since.elapsed();
    assert!(took < GO_ON, "everybody went on {took:?} after the node stopped");

    stopped.signal(Signal::SIGCONT);
    people.go_on(20).await;
    let longest = people.finish(app).await;
    say(&format!("with a node stopped in its batch, all went on after {took:?}; the longest tap took {longest:?}"));
    assert!(longest < GO_ON, "a tap took {longest:?}");
    assert_eq!(stopped.stop(Signal::SIGTERM), Some(0), "woken, it works on and stops in order");
}

/// Two workers: a process that is stopped three times and woken sooner and later, and one that folds any partitions in
/// any order, stretches that it had before among them.
async fn stretches_folded_again_beside_a_stopped_worker_count_once(app: &App) {
    let folder = folder();
    let node = app.start_node(&[("--role", "api")]).await;
    let place = "counter_before_commit=".to_owned() + &["5*off->1*return(stop)"; STOPS.len()].join("->");
    let worker = app.start_process(folder.path(), &[("--role", "worker")], &place);
    let people = People::start(&[app.node(node)]);
    let stop = Arc::new(AtomicBool::new(false));
    let again = tokio::spawn(fold_again(app.database.url(), Arc::clone(&stop)));
    for length in STOPS {
        stops(&worker, app, "likewise-pipeline").await;
        outage(length).await;
        worker.signal(Signal::SIGCONT);
    }
    stop.store(true, Ordering::Relaxed);
    assert!(again.await.expect("no gap, no refusal") > 0, "stretches were folded again");
    people.finish(app).await;
    assert_eq!(worker.stop(Signal::SIGTERM), Some(0));
}

/// Folds changing subsets of the partitions until `stop`; returns the events that were handed over once more.
async fn fold_again(url: String, stop: Arc<AtomicBool>) -> u64 {
    let mut random = seeded::rng("stretches_folded_again_beside_a_stopped_worker");
    let store = Store::connect(&StoreSettings::new(url, 2)).await.expect("a store");
    let mut events = 0;
    while !stop.load(Ordering::Relaxed) {
        let among: Vec<usize> = (0..store.partitions()).filter(|_| random.random_bool(0.6)).collect();
        if among.is_empty() {
            continue;
        }
        // Now and then the whole log.
        let whole = random.random_bool(0.1);
        let (back, limit) =
            if whole { (1_000_000, 1_000_000) } else { (random.random_range(1..300), random.random_range(1..300)) };
        match store.fold_again(Claim::Among(&among), back, limit).await {
            Ok(folded) => events += folded.events,
            Err(FoldError::Passing(_)) => {}
            Err(refused) => panic!("{refused}"),
        }
        outage(Duration::from_millis(random.random_range(1..30))).await;
    }
    store.close().await;
    events
}
