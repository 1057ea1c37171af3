//! Named places where a test kills, stops or holds up the process, to show what a crash at exactly that point does.
//!
//! They exist only with the cargo feature `failpoints`, which releases do not have. A process takes them from its
//! variable `FAILPOINTS`, in the language of the crate `fail`: `lane_before_commit=200*off->1*return(kill)` lets two
//! hundred batches pass and kills the process in the next one. The argument of `return` is what happens:
//!
//! | argument | |
//! |---|---|
//! | `kill` | SIGKILL to the own process |
//! | `stop` | SIGSTOP; whoever tests sends SIGCONT |
//! | `pause MS` | the task waits, the others go on |
//! | `lose` | the bus loses its message |

/// Reached in a task.
#[cfg(feature = "failpoints")]
pub(crate) async fn reach(name: &'static str) {
    if let Some(milliseconds) = active::act(name).pause {
        tokio::time::sleep(std::time::Duration::from_millis(milliseconds)).await;
    }
}

/// Reached in a task.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
#[expect(clippy::unused_async, reason = "as with the feature")]
pub(crate) async fn reach(_name: &'static str) {}

/// Reached where nothing can wait; true where the message at hand is to be lost.
#[cfg(feature = "failpoints")]
pub(crate) fn loses(name: &'static str) -> bool {
    active::act(name).lose
}

/// Reached where nothing can wait; true where the message at hand is to be lost.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub(crate) const fn loses(_name: &'static str) -> bool {
    false
}

#[cfg(feature = "failpoints")]
pub use active::from_environment;

#[cfg(feature = "failpoints")]
mod active {
    use nix::sys::signal::{Signal, raise};

    #[derive(Default)]
    pub(super) struct Action {
        pub pause: Option<u64>,
        pub lose: bool,
    }

    /// Takes the failpoints of this process from its environment; they hold until the guard is dropped.
    pub fn from_environment() -> fail::FailScenario<'static> {
        fail::FailScenario::setup()
    }

    pub(super) fn act(name: &str) -> Action {
        fail::fail_point!(name, |argument| carry_out(argument.as_deref().unwrap_or_default()));
        Action::default()
    }

    fn carry_out(argument: &str) -> Action {
        // To this thread, which is then the first to take it: sent to the process, another thread takes it, and this
        // one may come as far as its COMMIT before all are stopped.
        let signal = |signal| raise(signal).expect("a process may signal itself");
        match argument.split_once(' ').unwrap_or((argument, "")) {
            ("kill", "") => signal(Signal::SIGKILL),
            ("stop", "") => signal(Signal::SIGSTOP),
            ("lose", "") => return Action { lose: true, ..Action::default() },
            ("pause", milliseconds) => {
                let pause = milliseconds.parse().expect("a pause has milliseconds");
                return Action { pause: Some(pause), ..Action::default() };
            }
            _ => panic!("a failpoint cannot {argument:?}"),
        }
        Action::default()
    }
}
