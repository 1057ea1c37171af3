//! The write lanes: one queue and one task per log partition, which commit whatever is queued as one batch.
//!
//! No timer: a lone command goes at once, batches form by themselves while the one before commits. A transaction runs
//! in the lane's task and never in a request's future, so a client that hangs up cannot leave one half-way. What was
//! answered is durable; what could not be committed in time is answered `UNAVAILABLE` or `OVERLOADED`, and the same
//! request may be sent again with the same key.

use std::collections::VecDeque;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use sea_orm::DbErr;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use super::Store;
use super::batch::{Batch, BatchError, ImportProgress};
use super::decide::{Answer, Command};
use crate::error::{Error, ErrorCode, Result, chain};
use crate::failpoint;

/// Most commands in one transaction.
pub const BATCH_MAX: usize = 512;
/// Commands that wait in one lane; one more is answered `OVERLOADED`.
const QUEUE_MAX: usize = 4_096;
/// A command that waited this long is answered `OVERLOADED` and not run.
const QUEUE_WAIT_MAX: Duration = Duration::from_secs(2);
/// After this no further attempt is made, and the batch is answered `UNAVAILABLE`.
const ATTEMPTS_UNTIL: Duration = Duration::from_millis(2_500);
/// An attempt whose connection says nothing for this long is given up; whether it committed is then read from the log.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);
/// Pause between attempts, doubled from the first to the last.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(250));
/// Times that rows may change under a batch before it is split to find the one at fault.
const GUARD_FAILURES_MAX: u32 = 3;

/// What the lanes of a node measure, for telemetry to name.
#[derive(Debug, Clone)]
pub struct LaneStats {
    /// Commands in a batch.
    pub batch_size: Histogram,
    /// Commands that were answered `OVERLOADED`.
    pub shed: Counter,
    /// Answers that were given again for the same key.
    pub replays: Counter,
}

impl Default for LaneStats {
    fn default() -> Self {
        let batch_size = Histogram::new(exponential_buckets(1.0, 2.0, 10));
        Self { batch_size, shed: Counter::default(), replays: Counter::default() }
    }
}

/// The entrance to the lanes.
#[derive(Debug, Clone)]
pub struct Lanes {
    queues: Vec<mpsc::Sender<Queued>>,
    stats: LaneStats,
}

/// One lane, to be run as a task of its own.
#[derive(Debug)]
pub struct Lane {
    store: Store,
    partition: usize,
    queue: mpsc::Receiver<Queued>,
    stats: LaneStats,
}

#[derive(Debug)]
struct Queued {
    command: Command,
    since: Instant,
    reply: oneshot::Sender<Result<Answer>>,
}

impl Lanes {
    /// The entrance, and a lane for each partition of the store.
    pub fn new(store: &Store, stats: LaneStats) -> (Self, Vec<Lane>) {
        let lane = |partition| {
            let (sender, queue) = mpsc::channel(QUEUE_MAX);
            (sender, Lane { store: store.clone(), partition, queue, stats: stats.clone() })
        };
        let (queues, lanes) = (0..store.partitions()).map(lane).unzip();
        (Self { queues, stats }, lanes)
    }

    /// Queues a command and waits for its answer. Dropping the future does not take the command back.
    pub async fn submit(&self, command: Command) -> Result<Answer> {
        let (reply, answer) = oneshot::channel();
        let queue = &self.queues[command.user.partition(self.queues.len())];
        let queued = Queued { command, since: Instant::now(), reply };
        queue.try_send(queued).map_err(|refused| match refused {
            mpsc::error::TrySendError::Full(_) => {
                self.stats.shed.inc();
                overloaded()
            }
            mpsc::error::TrySendError::Closed(_) => stopping(),
        })?;
        let answer = answer.await.unwrap_or_else(|_| Err(stopping()));
        if answer.as_ref().is_ok_and(|answer| answer.replayed) {
            self.stats.replays.inc();
        }
        answer
    }
}

impl Lane {
    /// Commits until `stop`, then what is still queued.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut batch = Vec::with_capacity(BATCH_MAX);
        loop {
            tokio::select! {
                biased;
                taken = self.queue.recv_many(&mut batch, BATCH_MAX) => {
                    if taken == 0 {
                        return;
                    }
                    self.answer(std::mem::take(&mut batch)).await;
                }
                () = stop.cancelled(), if !self.queue.is_closed() => self.queue.close(),
            }
        }
    }

    async fn answer(&self, batch: Vec<Queued>) {
        let (late, mut batch): (Vec<_>, Vec<_>) =
            batch.into_iter().partition(|queued| queued.since.elapsed() > QUEUE_WAIT_MAX);
        self.stats.shed.inc_by(late.len() as u64);
        for queued in late {
            let _ = queued.reply.send(Err(overloaded()));
        }
        // Whoever hung up before the batch was taken asked for nothing that was promised.
        batch.retain(|queued| !queued.reply.is_closed());
        if batch.is_empty() {
            return;
        }
        let (commands, replies): (Vec<_>, Vec<_>) =
            batch.into_iter().map(|queued| (queued.command, queued.reply)).unzip();
        self.stats.batch_size.observe(commands.len() as f64);
        let answers = commit(&self.store, self.partition, &commands, None).await;
        failpoint::reach("lane_before_answers").await;
        for (reply, answer) in replies.into_iter().zip(answers) {
            // The client may have hung up meanwhile; its command stands.
            let _ = reply.send(answer);
        }
    }
}

/// Commits commands of one partition in their order, and answers each. A command whose data the database refuses is
/// found by halving and refused alone; the others are committed.
pub(super) async fn commit(
    store: &Store,
    partition: usize,
    commands: &[Command],
    progress: Option<&ImportProgress>,
) -> Vec<Result<Answer>> {
    let mut answers = Vec::with_capacity(commands.len());
    let mut parts = VecDeque::from([commands]);
    let mut all_settled = true;
    while let Some(part) = parts.pop_front() {
        let mut batch = Batch::new(store, partition, part);
        // The last part takes the whole stretch's progress along, and only where all of it is in.
        if let (Some(progress), true) = (progress, parts.is_empty() && all_settled) {
            batch = batch.with_progress(progress);
        }
        match until_settled(&mut batch).await {
            Ok(part_answers) => answers.extend(part_answers),
            Err(Settled::Refused(_)) if part.len() > 1 => {
                let (first, second) = part.split_at(part.len() / 2);
                parts.push_front(second);
                parts.push_front(first);
            }
            Err(Settled::Refused(cause)) => {
                let refusal = Error::internal(cause);
                error!(partition, error = %chain(&refusal), "the database refuses a reaction");
                answers.push(Err(refusal));
                all_settled = false;
            }
            Err(Settled::Away(cause)) => {
                let away = Error::unavailable(cause);
                warn!(partition, commands = part.len(), error = %chain(&away), "a batch could not be committed");
                answers.extend(part.iter().map(|_| Err(away.clone())));
                all_settled = false;
            }
        }
    }
    answers
}

/// How a batch ended that was not committed.
enum Settled {
    Refused(DbErr),
    Away(DbErr),
}

async fn until_settled(batch: &mut Batch<'_>) -> Result<Vec<Result<Answer>>, Settled> {
    let start = Instant::now();
    let mut pause = BACKOFF.0;
    let mut guard_failures = 0;
    loop {
        let attempt = timeout(ATTEMPT_TIMEOUT, batch.attempt()).await;
        let cause = match attempt {
            Ok(Ok(answers)) => return Ok(answers),
            Ok(Err(BatchError::Refused(cause))) => return Err(Settled::Refused(cause)),
            Ok(Err(BatchError::Guard)) => {
                guard_failures += 1;
                let cause = DbErr::Custom("reaction rows change without the lock of their partition".into());
                if guard_failures == GUARD_FAILURES_MAX {
                    return Err(Settled::Refused(cause));
                }
                cause
            }
            Ok(Err(BatchError::Again(cause))) => cause,
            Err(_) => DbErr::Custom("the database did not answer in time".into()),
        };
        if start.elapsed() > ATTEMPTS_UNTIL {
            return Err(Settled::Away(cause));
        }
        warn!(in_doubt = batch.in_doubt(), error = %cause, "a batch is tried again");
        sleep(pause).await;
        pause = (pause * 2).min(BACKOFF.1);
    }
}

fn overloaded() -> Error {
    Error::new(ErrorCode::Overloaded, "Too many reactions are waiting. Send the same request again a little later.")
}

fn stopping() -> Error {
    Error::new(ErrorCode::Unavailable, "This node is stopping. Send the same request again.")
}
