//! Properties of what runs: random cases, and of one that fails the smallest that still does.

use std::cell::Cell;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rand::RngExt;

use crate::seeded;

/// Runs of a failing case while it is made smaller; then the smallest so far is shown.
const SHRINK_MAX: u32 = 300;

thread_local! {
    static SHRINKS: Cell<bool> = const { Cell::new(false) };
}

/// True on a thread whose panics are those of a case that is made smaller: only the last is worth showing.
pub fn shrinks_here() -> bool {
    SHRINKS.get()
}

/// Runs `property` on so many random values; one fails where it panics. The seed is printed, and since a value is run
/// again and again while it shrinks, each run must begin with ids or a store of its own.
pub async fn holds<S: Strategy>(test: &str, cases: u32, values: S, mut property: impl AsyncFnMut(S::Value)) {
    let seed: [u8; 32] = seeded::rng(test).random();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    for case in 1..=cases {
        let mut tree = values.new_tree(&mut runner).expect("these strategies reject nothing");
        if let Err(failure) = run(&mut property, tree.current()).await {
            SHRINKS.set(true);
            let (smallest, failure) = shrink(&mut tree, failure, &mut property).await;
            SHRINKS.set(false);
            panic!("{test}: case {case} of {cases} fails; the smallest like it is {smallest:#?}\n{failure}");
        }
    }
}

async fn run<V>(property: &mut impl AsyncFnMut(V), value: V) -> Result<(), String> {
    let ended = AssertUnwindSafe(property(value)).catch_unwind().await;
    ended.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
    })
}

async fn shrink<T: ValueTree>(
    tree: &mut T,
    mut failure: String,
    property: &mut impl AsyncFnMut(T::Value),
) -> (T::Value, String) {
    let mut smallest = tree.current();
    let mut other = tree.simplify();
    for _ in 0..SHRINK_MAX {
        if !other {
            break;
        }
        other = match run(property, tree.current()).await {
            Err(smaller) => {
                (smallest, failure) = (tree.current(), smaller);
                tree.simplify()
            }
            Ok(()) => tree.complicate(),
        };
    }
    (smallest, failure)
}
