//! The named places themselves: all are reached by tests, none is in a release; and a bus that loses everything.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use likewise_tests::app::App;
use likewise_tests::client::Client;
use likewise_tests::harness::Test;
use likewise_tests::views::Reaction;
use likewise_tests::{binary, plain, test_on};

use crate::erasure;
use crate::killed::{COUNTER, COUNTER_SQLITE, LANE};
use crate::reconcile::RECONCILER;
use crate::retraction;

/// Places where the bus loses its messages.
const BUS: [&str; 2] = ["bus_before_send", "bus_on_receive"];

pub(crate) fn tests() -> Vec<Test> {
    vec![
        plain!(the_tests_reach_every_failpoint),
        plain!(a_release_has_no_failpoints),
        test_on!([Cluster], a_bus_that_loses_everything_is_made_up_for).without_nodes().with_binary(),
    ]
}

/// Each name in these lists is the end of a process in some test, or the loss of its messages: one that is not reached
/// fails there.
fn the_tests_reach_every_failpoint() {
    let mut in_sources = BTreeSet::new();
    collect(&binary::workspace().join("server/src"), &mut in_sources);
    let lane = LANE.iter().map(|(name, _)| *name);
    let in_tests = lane.chain(COUNTER).chain(COUNTER_SQLITE).chain(BUS).chain(RECONCILER);
    let in_tests: BTreeSet<_> = in_tests.chain(erasure::PLACES).chain([retraction::PLACE]).map(str::to_owned).collect();
    assert_eq!(in_sources, in_tests, "left: the server's sources; right: the lists of the tests");
}

pub(crate) fn collect(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, names);
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source");
        for call in ["failpoint::reach(\"", "failpoint::loses(\""] {
            let rest = text.split(call).skip(1);
            names.extend(rest.filter_map(|rest| rest.split('"').next()).map(str::to_owned));
        }
    }
}

fn a_release_has_no_failpoints() {
    assert!(depends_on_fail(&["--features", "failpoints"]), "this test can fail");
    assert!(!depends_on_fail(&[]), "the usual features bring failpoints");
}

/// True where the server's own build, with these arguments, contains the crate.
fn depends_on_fail(arguments: &[&str]) -> bool {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["tree", "--package", "likewise-server", "--edges", "normal", "--prefix", "none", "--locked"]);
    let output = command.args(arguments).current_dir(binary::workspace()).output().expect("cargo can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).expect("cargo speaks UTF-8");
    assert!(tree.lines().any(|line| line.starts_with("tokio ")), "this is no tree of the server: {tree}");
    tree.lines().any(|line| line.starts_with("fail "))
}

/// A node that hears nothing, then one that nobody hears: watchers on both sides are shown the truth all the same.
async fn a_bus_that_loses_everything_is_made_up_for(app: &App) {
    let folder = tempfile::Builder::new().prefix("likewise-failpoints-").tempdir().expect("a temporary folder");
    let node = app.start_node(&[]).await;
    let mut likes = 0;
    for place in BUS {
        let process = app.start_process(folder.path(), &[], &format!("{place}=return(lose)"));
        let there = Client::new(app.http(), &process.address);
        let mut pages = [app.node(node).watch(&["post:1"]).await, there.watch(&["post:1"]).await];
        for (client, name) in [(app.node(node), "here"), (there, "there")] {
            client.as_user(&format!("{name}-{place}")).like("post:1").await;
            likes += 1;
            for page in &mut pages {
                page.until(&format!("{place}: the like from {name} is shown"), |item| item.like_count == likes).await;
            }
        }
        drop(pages);
        // That the place was there at all.
        let process = app.start_process(folder.path(), &[], &format!("{place}=return(kill)"));
        let there = Client::new(app.http(), &process.address);
        for (client, name) in [(app.node(node), "again"), (there, "dying")] {
            let _ = client.as_user(&format!("{name}-{place}")).try_tap("post:1", Reaction::Like, None).await;
        }
        assert_eq!(process.ended(), None, "{place} is reached");
        app.drained().await;
        likes = app.node(node).item("post:1").await.like_count;
    }
}
