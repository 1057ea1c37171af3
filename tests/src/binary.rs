//! The command `likewise` as a process, built once for each test run.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::ports;
use crate::process::Process;

/// Longest run of a command that ends by itself.
const COMMAND_LIMIT: Duration = Duration::from_secs(110);

/// The variable that names a binary which is there already.
pub const BUILT: &str = "LIKEWISE_TEST_BINARY";

/// What a command left behind.
#[derive(Debug)]
pub struct Output {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    /// Fails where the command failed.
    pub fn success(self) -> Self {
        assert_eq!(self.code, Some(0), "{}{}", self.stdout, self.stderr);
        self
    }
}

/// The binary. Cargo builds no binary of another package for a test, so the first test to ask builds it: the same
/// profile and features as this run's, hence a link and no more.
pub fn path() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(build)
}

fn build() -> PathBuf {
    // A run inside a run has no need to build once more.
    if let Some(built) = std::env::var_os(BUILT) {
        return built.into();
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // Of this test's own package, as cargo tells a test; a build script that looks at them would take itself for changed
    // and have half of the dependencies built again.
    let of_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars().filter(|(name, _)| of_package(name)) {
        command.env_remove(name);
    }
    let output = command
        // Asking for a test beside it gives the dependencies the features they have in a test run: nothing is built twice.
        .args(["build", "--workspace", "--bin", "likewise", "--test", "it"])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(workspace())
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo can be started");
    assert!(output.status.success(), "the binary does not build");
    let text = String::from_utf8(output.stdout).expect("cargo speaks UTF-8");
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let built = messages.filter(|message| message["target"]["name"] == "likewise");
    let built = built.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back();
    built.expect("cargo names the binary that it built")
}

/// The root of the repository.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie in the workspace")
}

/// Runs a command to its end in an empty environment but for `PATH` and `HOME`.
pub fn run<S: AsRef<str>>(folder: &Path, arguments: &[S]) -> Output {
    run_with(folder, arguments, &BTreeMap::new())
}

/// As `run`, with variables.
pub fn run_with<S: AsRef<str>>(folder: &Path, arguments: &[S], variables: &BTreeMap<&str, &str>) -> Output {
    let mut command = command(folder, arguments);
    command.envs(variables);
    run_to_its_end(folder, command)
}

/// As `run`, where no file can become longer than so many bytes.
pub fn run_on_a_small_disk<S: AsRef<str>>(folder: &Path, arguments: &[S], bytes: u64) -> Output {
    run_to_its_end(folder, on_a_small_disk(folder, arguments, Some(bytes)))
}

/// As `run`, where nothing can be written to stderr.
pub fn run_with_a_full_log<S: AsRef<str>>(folder: &Path, arguments: &[S]) -> Output {
    run_to_its_end(folder, with_a_full_log(folder, arguments))
}

fn run_to_its_end(folder: &Path, mut command: Command) -> Output {
    let (out, err) = (folder.join("stdout"), folder.join("stderr"));
    command.stdout(File::create(&out).expect("a file")).stderr(File::create(&err).expect("a file"));
    let mut process = Process::start("likewise", &mut command, &out, Signal::SIGKILL).expect("the binary starts");
    let deadline = Instant::now() + COMMAND_LIMIT;
    let status = loop {
        if let Some(status) = process.ended() {
            break status;
        }
        assert!(Instant::now() < deadline, "the command ran longer than {COMMAND_LIMIT:?}");
        std::thread::sleep(Duration::from_millis(5));
    };
    let text = |path| std::fs::read_to_string(path).unwrap_or_default();
    Output { code: status.code(), stdout: text(out), stderr: text(err) }
}

/// The command to be started in `folder`, in an empty environment but for `PATH` and `HOME`.
pub fn command<S: AsRef<str>>(folder: &Path, arguments: &[S]) -> Command {
    let mut command = Command::new(path());
    command.args(arguments.iter().map(AsRef::as_ref)).current_dir(folder).stdin(Stdio::null()).env_clear();
    for name in ["PATH", "HOME"] {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    command
}

/// The command under a limit that can be changed later. A write past it fails, where a signal would end the process.
fn on_a_small_disk<S: AsRef<str>>(folder: &Path, arguments: &[S], bytes: Option<u64>) -> Command {
    let mut limited = Command::new("prlimit");
    limited.arg(limit_of_files(bytes)).arg("sh");
    in_a_shell(folder, arguments, limited, "trap '' XFSZ; exec \"$0\" \"$@\"")
}

/// The command whose messages all go onto a full disk.
fn with_a_full_log<S: AsRef<str>>(folder: &Path, arguments: &[S]) -> Command {
    in_a_shell(folder, arguments, Command::new("sh"), "exec \"$0\" \"$@\" 2>/dev/full")
}

/// The command by a script of `shell`, which gets its program and arguments.
fn in_a_shell<S: AsRef<str>>(folder: &Path, arguments: &[S], mut shell: Command, script: &str) -> Command {
    let whole = command(folder, arguments);
    shell.args(["-c", script]).arg(whole.get_program()).args(whole.get_args());
    shell.current_dir(folder).stdin(Stdio::null()).env_clear();
    shell.envs(whole.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell
}

fn limit_of_files(bytes: Option<u64>) -> String {
    let bytes = bytes.map_or("unlimited".to_owned(), |bytes| bytes.to_string());
    format!("--fsize={bytes}:unlimited")
}

/// A server in a process of its own, for what a node in this process cannot show: kills, signals, exit codes.
#[derive(Debug)]
pub struct ServerProcess {
    process: Process,
    folder: PathBuf,
    /// As `127.0.0.1:4000`.
    pub address: String,
}

impl ServerProcess {
    /// Starts `likewise` on a free port in the place of the argument `127.0.0.1:0`, and waits until it listens.
    pub fn start<S: AsRef<str>>(folder: &Path, arguments: &[S]) -> Self {
        Self::start_with(folder, arguments, &[])
    }

    /// As `start`, where [`Self::limit_files`] can then stand for a disk that is full.
    pub fn start_on_a_small_disk<S: AsRef<str>>(folder: &Path, arguments: &[S]) -> Self {
        Self::start_by(folder, arguments, |arguments| on_a_small_disk(folder, arguments, None))
    }

    /// As `start`, where no line of the log can be written.
    pub fn start_with_a_full_log<S: AsRef<str>>(folder: &Path, arguments: &[S]) -> Self {
        Self::start_by(folder, arguments, |arguments| with_a_full_log(folder, arguments))
    }

    /// Lets the server's files become no longer than so many bytes: writes past it fail.
    pub fn limit_files(&self, bytes: Option<u64>) {
        let limited =
            Command::new("prlimit").arg(format!("--pid={}", self.process.id())).arg(limit_of_files(bytes)).status();
        assert!(limited.expect("prlimit of util-linux").success(), "files of at most {bytes:?} bytes");
    }

    /// As `start`, with variables.
    pub fn start_with<S: AsRef<str>>(folder: &Path, arguments: &[S], variables: &[(&str, &str)]) -> Self {
        Self::start_by(folder, arguments, |arguments| {
            let mut command = command(folder, arguments);
            command.envs(variables.iter().copied());
            command
        })
    }

    fn start_by<S: AsRef<str>>(folder: &Path, arguments: &[S], command: impl Fn(&[String]) -> Command) -> Self {
        let address = format!("127.0.0.1:{}", ports::free());
        let arguments: Vec<_> = arguments.iter().map(|word| word.as_ref().replace("127.0.0.1:0", &address)).collect();
        let mut command = command(&arguments);
        let output = |name| File::create(folder.join(name)).expect("a file");
        command.stdout(output("serve.out")).stderr(output("serve.log"));
        let leftovers = folder.join("serve.out");
        let process = Process::start("likewise", &mut command, &leftovers, Signal::SIGKILL).expect("the binary starts");
        let mut server = Self { process, folder: folder.to_owned(), address };
        server.wait_until_it_listens();
        server
    }

    fn wait_until_it_listens(&mut self) {
        let deadline = Instant::now() + COMMAND_LIMIT;
        while TcpStream::connect(&self.address).is_err() {
            assert!(self.process.ended().is_none(), "the server ended before it listened: {}", self.log());
            assert!(Instant::now() < deadline, "the server does not listen: {}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// What it has printed so far.
    pub fn printed(&self) -> String {
        std::fs::read_to_string(self.folder.join("serve.out")).unwrap_or_default()
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    pub fn log_path(&self) -> PathBuf {
        self.folder.join("serve.log")
    }

    /// The process's id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// True from SIGSTOP to SIGCONT, whoever sent them.
    pub fn is_stopped(&self) -> bool {
        self.process.is_stopped()
    }

    /// Sends `signal` and returns the exit code, `None` where the signal ended it. Blocks the thread.
    pub fn stop(self, signal: Signal) -> Option<i32> {
        self.process.stop(signal).code()
    }

    /// Waits for the end after a signal that was sent before.
    pub fn ended(mut self) -> Option<i32> {
        self.process.wait().code()
    }
}
