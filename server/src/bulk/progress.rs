//! How far a long command is: a bar on a terminal, otherwise a log line every few seconds.

use std::fmt;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use tracing::info;

/// Time between two log lines where there is no terminal.
const LOG_INTERVAL: Duration = Duration::from_secs(5);

/// One stage of a long command.
pub(crate) struct Progress {
    stage: &'static str,
    /// Hidden where stderr is no terminal.
    bar: ProgressBar,
    last_log: Mutex<Instant>,
}

impl Progress {
    /// `total` in the stage's own unit.
    pub(crate) fn new(stage: &'static str, total: u64) -> Self {
        let template = "{msg:>9} [{bar:32}] {percent:>3} %  {human_pos} of {human_len}  {rate}  {eta} left";
        Self::with_template(stage, total, template)
    }

    pub(super) fn of_bytes(stage: &'static str, total: u64) -> Self {
        let template = "{msg:>9} [{bar:32}] {percent:>3} %  {bytes} of {total_bytes}  {bytes_per_sec}  {eta} left";
        Self::with_template(stage, total, template)
    }

    fn with_template(stage: &'static str, total: u64, template: &str) -> Self {
        let style = ProgressStyle::with_template(template).expect("the template is well-formed").with_key(
            "rate",
            |state: &ProgressState, to: &mut dyn fmt::Write| {
                // A bar that cannot be drawn is no reason to stop.
                let _ = write!(to, "{:.0}/s", state.per_sec());
            },
        );
        let bar = ProgressBar::new(total).with_style(style.progress_chars("=> ")).with_message(stage);
        Self { stage, bar, last_log: Mutex::new(Instant::now()) }
    }

    pub(crate) fn add(&self, count: u64) {
        self.bar.inc(count);
        self.log();
    }

    pub(super) fn set(&self, position: u64) {
        self.bar.set_position(position);
        self.log();
    }

    pub(crate) fn finish(self) {
        self.bar.finish_and_clear();
    }

    fn log(&self) {
        if !self.bar.is_hidden() {
            return;
        }
        let mut last_log = self.last_log.lock().expect("nothing panics under this lock");
        if last_log.elapsed() >= LOG_INTERVAL {
            *last_log = Instant::now();
            info!(stage = self.stage, done = self.bar.position(), total = self.bar.length(), "the work goes on");
        }
    }
}
