//! The bus over Redis pub/sub: one connection that listens, one that publishes, each with its own supervisor.
//!
//! The client's own reconnecting is not used: it can come back deaf. A connection here lives until it ends or leaves a
//! PING unanswered, then a new one is made and the node is told that it lost touch. Messages are read inside the
//! connection's driver, without a queue between: a node that is too slow fills the socket, Redis cuts it off, and it
//! starts over. Messages are dropped rather than delivered late, since a node that hears nothing reads for itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ::redis::aio::MultiplexedConnection;
use ::redis::io::tcp::TcpSettings;
use ::redis::{AsyncConnectionConfig, Client, IntoConnectionInfo, Msg, ProtocolVersion, PushInfo, PushKind};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::bus::{BusStats, LocalBus};
use super::hub::Hub;
use super::wire::{self, Malformed, Topic};
use crate::domain::{CountCopy, FoldedRange, ReactionChange};
use crate::error::{Error, ErrorCode, Result, chain};
use crate::failpoint;

/// Messages that wait for the publisher. Past it further ones are dropped and counted; the other nodes read for
/// themselves within about a second.
const QUEUE_MESSAGES: usize = 8_192;

/// Bytes of those messages together; past it the same happens.
const QUEUE_BYTES: usize = 16 * 1024 * 1024;

/// Messages in one pipeline. More wait for the next one; a failed pipeline loses this many at most.
const BATCH: usize = 512;

/// To reach Redis and log in. Past it the attempt has failed, and the next follows after the back-off.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// For any reply. Past it the connection counts as lost, since nobody can know what became of the request.
const REPLY_TIMEOUT: Duration = Duration::from_secs(1);

/// Between two PINGs of a connection; with the reply's time-out, a half-open one is found within 3 s.
const PING_EVERY: Duration = Duration::from_secs(2);

/// Shortest and longest wait before a new connection; it doubles in between, and attempts go on without end.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// The publishing side; [`Publisher`] and [`Subscriber`] do the work.
pub struct RedisBus {
    local: LocalBus,
    client: Client,
    namespace: String,
    /// Tells the own messages when they come back.
    node: u64,
    queue: mpsc::Sender<Outgoing>,
    queued_bytes: AtomicUsize,
}

struct Outgoing {
    topic: Topic,
    payload: Vec<u8>,
}

impl RedisBus {
    /// Opens no connection yet: run both futures until the end of the node, and stop the publisher after all that
    /// publishes. `namespace` goes before the names of topics, such as `likewise:v1:`.
    pub fn open(url: &str, namespace: &str, hub: Arc<Hub>) -> Result<(Arc<Self>, Publisher, Subscriber)> {
        let (sender, queue) = mpsc::channel(QUEUE_MESSAGES);
        let bus = Arc::new(Self {
            local: LocalBus::new(hub),
            client: client(url)?,
            namespace: namespace.to_owned(),
            node: rand::random(),
            queue: sender,
            queued_bytes: AtomicUsize::new(0),
        });
        let publisher = Publisher { bus: Arc::clone(&bus), queue };
        Ok((Arc::clone(&bus), publisher, Subscriber { bus }))
    }

    pub(super) fn local(&self) -> &LocalBus {
        &self.local
    }

    pub(super) fn send_fold(&self, ranges: &[FoldedRange], copies: &[CountCopy]) {
        let encoded = wire::encode_fold(self.node, rand::random(), ranges, copies);
        if encoded.left_out > 0 {
            self.drop_messages(encoded.left_out, "too many items changed at once");
        }
        for (topic, payload) in encoded.messages {
            self.enqueue(topic, payload);
        }
    }

    pub(super) fn send_reaction(&self, change: &ReactionChange) {
        let (topic, payload) = wire::encode_reaction(self.node, change);
        self.enqueue(topic, payload);
    }

    fn enqueue(&self, topic: Topic, payload: Vec<u8>) {
        if failpoint::loses("bus_before_send") {
            return;
        }
        let bytes = payload.len();
        let fits = self.queued_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes <= QUEUE_BYTES;
        if !fits || self.queue.try_send(Outgoing { topic, payload }).is_err() {
            self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.drop_messages(1, "the queue is full");
        }
    }

    fn drop_messages(&self, messages: usize, reason: &'static str) {
        if BusStats::count_loss(&self.local.stats.dropped, messages) {
            tracing::warn!(messages, reason, "bus messages dropped; other nodes read for themselves");
        }
    }

    fn receive(&self, message: &Msg) {
        if failpoint::loses("bus_on_receive") {
            return;
        }
        self.local.stats.messages_in.fetch_add(1, Ordering::Relaxed);
        if let Err(reason) = self.take(message)
            && BusStats::count_loss(&self.local.stats.malformed, 1)
        {
            tracing::warn!(topic = message.get_channel_name(), reason = chain(&reason), "bus message cannot be read");
        }
    }

    fn take(&self, message: &Msg) -> Result<(), Malformed> {
        match Topic::parse(message.get_channel_name(), &self.namespace).ok_or(Malformed::Topic)? {
            Topic::Counts(topic) => {
                let part = wire::decode_fold(topic, message.get_payload_bytes())?;
                if part.node != self.node {
                    // The hub first: what coverage says has been told must have been told.
                    self.local.hub.offer(&part.copies);
                    self.local.coverage().note(part.fold, part.topics, topic, &part.ranges);
                }
            }
            Topic::Reactions(_) => {
                let (node, change) = wire::decode_reaction(message.get_payload_bytes())?;
                if node != self.node {
                    self.local.take_reaction(&change);
                }
            }
        }
        Ok(())
    }
}

/// Proves at start-up that Redis answers; the message names the address, never the password, and what to do.
pub async fn connect_check(url: &str) -> Result<()> {
    let client = client(url)?;
    let reached = match connect(&client, |_| ()).await {
        Ok(mut link) => link.ping().await,
        Err(error) => Err(error),
    };
    reached.map_err(|error| {
        let address = client.get_connection_info().addr();
        let message = format!(
            "Redis at {address} cannot be used. Start it there (version 6 or newer), or correct the address and the \
             password in LIKEWISE_REDIS_URL."
        );
        Error::new(ErrorCode::Unavailable, message).caused_by(error)
    })
}

/// Listens to all topics.
pub struct Subscriber {
    bus: Arc<RedisBus>,
}

impl Subscriber {
    /// Runs until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        stop.run_until_cancelled(self.supervise()).await;
        self.bus.local.stats.subscribed.store(false, Ordering::Relaxed);
    }

    async fn supervise(&self) {
        let local = &self.bus.local;
        let mut outage = Outage::default();
        let mut generation = 0_u64;
        loop {
            let error = match self.subscribe().await {
                Ok(mut link) => {
                    outage.over("bus subscribed");
                    local.stats.reconnects.fetch_add(u64::from(generation > 0), Ordering::Relaxed);
                    generation += 1;
                    local.lose_touch();
                    local.stats.subscribed.store(true, Ordering::Relaxed);
                    let error = link.until_lost().await;
                    local.stats.subscribed.store(false, Ordering::Relaxed);
                    error
                }
                Err(error) => error,
            };
            sleep(outage.wait(&self.bus.client, &error, "bus subscription lost")).await;
        }
    }

    /// Answers once Redis has confirmed every topic.
    async fn subscribe(&self) -> Result<Link, ::redis::RedisError> {
        let bus = Arc::clone(&self.bus);
        let mut link = connect(&self.bus.client, move |message| bus.receive(&message)).await?;
        let names: Vec<_> = Topic::all().map(|topic| topic.name(&self.bus.namespace)).collect();
        link.connection.subscribe(names).await?;
        Ok(link)
    }
}

/// Empties the queue into Redis, or onto the floor while Redis is away.
pub struct Publisher {
    bus: Arc<RedisBus>,
    queue: mpsc::Receiver<Outgoing>,
}

impl Publisher {
    /// Runs until `stop`, and then sends one last batch of what is queued.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut link = None;
        stop.run_until_cancelled(self.supervise(&mut link)).await;
        let mut rest = Vec::new();
        if let Some(link) = &mut link
            && !self.queue.is_empty()
        {
            self.receive_batch(&mut rest).await;
            // A failure is counted; nobody is left to try again.
            let _ = self.publish(link, &rest).await;
        }
    }

    async fn supervise(&mut self, link: &mut Option<Link>) {
        let mut outage = Outage::default();
        let client = self.bus.client.clone();
        loop {
            let error = match self.discard_until(connect(&client, |_| ())).await {
                Ok(made) => {
                    outage.over("bus publisher connected");
                    let error = self.publish_until_lost(link.insert(made)).await;
                    *link = None;
                    error
                }
                Err(error) => error,
            };
            self.discard_until(sleep(outage.wait(&client, &error, "bus publisher lost"))).await;
        }
    }

    async fn publish_until_lost(&mut self, link: &mut Link) -> ::redis::RedisError {
        let mut batch = Vec::new();
        loop {
            let gone = link.gone.clone();
            let sent = tokio::select! {
                biased;
                () = gone.cancelled() => return closed(),
                () = self.receive_batch(&mut batch) => self.publish(link, &batch).await,
                () = sleep(PING_EVERY) => link.ping().await,
            };
            if let Err(error) = sent {
                return error;
            }
        }
    }

    async fn publish(&self, link: &mut Link, batch: &[Outgoing]) -> ::redis::RedisResult<()> {
        let mut pipeline = ::redis::pipe();
        for message in batch {
            pipeline.publish(message.topic.name(&self.bus.namespace), &message.payload).ignore();
        }
        let sent = pipeline.query_async(&mut link.connection).await;
        match &sent {
            Ok(()) => {
                self.bus.local.stats.messages_out.fetch_add(batch.len() as u64, Ordering::Relaxed);
            }
            Err(_) => self.bus.drop_messages(batch.len(), "the connection was lost"),
        }
        sent
    }

    /// Waits for `future` and drops what is queued meanwhile: old news would be worse than none.
    async fn discard_until<T>(&mut self, future: impl Future<Output = T>) -> T {
        let mut future = std::pin::pin!(future);
        let mut batch = Vec::new();
        loop {
            tokio::select! {
                biased;
                output = &mut future => return output,
                () = self.receive_batch(&mut batch) => self.bus.drop_messages(batch.len(), "Redis is away"),
            }
        }
    }

    /// Waits for at least one message, and replaces what the batch held. Safe to cancel; the queue cannot close, since the bus holds its other end.
    async fn receive_batch(&mut self, batch: &mut Vec<Outgoing>) {
        batch.clear();
        self.queue.recv_many(batch, BATCH).await;
        let bytes = batch.iter().map(|message| message.payload.len()).sum();
        self.bus.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// One connection and word of its end.
struct Link {
    connection: MultiplexedConnection,
    gone: CancellationToken,
}

impl Link {
    async fn ping(&mut self) -> ::redis::RedisResult<()> {
        ::redis::cmd("PING").query_async(&mut self.connection).await
    }

    async fn until_lost(&mut self) -> ::redis::RedisError {
        loop {
            if timeout(PING_EVERY, self.gone.cancelled()).await.is_ok() {
                return closed();
            }
            if let Err(error) = self.ping().await {
                return error;
            }
        }
    }
}

/// `on_message` runs inside the connection's driver, so it must not wait.
async fn connect(
    client: &Client,
    on_message: impl Fn(Msg) + Send + Sync + 'static,
) -> Result<Link, ::redis::RedisError> {
    let gone = CancellationToken::new();
    let signal = gone.clone();
    let on_push = move |push: PushInfo| {
        if push.kind == PushKind::Disconnection {
            signal.cancel();
        } else if let Some(message) = Msg::from_push_info(push) {
            on_message(message);
        }
        Ok::<_, ()>(())
    };
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(Some(REPLY_TIMEOUT))
        .set_push_sender(on_push);
    let connection = client.get_multiplexed_async_connection_with_config(&config).await?;
    Ok(Link { connection, gone })
}

/// RESP3, in which messages and replies share a connection.
fn client(url: &str) -> Result<Client> {
    let invalid = |error: ::redis::RedisError| {
        let message = "LIKEWISE_REDIS_URL is not the address of a Redis, such as redis://localhost:6379.";
        Error::bad_input("LIKEWISE_REDIS_URL", message).caused_by(error)
    };
    let info = url.into_connection_info().map_err(invalid)?;
    let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    // Without it the last packet of a long pipeline waits for an acknowledgement, up to 40 ms.
    let tcp = TcpSettings::default().set_nodelay(true);
    Client::open(info.set_redis_settings(settings).set_tcp_settings(tcp)).map_err(invalid)
}

fn closed() -> ::redis::RedisError {
    std::io::Error::from(std::io::ErrorKind::ConnectionReset).into()
}

/// How long to wait before the next attempt, and what of it belongs in the log: the loss and the return, each once.
#[derive(Default)]
struct Outage {
    failures: u32,
    logged: bool,
    connected_at: Option<Instant>,
}

impl Outage {
    fn over(&mut self, message: &'static str) {
        tracing::info!("{message}");
        self.logged = false;
        self.connected_at = Some(Instant::now());
    }

    /// A connection that was lost again at once does not shorten the wait: each one makes the node read all it watches.
    fn wait(&mut self, client: &Client, error: &::redis::RedisError, message: &'static str) -> Duration {
        if self.connected_at.take().is_some_and(|since| since.elapsed() > BACKOFF.1) {
            self.failures = 0;
        }
        if !self.logged {
            let address = client.get_connection_info().addr();
            tracing::warn!(%address, error = chain(error), "{message}; trying again until it is back");
            self.logged = true;
        }
        let longest = BACKOFF.0.saturating_mul(2_u32.saturating_pow(self.failures)).min(BACKOFF.1);
        self.failures = self.failures.saturating_add(1);
        rand::random_range(BACKOFF.0..=longest)
    }
}

#[cfg(test)]
mod tests;
