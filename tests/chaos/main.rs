//! `chaos`: the command line of the chaos run, and its exit codes.

use std::process::ExitCode;

use clap::Parser;
use likewise_tests::chaos::options::Options;
use likewise_tests::chaos::report::HEAD;
use likewise_tests::chaos::run::run;

/// An oracle is violated.
const VIOLATED: u8 = 1;
/// The run could not be made.
const BROKEN: u8 = 2;

fn main() -> ExitCode {
    let options = Options::parse();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return broken(&format!("no threads: {error}")),
    };
    // A panic is one of the run's own, and no verdict.
    let run = std::panic::catch_unwind(|| runtime.block_on(run(&options)));
    match run {
        Ok(Ok(report)) => {
            print(&report.summary());
            print(&format!("{HEAD}\n{}", report.row()));
            if report.violations.is_empty() {
                return ExitCode::SUCCESS;
            }
            print(&report.failure());
            ExitCode::from(VIOLATED)
        }
        Ok(Err(error)) => broken(&error),
        Err(_) => broken("the run itself panicked"),
    }
}

fn broken(why: &str) -> ExitCode {
    likewise_tests::say(&format!("chaos: the run is broken: {why}"));
    ExitCode::from(BROKEN)
}

#[expect(clippy::print_stdout, reason = "the result of the command")]
fn print(text: &str) {
    println!("{text}");
}
