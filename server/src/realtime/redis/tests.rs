//! The bus over a Redis of its own, which is killed, frozen and fed with nonsense.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use futures_util::FutureExt;
use tokio::task::JoinSet;

use super::*;
use crate::domain::{Basis, ItemId, ReactionState, UserId};
use crate::realtime::{Bus, UserNews};

/// For a state that must come, however busy the machine is.
const SOON: Duration = Duration::from_secs(20);

/// Within which a Redis that is back must be in use again.
const PROMISED: Duration = Duration::from_secs(5);

struct Server {
    process: Child,
    port: u16,
}

impl Server {
    async fn start(port: u16) -> Self {
        let process = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is installed");
        let server = Self { process, port };
        eventually("redis-server answers", async || connect_check(&server.url()).await.is_ok()).await;
        server
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.process.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

struct Node {
    bus: Bus,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Node {
    fn start(url: &str) -> Self {
        let (bus, publisher, subscriber) = RedisBus::open(url, "test:", Arc::new(Hub::new())).unwrap();
        let (stop, mut tasks) = (CancellationToken::new(), JoinSet::new());
        tasks.spawn(publisher.run(stop.clone()));
        tasks.spawn(subscriber.run(stop.clone()));
        Self { bus: Bus::Redis(bus), stop, tasks }
    }

    async fn subscribed(&self, expected: bool) {
        let stands = || self.bus.stats().subscribed.load(Ordering::Relaxed);
        eventually("the subscription changes", async || stands() == expected).await;
    }

    async fn stop(self) {
        self.stop.cancel();
        timeout(SOON, self.tasks.join_all()).await.expect("both futures end");
    }
}

async fn eventually(what: &str, check: impl AsyncFn() -> bool) {
    let wait = async {
        while !check().await {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(SOON, wait).await.unwrap_or_else(|_| panic!("not in time: {what}"));
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn item() -> ItemId {
    ItemId::parse("post:1").unwrap()
}

fn copy(version: i64) -> CountCopy {
    let basis = Arc::new(Basis { offsets: vec![version], as_of: version, read_at: version });
    CountCopy { item: item(), like_count: version, dislike_count: 0, version, basis }
}

/// Publishes rising versions until the other node sees one; the first may fall into a reconnection.
async fn delivers(from: &Node, to: &Node) {
    let mut watch = to.bus.hub().watch_item(&item());
    let publish = async {
        for version in 1.. {
            from.bus.publish_fold(&[], &[copy(version)]);
            sleep(Duration::from_millis(10)).await;
        }
    };
    let seen = async {
        tokio::select! { seen = watch.changed() => seen, () = publish => unreachable!() }
    };
    let seen = timeout(SOON, seen).await.expect("a fold arrives");
    assert!(seen.copy.is_some());
}

#[tokio::test]
async fn two_nodes_tell_each_other_folds_and_flips() {
    let server = Server::start(free_port()).await;
    let (one, two) = (Node::start(&server.url()), Node::start(&server.url()));
    one.subscribed(true).await;
    two.subscribed(true).await;
    delivers(&one, &two).await;
    delivers(&two, &one).await;

    one.bus.publish_fold(&[FoldedRange { partition: 0, from: 0, to: 9 }], &[copy(1)]);
    eventually("the ranges are covered", async || !two.bus.behind(&[9])).await;

    let user = UserId::parse("ana").unwrap();
    let (mut own, mut other) = (one.bus.hub().watch_user(&user), two.bus.hub().watch_user(&user));
    // Let the hint of the subscription go by.
    timeout(SOON, two.bus.append_hint().notified()).await.unwrap();
    for version in 1..=2 {
        let change = ReactionChange { user: user.clone(), item: item(), state: ReactionState::Like, version };
        one.bus.publish_reaction(&change);
        assert_eq!(timeout(SOON, other.recv()).await.unwrap(), UserNews::Changed(change.clone()));
        assert_eq!(own.recv().await, UserNews::Changed(change), "once, though Redis sends it back");
    }
    assert!(own.recv().now_or_never().is_none());
    timeout(SOON, two.bus.append_hint().notified()).await.unwrap();
    one.stop().await;
    two.stop().await;
}

#[tokio::test]
async fn a_redis_that_was_killed_and_comes_back_empty_is_found_again() {
    let server = Server::start(free_port()).await;
    let (one, two) = (Node::start(&server.url()), Node::start(&server.url()));
    one.subscribed(true).await;
    two.subscribed(true).await;
    let mut user = two.bus.hub().watch_user(&UserId::parse("ana").unwrap());
    let mut lost = [one.bus.lost_touch_generation(), two.bus.lost_touch_generation()];

    let port = server.port;
    drop(server);
    one.subscribed(false).await;
    two.subscribed(false).await;
    let mut watch = one.bus.hub().watch_item(&item());
    one.bus.publish_fold(&[], &[copy(1)]);
    assert_eq!(watch.newest().copy, Some(copy(1)), "the own watchers do not need Redis");
    let dropped = || one.bus.stats().dropped.load(Ordering::Relaxed);
    eventually("the message is dropped", async || dropped() > 0).await;

    let _server = Server::start(port).await;
    for lost in &mut lost {
        timeout(PROMISED, lost.changed()).await.expect("lost touch is signalled").unwrap();
    }
    assert_eq!(timeout(SOON, user.recv()).await.unwrap(), UserNews::Missed);
    assert_eq!(one.bus.stats().reconnects.load(Ordering::Relaxed), 1);
    delivers(&one, &two).await;
    delivers(&two, &one).await;
}

#[tokio::test]
async fn a_frozen_redis_is_found_by_its_silence() {
    let server = Server::start(free_port()).await;
    let (one, two) = (Node::start(&server.url()), Node::start(&server.url()));
    one.subscribed(true).await;
    two.subscribed(true).await;
    server.signal("-STOP");
    one.subscribed(false).await;
    two.subscribed(false).await;
    server.signal("-CONT");
    one.subscribed(true).await;
    two.subscribed(true).await;
    delivers(&one, &two).await;
}

#[tokio::test]
async fn nonsense_on_a_topic_is_counted_and_survived() {
    let server = Server::start(free_port()).await;
    let (one, two) = (Node::start(&server.url()), Node::start(&server.url()));
    one.subscribed(true).await;
    two.subscribed(true).await;
    let mut link = connect(&client(&server.url()).unwrap(), |_| ()).await.unwrap();
    let nonsense: [&[u8]; 4] = [b"", b"\xff\xfe", b"{\"node\":1}", &[b'['; 100_000]];
    for topic in ["test:counts:0", "test:reactions:15"] {
        for payload in nonsense {
            let () = ::redis::cmd("PUBLISH").arg(topic).arg(payload).query_async(&mut link.connection).await.unwrap();
        }
    }
    let malformed = || two.bus.stats().malformed.load(Ordering::Relaxed);
    eventually("all of it is counted", async || malformed() == 8).await;
    delivers(&one, &two).await;
    assert_eq!(two.bus.stats().reconnects.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_missing_redis_is_named_without_its_password() {
    let port = free_port();
    let error = connect_check(&format!("redis://ana:secret@127.0.0.1:{port}/0")).await.unwrap_err();
    let text = chain(&error);
    assert!(text.contains(&format!("127.0.0.1:{port}")) && !text.contains("secret"), "{text}");
    let error = connect_check("redis//:secret@nowhere").await.unwrap_err();
    assert!(!chain(&error).contains("secret"), "{}", chain(&error));
}
