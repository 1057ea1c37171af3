//! The integration tests: one binary, each test on every back end where it makes sense.

use std::process::ExitCode;

use likewise_tests::harness;

mod architecture;
mod bad_input;
mod chaos;
mod clock;
mod cluster;
mod commands;
mod counts;
mod demo;
mod erasure;
mod failpoints;
mod faults;
mod fixtures;
mod fold;
mod friends;
mod full_disk;
mod grouping;
mod holes;
mod idempotency;
mod import;
mod killed;
mod late;
mod lists;
mod log;
mod lost_commit;
mod model;
mod outage;
mod packed;
mod pages;
mod plans;
mod reactions;
mod reconcile;
mod reconcile_load;
mod reconciler;
mod relay;
mod retention;
mod retraction;
mod spoilt;
mod stopped;
mod stress;
mod subscriptions;
mod taps;
mod viewers;

fn main() -> ExitCode {
    let suites = [
        architecture::tests(),
        bad_input::tests(),
        chaos::tests(),
        clock::tests(),
        cluster::tests(),
        commands::tests(),
        counts::tests(),
        demo::tests(),
        erasure::tests(),
        failpoints::tests(),
        faults::tests(),
        full_disk::tests(),
        fixtures::tests(),
        fold::tests(),
        friends::tests(),
        grouping::tests(),
        holes::tests(),
        idempotency::tests(),
        import::tests(),
        killed::tests(),
        late::tests(),
        lists::tests(),
        log::tests(),
        lost_commit::tests(),
        model::tests(),
        outage::tests(),
        packed::tests(),
        pages::tests(),
        plans::tests(),
        reactions::tests(),
        reconcile::tests(),
        reconcile_load::tests(),
        reconciler::tests(),
        relay::tests(),
        retention::tests(),
        retraction::tests(),
        spoilt::tests(),
        stopped::tests(),
        stress::tests(),
        subscriptions::tests(),
        taps::tests(),
        viewers::tests(),
    ];
    harness::run(suites.into_iter().flatten().collect())
}
