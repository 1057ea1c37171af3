//! The command line: one match, and what each command prints and exits with.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};
use likewise_server::app::{self, Node, StartError};
use likewise_server::config::{Cli, Command, ServeConfig};
use likewise_server::{api, telemetry};
use tokio::signal::unix::{SignalKind, signal};

/// A wrong setting (EX_USAGE).
const EXIT_SETTING: u8 = 64;
/// How long threads may take to end after all is done; past it they end with the process.
const LAST_THREADS_MAX: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(wrong) => {
            let asked = matches!(wrong.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            // A closed terminal is nothing to report to.
            let _ = wrong.print();
            if let Some(variable) = variable_of(&wrong) {
                let _ = writeln!(std::io::stderr(), "\nIts variable is {variable}.");
            }
            return if asked { ExitCode::SUCCESS } else { ExitCode::from(EXIT_SETTING) };
        }
    };
    #[cfg(feature = "failpoints")]
    let _failpoints = likewise_server::failpoint::from_environment();
    telemetry::log_to_stderr(&cli.log, cli.log_format);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(cause) => return fail(&format!("no threads: {cause}"), 1),
    };
    let ended = runtime.block_on(run(cli.command));
    // A thread may still wait for a reader of the standard output who does not read.
    runtime.shutdown_timeout(LAST_THREADS_MAX);
    match ended {
        Ok(code) => code,
        Err(error) => {
            let (line, code) = app::explain(&error);
            fail(&line, code)
        }
    }
}

/// The variable of the flag that is at fault: most settings come from there.
fn variable_of(wrong: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(argument)) = wrong.get(ContextKind::InvalidArg) else { return None };
    let flag = argument.split_whitespace().next()?.strip_prefix("--")?;
    let command = Cli::command();
    let mut arguments = command.get_subcommands().chain([&command]).flat_map(clap::Command::get_arguments);
    let argument = arguments.find(|argument| argument.get_long() == Some(flag))?;
    argument.get_env()?.to_str().map(str::to_owned)
}

async fn run(command: Command) -> Result<ExitCode, StartError> {
    match command {
        Command::Serve(config) => return serve(*config).await,
        Command::Migrate(config) => {
            let migrated = app::migrate(&config.database).await?;
            print(&format!("{} migrations applied, {} log partitions", migrated.applied, migrated.partitions));
        }
        Command::Schema => print(api::sdl().trim_end()),
        Command::Token(config) => print(&app::token(&config)?),
        Command::Events(config) => {
            tokio::select! {
                printed = app::events(&config) => printed?,
                () = asked_to_stop() => {}
            }
        }
        Command::Import(config) => print(&app::import(&config).await?.to_string()),
        Command::Erase(config) => print(&app::erase(&config).await?.to_string()),
        Command::Seed(config) => print(&app::seed(&config).await?.to_string()),
        Command::Reconcile(config) => {
            let report = app::reconcile(&config).await?;
            print(&report.to_string());
            return Ok(ExitCode::from(report.exit_code()));
        }
        Command::Rebuild(config) => {
            let report = app::rebuild(&config).await?;
            print(&report.to_string());
            return Ok(ExitCode::from(report.exit_code()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn serve(config: ServeConfig) -> Result<ExitCode, StartError> {
    let (demo, graphiql) = (config.serves_demo(), config.serves_graphiql());
    // Before the start, so that a signal which comes during it ends the node in order.
    let asked_to_stop = asked_to_stop();
    let node = Node::start(config).await?;
    if demo {
        let text = welcome(&format!("http://{}", node.address()), graphiql);
        // It serves also where nobody can be welcomed.
        let _ = writeln!(std::io::stdout(), "{text}");
    }
    let failure = tokio::select! {
        () = asked_to_stop => None,
        failure = node.failed() => Some(failure),
    };
    Ok(match (node.stop().await, failure) {
        (Ok(()), None) => ExitCode::SUCCESS,
        (Err(failure), _) | (_, Some(failure)) => fail(&failure, 1),
    })
}

/// SIGTERM or SIGINT, from now on.
fn asked_to_stop() -> impl Future<Output = ()> {
    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    async move {
        let (Ok(mut terminate), Ok(mut interrupt)) = signals else { return std::future::pending().await };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}

fn welcome(base: &str, graphiql: bool) -> String {
    let pages = match (api::has_pages(), graphiql) {
        (true, true) => format!("Demo        {base}/\n  GraphiQL    {base}/graphiql"),
        (true, false) => format!("Demo        {base}/"),
        (false, _) => "Demo        not in this binary: `make node run` brings Node and builds the pages".to_owned(),
    };
    format!(
        r#"
  Likewise is serving a demo: people ana, ben, cleo, dan and eva; items post:1, post:2, game:chess …

  {pages}
  GraphQL     {base}/graphql   (the same path takes WebSockets: graphql-transport-ws)
  Schema      {base}/schema.graphql
  Health      {base}/readyz   {base}/metrics

  Try, in another terminal:

  TOKEN=$(curl -s {base}/dev/token -H 'content-type: application/json' -d '{{"user":"ana"}}' | sed 's/.*"token":"\([^"]*\)".*/\1/')
  curl -sw '\n' {base}/graphql -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' -d '{{"query":"mutation {{ like(input: {{itemId: \"photo:sunrise\", idempotencyKey: \"tap-1\"}}) {{ changed item {{ likeCount likedByMe }} }} }}"}}'
  curl -sw '\n' {base}/graphql -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' -d '{{"query":"{{ items(ids: [\"post:1\", \"photo:sunrise\"]) {{ id likeCount likedByMe countAsOf friendLikers {{ users {{ name }} othersCount }} }} }}"}}'
"#
    )
}

#[expect(clippy::print_stdout, reason = "what a command prints is its result")]
fn print(text: &str) {
    println!("{text}");
}

/// The one line that says why the process ends. The code says it too, where the line cannot be written.
fn fail(line: &str, code: u8) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "likewise: {line}");
    ExitCode::from(code)
}
