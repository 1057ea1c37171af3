//! The command `likewise events`: every event once, in order, whatever happens to its reader and to the store.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, PipeReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use likewise_server::store::{Store, StoreSettings};
use likewise_tests::app::App;
use likewise_tests::binary;
use likewise_tests::follower::Follower;
use likewise_tests::harness::Test;
use likewise_tests::postgres::Shutdown;
use likewise_tests::process::Process;
use likewise_tests::views::Reaction;
use likewise_tests::wait::{SOON, outage, until, until_true};
use likewise_tests::{on_both, seeded, test_on};
use nix::sys::signal::Signal;
use rand::RngExt;
use serde_json::Value;
use tempfile::TempDir;

/// Events that are not in the log.
const NOT_THERE: Option<i32> = Some(4);

pub(crate) fn tests() -> Vec<Test> {
    let tests = vec![
        on_both!(a_reader_that_is_killed_and_resumed_gets_every_event_once),
        on_both!(the_log_is_printed_to_its_end),
        on_both!(events_that_are_not_there_are_never_skipped),
        on_both!(following_ends_in_order),
        test_on!([Postgres], following_outlasts_the_store).with_own_servers(),
    ];
    tests.into_iter().map(Test::with_binary).collect()
}

fn folder() -> TempDir {
    tempfile::Builder::new().prefix("likewise-relay-").tempdir().expect("a temporary folder")
}

/// Runs the command to its end.
fn events(app: &App, arguments: &[&str]) -> binary::Output {
    let url = app.database.url();
    let mut all = vec!["events", "--database-url", &url];
    all.extend(arguments);
    binary::run(folder().path(), &all)
}

fn parsed(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

fn place(event: &Value) -> (u64, u64) {
    (event["partition"].as_u64().expect("a partition"), event["offset"].as_u64().expect("an offset"))
}

/// The offset after the last one that was read, of each partition; fails where one does not follow the one before.
fn follow(next: &mut BTreeMap<u64, u64>, events: &[Value]) {
    for event in events {
        let (partition, offset) = place(event);
        let expected = next.entry(partition).or_insert(1);
        assert_eq!(offset, *expected, "partition {partition} goes on without gap and repetition: {event}");
        *expected += 1;
    }
}

/// The log as the store has it, in the words of the command, by place.
async fn stored(app: &App) -> Vec<String> {
    let state = |column: &str| format!("CASE {column} WHEN 1 THEN 'LIKE' WHEN 2 THEN 'DISLIKE' ELSE 'NONE' END");
    let sql = app.sql().await;
    let query = format!(
        "SELECT CAST(partition AS text) || ':' || CAST(\"offset\" AS text) || ' ' || coalesce(user_id, 'null') || ' ' || item_id
           || ' ' || {} || ' ' || {} || ' ' || CAST(like_delta AS text) || ' ' || CAST(dislike_delta AS text) || ' '
           || CAST(version AS text) || ' ' || CASE origin WHEN 0 THEN 'USER' WHEN 1 THEN 'IMPORT' END
           || ' ' || CAST(created_at % 1000000 AS text)
         FROM reaction_event ORDER BY partition, \"offset\"",
        state("old_state"),
        state("new_state")
    );
    let rows = sql.column::<String>(&query).await;
    sql.close().await;
    rows
}

/// The same of events as they were printed.
fn printed(events: &[Value]) -> Vec<String> {
    let mut events: Vec<_> = events.iter().collect();
    events.sort_by_key(|event| place(event));
    let text = |event: &Value, name: &str| event[name].as_str().unwrap_or("null").to_owned();
    let line = |event: &Value| {
        let at = text(event, "at");
        assert!(at.len() == "2030-01-31T09:30:00.250999Z".len() && at.starts_with("20") && at.ends_with('Z'), "{at}");
        let micros: u32 = at[20..26].parse().expect("microseconds");
        format!(
            "{}:{} {} {} {} {} {} {} {} {} {micros}",
            event["partition"],
            event["offset"],
            text(event, "user"),
            text(event, "item"),
            text(event, "oldState"),
            text(event, "newState"),
            event["likeDelta"],
            event["dislikeDelta"],
            event["version"],
            text(event, "origin"),
        )
    };
    events.into_iter().map(line).collect()
}

async fn a_reader_that_is_killed_and_resumed_gets_every_event_once(app: &App) {
    let mut random = seeded::rng("a_reader_that_is_killed");
    let stop = Arc::new(AtomicBool::new(false));
    let people = (0..8).map(|number: usize| {
        let (client, stop) = (app.as_user(&format!("user{number}")), Arc::clone(&stop));
        tokio::spawn(async move {
            for round in 0_usize.. {
                let item = format!("post:{}", (number + round) % 5);
                client.tap_until_done(&item, Reaction::ALL[(number * 7 + round) % 3], &format!("tap{round}")).await;
                if stop.load(Ordering::Relaxed) {
                    return;
                }
            }
        })
    });
    let people: Vec<_> = people.collect();
    let partitions = app.number("SELECT count(*) FROM log_partition").await.unsigned_abs();
    let mut next: BTreeMap<u64, u64> = (0..partitions).map(|partition| (partition, 1)).collect();
    let (mut all, mut productive, mut from) = (Vec::new(), 0, Vec::<String>::new());
    while productive < 8 {
        let folder = folder();
        let reader = Follower::start(folder.path(), &app.database.url(), &from);
        // From before its first line to amid a flood of them.
        outage(Duration::from_millis(random.random_range(0..600))).await;
        let (events, code) = reader.stop(Signal::SIGKILL);
        assert_eq!(code, None, "killed");
        follow(&mut next, &events);
        productive += usize::from(!events.is_empty());
        all.extend(events);
        from = next.iter().map(|(partition, offset)| format!("{partition}:{offset}")).collect();
    }
    stop.store(true, Ordering::Relaxed);
    for person in people {
        person.await.expect("every tap succeeds");
    }
    let folder = folder();
    let reader = Follower::start(folder.path(), &app.database.url(), &from);
    let stored = stored(app).await;
    let rest = stored.len() - all.len();
    until_true("the rest is read", SOON, async || reader.events().len() >= rest).await;
    let (events, code) = reader.stop(Signal::SIGTERM);
    assert_eq!(code, Some(0));
    follow(&mut next, &events);
    all.extend(events);
    assert_eq!(printed(&all), stored);
}

async fn the_log_is_printed_to_its_end(app: &App) {
    assert_eq!(events(app, &[]).success().stdout, "", "an empty log");
    let ana = app.as_user("ana");
    ana.like("post:1").await;
    ana.set("post:1", Reaction::Dislike).await;
    for number in 0..20 {
        app.as_user(&format!("user{number}")).like("post:\"\\").await;
    }
    let all = parsed(&events(app, &[]).success().stdout);
    assert_eq!(printed(&all), stored(app).await);
    follow(&mut BTreeMap::new(), &all);

    let of_ana = all.iter().find(|event| event["user"] == "ana").expect("an event of hers");
    let (partition, offset) = place(of_ana);
    let from = format!("{partition}:{}", offset + 1);
    let rest = parsed(&events(app, &["--from", &from]).success().stdout);
    let expected: Vec<_> =
        all.iter().filter(|event| place(event) > (partition, offset) && place(event).0 == partition).cloned().collect();
    assert_eq!(rest, expected, "from the given offset on, and of that partition only");
}

async fn events_that_are_not_there_are_never_skipped(app: &App) {
    app.tampers();
    let ana = app.as_user("ana");
    for number in 1..=9 {
        ana.like(&format!("post:{number}")).await;
    }
    app.drained().await;
    let sql = app.sql().await;
    let partition = sql.number("SELECT CAST(max(partition) AS bigint) FROM reaction_event").await;
    let from = |offset: i64| events(app, &["--from", &format!("{partition}:{offset}")]);

    let store = Store::connect(&StoreSettings::new(app.database.url(), 1)).await.expect("a store beside the node's");
    let cutoff = sql.number("SELECT created_at FROM reaction_event WHERE \"offset\" = 4").await;
    for old in store.old_events(cutoff).await.expect("a read") {
        assert_eq!(store.remove_events(old, cutoff, 100).await.expect("a removal"), 3);
    }
    store.close().await;
    let refused = from(2);
    assert_eq!((refused.code, refused.stdout.as_str()), (NOT_THERE, ""), "{}", refused.stderr);
    assert!(refused.stderr.contains("begins at 4"), "it says where to begin: {}", refused.stderr);
    assert!(refused.stderr.contains(&format!("--from {partition}:4")), "{}", refused.stderr);
    assert_eq!(parsed(&from(4).success().stdout).len(), 6);
    assert_eq!(parsed(&events(app, &[]).success().stdout).len(), 6, "all that is left, where nothing is asked for");
    let at_end = from(10).success();
    assert_eq!(at_end.stdout, "", "the next event is yet to come");
    let warns = at_end.stderr.contains("these partitions are not printed");
    assert_eq!(warns, app.database.is_postgres(), "where there are others: {}", at_end.stderr);
    let past = from(11);
    assert_eq!(past.code, NOT_THERE, "{}", past.stderr);
    assert!(past.stderr.contains("the next event will be 10"), "{}", past.stderr);

    sql.execute("DELETE FROM reaction_event WHERE \"offset\" = 7").await;
    let broken = from(4);
    assert_eq!(parsed(&broken.stdout).iter().map(|event| place(event).1).collect::<Vec<_>>(), [4, 5, 6]);
    assert_eq!(broken.code, NOT_THERE);
    assert!(broken.stderr.contains("offset 7 is missing"), "{}", broken.stderr);
    sql.execute("DELETE FROM reaction_event").await;
    let emptied = from(5);
    assert_eq!(emptied.code, NOT_THERE);
    assert!(emptied.stderr.contains("begins at 10"), "{}", emptied.stderr);
    sql.close().await;

    for wrong in [&["--from", "0"][..], &["--from", "0:0"], &["--from", "99:1"], &["--from", "0:1", "--from", "0:1"]] {
        let refused = events(app, wrong);
        assert_eq!(refused.code, Some(64), "{wrong:?}: {}", refused.stderr);
        assert!(refused.stderr.contains("--from"), "{wrong:?}: {}", refused.stderr);
    }
}

/// By a signal, also while nobody reads what is printed, and by a reader that goes away.
async fn following_ends_in_order(app: &App) {
    for number in 0..30 {
        app.as_user("ana").like(&format!("{}:{number}", "x".repeat(200))).await;
    }
    let url = app.database.url();
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let folder = folder();
        let reader = Follower::start(folder.path(), &url, &Vec::<String>::new());
        until_true("all is printed", SOON, async || reader.events().len() == 30).await;
        assert_eq!(reader.stop(signal).1, Some(0), "{signal}");
    }
    let folder = folder();
    let (mut closing, output) = piped(folder.path(), &url);
    let mut lines = BufReader::new(output);
    let mut line = String::new();
    lines.read_line(&mut line).expect("a line");
    assert!(serde_json::from_str::<Value>(&line).is_ok(), "{line}");
    drop(lines);
    app.as_user("ana").like("post:1").await;
    assert_eq!(closing.wait().code(), Some(0), "nobody reads any more");

    // More than a pipe holds.
    for number in 0..200 {
        app.as_user("ben").like(&format!("{}:{number}", "y".repeat(240))).await;
    }
    let (full, _unread) = piped(folder.path(), &url);
    outage(Duration::from_secs(1)).await;
    assert_eq!(full.stop(Signal::SIGTERM).code(), Some(0), "told to stop while it waits for its reader");
}

/// A follower that prints to a pipe, and the pipe's other end.
fn piped(folder: &Path, url: &str) -> (Process, PipeReader) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut command = binary::command(folder, &["events", "--follow", "--database-url", url]);
    command.stdout(writer).stderr(Stdio::null());
    let process = Process::start("likewise", &mut command, &folder.join("none"), Signal::SIGKILL);
    (process.expect("the binary starts"), reader)
}

async fn following_outlasts_the_store(app: &App) {
    app.as_user("ana").like("post:1").await;
    let folder = folder();
    let reader = Follower::start(folder.path(), &app.database.url(), &Vec::<String>::new());
    until_true("the first event is read", SOON, async || reader.events().len() == 1).await;
    app.database.postgres().stop(Shutdown::Immediate);
    until_true("it says that it waits", SOON, async || reader.log().contains("read again after a pause")).await;
    app.database.postgres().start_again();
    app.as_user("ana").tap_until_done("post:2", Reaction::Like, "tap").await;
    let second = async || (reader.events().len() > 1).then(|| reader.events());
    let read = until("the next event is read", SOON, second).await;
    assert_eq!(printed(&read), stored(app).await);
    assert_eq!(reader.stop(Signal::SIGTERM).1, Some(0));
}
