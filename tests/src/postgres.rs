//! A throwaway PostgreSQL cluster on a free port of 127.0.0.1.

use std::fs::File;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nix::unistd::{User, geteuid};
use sea_orm::{ConnectOptions, ConnectionTrait, Database, DatabaseConnection};
use tempfile::TempDir;

use crate::ports;
use crate::process::Process;

/// What a machine without PostgreSQL is told.
const MISSING: &str = "PostgreSQL is not installed; `make test` installs it, or by hand: apt-get install postgresql";
const FAKETIME_MISSING: &str =
    "libfaketime is not installed; `make test` installs it, or by hand: apt-get install faketime";
/// Sessions: some twenty for each node of the four tests that run at once, and the fixtures' own.
const MAX_CONNECTIONS: usize = 300;
const READY_LIMIT: Duration = Duration::from_secs(60);
/// Starts before a port that others keep taking is reported.
const START_TRIES: usize = 5;

/// How PostgreSQL is asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shutdown {
    /// Sessions are ended, all is written, nothing needs recovery.
    Fast,
    /// As a crash: recovery follows at the next start.
    Immediate,
}

impl Shutdown {
    fn signal(self) -> Signal {
        match self {
            Self::Fast => Signal::SIGINT,
            Self::Immediate => Signal::SIGQUIT,
        }
    }
}

/// A cluster in a folder of its own; stopped and removed when dropped.
#[derive(Debug)]
pub struct Postgres {
    process: Mutex<Option<Process>>,
    port: u16,
    bin: PathBuf,
    owner: Option<User>,
    folder: TempDir,
    /// Whether its server processes run on a clock that the test sets.
    own_clock: AtomicBool,
}

impl Postgres {
    /// Makes and starts a cluster that does not wait for the disk: it survives a crash of PostgreSQL, not of the machine.
    pub fn start() -> Result<Self, String> {
        let bin = bin_folder().ok_or(MISSING)?;
        let folder = tempfile::Builder::new().prefix("likewise-pg-").tempdir().map_err(|error| error.to_string())?;
        let owner = owner()?;
        if let Some(user) = &owner {
            chown(folder.path(), Some(user.uid.as_raw()), Some(user.gid.as_raw()))
                .map_err(|error| error.to_string())?;
        }
        let own_clock = AtomicBool::new(false);
        let mut postgres = Self { process: Mutex::new(None), port: 0, bin, owner, folder, own_clock };
        postgres.init()?;
        for _ in 0..START_TRIES {
            postgres.port = ports::free();
            if let Some(process) = postgres.launch()? {
                postgres.process = Mutex::new(Some(process));
                return Ok(postgres);
            }
        }
        Err(format!("PostgreSQL did not start:\n{}", postgres.log()))
    }

    /// Stops it and waits for its end.
    pub fn stop(&self, how: Shutdown) {
        let process = self.process.lock().expect("no holder panics").take();
        process.expect("PostgreSQL is running").stop(how.signal());
    }

    /// Starts it again on the same port with the same data.
    pub fn start_again(&self) {
        let process = self.launch().and_then(|process| process.ok_or_else(|| self.log()));
        let process = process.unwrap_or_else(|error| panic!("PostgreSQL did not start again:\n{error}"));
        *self.process.lock().expect("no holder panics") = Some(process);
    }

    pub fn restart(&self, how: Shutdown) {
        self.stop(how);
        self.start_again();
    }

    /// Starts it again on a clock of its own, which shows the machine's time until it is set.
    pub fn restart_on_own_clock(&self) {
        self.set_clock(0);
        self.own_clock.store(true, Ordering::Relaxed);
        self.restart(Shutdown::Fast);
    }

    /// Sets its own clock to so many seconds after the machine's.
    pub fn set_clock(&self, seconds: i64) {
        let (file, new) = (self.folder.path().join("clock"), self.folder.path().join("clock.new"));
        // Its processes read the file at each look at the clock, so it is replaced and never half written.
        std::fs::write(&new, format!("{seconds:+}\n")).expect("the folder can be written");
        std::fs::rename(new, file).expect("the folder can be written");
    }

    pub fn url(&self, database: &str) -> String {
        format!("postgres://likewise@127.0.0.1:{}/{database}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// An empty database.
    pub async fn create_database(&self, name: &str) {
        self.admin(&format!("CREATE DATABASE \"{name}\"")).await;
    }

    /// A copy of `template`, to which nobody may be connected.
    pub async fn copy_database(&self, template: &str, name: &str) {
        self.admin(&format!("CREATE DATABASE \"{name}\" TEMPLATE \"{template}\"")).await;
    }

    /// Drops a database and ends the sessions that are in it.
    pub async fn drop_database(&self, name: &str) {
        self.admin(&format!("DROP DATABASE IF EXISTS \"{name}\" WITH (FORCE)")).await;
    }

    async fn admin(&self, sql: &str) {
        let connection = connect(&self.url("postgres")).await;
        connection.execute_unprepared(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        connection.close().await.expect("a connection that is open can be closed");
    }

    fn init(&self) -> Result<(), String> {
        let output = self
            .command("initdb")
            .args(["--username=likewise", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8"])
            .arg("--pgdata")
            .arg(self.data())
            .output()
            .map_err(|error| format!("initdb: {error}"))?;
        let text = String::from_utf8_lossy(&output.stderr);
        output.status.success().then_some(()).ok_or_else(|| format!("initdb failed: {text}"))
    }

    /// Starts the server and waits until it answers; `None` where it ended by itself, as when its port is taken.
    fn launch(&self) -> Result<Option<Process>, String> {
        let log = File::options().create(true).append(true).open(self.log_file()).map_err(|error| error.to_string())?;
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.data()).args(["-p", &self.port.to_string()]);
        let settings = [
            "listen_addresses=127.0.0.1".to_owned(),
            format!("unix_socket_directories={}", self.folder.path().display()),
            format!("max_connections={MAX_CONNECTIONS}"),
            "fsync=off".to_owned(),
            "full_page_writes=off".to_owned(),
        ];
        for setting in settings {
            command.args(["-c", &setting]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        if self.own_clock.load(Ordering::Relaxed) {
            let library = faketime_library().ok_or(FAKETIME_MISSING)?;
            command.env("LD_PRELOAD", library).env("FAKETIME_TIMESTAMP_FILE", self.folder.path().join("clock"));
            // Time-outs keep to the machine's clock.
            command.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        let started = Process::start("PostgreSQL", &mut command, self.folder.path(), Signal::SIGQUIT);
        let mut process = started.map_err(|error| format!("postgres: {error}"))?;
        let deadline = Instant::now() + READY_LIMIT;
        while !self.is_ready() {
            if process.ended().is_some() {
                return Ok(None);
            }
            if Instant::now() > deadline {
                return Err(format!("PostgreSQL was not ready within {READY_LIMIT:?}:\n{}", self.log()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Some(process))
    }

    fn is_ready(&self) -> bool {
        let mut command = self.command("pg_isready");
        command.args(["--quiet", "--host=127.0.0.1", "--port", &self.port.to_string()]);
        command.status().is_ok_and(|status| status.success())
    }

    /// PostgreSQL refuses to run as root, so root runs it as the user that Debian's package made.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.bin.join(program));
        if let Some(user) = &self.owner {
            command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
        }
        command.current_dir(self.folder.path()).env_remove("PGOPTIONS");
        command
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn log_file(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// What the server has written to its log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_file()).unwrap_or_default()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let process = self.process.get_mut().ok().and_then(Option::take);
        if let Some(process) = process {
            process.stop(Shutdown::Immediate.signal());
        }
    }
}

/// A connection for the fixtures' own statements.
pub async fn connect(url: &str) -> DatabaseConnection {
    let mut options = ConnectOptions::new(url);
    options.max_connections(4).sqlx_logging(false).test_before_acquire(false);
    // As long as the shortest waits of SQLite: who writes looks again.
    options.map_sqlx_sqlite_opts(|file| file.busy_timeout(Duration::from_millis(3)));
    Database::connect(options).await.unwrap_or_else(|error| panic!("{url}: {error}"))
}

fn owner() -> Result<Option<User>, String> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let user = User::from_name("postgres").map_err(|error| error.to_string())?;
    user.map(Some).ok_or_else(|| MISSING.to_owned())
}

/// The newest of Debian's versions, else wherever the path has it.
fn bin_folder() -> Option<PathBuf> {
    let has_server = |folder: &PathBuf| folder.join("postgres").exists() && folder.join("initdb").exists();
    let debian = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = debian.filter_map(|entry| {
        let version = entry.file_name().to_str()?.parse::<u32>().ok()?;
        let folder = entry.path().join("bin");
        has_server(&folder).then_some((version, folder))
    });
    newest.max().map(|(_, folder)| folder).or_else(|| on_path().find(has_server))
}

/// Where Debian's package has it, whatever the machine's architecture.
fn faketime_library() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    folders.map(|folder| folder.path().join("faketime/libfaketime.so.1")).find(|library| library.exists())
}

fn on_path() -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).filter(|folder| folder != Path::new("")).collect::<Vec<_>>().into_iter()
}
