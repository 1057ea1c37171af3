//! Processes that are killed at each of the named places, and what their clients and watchers find elsewhere.

use std::time::{Duration, Instant};

use likewise_tests::app::App;
use likewise_tests::client::Client;
use likewise_tests::harness::Test;
use likewise_tests::views::Reaction;
use likewise_tests::{say, test_on};
use tempfile::TempDir;

/// Places in a lane's batch, with whether the batch is committed there.
pub(crate) const LANE: [(&str, bool); 7] = [
    ("lane_after_lock", false),
    ("lane_after_rows", false),
    ("lane_after_events", false),
    ("lane_after_records", false),
    ("lane_before_commit", false),
    ("lane_after_commit", true),
    ("lane_before_answers", true),
];
/// Places in a fold on both back ends.
pub(crate) const COUNTER: [&str; 5] = [
    "counter_after_claim",
    "counter_after_totals",
    "counter_before_commit",
    "counter_after_commit",
    "counter_before_publish",
];
/// Places between the statements that PostgreSQL has as one.
pub(crate) const COUNTER_SQLITE: [&str; 2] = ["counter_after_read", "counter_after_shards"];
/// Taps of which a fold is sure to be killed.
const TAPS_MAX: usize = 2_000;
/// A fold that nobody published is found about a second after its commit; four times that.
const FOUND: Duration = Duration::from_secs(4);

pub(crate) fn tests() -> Vec<Test> {
    let tests = vec![
        test_on!([Sqlite, Cluster], a_tap_whose_node_is_killed_has_one_effect_or_none),
        test_on!([Sqlite, Postgres], a_fold_that_is_killed_counts_once),
        test_on!([Cluster], a_fold_killed_before_its_publication_reaches_watchers),
    ];
    tests.into_iter().map(|test| test.without_nodes().with_binary()).collect()
}

fn folder() -> TempDir {
    tempfile::Builder::new().prefix("likewise-killed-").tempdir().expect("a temporary folder")
}

/// The node of this process that goes on; SQLite serves one process at a time, so there it starts after the death.
async fn survivor(app: &App, running: Option<usize>) -> usize {
    match running {
        Some(node) => node,
        None => app.start_node(&[]).await,
    }
}

async fn a_tap_whose_node_is_killed_has_one_effect_or_none(app: &App) {
    let folder = folder();
    let running = if app.database.is_postgres() { Some(app.start_node(&[]).await) } else { None };
    for (place, committed) in LANE {
        let item = format!("post:{place}");
        let dying = app.start_process(folder.path(), &[], &format!("{place}=1*off->1*return(kill)"));
        let ana = Client::new(app.http(), &dying.address).as_user("ana");
        let first = ana.set_with_key(&item, Reaction::Like, &format!("{place}-1")).await;
        assert!(first.changed && !first.replayed, "{place}: {first:?}");
        let key = format!("{place}-2");
        let unanswered = ana.try_tap(&item, Reaction::Dislike, Some(&key)).await;
        assert!(unanswered.is_err(), "{place}: {unanswered:?}");
        assert_eq!(dying.ended(), None, "{place}: killed");

        let node = survivor(app, running).await;
        let retry = app.node(node).as_user("ana").tap_until_done(&item, Reaction::Dislike, &key).await;
        assert_eq!((retry.changed, retry.previous_reaction), (true, Reaction::Like), "{place}: {retry:?}");
        assert_eq!((retry.version, retry.replayed), (2, committed), "{place}: {retry:?}");
        app.drained().await;
        let item = app.node(node).item(&item).await;
        assert_eq!((item.like_count, item.dislike_count), (0, 1), "{place}: {item:?}");
        if running.is_none() {
            app.stop_node(node).await;
        }
    }
}

async fn a_fold_that_is_killed_counts_once(app: &App) {
    let folder = folder();
    let more: &[&str] = if app.database.is_postgres() { &[] } else { &COUNTER_SQLITE };
    for place in COUNTER.iter().chain(more) {
        let item = format!("post:{place}");
        let dying = app.start_process(folder.path(), &[], &format!("{place}=2*off->1*return(kill)"));
        let doomed = Client::new(app.http(), &dying.address);
        let mut answered = 0;
        let user = |number: usize| format!("user{number}");
        while doomed.as_user(&user(answered)).try_tap(&item, Reaction::Like, Some(place)).await.is_ok() {
            answered += 1;
            assert!(answered < TAPS_MAX, "{place} is not reached");
        }
        assert_eq!(dying.ended(), None, "{place}: killed");

        let node = app.start_node(&[]).await;
        for number in 0..=answered {
            let retry = app.node(node).as_user(&user(number)).tap_until_done(&item, Reaction::Like, place).await;
            assert!(retry.changed && retry.version == 1, "{place}: {retry:?}");
            assert!(retry.replayed || number == answered, "{place}: an answered like is lost, {retry:?}");
        }
        app.drained().await;
        let likes = app.node(node).item(&item).await.like_count;
        assert_eq!(likes, i64::try_from(answered).expect("few") + 1, "{place}");
        app.stop_node(node).await;
    }
}

async fn a_fold_killed_before_its_publication_reaches_watchers(app: &App) {
    let folder = folder();
    let nodes = [app.start_node(&[("--role", "api")]).await, app.start_node(&[("--role", "api")]).await];
    let worker =
        app.start_process(folder.path(), &[("--role", "worker")], "counter_before_publish=2*off->1*return(kill)");
    let mut page = app.node(nodes[1]).watch(&["post:1"]).await;
    let mut took = Duration::ZERO;
    for count in 1..=3 {
        app.node(nodes[0]).as_user(&format!("user{count}")).like("post:1").await;
        let since = Instant::now();
        page.until(&format!("like {count} is shown"), |item| item.like_count == count).await;
        took = since.elapsed();
    }
    assert_eq!(worker.ended(), None, "killed in the third fold");
    say(&format!("a fold that its worker's death kept unpublished was shown after {took:?}"));
    assert!(took < FOUND, "the unpublished fold was shown after {took:?}");
}
