//! What must be true of every run: each oracle a pure function of the history and the database at the end.

use super::history::History;
use super::snapshot::Snapshot;

pub mod answers;
pub mod conservation;
pub mod erased;
pub mod explained;
pub mod log;
pub mod own;
pub mod pages;
pub mod processes;
pub mod pushes;
pub mod retracted;
pub mod sign;
#[cfg(test)]
mod tests;

pub const CONSERVATION: &str = "conservation";
pub const SIGN: &str = "sign";
pub const LOG: &str = "log";
pub const ANSWERS: &str = "answers";
pub const EXPLAINED: &str = "explained";
pub const OWN: &str = "own";
pub const PUSHES: &str = "pushes";
pub const PAGES: &str = "pages";
pub const ERASED: &str = "erased";
pub const RETRACTED: &str = "retracted";
pub const PROCESSES: &str = "processes";
/// Watched while the run settles, not a function of its history.
pub const CONVERGENCE: &str = "convergence";

/// Something that must not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub oracle: &'static str,
    pub what: String,
    /// Whose history shows it.
    pub user: Option<String>,
    pub item: Option<String>,
}

impl Violation {
    pub fn new(oracle: &'static str, what: impl Into<String>) -> Self {
        Self { oracle, what: what.into(), user: None, item: None }
    }

    #[must_use]
    pub fn of_user(mut self, user: &str) -> Self {
        self.user = Some(user.to_owned());
        self
    }

    #[must_use]
    pub fn of_item(mut self, item: &str) -> Self {
        self.item = Some(item.to_owned());
        self
    }
}

/// One of the oracles.
pub type Oracle = fn(&History, &Snapshot) -> Vec<Violation>;

/// From the store outwards: where several are violated, the first is the nearest to the cause.
pub const ALL: &[(&str, Oracle)] = &[
    (PROCESSES, processes::check),
    (LOG, log::check),
    (CONSERVATION, conservation::check),
    (EXPLAINED, explained::check),
    (ERASED, erased::check),
    (RETRACTED, retracted::check),
    (ANSWERS, answers::check),
    (OWN, own::check),
    (PUSHES, pushes::check),
    (PAGES, pages::check),
    (SIGN, sign::check),
];

/// All that every oracle has to say.
pub fn check(history: &History, snapshot: &Snapshot) -> Vec<Violation> {
    ALL.iter().flat_map(|(_, oracle)| oracle(history, snapshot)).collect()
}
