//! A server process that never outlives the test run.
//!
//! Drop stops it when a test fails. Where the run itself is killed, a watchdog does: a shell that reads from a pipe
//! whose other end only the run holds. The kernel closes that end however the run dies, so the watchdog needs no polling
//! and cannot mistake a process that took over the run's id; a line on the pipe sends it home.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Longest wait for a process that was told to stop; after it, it is killed and the test fails.
const STOP_LIMIT: Duration = Duration::from_secs(30);

/// $1 signal, $2 process, $3 its folder, which is removed once the process is gone (10 s at most).
const WATCHDOG: &str = r#"
read -r _ && exit
kill -s "$1" "$2" 2>/dev/null
tries=0
while [ "$tries" -lt 100 ] && kill -0 "$2" 2>/dev/null; do sleep 0.1; tries=$((tries + 1)); done
rm -rf -- "$3"
"#;

/// A running child process.
#[derive(Debug)]
pub struct Process {
    name: &'static str,
    child: Child,
    watchdog: Child,
    last_resort: Signal,
}

impl Process {
    /// Starts `command`; `last_resort` is what the watchdog and Drop send, and `folder` what the watchdog then removes.
    pub fn start(
        name: &'static str,
        command: &mut Command,
        folder: &Path,
        last_resort: Signal,
    ) -> std::io::Result<Self> {
        // A group of its own: Ctrl-C at the terminal reaches the test run only, which then stops its servers.
        let child = command.process_group(0).spawn()?;
        let watchdog = Command::new("sh")
            .args(["-c", WATCHDOG, "watchdog"])
            .arg(last_resort.as_str().trim_start_matches("SIG"))
            .arg(child.id().to_string())
            .arg(folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { name, child, watchdog, last_resort })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).expect("process ids are small");
        kill(Pid::from_raw(id), signal).unwrap_or_else(|error| panic!("{signal} to {}: {error}", self.name));
    }

    /// True from SIGSTOP to SIGCONT. Linux says so in the third word of `stat`, after the name in brackets.
    pub fn is_stopped(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
    }

    /// The exit status, where the process has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child of this process can be waited for")
    }

    /// Sends `signal` and waits for the end. Blocks the thread.
    pub fn stop(mut self, signal: Signal) -> ExitStatus {
        if self.ended().is_none() {
            self.signal(signal);
        }
        self.wait()
    }

    /// Waits for the end without a signal. Blocks the thread.
    pub fn wait(&mut self) -> ExitStatus {
        self.wait_at_most(STOP_LIMIT).unwrap_or_else(|| panic!("{} did not stop within {STOP_LIMIT:?}", self.name))
    }

    fn wait_at_most(&mut self, limit: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.ended() {
                return Some(status);
            }
            if Instant::now() > deadline {
                return None;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(mut pipe) = self.watchdog.stdin.take() {
            // Where it has died, nothing is left to send home.
            let _ = pipe.write_all(b"\n");
        }
        let _ = self.watchdog.wait();
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal(self.last_resort);
            if self.wait_at_most(Duration::from_secs(5)).is_none() {
                let _ = self.child.kill();
                let _ = self.child.wait();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_run_that_is_killed_takes_its_servers_and_folders_with_it() {
        let folder = tempfile::tempdir().expect("a temporary folder").keep();
        let mut process = Process::start("sleep", Command::new("sleep").arg("600"), &folder, Signal::SIGKILL)
            .expect("there is a program sleep");
        // What the kernel does when the run dies.
        drop(process.watchdog.stdin.take());
        assert_eq!(process.wait().signal(), Some(Signal::SIGKILL as i32));
        process.watchdog.wait().expect("a child");
        assert!(!folder.exists());
    }
}
