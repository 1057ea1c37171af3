//! Starting and stopping: the only place that spawns tasks. If one of them dies, the process ends rather than limps.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{error, warn};

/// Time for a worker to finish its last piece: a batch through all its attempts.
const WORKERS_STOP_MAX: Duration = Duration::from_secs(10);

/// The tasks of one node and the tokens that end them.
#[derive(Debug, Clone)]
pub struct Lifecycle {
    /// Ends what takes requests in.
    entrance: CancellationToken,
    /// Ends what works for others, once nothing comes in any more.
    work: CancellationToken,
    requests: TaskTracker,
    workers: TaskTracker,
    failure: Arc<watch::Sender<Option<String>>>,
}

impl Lifecycle {
    #[expect(clippy::new_without_default, reason = "made once, by name, where the node is put together")]
    pub fn new() -> Self {
        Self {
            entrance: CancellationToken::new(),
            work: CancellationToken::new(),
            requests: TaskTracker::new(),
            workers: TaskTracker::new(),
            failure: Arc::new(watch::Sender::new(None)),
        }
    }

    /// Cancelled when the node starts to drain.
    pub fn entrance(&self) -> CancellationToken {
        self.entrance.clone()
    }

    /// Cancelled when the entrance is empty.
    pub fn work(&self) -> CancellationToken {
        self.work.clone()
    }

    /// Spawns and tracks what serves requests: connections and upgraded sockets.
    pub fn requests(&self) -> &TaskTracker {
        &self.requests
    }

    /// Runs a task that has to live until its token is cancelled. Ending earlier, with an error or by a panic fails
    /// the node.
    pub fn spawn<E>(
        &self,
        name: &'static str,
        stop: CancellationToken,
        task: impl Future<Output = Result<(), E>> + Send + 'static,
    ) where
        E: std::fmt::Display + Send + 'static,
    {
        let lifecycle = self.clone();
        let task = self.workers.spawn(task);
        #[expect(clippy::disallowed_methods, reason = "this is the one place that spawns")]
        tokio::spawn(async move {
            let failure = match task.await {
                Ok(Ok(())) if stop.is_cancelled() => return,
                Ok(Ok(())) => "ended by itself".to_owned(),
                Ok(Err(cause)) => cause.to_string(),
                Err(panic) => panic.to_string(),
            };
            // First of all, whatever becomes of the line in the log.
            lifecycle.failure.send_replace(Some(format!("the task \"{name}\" died: {failure}")));
            error!(task = name, failure, "a task died, so the node stops");
        });
    }

    /// Ends the requests within `drain`, then the workers, which finish what they were given.
    pub async fn stop(&self, drain: Duration) {
        self.entrance.cancel();
        self.requests.close();
        if timeout(drain, self.requests.wait()).await.is_err() {
            warn!(open = self.requests.len(), "the drain is over and requests are cut off");
        }
        self.work.cancel();
        self.workers.close();
        if timeout(WORKERS_STOP_MAX, self.workers.wait()).await.is_err() {
            warn!(open = self.workers.len(), "workers do not stop and are cut off");
        }
    }

    /// Why a task died; waits until one does.
    pub async fn failed(&self) -> String {
        let mut failure = self.failure.subscribe();
        let failed = failure.wait_for(Option::is_some).await;
        failed.ok().and_then(|failure| failure.clone()).unwrap_or_default()
    }

    /// Why a task died, if one did.
    pub fn failure(&self) -> Option<String> {
        self.failure.borrow().clone()
    }
}
