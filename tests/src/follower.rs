//! The command `likewise events` as a process that goes on, with its lines in a file.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::binary;
use crate::process::Process;

/// A reading of the log that follows it.
#[derive(Debug)]
pub struct Follower {
    process: Process,
    lines: PathBuf,
    log: PathBuf,
}

impl Follower {
    /// Starts it with its files in `folder`, which no other process uses.
    pub fn start<S: AsRef<str>>(folder: &Path, url: &str, from: &[S]) -> Self {
        let mut arguments = vec!["events", "--follow", "--database-url", url];
        arguments.extend(from.iter().flat_map(|position| ["--from", position.as_ref()]));
        let (lines, log) = (folder.join("events.ndjson"), folder.join("events.log"));
        let mut command = binary::command(folder, &arguments);
        command.stdin(Stdio::null());
        command.stdout(File::create(&lines).expect("a file")).stderr(File::create(&log).expect("a file"));
        let process = Process::start("likewise", &mut command, &lines, Signal::SIGKILL).expect("the binary starts");
        Self { process, lines, log }
    }

    /// The events so far; a line that is not whole fails the test.
    pub fn events(&self) -> Vec<Value> {
        events_in(&self.lines)
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Sends `signal`, waits for the end and returns the events and the exit code, `None` where the signal ended it.
    pub fn stop(self, signal: Signal) -> (Vec<Value>, Option<i32>) {
        let code = self.process.stop(signal).code();
        (events_in(&self.lines), code)
    }
}

fn events_in(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).expect("the file of its lines");
    assert!(text.is_empty() || text.ends_with('\n'), "the last line is whole: {text:?}");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}
