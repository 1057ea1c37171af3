//! Randomness that can be repeated.

use rand::SeedableRng;
use rand::rngs::StdRng;

/// A generator whose seed is printed; `LIKEWISE_TEST_SEED` repeats a run.
pub fn rng(test: &str) -> StdRng {
    let seed = std::env::var("LIKEWISE_TEST_SEED")
        .ok()
        .map_or_else(rand::random, |text| text.parse().expect("LIKEWISE_TEST_SEED is a whole number"));
    crate::say(&format!("{test}: LIKEWISE_TEST_SEED={seed}"));
    StdRng::seed_from_u64(seed)
}
