//! One server process that is started again whenever it ends, as a supervisor would.

use std::fs::File;
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::clients::Shared;
use super::history::{Cause, Death, now};
use super::plan::{self, Failpoint, Role};
use crate::binary;
use crate::process::Process;
use crate::wait::outage;

/// How often a process is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// Pause before the next start of one that did not come up.
const NOT_STARTED_PAUSE: Duration = Duration::from_millis(200);
/// A process on the same machine that listens takes a connection at once.
const CONNECT_LIMIT: Duration = Duration::from_millis(100);
/// Bytes of the log's end that a violation shows.
const LOG_END: usize = 2_000;

#[derive(Debug)]
pub struct Node {
    pub number: usize,
    pub role: Role,
    pub address: String,
    pub arguments: Vec<String>,
    pub variables: Vec<(String, String)>,
    pub log: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    process: Option<Process>,
    /// Where this life of the process kills itself.
    failpoint: Option<Failpoint>,
    lives: u64,
    listens: bool,
    killed: bool,
    /// From now on without failpoints and at once.
    calm: bool,
}

impl Node {
    pub fn new(number: usize, role: Role, address: String, arguments: Vec<String>, log: PathBuf) -> Self {
        Self { number, role, address, arguments, variables: Vec::new(), log, state: Mutex::default() }
    }

    /// Keeps the process running for ever.
    pub async fn supervise(&self, world: Shared, faults: bool) {
        self.start_life(&world, faults);
        loop {
            outage(LOOK).await;
            let Some(cause) = self.look() else { continue };
            let (calm, lives) = self.with(|state| (state.calm, state.lives));
            let mut pause = plan::restart_pause(world.seed, self.number, lives);
            if cause == Cause::NotStarted || calm {
                pause = NOT_STARTED_PAUSE;
            }
            world.history.write(|history| history.deaths.push(Death { node: self.number, at: now(), cause }));
            outage(pause).await;
            self.start_life(&world, faults);
        }
    }

    fn start_life(&self, world: &Shared, faults: bool) {
        let (calm, lives) = self.with(|state| (state.calm, state.lives));
        let kills = faults && !calm;
        let failpoint = kills.then(|| plan::failpoint(world.seed, self.role, self.number, lives)).flatten();
        if let Some(failpoint) = &failpoint {
            crate::say(&format!("node {} starts life {} with {failpoint}", self.number, lives + 1));
        }
        self.start(failpoint);
    }

    pub fn signal(&self, signal: Signal) {
        self.with(|state| {
            if let Some(process) = &state.process {
                state.killed |= signal == Signal::SIGKILL;
                process.signal(signal);
            }
        });
    }

    pub fn listens(&self) -> bool {
        self.with(|state| state.listens)
    }

    /// No more failpoints: a process that has one is killed, and its next life has none.
    pub fn calm_down(&self) {
        let armed = self.with(|state| {
            state.calm = true;
            state.failpoint.is_some()
        });
        if armed {
            self.signal(Signal::SIGKILL);
            // Nobody takes it for one that is up, between its death and the next look at it.
            self.with(|state| state.listens = false);
        }
    }

    fn start(&self, failpoint: Option<Failpoint>) {
        let log = File::options().create(true).append(true).open(&self.log).expect("a file in a folder of this run");
        let out = self.log.with_extension("out");
        let mut command = Command::new(binary::path());
        command.args(&self.arguments).env_clear().stdin(Stdio::null());
        command.stdout(File::create(&out).expect("a file in a folder of this run")).stderr(log);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        if let Some(failpoint) = &failpoint {
            command.env("FAILPOINTS", failpoint.to_string());
        }
        let process = Process::start("likewise", &mut command, &out, Signal::SIGKILL).expect("the binary starts");
        self.with(|state| {
            let (lives, calm) = (state.lives + 1, state.calm);
            *state = State { process: Some(process), failpoint, lives, calm, ..State::default() };
        });
    }

    /// How the process ended, where it has.
    fn look(&self) -> Option<Cause> {
        self.with(|state| {
            let status = state.process.as_mut()?.ended();
            let Some(status) = status else {
                state.listens = state.listens || !state.killed && self.takes_connections();
                return None;
            };
            state.process = None;
            let listened = std::mem::take(&mut state.listens);
            let by_signal = status.signal() == Some(Signal::SIGKILL as i32);
            Some(match state.failpoint.take() {
                _ if state.killed && by_signal => Cause::Killed,
                Some(failpoint) if by_signal => Cause::Failpoint(failpoint.name.to_owned()),
                _ if !listened && status.code() == Some(1) => Cause::NotStarted,
                _ => Cause::ByItself(format!("{status}\n{}", self.log_end())),
            })
        })
    }

    /// True of a stopped process too, for which the kernel takes some.
    fn takes_connections(&self) -> bool {
        let address = self.address.parse().expect("an address with a port");
        TcpStream::connect_timeout(&address, CONNECT_LIMIT).is_ok()
    }

    /// What it has logged in all its lives.
    pub fn logged(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    fn log_end(&self) -> String {
        let log = self.logged();
        let from = (log.len().saturating_sub(LOG_END)..log.len()).find(|place| log.is_char_boundary(*place));
        log[from.unwrap_or(log.len())..].to_owned()
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().expect("no holder panics"))
    }
}
