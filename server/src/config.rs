//! The command line and the environment, checked. Nobody else reads the environment.
//!
//! Each setting is a flag and a variable `LIKEWISE_…` of the same name.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

mod commands;

use commands::parse_duration;
pub use commands::*;

/// Shortest secret for HS256, in bytes: the width of the hash.
pub const SECRET_MIN_BYTES: usize = 32;
/// Shortest retention of the log. A lane that lost the reply to a COMMIT looks its batch up in the log, and a reader of
/// a copy of counts the events past it: both within seconds.
const LOG_RETENTION_MIN: Duration = Duration::from_secs(60);

/// Likes as a service: exact counts, writes that are safe to retry, live updates.
#[derive(Debug, Parser)]
#[command(name = "likewise", version, about)]
pub struct Cli {
    /// What to log: `info`, `debug`, or directives such as `likewise_server=debug`.
    #[arg(long, env = "LIKEWISE_LOG", default_value = "info,sqlx=warn", global = true)]
    pub log: String,
    /// How log lines look.
    #[arg(long, env = "LIKEWISE_LOG_FORMAT", default_value = "text", global = true)]
    pub log_format: LogFormat,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve GraphQL over HTTP and WebSocket.
    Serve(Box<ServeConfig>),
    /// Bring the database's schema up to date.
    Migrate(MigrateConfig),
    /// Print the GraphQL schema.
    Schema,
    /// Print a token for a user.
    Token(TokenConfig),
    /// Import an existing like table, CSV or NDJSON: user, item, state, time.
    Import(ImportConfig),
    /// Print the event log as lines of JSON, each partition in order and without gaps.
    Events(EventsConfig),
    /// Delete an account for good: all that is stored of the person goes, and the id is refused from then on.
    Erase(EraseConfig),
    /// Fill the database with trial data.
    Seed(SeedConfig),
    /// Compare the counts with the reactions and heal what differs, while the server serves.
    ///
    /// Exit codes: 0 no count differed; 3 some differed, and they are healed, or reported only with --dry-run; 1 some
    /// could not be healed, or the command failed.
    Reconcile(ReconcileConfig),
    /// Write all counts anew from the reactions, while the server serves.
    Rebuild(RebuildConfig),
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

/// Which parts of the server this process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Role {
    All,
    /// Requests and write lanes.
    Api,
    /// The counter, and what else goes on in the background: erasing, retracting, reconciling, removing old events.
    Worker,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CatalogSetting {
    /// Any well-formed id is an item.
    Open,
    /// Only upserted items exist.
    Registered,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum LikersSetting {
    Public,
    SignedIn,
    Off,
}

#[derive(Debug, Clone, Args)]
pub struct DatabaseConfig {
    /// postgres://user:password@host/database, or sqlite://file?mode=rwc.
    #[arg(
        long,
        env = "LIKEWISE_DATABASE_URL",
        default_value = "sqlite://likewise.db?mode=rwc",
        hide_env_values = true
    )]
    pub database_url: String,
    /// Partitions of the event log. Counts only when the schema is made: 4 on PostgreSQL, 1 on SQLite.
    #[arg(long, env = "LIKEWISE_LOG_PARTITIONS", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub log_partitions: Option<u16>,
}

#[derive(Debug, Clone, Args)]
pub struct JwtConfig {
    /// Secret of the tokens (HS256), at least 32 bytes.
    #[arg(long, env = "LIKEWISE_JWT_SECRET", hide_env_values = true)]
    pub jwt_secret: Option<String>,
    /// Who issues the tokens: the claim `iss`.
    #[arg(long, env = "LIKEWISE_JWT_ISSUER", default_value = "likewise")]
    pub jwt_issuer: String,
    /// Whom the tokens are for: the claim `aud`.
    #[arg(long, env = "LIKEWISE_JWT_AUDIENCE", default_value = "likewise")]
    pub jwt_audience: String,
    /// The claim that names the user.
    #[arg(long, env = "LIKEWISE_JWT_USER_CLAIM", default_value = "sub")]
    pub jwt_user_claim: String,
}

#[derive(Debug, Clone, Args)]
pub struct ServeConfig {
    #[command(flatten)]
    pub database: DatabaseConfig,
    #[command(flatten)]
    pub jwt: JwtConfig,
    /// A few users, friends and items, and tokens for everybody who asks. For trying out only.
    #[arg(long, env = "LIKEWISE_DEMO")]
    pub demo: bool,
    /// Serve GraphiQL at /graphiql, which reads the schema by introspection. A demo does so anyway.
    #[arg(long, env = "LIKEWISE_GRAPHIQL")]
    pub graphiql: bool,
    /// redis://host:port. Nodes that share a database need it.
    #[arg(long, env = "LIKEWISE_REDIS_URL", hide_env_values = true)]
    pub redis_url: Option<String>,
    /// Prefix of all keys and topics in Redis.
    #[arg(long, env = "LIKEWISE_REDIS_NAMESPACE", default_value = "likewise:v1:")]
    pub redis_namespace: String,
    /// Address and port to serve on.
    #[arg(long, env = "LIKEWISE_LISTEN", default_value = "127.0.0.1:4000")]
    pub listen: SocketAddr,
    /// Which parts this process runs, where several share the work.
    #[arg(long, env = "LIKEWISE_ROLE", default_value = "all")]
    pub role: Role,
    /// What counts as an item.
    #[arg(long, env = "LIKEWISE_CATALOG", default_value = "open")]
    pub catalog: CatalogSetting,
    /// Who may list an item's likers.
    #[arg(long, env = "LIKEWISE_LIKERS", default_value = "public")]
    pub likers: LikersSetting,
    /// Refuse reactions without an idempotency key.
    #[arg(long, env = "LIKEWISE_REQUIRE_IDEMPOTENCY_KEY")]
    pub require_idempotency_key: bool,
    /// Least milliseconds between two events of an item to one watcher.
    #[arg(long, env = "LIKEWISE_PUSH_INTERVAL_MS", default_value_t = 200, value_parser = clap::value_parser!(u64).range(0..=60_000))]
    pub push_interval_ms: u64,
    /// Least milliseconds between two folds while reactions keep coming.
    #[arg(long, env = "LIKEWISE_FOLD_WINDOW_MS", default_value_t = 100, value_parser = clap::value_parser!(u64).range(0..=60_000))]
    pub fold_window_ms: u64,
    /// Counts older than this many milliseconds are served as STALE.
    #[arg(long, env = "LIKEWISE_STALENESS_BOUND_MS", default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(100..=3_600_000))]
    pub staleness_bound_ms: u64,
    /// Least seconds between the starts of two checks of all counts against the reactions; 0 for none.
    #[arg(long = "reconcile-seconds", env = "LIKEWISE_RECONCILE_SECONDS", default_value = "600", value_parser = parse_seconds)]
    pub reconcile_interval: Duration,
    /// Connections for reads.
    #[arg(long, env = "LIKEWISE_READ_CONNECTIONS", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub read_connections: u32,
    /// Connections for writes. Each partition of the log uses one at a time; with fewer, batches wait for each other.
    #[arg(long, env = "LIKEWISE_LANE_CONNECTIONS", default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub lane_connections: u32,
    /// How long folded events stay in the log: 12h, 7d; at least 60s.
    #[arg(long, env = "LIKEWISE_LOG_RETENTION", default_value = "7d", value_parser = parse_retention)]
    pub log_retention: Duration,
    /// Largest request body in bytes.
    #[arg(long, env = "LIKEWISE_MAX_BODY_BYTES", default_value_t = 2 * 1024 * 1024, value_parser = clap::value_parser!(u32).range(1_024..=64 * 1024 * 1024))]
    pub max_body_bytes: u32,
    /// Most open sockets of this node.
    #[arg(long, env = "LIKEWISE_MAX_SOCKETS", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_sockets: u32,
    /// Answer introspection queries.
    #[arg(long, env = "LIKEWISE_INTROSPECTION", default_value_t = true, action = clap::ArgAction::Set)]
    pub introspection: bool,
    /// Origins whose pages may call, separated by commas; `*` for all.
    #[arg(long, env = "LIKEWISE_ALLOWED_ORIGINS")]
    allowed_origins: Vec<String>,
    /// Seconds that a stopping node takes for what is in flight.
    #[arg(long, env = "LIKEWISE_DRAIN_SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(0..=600))]
    pub drain_seconds: u64,
}

/// A setting that does not hold together with the others.
#[derive(Debug, thiserror::Error)]
#[error("{setting}: {message}")]
pub struct SettingError {
    pub setting: &'static str,
    pub message: String,
}

impl ServeConfig {
    /// A worker answers no requests and has no lanes to write with: the nodes that serve the demo fill it.
    pub fn serves_demo(&self) -> bool {
        self.demo && self.role != Role::Worker
    }

    /// Spaces around an origin are nothing, and neither is an empty list.
    pub fn allowed_origins(&self) -> impl Iterator<Item = &str> {
        let words = self.allowed_origins.iter().flat_map(|list| list.split(','));
        words.map(str::trim).filter(|origin| !origin.is_empty())
    }

    /// GraphiQL shows nothing where it may not read the schema.
    pub fn serves_graphiql(&self) -> bool {
        (self.demo || self.graphiql) && self.introspection
    }

    /// Checks what one value alone cannot tell.
    pub fn check(&self) -> Result<(), SettingError> {
        self.database.check()?;
        self.jwt.check()?;
        let postgres = self.database.is_postgres();
        if self.jwt.jwt_secret.is_none() && !self.demo && self.role != Role::Worker {
            let message = "no key is configured: set a secret of at least 32 bytes, or serve with --demo";
            return Err(wrong("LIKEWISE_JWT_SECRET", message));
        }
        if self.role != Role::All && (self.redis_url.is_none() || !postgres) {
            let message = "the roles api and worker need PostgreSQL and LIKEWISE_REDIS_URL: they work with other nodes";
            return Err(wrong("LIKEWISE_ROLE", message));
        }
        let redis = self.redis_url.as_deref().unwrap_or("redis://");
        if !redis.starts_with("redis://") && !redis.starts_with("rediss://") {
            return Err(wrong("LIKEWISE_REDIS_URL", "starts with neither redis:// nor rediss://"));
        }
        check_user_part("LIKEWISE_REDIS_URL", redis)?;
        if let Some(origin) = self.allowed_origins().find(|origin| !is_origin(origin)) {
            let message = format!("{origin:?} is no origin such as https://example.com, nor *");
            return Err(wrong("LIKEWISE_ALLOWED_ORIGINS", message));
        }
        if self.graphiql && !self.introspection {
            let message = "GraphiQL reads the schema by introspection, which LIKEWISE_INTROSPECTION turns off";
            return Err(wrong("LIKEWISE_GRAPHIQL", message));
        }
        if self.redis_url.is_some() && !postgres {
            let message = "SQLite serves one process, which needs no Redis: leave it out or set a PostgreSQL database";
            return Err(wrong("LIKEWISE_REDIS_URL", message));
        }
        Ok(())
    }
}

impl DatabaseConfig {
    pub fn is_postgres(&self) -> bool {
        self.database_url.starts_with("postgres://") || self.database_url.starts_with("postgresql://")
    }

    /// Partitions of a log that is made now.
    pub fn new_partitions(&self) -> usize {
        let default = if self.is_postgres() { 4 } else { 1 };
        self.log_partitions.map_or(default, usize::from)
    }

    pub fn check(&self) -> Result<(), SettingError> {
        if self.is_postgres() {
            return check_user_part("LIKEWISE_DATABASE_URL", &self.database_url);
        }
        if !self.database_url.starts_with("sqlite:") {
            return Err(wrong("LIKEWISE_DATABASE_URL", "starts with neither postgres:// nor sqlite://"));
        }
        if self.database_url.contains(":memory:") || self.database_url.contains("mode=memory") {
            return Err(wrong("LIKEWISE_DATABASE_URL", "every connection would have its own database: name a file"));
        }
        let path = self.database_url.trim_start_matches("sqlite:").trim_start_matches("//");
        if path.is_empty() || path.starts_with('?') {
            return Err(wrong("LIKEWISE_DATABASE_URL", "names no file"));
        }
        if self.log_partitions.is_some_and(|partitions| partitions != 1) {
            return Err(wrong("LIKEWISE_LOG_PARTITIONS", "SQLite has one writer, so its log has one partition"));
        }
        Ok(())
    }
}

impl JwtConfig {
    pub fn check(&self) -> Result<(), SettingError> {
        let short = self.jwt_secret.as_ref().is_some_and(|secret| secret.len() < SECRET_MIN_BYTES);
        if short {
            return Err(wrong("LIKEWISE_JWT_SECRET", "is shorter than 32 bytes"));
        }
        Ok(())
    }
}

/// A duration in which a lane certainly finds its last batch.
fn parse_retention(text: &str) -> Result<Duration, String> {
    let retention = parse_duration(text)?;
    let long_enough = retention >= LOG_RETENTION_MIN;
    long_enough.then_some(retention).ok_or_else(|| "shorter than 60s".to_owned())
}

/// A password with a special character as it stands is cut there, and its rest taken for something else, perhaps for the
/// host, which is told to everybody.
fn check_user_part(setting: &'static str, url: &str) -> Result<(), SettingError> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    match (rest.find(['/', '?', '#']), rest.rfind('@'), rest.matches('@').count()) {
        (Some(end), Some(at), _) if at > end => {}
        (_, _, 2..) => {}
        _ => return Ok(()),
    }
    let message = "has special characters in its user or password, which are percent-encoded: %2F for /, %40 for @";
    Err(wrong(setting, message))
}

/// A scheme and a host, perhaps with a port, and nothing after; or `*`.
fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    text == "*" || host.is_some_and(|host| !host.is_empty() && !host.contains(['/', ' ', '?', '#']))
}

fn wrong(setting: &'static str, message: impl Into<String>) -> SettingError {
    SettingError { setting, message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serve(arguments: &[&str]) -> Result<(), String> {
        let arguments = ["likewise", "serve"].iter().chain(arguments);
        let cli = Cli::try_parse_from(arguments).map_err(|error| error.to_string())?;
        let Command::Serve(config) = cli.command else {
            return Err("another command".into());
        };
        config.check().map_err(|error| error.to_string())
    }

    #[test]
    fn origins_are_a_list_with_or_without_spaces() {
        let origins = |lists: &[&str]| {
            let arguments = ["likewise", "serve", "--demo"].iter().copied();
            let cli = Cli::try_parse_from(arguments.chain(lists.iter().flat_map(|list| ["--allowed-origins", *list])));
            let Command::Serve(config) = cli.unwrap().command else { panic!("serve") };
            config.check().unwrap();
            config.allowed_origins().map(str::to_owned).collect::<Vec<_>>()
        };
        let both = ["https://a.example", "http://b.example:8080"];
        assert_eq!(origins(&["https://a.example,http://b.example:8080"]), both);
        assert_eq!(origins(&[" https://a.example , http://b.example:8080,"]), both);
        assert_eq!(origins(&both), both);
        assert_eq!(origins(&["*"]), ["*"]);
        for nothing in ["", " ", ","] {
            assert!(origins(&[nothing]).is_empty(), "{nothing:?}");
        }
    }

    #[test]
    fn settings_that_cannot_work_are_refused_by_name() {
        let secret = "--jwt-secret=0123456789abcdef0123456789abcdef";
        let cases: [(&[&str], &str); 15] = [
            (&[secret, "--database-url=postgres://db/x", "--redis-url=http://r"], "LIKEWISE_REDIS_URL"),
            (&[secret, "--allowed-origins=not an origin"], "LIKEWISE_ALLOWED_ORIGINS"),
            (&[secret, "--graphiql", "--introspection=false"], "LIKEWISE_GRAPHIQL"),
            (&[], "LIKEWISE_JWT_SECRET"),
            (&["--jwt-secret=short"], "LIKEWISE_JWT_SECRET"),
            (&[secret, "--role=worker"], "LIKEWISE_ROLE"),
            (&[secret, "--role=api", "--database-url=postgres://db/x"], "LIKEWISE_ROLE"),
            (&[secret, "--redis-url=redis://r"], "LIKEWISE_REDIS_URL"),
            (&[secret, "--database-url=mysql://x"], "LIKEWISE_DATABASE_URL"),
            (&[secret, "--database-url=sqlite::memory:"], "LIKEWISE_DATABASE_URL"),
            (&[secret, "--push-interval-ms=-1"], "--push-interval-ms"),
            (&[secret, "--log-retention=59s"], "--log-retention"),
            (&[secret, "--log-retention=long"], "--log-retention"),
            (&[secret, "--lane-connections=0"], "--lane-connections"),
            (&[secret, "--reconcile-seconds=-1"], "--reconcile-seconds"),
        ];
        for (arguments, setting) in cases {
            let refusal = serve(arguments).expect_err("a wrong setting");
            assert!(refusal.contains(setting), "{arguments:?}: {refusal}");
        }
        assert!(serve(&["--demo"]).is_ok());
        assert!(serve(&["--demo", "--introspection=false"]).is_ok());
        assert!(serve(&[secret]).is_ok());
        assert!(serve(&[secret, "--log-retention=60s"]).is_ok());
    }
}
