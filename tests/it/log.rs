//! The log and its fold: stretches that are folded again, workers in each other's way, writes that the database refuses.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use likewise_server::store::fold::Claim;
use likewise_server::store::{Store, StoreSettings};
use likewise_tests::app::App;
use likewise_tests::harness::Test;
use likewise_tests::views::Reaction;
use likewise_tests::{on_both, seeded, test_on};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Counters of the nodes that are so slow that the test's own folds do the work.
const IDLE_COUNTER: &[(&str, &str)] = &[("--fold-window-ms", "60000")];

pub(crate) fn tests() -> Vec<Test> {
    vec![
        on_both!(stretches_folded_again_add_nothing),
        test_on!([Postgres], workers_on_changing_partitions_with_rollbacks_end_exact)
            .with(IDLE_COUNTER)
            .with_own_servers(),
        on_both!(a_refused_write_is_refused_alone),
    ]
}

async fn store(app: &App) -> Store {
    let settings = StoreSettings::new(app.database.url(), 2);
    Store::connect(&settings).await.expect("a store beside the node's")
}

/// People who tap until they are told to stop.
fn load(app: &App, people: usize, stop: &Arc<AtomicBool>) -> Vec<JoinHandle<()>> {
    let person = |number: usize| {
        let (client, stop) = (app.as_user(&format!("user{number}")), Arc::clone(stop));
        tokio::spawn(async move {
            for round in 0_usize.. {
                let item = format!("post:{}", (number + round) % 5);
                client.tap_until_done(&item, Reaction::ALL[(number * 7 + round) % 3], &format!("tap{round}")).await;
                if stop.load(Ordering::Relaxed) {
                    return;
                }
            }
        })
    };
    (0..people).map(person).collect()
}

/// The checkpoint never moves back; only the fold is handed offsets that it had before, in overlapping stretches.
async fn stretches_folded_again_add_nothing(app: &App) {
    let mut random = seeded::rng("stretches_folded_again");
    let stop = Arc::new(AtomicBool::new(false));
    let taps = load(app, 10, &stop);
    let store = store(app).await;
    let mut folded_again = 0;
    while folded_again < 2_000 {
        let back = random.random_range(1..200);
        let limit = random.random_range(1..300);
        // Anything that passes by itself, such as a lock time-out, is part of the game.
        if let Ok(folded) = store.fold_again(Claim::Free, back, limit).await {
            folded_again += folded.events;
        }
        tokio::task::yield_now().await;
    }
    stop.store(true, Ordering::Relaxed);
    for tap in join_all(taps).await {
        tap.expect("every tap succeeds");
    }
    store.close().await;
}

/// Two workers claim other subsets each time, and a third of their transactions is dropped half-way.
async fn workers_on_changing_partitions_with_rollbacks_end_exact(app: &App) {
    let stop = Arc::new(AtomicBool::new(false));
    let taps = load(app, 20, &stop);
    let worker = |mut random: StdRng, store: Store| {
        tokio::spawn(async move {
            let (mut folds, mut dropped, mut events) = (0_u32, 0_u32, 0_u64);
            while folds < 150 || dropped < 50 || events == 0 {
                let among: Vec<usize> = (0..store.partitions()).filter(|_| random.random_bool(0.6)).collect();
                if among.is_empty() {
                    continue;
                }
                let patience = match random.random_bool(0.33) {
                    true => Duration::from_micros(random.random_range(100..4_000)),
                    false => Duration::from_secs(10),
                };
                match timeout(patience, store.fold(Claim::Among(&among), 50)).await {
                    Ok(folded) => {
                        events += folded.expect("no deadlock, no gap").events;
                        folds += 1;
                    }
                    Err(_) => dropped += 1,
                }
            }
            store.close().await;
        })
    };
    let mut random = seeded::rng("workers_with_rollbacks");
    let workers = [
        worker(StdRng::from_rng(&mut random), store(app).await),
        worker(StdRng::from_rng(&mut random), store(app).await),
    ];
    for worker in join_all(workers).await {
        worker.expect("the workers fold to the end");
    }
    stop.store(true, Ordering::Relaxed);
    for tap in join_all(taps).await {
        tap.expect("every tap succeeds");
    }
    let database = app.database.postgres();
    assert!(!database.log().contains("deadlock detected"), "two folds stood in each other's way for good");
}

/// A command whose data the database refuses does not take the others of its batch along.
async fn a_refused_write_is_refused_alone(app: &App) {
    let sql = app.sql().await;
    let refuse = match app.database.is_postgres() {
        true => "ALTER TABLE reaction ADD CHECK (user_id <> 'poison')",
        false => {
            "CREATE TRIGGER poison BEFORE INSERT ON reaction WHEN NEW.user_id = 'poison'
             BEGIN SELECT RAISE(ABORT, 'poison'); END"
        }
    };
    sql.execute(refuse).await;
    sql.close().await;
    let likes = (0..60).map(|number| {
        let name = if number % 20 == 7 { "poison".to_owned() } else { format!("user{number}") };
        let client = app.as_user(&name);
        tokio::spawn(async move { (name, client.tap(&format!("post:{number}"), Reaction::Like, None).await) })
    });
    for like in join_all(likes.collect::<Vec<_>>()).await {
        let (name, answer) = like.expect("an answer");
        match answer {
            Ok(payload) => assert!(payload.changed && name != "poison", "{name}: {payload:?}"),
            Err(failure) => {
                assert_eq!((failure.code.as_str(), name.as_str()), ("INTERNAL_SERVER_ERROR", "poison"), "{failure:?}");
                assert!(!failure.message.contains("poison") && !failure.message.contains("constraint"), "{failure:?}");
            }
        }
    }
    assert_eq!(app.number("SELECT count(*) FROM reaction").await, 57);
}
