//! The real server in this process, on a port of its own, with a private database and Redis namespace.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use likewise_server::app::Node;
use likewise_server::config::{Cli, Command};

use crate::binary::ServerProcess;
use crate::client::Client;
use crate::database::{Database, Sql};
use crate::invariants::{self, Log};
use crate::redis::Redis;
use crate::services::Services;
use crate::tokens;

/// What a test runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// One node on a SQLite file.
    Sqlite,
    /// One node on PostgreSQL, with the bus inside the process.
    Postgres,
    /// Two nodes on PostgreSQL and Redis.
    Cluster,
}

impl Backend {
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Cluster => "cluster",
        }
    }
}

/// Settings of a node, as (flag, value).
pub type Settings = &'static [(&'static str, &'static str)];

/// How an `App` is set up, where it is not as usual.
#[derive(Debug, Clone, Copy, Default)]
pub struct Setup {
    pub settings: Settings,
    /// The test starts its nodes itself.
    pub no_nodes: bool,
    /// A PostgreSQL and a Redis that only this test uses, since it stops them.
    pub own_servers: bool,
}

/// The server and its surroundings for one test.
pub struct App {
    pub services: Arc<Services>,
    pub database: Database,
    redis: Option<Arc<Redis>>,
    settings: Vec<(String, String)>,
    nodes: RefCell<Vec<Option<Running>>>,
    http: reqwest::Client,
    tampered: AtomicBool,
    log_begins_later: AtomicBool,
}

struct Running {
    node: Node,
    address: SocketAddr,
}

impl App {
    pub async fn start(services: Arc<Services>, backend: Backend, setup: Setup) -> Self {
        let database = match (backend, setup.own_servers) {
            (Backend::Sqlite, _) => Database::sqlite(),
            (_, false) => Database::on_shared_postgres(&services).await,
            (_, true) => Database::on_own_postgres().await,
        };
        let redis = (backend == Backend::Cluster).then(|| match setup.own_servers {
            false => services.redis(),
            true => Arc::new(Redis::start().unwrap_or_else(|error| panic!("{error}"))),
        });
        let http = reqwest::Client::builder().no_proxy().build().expect("a client without TLS");
        let mut app = Self {
            database,
            redis,
            settings: Vec::new(),
            nodes: RefCell::new(Vec::new()),
            http,
            tampered: AtomicBool::new(false),
            log_begins_later: AtomicBool::new(false),
            services,
        };
        app.settings = app.usual_settings();
        apply(&mut app.settings, setup.settings);
        let nodes = match (setup.no_nodes, backend) {
            (true, _) => 0,
            (false, Backend::Cluster) => 2,
            (false, _) => 1,
        };
        for _ in 0..nodes {
            app.start_node(&[]).await;
        }
        app
    }

    fn usual_settings(&self) -> Vec<(String, String)> {
        let mut settings = vec![
            ("--database-url", self.database.url()),
            ("--listen", "127.0.0.1:0".to_owned()),
            ("--jwt-secret", tokens::SECRET.to_owned()),
            ("--jwt-issuer", tokens::ISSUER.to_owned()),
            ("--jwt-audience", tokens::AUDIENCE.to_owned()),
            // Sockets that a test leaves open are closed soon.
            ("--drain-seconds", "2".to_owned()),
            // Drift would be healed before a test sees it.
            ("--reconcile-seconds", "0".to_owned()),
        ];
        if let Some(redis) = &self.redis {
            settings.push(("--redis-url", redis.url()));
            settings.push(("--redis-namespace", self.services.new_name()));
        }
        settings.into_iter().map(|(flag, value)| (flag.to_owned(), value)).collect()
    }

    /// Starts one more node, with settings that only it has, and returns its number.
    pub async fn start_node(&self, settings: &[(&str, &str)]) -> usize {
        let number = self.nodes.borrow().len();
        self.nodes.borrow_mut().push(None);
        self.start_stopped_node(number, settings).await;
        number
    }

    /// Starts a node again, on a new port.
    pub async fn start_stopped_node(&self, number: usize, settings: &[(&str, &str)]) {
        let mut all = self.settings.clone();
        apply(&mut all, settings);
        let arguments = all.into_iter().flat_map(|(flag, value)| [flag, value]);
        let arguments = ["likewise".to_owned(), "serve".to_owned()].into_iter().chain(arguments);
        let cli = Cli::try_parse_from(arguments).unwrap_or_else(|error| panic!("{error}"));
        let Command::Serve(config) = cli.command else { panic!("the arguments ask for serve") };
        let node = Node::start(*config).await.unwrap_or_else(|error| panic!("the node does not start: {error}"));
        let address = node.address();
        self.nodes.borrow_mut()[number] = Some(Running { node, address });
    }

    /// Drains and stops a node; a task of it that panicked fails the test.
    pub async fn stop_node(&self, number: usize) {
        let running = self.nodes.borrow_mut()[number].take().expect("the node runs");
        running.node.stop().await.unwrap_or_else(|error| panic!("node {number} did not stop cleanly: {error}"));
    }

    pub async fn restart_node(&self, number: usize) {
        self.stop_node(number).await;
        self.start_stopped_node(number, &[]).await;
    }

    /// How many nodes were started and not stopped.
    pub fn running_nodes(&self) -> usize {
        self.nodes.borrow().iter().flatten().count()
    }

    /// An anonymous client of a node.
    pub fn node(&self, number: usize) -> Client {
        let nodes = self.nodes.borrow();
        let running = nodes.get(number).and_then(Option::as_ref).expect("the node runs");
        Client::new(self.http.clone(), running.address.to_string())
    }

    /// An anonymous client of the first node.
    pub fn client(&self) -> Client {
        self.node(0)
    }

    pub fn as_user(&self, user: &str) -> Client {
        self.client().as_user(user)
    }

    pub fn as_service(&self) -> Client {
        self.client().as_service()
    }

    pub fn redis(&self) -> &Redis {
        self.redis.as_ref().expect("this test runs with Redis")
    }

    /// The settings of every node, for a process of its own.
    pub fn settings(&self) -> Vec<(String, String)> {
        self.settings.clone()
    }

    /// A node in a process of its own, with settings that only it has. `failpoints` says where it dies, stops or loses.
    pub fn start_process(&self, folder: &Path, settings: &[(&str, &str)], failpoints: &str) -> ServerProcess {
        let mut all = self.settings.clone();
        apply(&mut all, settings);
        let arguments: Vec<_> = all.into_iter().flat_map(|(flag, value)| [flag, value]).collect();
        let arguments: Vec<_> = ["serve".to_owned()].into_iter().chain(arguments).collect();
        ServerProcess::start_with(folder, &arguments, &[("FAILPOINTS", failpoints)])
    }

    pub fn http(&self) -> reqwest::Client {
        self.http.clone()
    }

    pub async fn sql(&self) -> Sql {
        self.database.connect().await
    }

    /// One number, asked past the server.
    pub async fn number(&self, query: &str) -> i64 {
        let sql = self.sql().await;
        let number = sql.number(query).await;
        sql.close().await;
        number
    }

    /// Waits until every committed event is folded.
    pub async fn drained(&self) {
        let sql = self.sql().await;
        invariants::drained(&sql).await;
        sql.close().await;
    }

    /// The test spoils the store on purpose: what must hold is not checked afterwards.
    pub fn tampers(&self) {
        self.tampered.store(true, Ordering::Relaxed);
    }

    /// The test has events removed that are past their time: the check afterwards knows that the log begins later.
    pub fn removes_events(&self) {
        self.log_begins_later.store(true, Ordering::Relaxed);
    }

    /// Checks what must hold, stops the nodes and removes the database.
    pub async fn finish(self) {
        if !self.tampered.load(Ordering::Relaxed) && !self.nodes.borrow().is_empty() {
            let sql = self.sql().await;
            let log = if self.log_begins_later.load(Ordering::Relaxed) { Log::BeginsLater } else { Log::Whole };
            invariants::hold_with(&sql, log).await;
            sql.close().await;
        }
        let running = self.nodes.borrow().iter().map(Option::is_some).collect::<Vec<_>>();
        for (number, _) in running.into_iter().enumerate().filter(|(_, runs)| *runs) {
            self.stop_node(number).await;
        }
        self.database.remove().await;
    }
}

/// Sets or replaces.
fn apply(settings: &mut Vec<(String, String)>, changes: &[(&str, &str)]) {
    for (flag, value) in changes {
        settings.retain(|(known, _)| known != flag);
        settings.push(((*flag).to_owned(), (*value).to_owned()));
    }
}
