//! Transactions that commit late: they have drawn their offsets, and others go on meanwhile.

use std::time::Duration;

use futures_util::future::join_all;
use likewise_server::domain::{ReactionState, UserId};
use likewise_tests::app::App;
use likewise_tests::bare::{Bare, wish};
use likewise_tests::database::Session;
use likewise_tests::harness::Test;
use likewise_tests::services::PARTITIONS;
use likewise_tests::test_on;
use likewise_tests::views::Reaction;
use likewise_tests::wait::{SOON, outage, until_true};

/// How long a transaction stays open: as long as the server lets its own ones stand idle.
const HELD: Duration = Duration::from_secs(2);
/// Likes that others commit meanwhile, and how many are sent at a time.
const OTHERS: usize = 10_000;
const AT_ONCE: usize = 1_000;
/// People of the partition that is held, who wait or are told to come again.
const WAITING: usize = 20;
/// What the late session writes.
const LATE: i64 = 3;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test_on!([Postgres], a_late_commit_is_folded),
        test_on!([Postgres], a_late_rollback_leaves_no_gap),
        test_on!([Sqlite], a_writer_elsewhere_holds_everybody_up_and_loses_nothing),
    ]
}

/// A session that has done what a lane does, up to the commit, for three users of one partition.
async fn begin_late(app: &App, partition: usize) -> Session {
    let session = app.sql().await.begin().await;
    let (lock, batch) = match app.database.is_postgres() {
        true => (" FOR UPDATE", "gen_random_uuid()"),
        false => ("", "randomblob(16)"),
    };
    let sql = format!("SELECT next_offset FROM log_partition WHERE id = {partition}{lock}");
    let first = session.number(&sql).await;
    let at = session.number(&format!("SELECT last_at FROM log_partition WHERE id = {partition}")).await;
    for (user, offset) in late_users(partition, app.database.is_postgres()).iter().zip(first..) {
        let sql = format!("INSERT INTO reaction VALUES ('{user}', 'hot', 1, 1, {at}, {offset})");
        session.execute(&sql).await;
        let values = format!("{partition}, {offset}, {batch}, '{user}', 'hot', 0, 1, 1, 0, 1, 0, {at}");
        session.execute(&format!("INSERT INTO reaction_event VALUES ({values})")).await;
    }
    let sql = format!("UPDATE log_partition SET next_offset = {} WHERE id = {partition}", first + LATE);
    session.execute(&sql).await;
    session
}

fn late_users(partition: usize, is_postgres: bool) -> Vec<String> {
    let partitions = if is_postgres { PARTITIONS } else { 1 };
    let users = (0..).map(|number| format!("late{number}"));
    users.filter(|user| partition_of(user, partitions) == partition).take(LATE as usize).collect()
}

fn partition_of(user: &str, partitions: usize) -> usize {
    UserId::parse(user).expect("a good id").partition(partitions)
}

/// People of one partition who like, each until it is done.
fn waiting(app: &App, partition: usize) -> Vec<tokio::task::JoinHandle<()>> {
    let users = (0..).map(|number| format!("waiting{number}"));
    let users = users.filter(|user| partition_of(user, PARTITIONS) == partition).take(WAITING);
    let like = |user: String| {
        let client = app.as_user(&user);
        tokio::spawn(async move {
            let like = client.tap_until_done("hot", Reaction::Like, "first").await;
            assert!(like.changed && like.version == 1, "{user}: {like:?}");
        })
    };
    users.map(like).collect()
}

async fn a_late_commit_is_folded(app: &App) {
    hold(app, async |session| session.commit().await, LATE).await;
}

async fn a_late_rollback_leaves_no_gap(app: &App) {
    hold(app, async |session| session.rollback().await, 0).await;
}

async fn hold(app: &App, end: impl AsyncFnOnce(Session), late: i64) {
    app.as_user("first").like("hot").await;
    let partition = partition_of("late", PARTITIONS);
    let session = begin_late(app, partition).await;
    let likes_are = async |likes: i64| app.client().item("hot").await.like_count == likes;

    let waiting = waiting(app, partition);
    let bare = Bare::open(&app.database).await;
    let users = (0..).map(|number| format!("other{number}"));
    let users = users.filter(|user| partition_of(user, PARTITIONS) != partition).take(OTHERS);
    let wishes: Vec<_> = users.map(|user| wish(&user, "hot", ReactionState::Like, None)).collect();
    let others = async {
        for some in wishes.chunks(AT_ONCE) {
            let answers = bare.at_once(some).await;
            assert!(answers.iter().all(Result::is_ok), "the other partitions commit");
        }
    };
    tokio::join!(others, outage(HELD));
    let others = i64::try_from(OTHERS).expect("it fits") + 1;
    until_true("the others are folded while one is late", SOON, async || likes_are(others).await).await;
    assert!(waiting.iter().all(|like| !like.is_finished()), "the partition is held");

    end(session).await;
    for like in join_all(waiting).await {
        like.expect("who waited is answered");
    }
    let all = others + late + i64::try_from(WAITING).expect("it fits");
    until_true("what was late is folded", SOON, async || likes_are(all).await).await;
    bare.close().await;
}

/// SQLite has one lock for all: nobody commits meanwhile, and everybody afterwards.
async fn a_writer_elsewhere_holds_everybody_up_and_loses_nothing(app: &App) {
    app.as_user("first").like("hot").await;
    app.drained().await;
    let session = begin_late(app, 0).await;
    let likes = (0..WAITING).map(|number| {
        let client = app.as_user(&format!("user{number}"));
        tokio::spawn(async move { client.tap_until_done("hot", Reaction::Like, "first").await })
    });
    let likes: Vec<_> = likes.collect();
    outage(HELD).await;
    session.commit().await;
    for like in join_all(likes).await {
        assert_eq!(like.expect("an answer").version, 1);
    }
    app.drained().await;
    let all = i64::try_from(WAITING).expect("it fits") + LATE + 1;
    assert_eq!(app.client().item("hot").await.like_count, all);
}
