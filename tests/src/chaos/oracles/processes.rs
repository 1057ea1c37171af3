//! No process ends that nobody ended, and none panics.

use super::{PROCESSES, Violation};
use crate::chaos::history::{Cause, History};
use crate::chaos::snapshot::Snapshot;

pub fn check(history: &History, _: &Snapshot) -> Vec<Violation> {
    let of_itself = history.deaths.iter().filter_map(|death| match &death.cause {
        Cause::ByItself(how) => Some(Violation::new(PROCESSES, format!("node {} ended by itself: {how}", death.node))),
        Cause::Killed | Cause::Failpoint(_) | Cause::NotStarted => None,
    });
    of_itself.collect()
}
