//! What the erasure of a heavy account costs the others: the time of their writes before, during and after it, in one
//! run on PostgreSQL. `cargo run -p likewise-tests --bin erasure-load -- [likes] [writers]`

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use futures_util::future::join_all;
use likewise_server::app::import;
use likewise_server::config::{Cli, Command};
use likewise_tests::app::{App, Backend, Setup};
use likewise_tests::client::Client;
use likewise_tests::say;
use likewise_tests::services::Services;
use likewise_tests::views::Reaction;
use likewise_tests::wait::{outage, until};
use serde_json::json;

const HEAVY: &str = "heavy";
/// Likes of the heavy account where the command line names no number.
const LIKES: usize = 200_000;
/// Clients that tap all the time, each with a user of its own.
const WRITERS: usize = 12;
/// From one tap of a client to its next, where the server keeps up.
const TAP_EVERY: Duration = Duration::from_millis(20);
/// Items that the clients tap.
const HOT_ITEMS: usize = 50;
const WARM_UP: Duration = Duration::from_secs(5);
const PHASE: Duration = Duration::from_secs(30);
/// Longest erasure.
const ERASED_WITHIN: Duration = Duration::from_secs(1_800);

/// Time of a tap, the phase it fell into, and whether its user shares the heavy account's partition.
struct Tap {
    phase: usize,
    neighbour: bool,
    took: Duration,
}

const PHASES: [&str; 5] = ["warm-up", "before", "before, again", "during", "after"];

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1).map(|word| word.parse().expect("a whole number"));
    let (likes, writers) = (arguments.next().unwrap_or(LIKES), arguments.next().unwrap_or(WRITERS));
    let app = App::start(Arc::new(Services::default()), Backend::Postgres, Setup::default()).await;
    let started = Instant::now();
    make_heavy(&app, likes).await;
    app.drained().await;
    say(&format!("{likes} likes of one account are in after {:.0} s", started.elapsed().as_secs_f64()));

    let phase = Arc::new(AtomicUsize::new(0));
    let load = (0..writers).map(|number| tokio::spawn(tap_on(app.client(), number, Arc::clone(&phase))));
    let load = load.collect::<Vec<_>>();
    for length in [WARM_UP, PHASE, PHASE] {
        outage(length).await;
        phase.fetch_add(1, Ordering::Relaxed);
    }
    let started = Instant::now();
    let service = app.as_service();
    service.erase_user(HEAVY).await;
    until("the account is erased", ERASED_WITHIN, async || {
        outage(Duration::from_secs(1)).await;
        let erasure = service.query("{ erasure(userId: \"heavy\") { finishedAt } }", json!({})).await.data();
        (!erasure["erasure"]["finishedAt"].is_null()).then_some(())
    })
    .await;
    let erased_in = started.elapsed();
    phase.fetch_add(1, Ordering::Relaxed);
    outage(PHASE).await;
    phase.fetch_add(1, Ordering::Relaxed);
    let mut taps = Vec::new();
    for tapped in join_all(load).await {
        taps.extend(tapped.expect("the load goes on to the end"));
    }
    report(&taps, likes, erased_in);
    app.finish().await;
}

async fn make_heavy(app: &App, likes: usize) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("likes.csv");
    let lines: String = (0..likes).map(|number| format!("{HEAVY},item:{number},LIKE,{number}\n")).collect();
    std::fs::write(&file, lines).expect("a file");
    let file = file.to_str().expect("a path");
    let cli = Cli::try_parse_from(["likewise", "import", file, "--database-url", &app.database.url()]);
    let Ok(Command::Import(config)) = cli.map(|cli| cli.command) else { panic!("the arguments ask for an import") };
    import(&config).await.unwrap_or_else(|error| panic!("{error}"));
}

async fn tap_on(client: Client, number: usize, phase: Arc<AtomicUsize>) -> Vec<Tap> {
    let user = format!("user{number}");
    let client = client.as_user(&user);
    let neighbour = partition(&user) == partition(HEAVY);
    let mut ticks = tokio::time::interval(TAP_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut taps = Vec::new();
    for round in 0.. {
        ticks.tick().await;
        let phase = phase.load(Ordering::Relaxed);
        if phase >= PHASES.len() {
            break;
        }
        let reaction = if (round / HOT_ITEMS).is_multiple_of(2) { Reaction::Like } else { Reaction::None };
        let started = Instant::now();
        client.set_with_key(&format!("hot:{}", round % HOT_ITEMS), reaction, &format!("tap-{round}")).await;
        taps.push(Tap { phase, neighbour, took: started.elapsed() });
    }
    taps
}

fn partition(user: &str) -> usize {
    likewise_server::domain::UserId::parse(user).expect("a good id").partition(4)
}

fn report(taps: &[Tap], likes: usize, erased_in: Duration) {
    let seconds = erased_in.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "for people to read")]
    let rate = likes as f64 / seconds;
    say(&format!("erased in {seconds:.0} s, {rate:.0} rows/s"));
    say("phase            taps   p50 ms   p99 ms    max ms   of neighbours: p50 ms   p99 ms   taps");
    for (phase, name) in PHASES.iter().enumerate() {
        let all = times(taps.iter().filter(|tap| tap.phase == phase));
        let near = times(taps.iter().filter(|tap| tap.phase == phase && tap.neighbour));
        say(&format!(
            "{name:<14} {:>6} {:>8.1} {:>8.1} {:>9.1} {:>23.1} {:>8.1} {:>6}",
            all.len(),
            at(&all, 0.5),
            at(&all, 0.99),
            at(&all, 1.0),
            at(&near, 0.5),
            at(&near, 0.99),
            near.len()
        ));
    }
    let p99 = |phase: usize| at(&times(taps.iter().filter(|tap| tap.phase == phase)), 0.99);
    let near = |phase: usize| at(&times(taps.iter().filter(|tap| tap.phase == phase && tap.neighbour)), 0.99);
    say(&format!("p99 before again : before = {:.2} (the noise of this machine)", p99(2) / p99(1)));
    let before = (p99(1) + p99(2)) / 2.0;
    let near_before = (near(1) + near(2)) / 2.0;
    say(&format!("p99 during : before = {:.2}; of neighbours {:.2}", p99(3) / before, near(3) / near_before));
}

/// Milliseconds, rising.
fn times<'a>(taps: impl Iterator<Item = &'a Tap>) -> Vec<f64> {
    let mut times: Vec<_> = taps.map(|tap| tap.took.as_secs_f64() * 1_000.0).collect();
    times.sort_by(f64::total_cmp);
    times
}

#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
fn at(times: &[f64], share: f64) -> f64 {
    let last = times.len().saturating_sub(1);
    times.get((last as f64 * share).round() as usize).copied().unwrap_or(f64::NAN)
}
