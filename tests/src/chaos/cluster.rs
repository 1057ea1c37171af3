//! The processes of a run and what they stand on, all its own.

use std::sync::Arc;

use tempfile::TempDir;

use super::half_open::HalfOpen;
use super::node::Node;
use super::options::Backend;
use super::plan::{Role, Shape};
use crate::database::Database;
use crate::postgres::Postgres;
use crate::proxy::Proxy;
use crate::redis::Redis;
use crate::{binary, ports, tokens};

const DATABASE: &str = "chaos";

/// The nodes on PostgreSQL: role, proxy in front of the database, proxy in front of Redis.
const NODES: [(Role, Option<usize>, Option<usize>); 5] = [
    (Role::All, Some(0), None),
    (Role::Api, Some(1), Some(0)),
    (Role::Api, None, None),
    (Role::Worker, None, Some(1)),
    (Role::Worker, None, None),
];
const PROXIES: usize = 2;

#[derive(Debug)]
pub struct Cluster {
    pub nodes: Vec<Arc<Node>>,
    pub database: Database,
    redis: Option<Redis>,
    /// They lose COMMITs and their replies.
    pub database_proxies: Vec<Proxy>,
    pub redis_proxies: Vec<HalfOpen>,
    /// Whoever stops one of the servers holds its turn until it is back.
    pub postgres_turn: tokio::sync::Mutex<()>,
    pub redis_turn: tokio::sync::Mutex<()>,
    backend: Backend,
    /// Holds the logs; removed with the cluster.
    _folder: TempDir,
}

impl Cluster {
    /// Makes everything but the processes of the servers; an error is what is missing on this machine.
    pub async fn prepare(backend: Backend, variables: &[(&str, &str)]) -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("likewise-chaos-").tempdir().map_err(|error| error.to_string())?;
        let mut cluster = Self {
            nodes: Vec::new(),
            database: Database::sqlite(),
            redis: None,
            database_proxies: Vec::new(),
            redis_proxies: Vec::new(),
            postgres_turn: tokio::sync::Mutex::default(),
            redis_turn: tokio::sync::Mutex::default(),
            backend,
            _folder: folder,
        };
        if backend == Backend::Postgres {
            cluster.start_servers().await?;
        }
        let roles = match backend {
            Backend::Postgres => NODES.to_vec(),
            Backend::Sqlite => vec![(Role::Single, None, None)],
        };
        for (number, (role, database, redis)) in roles.into_iter().enumerate() {
            let mut node = cluster.node(number, role, database, redis);
            let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            node.variables = variables.iter().map(own).collect();
            cluster.nodes.push(Arc::new(node));
        }
        Ok(cluster)
    }

    async fn start_servers(&mut self) -> Result<(), String> {
        let server = Arc::new(Postgres::start()?);
        server.create_database(DATABASE).await;
        let url = server.url(DATABASE);
        let migrated = binary::run(self._folder.path(), &["migrate", "--database-url", &url]);
        if migrated.code != Some(0) {
            return Err(format!("likewise migrate: {}", migrated.stderr));
        }
        let redis = Redis::start()?;
        for _ in 0..PROXIES {
            self.database_proxies.push(Proxy::start(server.port()).await);
            self.redis_proxies.push(HalfOpen::start(redis.port()).await);
        }
        self.database = Database::Postgres { server, name: DATABASE.to_owned() };
        self.redis = Some(redis);
        Ok(())
    }

    fn node(&self, number: usize, role: Role, database_proxy: Option<usize>, redis_proxy: Option<usize>) -> Node {
        let address = format!("127.0.0.1:{}", ports::free());
        let through = |url: String, port: u16, proxy: u16| url.replace(&format!(":{port}"), &format!(":{proxy}"));
        let mut database = self.database.url();
        if let Some(proxy) = database_proxy {
            database = through(database, self.database.postgres().port(), self.database_proxies[proxy].port());
        }
        let role_name = match role {
            Role::All | Role::Single => "all",
            Role::Api => "api",
            Role::Worker => "worker",
        };
        let mut arguments = vec![
            ("--database-url", database),
            ("--listen", address.clone()),
            ("--role", role_name.to_owned()),
            ("--jwt-secret", tokens::SECRET.to_owned()),
            ("--jwt-issuer", tokens::ISSUER.to_owned()),
            ("--jwt-audience", tokens::AUDIENCE.to_owned()),
        ];
        if let Some(redis) = &self.redis {
            let proxy = redis_proxy.map_or(redis.port(), |proxy| self.redis_proxies[proxy].port());
            arguments.push(("--redis-url", through(redis.url(), redis.port(), proxy)));
        }
        let arguments = arguments.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]);
        let arguments = ["serve".to_owned()].into_iter().chain(arguments).collect();
        Node::new(number, role, address, arguments, self._folder.path().join(format!("node{number}.log")))
    }

    pub fn redis(&self) -> &Redis {
        self.redis.as_ref().expect("this cluster has Redis")
    }

    pub fn shape(&self) -> Shape {
        Shape {
            backend: self.backend,
            nodes: self.nodes.len(),
            database_proxies: self.database_proxies.len(),
            redis_proxies: self.redis_proxies.len(),
        }
    }

    /// The nodes that answer requests.
    pub fn api_nodes(&self) -> Vec<(usize, String)> {
        let answers = self.nodes.iter().filter(|node| node.role != Role::Worker);
        answers.map(|node| (node.number, node.address.clone())).collect()
    }

    /// COMMITs that the proxies lost.
    pub fn lost_commits(&self) -> usize {
        self.database_proxies.iter().map(Proxy::losses).sum()
    }
}
