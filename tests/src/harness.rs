//! One binary that runs each test on the back ends that it names.

use std::panic;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use libtest_mimic::{Arguments, Failed, Trial};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::app::{App, Backend, Setup};
use crate::property;
use crate::services::Services;

/// Tests at once, where the command line does not say.
const THREADS: usize = 4;
/// Worker threads of each test's own runtime.
const WORKERS: usize = 2;
/// Longest run of a test that does not ask for more.
const LIMIT: Duration = Duration::from_secs(120);
/// How long tasks of a test that failed may take to notice that their runtime ends.
const RUNTIME_END: Duration = Duration::from_secs(5);

type WithApp = for<'a> fn(&'a App) -> LocalBoxFuture<'a, ()>;

/// A test, before it is known where it runs.
#[derive(Debug, Clone)]
pub struct Test {
    name: String,
    body: Body,
    setup: Setup,
    limit: Duration,
    binary: bool,
}

#[derive(Debug, Clone)]
enum Body {
    On(&'static [Backend], WithApp),
    Plain(fn()),
}

impl Test {
    /// A test of the running server; `on_both!` and its like call this.
    pub fn on(backends: &'static [Backend], module: &str, name: &str, body: WithApp) -> Self {
        Self {
            name: full_name(module, name),
            body: Body::On(backends, body),
            setup: Setup::default(),
            limit: LIMIT,
            binary: false,
        }
    }

    /// A test that needs no server.
    pub fn plain(module: &str, name: &str, body: fn()) -> Self {
        Self {
            name: full_name(module, name),
            body: Body::Plain(body),
            setup: Setup::default(),
            limit: LIMIT,
            binary: false,
        }
    }

    /// Settings in which its nodes differ from the usual.
    #[must_use]
    pub fn with(mut self, settings: crate::app::Settings) -> Self {
        self.setup.settings = settings;
        self
    }

    /// The test starts its nodes itself.
    #[must_use]
    pub fn without_nodes(mut self) -> Self {
        self.setup.no_nodes = true;
        self
    }

    /// PostgreSQL and Redis for this test alone, since it stops them.
    #[must_use]
    pub fn with_own_servers(mut self) -> Self {
        self.setup.own_servers = true;
        self
    }

    /// The test runs the command `likewise`, which is built before its time begins.
    #[must_use]
    pub fn with_binary(mut self) -> Self {
        self.binary = true;
        self
    }

    /// Longest run, where the usual is too short.
    #[must_use]
    pub fn limit(mut self, seconds: u64) -> Self {
        self.limit = Duration::from_secs(seconds);
        self
    }

    fn trials(self, services: &Arc<Services>) -> Vec<Trial> {
        match self.body {
            Body::Plain(body) => vec![Trial::test(format!("plain::{}", self.name), move || {
                body();
                Ok(())
            })],
            Body::On(backends, body) => backends
                .iter()
                .map(|backend| {
                    let (services, setup, limit) = (Arc::clone(services), self.setup, self.limit);
                    let name = format!("{}::{}", backend.name(), self.name);
                    let run_name = name.clone();
                    let build = self.binary.then_some(crate::binary::path);
                    Trial::test(name, move || {
                        build.map(|path| path());
                        run_one(&run_name, limit, with_app(services, *backend, setup, body))
                    })
                })
                .collect(),
        }
    }
}

fn full_name(module: &str, name: &str) -> String {
    let module = module.rsplit("::").next().unwrap_or(module);
    format!("{module}::{name}")
}

/// On SQLite and on PostgreSQL.
#[macro_export]
macro_rules! on_both {
    ($name:ident) => {
        $crate::test_on!([Sqlite, Postgres], $name)
    };
}

/// On SQLite, on PostgreSQL, and on two nodes with Redis.
#[macro_export]
macro_rules! on_all {
    ($name:ident) => {
        $crate::test_on!([Sqlite, Postgres, Cluster], $name)
    };
}

/// On the back ends in brackets.
#[macro_export]
macro_rules! test_on {
    ([$($backend:ident),+], $name:ident) => {
        $crate::harness::Test::on(
            &[$($crate::app::Backend::$backend),+],
            module_path!(),
            stringify!($name),
            |app| Box::pin($name(app)),
        )
    };
}

/// Without any server.
#[macro_export]
macro_rules! plain {
    ($name:ident) => {
        $crate::harness::Test::plain(module_path!(), stringify!($name), $name)
    };
}

/// Runs the tests that the command line selects, then stops every server that they used.
pub fn run(tests: Vec<Test>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(THREADS);
    refuse_settings_from_outside();
    raise_file_limit();
    record_panics();
    let services = Arc::new(Services::default());
    let trials = tests.into_iter().flat_map(|test| test.trials(&services)).collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    drop(services);
    conclusion.exit_code()
}

/// Every test runs inside this: the app, the test, then what must hold.
async fn with_app(services: Arc<Services>, backend: Backend, setup: Setup, body: WithApp) {
    let app = App::start(services, backend, setup).await;
    body(&app).await;
    app.finish().await;
}

fn run_one(name: &str, limit: Duration, test: impl Future<Output = ()>) -> Result<(), Failed> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(WORKERS).thread_name(name).enable_all().build()?;
    let ended = panic::catch_unwind(panic::AssertUnwindSafe(|| {
        runtime.block_on(async { tokio::time::timeout(limit, test).await })
    }));
    runtime.shutdown_timeout(RUNTIME_END);
    let mut failures = panics_of(name);
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(_)) => failures.insert(0, format!("the test ran longer than its {limit:?}")),
        Err(panic) => failures.insert(0, message(panic.as_ref())),
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_else(|| "the test panicked".to_owned())
}

/// (thread, message) of panics in tasks, by which a test fails even where nobody awaits the task.
static PANICS: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

fn record_panics() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if property::shrinks_here() {
            return;
        }
        usual(info);
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        PANICS.lock().expect("no holder panics").push((thread, format!("a task panicked: {info}")));
    }));
}

/// Takes what the threads of one test's runtime left behind; the test's own thread has no part in it.
fn panics_of(name: &str) -> Vec<String> {
    let mut panics = PANICS.lock().expect("no holder panics");
    let (of_test, others) = std::mem::take(&mut *panics).into_iter().partition(|(thread, _)| thread == name);
    *panics = others;
    let of_test: Vec<(String, String)> = of_test;
    of_test.into_iter().map(|(_, message)| message).collect()
}

/// A thousand clients and their server in one process need some thousands of files.
fn raise_file_limit() {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("the limit can be read");
    setrlimit(Resource::RLIMIT_NOFILE, most, most).expect("the limit can be raised to its ceiling");
}

/// The servers read the environment, and a setting that happens to be there would change what is tested.
fn refuse_settings_from_outside() {
    let settings = std::env::vars().map(|(name, _)| name);
    let outside: Vec<_> =
        settings.filter(|name| name.starts_with("LIKEWISE_") && !name.starts_with("LIKEWISE_TEST_")).collect();
    assert!(outside.is_empty(), "unset {} before the tests", outside.join(", "));
}
