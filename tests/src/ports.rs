//! Free ports of 127.0.0.1.

use std::net::TcpListener;

use rand::RngExt;

/// Tries before a machine without free ports is reported.
const TRIES: usize = 200;

/// A port that nothing listens on, and that no client is given as its own while the server behind it is down: it lies
/// below the range from which Linux hands out clients' ports.
pub fn free() -> u16 {
    let mut rng = rand::rng();
    (0..TRIES)
        .map(|_| rng.random_range(20_000..32_000))
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("a free port between 20000 and 32000")
}
