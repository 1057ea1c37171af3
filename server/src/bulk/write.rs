//! The second half of every bulk load: rows by partition, committed in chunks, and folded at the end.
//!
//! Rows of one partition are committed in the order they come in; partitions go side by side, which is one after the
//! other on SQLite, whose log has one. Nothing is spawned: feeding and writing are futures of the caller's task.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::sync::mpsc;
use tokio::time::sleep;
use tracing::{debug, warn};

use super::error::BulkError;
use super::progress::Progress;
use crate::domain::UserId;
use crate::error::{Error, ErrorCode, chain};
use crate::pipeline::counter::{Counter, CounterStats};
use crate::realtime::{Bus, Hub};
use crate::store::Store;
use crate::store::batch::ImportProgress;
use crate::store::decide::{Command, Source};
use crate::store::fold::FoldError;

/// Rows that wait for one partition; the reading of the file waits when they are full. About 150 bytes each.
const QUEUE_MAX: usize = 8_192;
/// How long a chunk should hold its partition's lock. Live writes wait for it, and a lane gives up after 1.5 s.
const CHUNK_TIME: Duration = Duration::from_millis(250);
/// Rows after which SQLite's log is emptied: some hundred MiB. The server's own commits have a batch each, not a row.
const LOG_ROWS_MAX: u64 = 50_000;
/// Failures in a row after which the load stops; each has taken some seconds of attempts already.
pub(super) const FAILURES_MAX: u32 = 4;
/// Folds that another transaction may be in the way of, in a row.
const FOLD_TRIES: u32 = 10;
/// Pause before such a fold is tried again, or another write that is not a chunk.
pub(super) const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// Bounds on the rows of one transaction. It begins with the least, doubles while chunks are quick, and halves when one
/// is slow or fails.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunks {
    pub least: usize,
    pub most: usize,
}

impl Default for Chunks {
    fn default() -> Self {
        Self { least: 250, most: 4_000 }
    }
}

/// A command, and where it stands in its source: the line of a file, or a place in a sequence.
#[derive(Debug)]
pub(super) struct Row {
    pub number: u64,
    pub command: Command,
}

/// Where rows go in.
pub(super) struct Feed {
    queues: Vec<mpsc::Sender<Row>>,
}

/// What takes them out.
pub(super) struct Writing {
    writers: Vec<Writer>,
}

/// What became of the rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Written {
    pub changed: u64,
    pub unchanged: u64,
    pub refused: u64,
}

/// A load of `store`. With an id, it is committed with each chunk how far its partition has come.
pub(super) fn open(store: &Store, import_id: Option<&str>, chunks: Chunks) -> (Feed, Writing) {
    let writer = |partition| {
        let (sender, queue) = mpsc::channel(QUEUE_MAX);
        let writer = Writer {
            store: store.clone(),
            partition,
            import_id: import_id.map(str::to_owned),
            queue,
            numbers: Vec::new(),
            commands: Vec::new(),
            chunks,
            size: chunks.least,
            written: Written::default(),
            logged: 0,
        };
        (sender, writer)
    };
    let (queues, writers) = (0..store.partitions()).map(writer).unzip();
    (Feed { queues }, Writing { writers })
}

impl Feed {
    pub(super) fn partition(&self, user: &UserId) -> usize {
        user.partition(self.queues.len())
    }

    /// Waits while the partition's queue is full. False where writing has stopped.
    pub(super) async fn push(&self, row: Row) -> bool {
        self.queues[self.partition(&row.command.user)].send(row).await.is_ok()
    }
}

impl Writing {
    /// Ends when the feed is dropped and all is committed, or at the first failure: then every partition ends its
    /// chunk, so that no transaction is cut off.
    pub(super) async fn run(self, progress: &Progress) -> Result<Written, BulkError> {
        let mut sum = Written::default();
        for written in join_all(self.writers.into_iter().map(|writer| writer.run(progress))).await {
            let written = written?;
            sum.changed += written.changed;
            sum.unchanged += written.unchanged;
            sum.refused += written.refused;
        }
        Ok(sum)
    }
}

/// The writer of one partition.
struct Writer {
    store: Store,
    partition: usize,
    import_id: Option<String>,
    queue: mpsc::Receiver<Row>,
    /// Rows that were taken from the queue and are not committed.
    commands: Vec<Command>,
    numbers: Vec<u64>,
    chunks: Chunks,
    size: usize,
    written: Written,
    /// Rows since the log was last emptied.
    logged: u64,
}

impl Writer {
    async fn run(mut self, progress: &Progress) -> Result<Written, BulkError> {
        let mut failures = 0;
        while self.fill().await {
            match self.commit().await {
                Ok(count) => {
                    failures = 0;
                    progress.add(count);
                    self.logged += count;
                    if self.logged >= LOG_ROWS_MAX {
                        tidy(self.store.empty_log().await.map(drop));
                        self.logged = 0;
                    }
                }
                Err(BulkError::Stopped { source, .. }) if failures + 1 < FAILURES_MAX => {
                    failures += 1;
                    self.size = (self.size / 2).max(self.chunks.least);
                    warn!(partition = self.partition, rows = self.size, cause = %source, "a chunk is tried again");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(self.written)
    }

    /// Takes rows up to a chunk; false where there are none left.
    async fn fill(&mut self) -> bool {
        while self.commands.len() < self.size {
            let Some(row) = self.queue.recv().await else { break };
            self.numbers.push(row.number);
            self.commands.push(row.command);
        }
        !self.commands.is_empty()
    }

    async fn commit(&mut self) -> Result<u64, BulkError> {
        let count = self.size.min(self.commands.len());
        let last = self.numbers[count - 1];
        let line = i64::try_from(last).unwrap_or(i64::MAX);
        let progress = self.import_id.clone().map(|import_id| ImportProgress { import_id, line });
        let started = Instant::now();
        let answers = self.store.commit_chunk(self.partition, &self.commands[..count], progress.as_ref()).await;
        let mut written = self.written;
        for (answer, row) in answers.into_iter().zip(&self.numbers) {
            match answer {
                Ok(answer) if answer.changed() => written.changed += 1,
                Ok(_) => written.unchanged += 1,
                Err(error) => {
                    refusal(error, *row)?;
                    written.refused += 1;
                }
            }
        }
        self.written = written;
        self.numbers.drain(..count);
        self.commands.drain(..count);
        let took = started.elapsed();
        debug!(partition = self.partition, rows = count, milliseconds = took.as_millis(), "a chunk is committed");
        self.adapt(took);
        Ok(count as u64)
    }

    fn adapt(&mut self, took: Duration) {
        if took > CHUNK_TIME {
            self.size = (self.size / 2).max(self.chunks.least);
        } else if took < CHUNK_TIME / 2 {
            self.size = (self.size * 2).min(self.chunks.most);
        }
    }
}

/// A deleted account's reactions are left out; everything else stops the load.
fn refusal(error: Error, row: u64) -> Result<(), BulkError> {
    match error.code() {
        ErrorCode::Unauthenticated => Ok(()),
        code if code.retryable() => Err(BulkError::Stopped { row, source: error }),
        _ => Err(BulkError::Refused { row, source: error }),
    }
}

/// Brings the counts up to date; live nodes may be folding at the same time.
pub(super) async fn fold(store: &Store) -> Result<(), BulkError> {
    let progress = Progress::new("folding", store.log_lag_events().await?);
    // The watchers are on other nodes, which see by the checkpoints that the log was folded.
    let bus = Bus::local(std::sync::Arc::new(Hub::new()));
    let counter = Counter::new(store.clone(), bus, Duration::ZERO, CounterStats::default());
    let mut tries = 0;
    loop {
        match counter.drain(|events| progress.add(events)).await {
            Ok(()) => break,
            Err(FoldError::Passing(cause)) if tries < FOLD_TRIES => {
                tries += 1;
                warn!(%cause, "a fold is tried again");
                sleep(RETRY_PAUSE).await;
            }
            Err(error) => return Err(BulkError::Fold(error)),
        }
    }
    progress.finish();
    tidy(store.settle_load().await);
    Ok(())
}

/// The rows are safe whether SQLite's log could be emptied or not.
fn tidy(emptied: Result<(), Error>) {
    if let Err(error) = emptied {
        warn!(error = %chain(&error), "SQLite's log could not be emptied: whoever writes next does it");
    }
}

impl Row {
    pub(super) fn of(number: u64, reacted: super::parse::Reacted) -> Self {
        let from = Source::Import { reacted_at: reacted.at };
        let command = Command { user: reacted.user, item: reacted.item, wanted: reacted.state, key: None, from };
        Self { number, command }
    }
}
