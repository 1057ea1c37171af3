//! Events and idempotency records that are past their time, and a log from which something is missing.

use std::time::Duration;

use likewise_server::store::fold::{Claim, FoldError};
use likewise_server::store::{Store, StoreSettings};
use likewise_tests::app::App;
use likewise_tests::binary;
use likewise_tests::client::Client;
use likewise_tests::database::Sql;
use likewise_tests::harness::Test;
use likewise_tests::on_both;
use likewise_tests::views::Reaction;
use likewise_tests::wait::{SOON, until_true};
use tempfile::TempDir;

/// A counter that folds what is there at its start and then nothing for the length of the test.
const IDLE_COUNTER: &[(&str, &str)] = &[("--fold-window-ms", "60000")];
const DAY: i64 = 24 * 60 * 60 * 1_000_000;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        on_both!(only_what_is_folded_and_old_is_removed).with(IDLE_COUNTER),
        on_both!(the_background_task_removes_what_is_past_its_time),
        on_both!(a_fold_refuses_a_log_from_which_something_is_missing).with(IDLE_COUNTER),
        on_both!(a_node_that_meets_a_gap_ends).with(IDLE_COUNTER).with_binary(),
    ]
}

async fn store(app: &App) -> Store {
    Store::connect(&StoreSettings::new(app.database.url(), 2)).await.expect("a store beside the node's")
}

/// Folds all that is committed.
async fn fold_all(store: &Store) {
    while store.fold(Claim::Free, 1_000).await.expect("a fold").events > 0 {}
}

async fn remove_before(store: &Store, cutoff: i64, batch: i64) -> u64 {
    let mut removed = 0;
    loop {
        let old = store.old_events(cutoff).await.expect("a read");
        if old.is_empty() {
            return removed;
        }
        for old in old {
            let of_batch = store.remove_events(old, cutoff, batch).await.expect("a removal");
            assert!((1..=batch.unsigned_abs()).contains(&of_batch), "{of_batch} of {batch}");
            removed += of_batch;
        }
    }
}

async fn only_what_is_folded_and_old_is_removed(app: &App) {
    app.removes_events();
    for number in 0..40 {
        app.as_user(&format!("user{number}")).like(&format!("post:{}", number % 3)).await;
    }
    let (store, sql) = (store(app).await, app.sql().await);
    while store.fold(Claim::Free, 3).await.expect("a fold").ranges.is_empty() {}
    let unfolded = "SELECT count(*) FROM reaction_event e JOIN checkpoint c ON c.partition = e.partition
                    WHERE e.\"offset\" > c.\"offset\"";
    let (all, waiting) = (40, sql.number(unfolded).await);
    assert!((1..all).contains(&waiting), "{waiting} of {all} wait");

    // By time: only what is older than the third event.
    let cutoff = sql.number("SELECT created_at FROM reaction_event ORDER BY created_at LIMIT 1 OFFSET 2").await;
    let older = sql.number(&format!("SELECT count(*) FROM reaction_event WHERE created_at < {cutoff}")).await;
    assert_eq!(remove_before(&store, cutoff, 1).await, older.unsigned_abs());

    // By the checkpoint: what nobody has counted stays, however old it is.
    let waiting = sql.number(unfolded).await;
    let future = store.instant_before(Duration::ZERO).await.expect("a time") + DAY;
    remove_before(&store, future, 7).await;
    assert_eq!(sql.number("SELECT count(*) FROM reaction_event").await, waiting);
    assert_eq!(sql.number(unfolded).await, waiting);

    // All goes on: the fold, everybody's counts, the viewer's own tap, the moment that counts are true of.
    fold_all(&store).await;
    remove_before(&store, future, 1_000).await;
    assert_eq!(sql.number("SELECT count(*) FROM reaction_event").await, 0);
    let before = app.client().item("post:0").await;
    assert_eq!((before.like_count, before.count_freshness.as_str()), (14, "LIVE"));
    let user = app.as_user("user0");
    let payload = user.unlike("post:0").await;
    assert_eq!((payload.item.like_count, payload.version), (13, 2), "the own tap, before anything is folded");
    fold_all(&store).await;
    let after = app.client().item("post:0").await;
    assert!(after.like_count == 13 && after.count_version > before.count_version, "{after:?}");
    assert!(after.count_as_of > before.count_as_of, "{before:?} {after:?}");
    assert_eq!(app.as_user("new").like("post:0").await.item.like_count, 14);
    fold_all(&store).await;
    store.close().await;
    sql.close().await;
}

/// A total of the metrics.
async fn total(client: &Client, name: &str) -> u64 {
    let (_, text) = client.get("/metrics").await;
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name}:\n{text}"));
    line.rsplit(' ').next().and_then(|value| value.parse().ok()).expect("a whole number")
}

async fn the_background_task_removes_what_is_past_its_time(app: &App) {
    app.removes_events();
    let (ana, ben) = (app.as_user("ana"), app.as_user("ben"));
    ana.set_with_key("post:1", Reaction::Like, "tap-1").await;
    ana.set_with_key("post:2", Reaction::Like, "tap-2").await;
    app.drained().await;
    let sql = app.sql().await;
    make_old(&sql).await;
    ben.set_with_key("post:1", Reaction::Like, "tap-1").await;
    let old = "SELECT (SELECT count(*) FROM reaction_event WHERE user_id = 'ana')
                 + (SELECT count(*) FROM idempotency_record WHERE user_id = 'ana')";
    until_true("what is old is removed", SOON * 2, async || sql.number(old).await == 0).await;
    assert_eq!(sql.number("SELECT count(*) FROM reaction_event WHERE user_id = 'ben'").await, 1);
    assert_eq!(total(&app.client(), "likewise_log_events_removed_total").await, 2);
    assert_eq!(total(&app.client(), "likewise_idempotency_records_removed_total").await, 2);

    assert!(ben.set_with_key("post:1", Reaction::Like, "tap-1").await.replayed, "a young answer is given again");
    let retry = ana.set_with_key("post:1", Reaction::Like, "tap-1").await;
    assert!(!retry.replayed && !retry.changed && retry.version == 1, "a day later the key is new: {retry:?}");
    let other = ana.set_with_key("post:9", Reaction::Like, "tap-2").await;
    assert!(other.changed, "and may name another request: {other:?}");
    app.drained().await;
    assert_eq!(app.client().item("post:1").await.like_count, 2);
    sql.close().await;
}

async fn make_old(sql: &Sql) {
    sql.execute(&format!("UPDATE reaction_event SET created_at = created_at - {}", 8 * DAY)).await;
    sql.execute(&format!("UPDATE idempotency_record SET created_at = created_at - {}", DAY + DAY / 24)).await;
}

/// Likes of one person, hence in one partition: of the ten, the first two are folded.
async fn two_of_ten_folded(app: &App) -> Store {
    app.tampers();
    let ana = app.as_user("ana");
    for number in 1..=2 {
        ana.like(&format!("post:{number}")).await;
    }
    app.stop_node(0).await;
    let store = store(app).await;
    fold_all(&store).await;
    app.start_stopped_node(0, &[("--role", "all")]).await;
    // Whatever the counter folds at its start, it finds nothing now and rests after the first like.
    let ana = app.as_user("ana");
    ana.like("post:3").await;
    app.drained().await;
    for number in 4..=10 {
        ana.like(&format!("post:{number}")).await;
    }
    app.stop_node(0).await;
    store
}

/// Every way in which a stretch can be incomplete: its first, one in the middle, its last, the whole of it, and what is
/// past the most that one fold takes, which that fold does not see and the next one does.
async fn a_fold_refuses_a_log_from_which_something_is_missing(app: &App) {
    let store = two_of_ten_folded(app).await;
    let sql = app.sql().await;
    let checkpoint = sql.number("SELECT max(\"offset\") FROM checkpoint").await;
    assert!(checkpoint < 6, "{checkpoint} of ten are folded");
    sql.execute("CREATE TABLE kept AS SELECT * FROM reaction_event").await;
    let counted = async || {
        let shards = sql.number("SELECT CAST(sum(like_count) AS bigint) FROM item_count_shard").await;
        (sql.number("SELECT max(\"offset\") FROM checkpoint").await, shards)
    };
    let before = counted().await;
    let first = checkpoint + 1;
    let cases = [
        ("the first", format!("= {first}"), 1_000),
        ("the first, one at a time", format!("= {first}"), 1),
        ("in the middle", format!("= {}", first + 2), 1_000),
        ("the last of a full fold", format!("= {}", first + 2), 3),
        ("the last", "= 10".to_owned(), 1_000),
        ("a beginning", format!("BETWEEN {first} AND 8"), 1_000),
        ("a tail", format!(">= {}", first + 1), 1_000),
        ("all", format!(">= {first}"), 1_000),
        ("all, and the folded ones", ">= 1".to_owned(), 1_000),
    ];
    for (what, offsets, limit) in cases {
        sql.execute(&format!("DELETE FROM reaction_event WHERE \"offset\" {offsets}")).await;
        let refused = store.fold(Claim::Free, limit).await;
        assert!(matches!(refused, Err(FoldError::Gap(_))), "{what}: {refused:?}");
        assert_eq!(counted().await, before, "{what}: nothing moved");
        sql.execute("DELETE FROM reaction_event").await;
        sql.execute("INSERT INTO reaction_event SELECT * FROM kept").await;
    }
    sql.execute(&format!("DELETE FROM reaction_event WHERE \"offset\" = {}", first + 2)).await;
    assert_eq!(store.fold(Claim::Free, 2).await.expect("what comes before the gap is whole").events, 2);
    let refused = store.fold(Claim::Free, 2).await;
    assert!(matches!(refused, Err(FoldError::Gap(_))), "{refused:?}");
    store.close().await;
    sql.close().await;
}

/// A counter that met a gap and went on would lose likes for good.
async fn a_node_that_meets_a_gap_ends(app: &App) {
    let store = two_of_ten_folded(app).await;
    store.close().await;
    let sql = app.sql().await;
    sql.execute("DELETE FROM reaction_event WHERE \"offset\" = (SELECT max(\"offset\") + 1 FROM checkpoint)").await;
    let folder = tempfile::Builder::new().prefix("likewise-gap-").tempdir().expect("a temporary folder");
    let output = serve(app, &folder);
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    let errors: Vec<_> = output.stderr.lines().filter(|line| line.contains("ERROR") && line.contains("gap")).collect();
    assert!(!errors.is_empty(), "an error line says it: {}", output.stderr);
    let missing = "SELECT count(*) FROM checkpoint c JOIN log_partition l ON l.id = c.partition
                   WHERE c.\"offset\" < l.next_offset - 1";
    assert_eq!(sql.number(missing).await, 1, "nothing was skipped");
    sql.close().await;
}

fn serve(app: &App, folder: &TempDir) -> binary::Output {
    let settings = app.settings().into_iter().flat_map(|(flag, value)| [flag, value]);
    binary::run(folder.path(), &["serve".to_owned()].into_iter().chain(settings).collect::<Vec<_>>())
}
