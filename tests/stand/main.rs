//! `stand`: a throwaway demo for tests of the pages and of the README's snippets. It ends with its standard input.

use std::io::BufRead;
use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use likewise_tests::binary::{self, ServerProcess};
use likewise_tests::database::Database;
use likewise_tests::postgres::{Postgres, Shutdown};
use likewise_tests::redis::Redis;
use likewise_tests::tokens;
use likewise_tests::wait::{SOON, until};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

const DATABASE: &str = "stand";

/// Starts demo servers and prints one line of JSON when they are ready: `{"nodes": [{"url": …, "pid": …, "log": …}]}`.
///
/// A line `stop database` or `start database` on standard input is carried out and repeated on standard output; `stop`
/// is as a crash. Everything ends when standard input is closed, or by SIGTERM or SIGINT.
#[derive(Debug, Parser)]
#[command(name = "stand")]
struct Options {
    #[arg(long, default_value = "postgres")]
    backend: Backend,
    /// A setting of the nodes, as its variable: `LIKEWISE_LIKERS=off`. May be given more than once.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Backend {
    /// Two nodes on PostgreSQL and Redis.
    Postgres,
    /// One node on a file.
    Sqlite,
}

/// In the order in which it is stopped.
struct Stand {
    nodes: Vec<ServerProcess>,
    _redis: Option<Redis>,
    database: Database,
    _folder: TempDir,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let runtime = tokio::runtime::Runtime::new().expect("threads can be started");
    match runtime.block_on(run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            likewise_tests::say(&format!("stand: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(options: &Options) -> Result<(), String> {
    let caught = |kind| signal(kind).map_err(|error| error.to_string());
    let (mut terminate, mut interrupt) = (caught(SignalKind::terminate())?, caught(SignalKind::interrupt())?);
    let mut lines = lines();
    let over = async {
        let stand = Stand::start(options).await?;
        print(&stand.describe());
        while let Some(line) = lines.recv().await {
            stand.obey(&line)?;
            print(&line);
        }
        Ok(())
    };
    tokio::select! {
        over = over => over,
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    }
}

/// The lines of standard input, until it is closed.
fn lines() -> mpsc::Receiver<String> {
    let (tell, lines) = mpsc::channel(1);
    // A thread of its own, since nothing can end the reading but the other side.
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if tell.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

impl Stand {
    async fn start(options: &Options) -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("likewise-stand-").tempdir().map_err(|error| error.to_string())?;
        let (database, redis, count) = match options.backend {
            Backend::Postgres => (postgres(folder.path()).await?, Some(Redis::start()?), 2),
            Backend::Sqlite => (Database::sqlite(), None, 1),
        };
        let mut variables = vec![
            ("LIKEWISE_JWT_SECRET".to_owned(), tokens::SECRET.to_owned()),
            ("LIKEWISE_DATABASE_URL".to_owned(), database.url()),
        ];
        variables.extend(redis.as_ref().map(|redis| ("LIKEWISE_REDIS_URL".to_owned(), redis.url())));
        variables.extend(options.set.iter().cloned());
        let variables: Vec<_> = variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut stand = Self { nodes: Vec::new(), _redis: redis, database, _folder: folder };
        for number in 0..count {
            let folder = stand._folder.path().join(format!("node{number}"));
            std::fs::create_dir(&folder).map_err(|error| error.to_string())?;
            let arguments = ["serve", "--demo", "--listen", "127.0.0.1:0"];
            let node = ServerProcess::start_with(&folder, &arguments, &variables);
            ready(&node).await;
            stand.nodes.push(node);
        }
        Ok(stand)
    }

    fn obey(&self, line: &str) -> Result<(), String> {
        let Database::Postgres { server, .. } = &self.database else {
            return Err(format!("there is no server to {line}"));
        };
        match line {
            "stop database" => server.stop(Shutdown::Immediate),
            "start database" => server.start_again(),
            _ => return Err(format!("cannot {line:?}")),
        }
        Ok(())
    }

    fn describe(&self) -> String {
        let node = |node: &ServerProcess| -> Value {
            json!({ "url": format!("http://{}", node.address), "pid": node.id(), "log": node.log_path() })
        };
        json!({ "nodes": self.nodes.iter().map(node).collect::<Vec<_>>() }).to_string()
    }
}

async fn postgres(folder: &Path) -> Result<Database, String> {
    let server = std::sync::Arc::new(Postgres::start()?);
    server.create_database(DATABASE).await;
    let migrated = binary::run(folder, &["migrate", "--database-url", &server.url(DATABASE)]);
    if migrated.code != Some(0) {
        return Err(format!("likewise migrate: {}", migrated.stderr));
    }
    Ok(Database::Postgres { server, name: DATABASE.to_owned() })
}

/// A node that listens may still be filling its demo.
async fn ready(node: &ServerProcess) {
    let http = reqwest::Client::builder().no_proxy().build().expect("a client without TLS");
    let url = format!("http://{}/readyz", node.address);
    let answers = async || http.get(&url).send().await.ok().filter(|answer| answer.status() == 200);
    until("the node is ready", SOON, answers).await;
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("give NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

#[expect(clippy::print_stdout, reason = "the one line that the caller reads")]
fn print(text: &str) {
    println!("{text}");
}
