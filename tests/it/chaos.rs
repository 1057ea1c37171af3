//! Every bug that can be planted in a chaos run is found by its oracle, and no failpoint is left out of its plans. The
//! runs with faults come after these tests: `make chaos`.

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};

use likewise_tests::chaos::plan;
use likewise_tests::chaos::plants::Plant;
use likewise_tests::harness::Test;
use likewise_tests::{binary, plain};

/// Runs at the same time.
const AT_ONCE: usize = 4;
/// Seconds that clients go on for.
const SECONDS: &str = "3";
/// Reached only where counts are wrong, which they never are in a run.
const NOT_REACHED: &str = "reconciler_before_heal";
/// A run that was judged, and not acquitted.
const VIOLATED: Option<i32> = Some(1);

pub(crate) fn tests() -> Vec<Test> {
    vec![plain!(each_planted_bug_is_found_by_its_oracle).with_binary(), plain!(a_plan_may_kill_at_every_failpoint)]
}

fn each_planted_bug_is_found_by_its_oracle() {
    binary::path();
    for plants in Plant::ALL.chunks(AT_ONCE) {
        let runs: Vec<_> = plants.iter().map(|plant| (plant, start(*plant))).collect();
        for (plant, run) in runs {
            let output = run.wait_with_output().expect("a child of this process");
            let text = String::from_utf8_lossy(&output.stdout);
            let oracle = format!("violated: {}:", plant.oracle());
            let found = output.status.code() == VIOLATED && text.contains(&oracle);
            assert!(found, "{plant:?} ends with {}: {text}", output.status);
        }
    }
}

fn start(plant: Plant) -> Child {
    Command::new(env!("CARGO_BIN_EXE_chaos"))
        .args(["--seed", "1", "--seconds", SECONDS, "--plant", &plant.name()])
        .env(binary::BUILT, binary::path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the chaos run starts")
}

fn a_plan_may_kill_at_every_failpoint() {
    let mut names = BTreeSet::new();
    crate::failpoints::collect(&binary::workspace().join("server/src"), &mut names);
    assert!(names.len() > 15, "{names:?}");
    names.remove(NOT_REACHED);
    let left_out: Vec<_> = names.iter().filter(|name| !plan::failpoints().contains(&name.as_str())).collect();
    assert!(left_out.is_empty(), "no plan has {left_out:?}");
}
