//! The commands `reconcile` and `rebuild` on counts that were spoilt on purpose.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use likewise_tests::app::App;
use likewise_tests::binary::{self, Output};
use likewise_tests::client::Client;
use likewise_tests::harness::Test;
use likewise_tests::postgres::connect;
use likewise_tests::views::Reaction;
use likewise_tests::wait::{SOON, until_true, within};
use likewise_tests::{on_all, on_both, test_on};
use sea_orm::{ConnectionTrait, TransactionTrait};
use tempfile::TempDir;
use tokio::task::JoinHandle;

/// Where a reconciler can be killed or held up.
pub(crate) const RECONCILER: [&str; 1] = ["reconciler_before_heal"];
/// Exit code where counts differed.
const DIFFERED: Option<i32> = Some(3);
/// Exit code of a wrong setting.
const USAGE: Option<i32> = Some(64);

pub(crate) fn tests() -> Vec<Test> {
    let tests = vec![
        on_both!(planted_drift_is_reported_exactly_and_healed),
        on_both!(an_id_in_one_table_only_is_met),
        on_both!(items_and_users_may_be_asked_for_alone),
        on_both!(a_reconcile_that_is_killed_before_its_heal_changes_nothing),
        on_all!(watchers_see_the_healed_count),
        on_both!(rebuilding_serves_whole_counts_with_newer_versions),
        test_on!([Postgres], an_open_write_holds_no_recount_up),
        test_on!([Postgres], a_heal_waits_for_a_running_fold),
    ];
    tests.into_iter().map(Test::with_binary).collect()
}

pub(crate) fn folder() -> TempDir {
    tempfile::Builder::new().prefix("likewise-reconcile-").tempdir().expect("a temporary folder")
}

/// Runs a command on the test's database beside whatever else goes on.
pub(crate) fn command(app: &App, words: &[&str]) -> JoinHandle<Output> {
    let url = app.database.url();
    let words: Vec<String> =
        words.iter().map(|word| (*word).to_owned()).chain(["--database-url".into(), url]).collect();
    tokio::task::spawn_blocking(move || binary::run(folder().path(), &words))
}

pub(crate) async fn run(app: &App, words: &[&str]) -> Output {
    command(app, words).await.expect("the command ends")
}

/// `serve` with the settings of a node of this test, and more.
pub(crate) fn serve(app: &App, more: &[&str]) -> Vec<String> {
    let mut settings: BTreeMap<String, String> = app.settings().into_iter().collect();
    settings.extend(more.chunks(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())));
    ["serve".to_owned()].into_iter().chain(settings.into_iter().flat_map(|(flag, value)| [flag, value])).collect()
}

/// The value of a metric; 0 where it is not there yet.
pub(crate) async fn metric(client: &Client, name: &str) -> u64 {
    let (_, text) = client.get("/metrics").await;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map_or(0, |value| value.parse().expect("a whole number"))
}

/// Three likes and two dislikes.
pub(crate) async fn react(client: &Client, item: &str) {
    let reactions = [("ana", "LIKE"), ("ben", "LIKE"), ("cem", "LIKE"), ("dan", "DISLIKE"), ("eva", "DISLIKE")];
    join_all(reactions.map(|(user, reaction)| {
        let client = client.as_user(user);
        async move {
            let reaction = if reaction == "LIKE" { Reaction::Like } else { Reaction::Dislike };
            client.set(item, reaction).await;
        }
    }))
    .await;
}

pub(crate) async fn execute(app: &App, statements: &[String]) {
    let sql = app.sql().await;
    for statement in statements {
        sql.execute(statement).await;
    }
    sql.close().await;
}

/// The lines of the table that `reconcile` prints: item, by rows, by shards, shown.
fn differences(output: &Output) -> Vec<[String; 4]> {
    let lines = output.stdout.lines().map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    let counts = |word: &String| word.split('/').all(|number| number.parse::<i64>().is_ok());
    let rows = lines.filter_map(|words| <[String; 4]>::try_from(words).ok());
    rows.filter(|words| words[1..].iter().all(counts)).collect()
}

fn expected(cases: &[(&str, &str, &str, &str)]) -> Vec<[String; 4]> {
    cases.iter().map(|(item, rows, shards, shown)| [*item, *rows, *shards, *shown].map(str::to_owned)).collect()
}

/// Everything that the counters hold, as text.
async fn counters(app: &App) -> Vec<String> {
    let sql = app.sql().await;
    let counters = sql
        .column(
            "SELECT line FROM (
               SELECT 'shard ' || item_id || ' ' || CAST(partition AS text) || ' ' || CAST(like_count AS text) || ' '
                 || CAST(dislike_count AS text) || ' ' || CAST(applied_offset AS text) AS line FROM item_count_shard
               UNION ALL SELECT 'total ' || item_id || ' ' || CAST(like_count AS text) || ' '
                 || CAST(dislike_count AS text) || ' ' || CAST(version AS text) FROM item_count
               UNION ALL SELECT 'checkpoint ' || CAST(partition AS text) || ' ' || CAST(\"offset\" AS text) || ' '
                 || CAST(base_offset AS text) || ' ' || CAST(epoch AS text) FROM checkpoint) AS lines ORDER BY line",
        )
        .await;
    sql.close().await;
    counters
}

/// In each way that a count can be wrong.
async fn planted_drift_is_reported_exactly_and_healed(app: &App) {
    const SHARD: &str = "UPDATE item_count_shard SET";
    const ONE: &str =
        "partition = (SELECT min(partition) FROM item_count_shard m WHERE m.item_id = item_count_shard.item_id)";
    let cases = [
        ("a:shard+5", format!("{SHARD} like_count = like_count + 5 WHERE item_id = $ AND {ONE}"), "8/2", "3/2"),
        ("b:shard-5", format!("{SHARD} like_count = like_count - 5 WHERE item_id = $ AND {ONE}"), "-2/2", "3/2"),
        (
            "c:dislikes+5",
            format!("{SHARD} dislike_count = dislike_count + 5 WHERE item_id = $ AND {ONE}"),
            "3/7",
            "3/2",
        ),
        (
            "d:dislikes-5",
            format!("{SHARD} dislike_count = dislike_count - 5 WHERE item_id = $ AND {ONE}"),
            "3/-3",
            "3/2",
        ),
        ("e:total+5", "UPDATE item_count SET like_count = like_count + 5 WHERE item_id = $".into(), "3/2", "8/2"),
        (
            "f:total-5",
            "UPDATE item_count SET dislike_count = dislike_count - 5 WHERE item_id = $".into(),
            "3/2",
            "3/-3",
        ),
        ("g:shards-gone", "DELETE FROM item_count_shard WHERE item_id = $".into(), "0/0", "3/2"),
        ("h:total-gone", "DELETE FROM item_count WHERE item_id = $".into(), "3/2", "0/0"),
        (
            "i:moved",
            format!(
                "{SHARD} like_count = like_count + 1, dislike_count = dislike_count - 1 WHERE item_id = $ AND {ONE}"
            ),
            "4/1",
            "3/2",
        ),
        ("j:both", format!("{SHARD} like_count = like_count + 5 WHERE item_id = $ AND {ONE}"), "8/2", "8/2"),
    ];
    for (item, ..) in &cases {
        react(&app.client(), item).await;
    }
    react(&app.client(), "k:sound").await;
    app.drained().await;
    let before = app.client().item("a:shard+5").await;
    let spoil: Vec<_> = cases.iter().map(|(item, sql, ..)| sql.replace('$', &format!("'{item}'"))).collect();
    execute(app, &spoil).await;
    execute(app, &["UPDATE item_count SET like_count = like_count + 5 WHERE item_id = 'j:both'".into()]).await;
    let expected = expected(&cases.each_ref().map(|(item, _, shards, shown)| (*item, "3/2", *shards, *shown)));

    let spoilt = counters(app).await;
    let output = run(app, &["reconcile", "--dry-run"]).await;
    assert_eq!((output.code, sorted(differences(&output))), (DIFFERED, expected.clone()), "{output:?}");
    assert!(output.stdout.contains("items checked: 11, differing: 10, nothing changed"), "{}", output.stdout);
    assert_eq!(counters(app).await, spoilt, "a dry run changes nothing");

    let output = run(app, &["reconcile"]).await;
    assert_eq!((output.code, sorted(differences(&output))), (DIFFERED, expected), "{output:?}");
    assert!(output.stdout.contains("differing: 10, healed: 10"), "{}", output.stdout);
    let healed = counters(app).await;
    let output = run(app, &["reconcile"]).await;
    assert_eq!((output.code, differences(&output).len()), (Some(0), 0), "{output:?}");
    assert_eq!(counters(app).await, healed, "a second run has nothing to do");

    for (item, ..) in &cases {
        let item = app.client().item(item).await;
        assert_eq!((item.like_count, item.dislike_count), (3, 2), "{item:?}");
        assert!(item.count_version > before.count_version, "{item:?}");
        app.as_user("ana").unlike(&item.id).await;
        app.as_user("fay").like(&item.id).await;
        app.as_user("gil").like(&item.id).await;
    }
    app.drained().await;
    let output = run(app, &["reconcile", "--dry-run"]).await;
    assert_eq!(output.code, Some(0), "folds go on from where the heal was: {output:?}");
    assert_eq!(app.client().item("g:shards-gone").await.like_count, 4);
}

fn sorted(mut lines: Vec<[String; 4]>) -> Vec<[String; 4]> {
    lines.sort();
    lines
}

async fn an_id_in_one_table_only_is_met(app: &App) {
    app.tampers();
    react(&app.client(), "m").await;
    app.drained().await;
    let plant = [
        "INSERT INTO item_count (item_id, like_count, dislike_count, version) VALUES ('a', 4, 1, 1), ('z', 1, 0, 1)",
        "INSERT INTO item_count_shard (item_id, partition, like_count, dislike_count, applied_offset)
         VALUES ('b', 0, 0, 7, 0), ('zz', 0, 1, 0, 0)",
        "INSERT INTO reaction (user_id, item_id, state, version, reacted_at, event_offset)
         VALUES ('ana', 'c', 1, 1, 1, 0), ('ana', 'zzz~', 2, 1, 1, 0), ('ben', 'd', 0, 1, 1, 0)",
        "INSERT INTO item (id, created_at) VALUES ('e', 1)",
    ];
    execute(app, &plant.map(str::to_owned)).await;
    let cases = [
        ("a", "0/0", "0/0", "4/1"),
        ("b", "0/0", "0/7", "0/0"),
        ("c", "1/0", "0/0", "0/0"),
        ("z", "0/0", "0/0", "1/0"),
        ("zz", "0/0", "1/0", "0/0"),
        ("zzz~", "0/1", "0/0", "0/0"),
    ];
    let output = run(app, &["reconcile"]).await;
    assert_eq!((output.code, sorted(differences(&output))), (DIFFERED, expected(&cases)), "{output:?}");
    assert_eq!(run(app, &["reconcile", "--dry-run"]).await.code, Some(0));
    for (item, likes, dislikes) in [("a", 0, 0), ("b", 0, 0), ("c", 1, 0), ("zzz~", 0, 1), ("m", 3, 2)] {
        let item = app.client().item(item).await;
        assert_eq!((item.like_count, item.dislike_count), (likes, dislikes), "{item:?}");
    }
}

async fn items_and_users_may_be_asked_for_alone(app: &App) {
    for item in ["post:1", "post:2", "post:3"] {
        react(&app.client(), item).await;
    }
    app.as_user("fay").like("post:3").await;
    app.drained().await;
    execute(app, &["UPDATE item_count SET like_count = like_count + 5".to_owned()]).await;
    let output = run(app, &["reconcile", "--item", "post:2", "--item", "nothing"]).await;
    assert_eq!((output.code, differences(&output)), (DIFFERED, expected(&[("post:2", "3/2", "3/2", "8/2")])));
    let output = run(app, &["reconcile", "--user", "fay"]).await;
    assert_eq!((output.code, differences(&output)), (DIFFERED, expected(&[("post:3", "4/2", "4/2", "9/2")])));
    let output = run(app, &["reconcile", "--user", "nobody"]).await;
    assert_eq!(output.code, Some(0), "{output:?}");
    let output = run(app, &["reconcile"]).await;
    assert_eq!((output.code, differences(&output)), (DIFFERED, expected(&[("post:1", "3/2", "3/2", "8/2")])));
    for words in [["reconcile", "--item", "a b"], ["reconcile", "--user", ""]] {
        let output = run(app, &words).await;
        assert_eq!(output.code, USAGE, "{output:?}");
        assert!(output.stderr.contains(words[1]), "{output:?}");
    }
}

async fn a_reconcile_that_is_killed_before_its_heal_changes_nothing(app: &App) {
    react(&app.client(), "post:1").await;
    app.drained().await;
    execute(app, &["UPDATE item_count SET like_count = like_count + 5".to_owned()]).await;
    let spoilt = counters(app).await;
    let kill = format!("{}=return(kill)", RECONCILER[0]);
    let variables = BTreeMap::from([("FAILPOINTS", kill.as_str())]);
    let output = binary::run_with(folder().path(), &["reconcile", "--database-url", &app.database.url()], &variables);
    assert_eq!(output.code, None, "killed: {output:?}");
    assert_eq!(counters(app).await, spoilt);
    let output = run(app, &["reconcile"]).await;
    assert_eq!((output.code, differences(&output)), (DIFFERED, expected(&[("post:1", "3/2", "3/2", "8/2")])));
    assert_eq!(app.client().item("post:1").await.like_count, 3);
}

/// Watchers on every node, while another process heals.
async fn watchers_see_the_healed_count(app: &App) {
    react(&app.client(), "post:1").await;
    app.drained().await;
    let mut pages = Vec::new();
    for node in 0..app.running_nodes() {
        pages.push(app.node(node).watch(&["post:1"]).await);
    }
    execute(app, &["UPDATE item_count SET like_count = like_count + 5 WHERE item_id = 'post:1'".to_owned()]).await;
    app.as_user("fay").like("post:1").await;
    for page in &mut pages {
        page.until("the drift is shown", |item| item.like_count == 9).await;
    }
    assert_eq!(run(app, &["reconcile"]).await.code, DIFFERED);
    for page in &mut pages {
        page.until("the healed count is shown", |item| item.like_count == 4).await;
    }
    app.as_user("gil").like("post:1").await;
    for page in &mut pages {
        page.until("and the next like", |item| item.like_count == 5).await;
    }
}

async fn rebuilding_serves_whole_counts_with_newer_versions(app: &App) {
    run(app, &["seed", "--users", "300", "--items", "2500", "--likes", "6000"]).await.success();
    react(&app.client(), "still:1").await;
    app.drained().await;
    let counts = "SELECT sum(like_count * 7 + dislike_count) FROM item_count WHERE item_id <> 'post:1'";
    let counts =
        counts.replace("sum(like_count * 7 + dislike_count)", "CAST(sum(like_count * 7 + dislike_count) AS bigint)");
    let (sum, before) = (app.number(&counts).await, app.client().item("still:1").await);
    execute(app, &["DELETE FROM item_count_shard WHERE item_id <> 'still:1'".to_owned()]).await;
    execute(app, &["DELETE FROM item_count WHERE item_id <> 'still:1'".to_owned()]).await;

    let rebuild = command(app, &["rebuild"]);
    let mut last = before.clone();
    let mut tap = 0;
    while !rebuild.is_finished() {
        let item = app.client().item("still:1").await;
        assert_eq!((item.like_count, item.dislike_count), (3, 2), "never empty, never half: {item:?}");
        assert!(item.count_version >= last.count_version, "{last:?}, then {item:?}");
        last = item;
        tap += 1;
        app.as_user(&format!("tapper{}", tap % 10)).set("post:1", Reaction::ALL[tap % 3]).await;
    }
    let output = rebuild.await.expect("the command ends").success();
    assert!(output.stdout.contains("items rebuilt: "), "{output:?}");
    app.drained().await;
    assert_eq!(app.number(&counts).await, sum, "the same numbers");
    assert!(app.client().item("still:1").await.count_version > before.count_version);
    assert_eq!(run(app, &["reconcile", "--dry-run"]).await.code, Some(0));
    run(app, &["rebuild"]).await.success();
    assert_eq!(app.number(&counts).await, sum, "again the same numbers");
}

/// A writer that has the lock of a partition and rows that are not committed.
async fn an_open_write_holds_no_recount_up(app: &App) {
    react(&app.client(), "post:1").await;
    app.drained().await;
    let connection = connect(&app.database.url()).await;
    let writer = connection.begin().await.expect("a transaction");
    for statement in [
        "SELECT * FROM log_partition FOR UPDATE",
        "INSERT INTO reaction (user_id, item_id, state, version, reacted_at, event_offset)
         VALUES ('zoe', 'post:1', 1, 1, 1, 1000)",
        "INSERT INTO reaction_event SELECT 0, next_offset, gen_random_uuid(), 'zoe', 'post:1', 0, 1, 1, 0, 1, 0, last_at
         FROM log_partition WHERE id = 0",
        "UPDATE log_partition SET next_offset = next_offset + 1 WHERE id = 0",
    ] {
        writer.execute_unprepared(statement).await.expect("the statement runs");
    }
    assert_eq!(run(app, &["reconcile", "--dry-run"]).await.code, Some(0), "what is not committed is not counted");
    execute(app, &["UPDATE item_count SET like_count = like_count + 5".to_owned()]).await;
    let output = run(app, &["reconcile"]).await;
    assert!(output.stdout.contains("healed: 1"), "{output:?}");
    run(app, &["rebuild"]).await.success();
    writer.rollback().await.expect("the transaction is open");
    connection.close().await.expect("the connection is open");
    assert_eq!(app.client().item("post:1").await.like_count, 3);
}

/// A fold holds its checkpoints to its commit, and the heal begins after it.
async fn a_heal_waits_for_a_running_fold(app: &App) {
    react(&app.client(), "post:1").await;
    app.drained().await;
    let connection = connect(&app.database.url()).await;
    let fold = connection.begin().await.expect("a transaction");
    fold.execute_unprepared("SELECT * FROM checkpoint WHERE partition > 1 FOR UPDATE").await.expect("the locks");
    execute(app, &["UPDATE item_count SET like_count = like_count + 5".to_owned()]).await;
    let reconcile = command(app, &["reconcile"]);
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    until_true("the heal waits", SOON, async || app.number(waiting).await > 0).await;
    assert_eq!(app.client().item("post:1").await.like_count, 8, "nothing is healed meanwhile");
    fold.rollback().await.expect("the transaction is open");
    connection.close().await.expect("the connection is open");
    let output = within("the heal goes on", SOON, reconcile).await.expect("the command ends");
    assert_eq!(output.code, DIFFERED, "{output:?}");
    assert!(output.stdout.contains("healed: 1"), "{output:?}");
    assert_eq!(app.client().item("post:1").await.like_count, 3);
}
