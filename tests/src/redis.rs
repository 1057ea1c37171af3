//! A throwaway Redis on a free port of 127.0.0.1, which keeps nothing on disk.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use tempfile::TempDir;

use crate::ports;
use crate::process::Process;

/// What a machine without Redis is told.
const MISSING: &str =
    "redis-server is not installed; `make test` installs it, or by hand: apt-get install redis-server";
const READY_LIMIT: Duration = Duration::from_secs(30);
/// Starts before a port that others keep taking is reported.
const START_TRIES: usize = 5;

/// A server in a folder of its own; stopped and removed when dropped.
#[derive(Debug)]
pub struct Redis {
    process: Mutex<Option<Process>>,
    port: u16,
    folder: TempDir,
}

impl Redis {
    pub fn start() -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("likewise-redis-").tempdir().map_err(|error| error.to_string())?;
        let mut redis = Self { process: Mutex::new(None), port: 0, folder };
        for _ in 0..START_TRIES {
            redis.port = ports::free();
            if let Some(process) = redis.launch()? {
                redis.process = Mutex::new(Some(process));
                return Ok(redis);
            }
        }
        Err(format!("Redis did not start:\n{}", redis.log()))
    }

    /// Kills it: connections break, and what it held is gone.
    pub fn stop(&self) {
        let process = self.process.lock().expect("no holder panics").take();
        process.expect("Redis is running").stop(Signal::SIGKILL);
    }

    /// Starts it again, empty, on the same port.
    pub fn start_again(&self) {
        let process = self.launch().and_then(|process| process.ok_or_else(|| self.log()));
        let process = process.unwrap_or_else(|error| panic!("Redis did not start again:\n{error}"));
        *self.process.lock().expect("no holder panics") = Some(process);
    }

    /// Stops it from answering while its connections stay open.
    pub fn pause(&self) {
        self.signal(Signal::SIGSTOP);
    }

    pub fn resume(&self) {
        self.signal(Signal::SIGCONT);
    }

    /// Empties it.
    pub fn flush(&self) {
        // One that is paused or away has nothing to flush.
        let _ = self.ask(b"FLUSHALL\r\n");
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    fn signal(&self, signal: Signal) {
        let process = self.process.lock().expect("no holder panics");
        process.as_ref().expect("Redis is running").signal(signal);
    }

    /// Starts the server and waits until it answers; `None` where it ended by itself, as when its port is taken.
    fn launch(&self) -> Result<Option<Process>, String> {
        let log = File::options().create(true).append(true).open(self.folder.path().join("log"));
        let log = log.map_err(|error| error.to_string())?;
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--port", &self.port.to_string()]);
        command.current_dir(self.folder.path()).stdin(Stdio::null()).stdout(log).stderr(Stdio::null());
        let started = Process::start("Redis", &mut command, self.folder.path(), Signal::SIGKILL);
        let mut process = started.map_err(|error| match error.kind() {
            ErrorKind::NotFound => MISSING.to_owned(),
            _ => format!("redis-server: {error}"),
        })?;
        let deadline = Instant::now() + READY_LIMIT;
        while !self.is_ready() {
            if process.ended().is_some() {
                return Ok(None);
            }
            if Instant::now() > deadline {
                return Err(format!("Redis was not ready within {READY_LIMIT:?}:\n{}", self.log()));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(Some(process))
    }

    fn is_ready(&self) -> bool {
        self.ask(b"PING\r\n").is_ok_and(|answer| answer == *b"+PONG")
    }

    /// The first bytes of the answer to a command.
    fn ask(&self, command: &[u8]) -> std::io::Result<[u8; 5]> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(command)?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer)?;
        Ok(answer)
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}
