//! What a bulk load did, for a person to read.

use std::fmt;
use std::time::Duration;

use super::error::BadLines;

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ImportReport {
    /// Rows of the file: its lines without empty ones, the header and the bad ones.
    pub lines: u64,
    /// Rows that an earlier run of the same import had committed.
    pub done_before: u64,
    /// The first line that this run committed, where an earlier run had begun.
    pub resumed_at: Option<u64>,
    /// Rows that changed something, each with one event.
    pub imported: u64,
    /// Rows that say what is stored already, or are older than it.
    pub unchanged: u64,
    /// Rows of accounts that were deleted.
    pub refused: u64,
    /// Bad lines that were left out.
    pub skipped: BadLines,
    pub elapsed: Duration,
}

/// What seeding did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SeedReport {
    /// Users with a name and friends.
    pub named_users: u64,
    /// Likes that were not there yet.
    pub imported: u64,
    pub unchanged: u64,
    pub refused: u64,
    pub elapsed: Duration,
}

/// What an erasure did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EraseReport {
    /// Rows of reactions that this run removed.
    pub removed: u64,
    /// All that were removed, by whichever process.
    pub removed_in_all: u64,
    pub elapsed: Duration,
}

impl fmt::Display for EraseReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { removed, removed_in_all, elapsed } = self;
        write!(f, "Erased: {removed} reactions removed in {:.1} s, {removed_in_all} in all.", elapsed.as_secs_f64())
    }
}

impl ImportReport {
    /// Rows that this run committed, by the second.
    pub fn rows_per_second(&self) -> f64 {
        rate(self.imported + self.unchanged + self.refused, self.elapsed)
    }
}

impl SeedReport {
    pub fn rows_per_second(&self) -> f64 {
        rate(self.imported + self.unchanged + self.refused, self.elapsed)
    }
}

impl fmt::Display for ImportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.skipped.count > 0 {
            writeln!(f, "{}\nThese lines were left out.", self.skipped)?;
        }
        match self.resumed_at {
            Some(line) => writeln!(f, "Resumed at line {line}; an earlier run had done {} rows.", self.done_before)?,
            None if self.done_before > 0 => writeln!(f, "An earlier run had done all {} rows.", self.done_before)?,
            None => {}
        }
        write!(f, "{} rows: {} imported, {} unchanged", self.lines, self.imported, self.unchanged)?;
        if self.refused > 0 {
            write!(f, ", {} of deleted accounts", self.refused)?;
        }
        write!(
            f,
            "; {:.1} s, {:.0} rows/s. The counts are up to date.",
            self.elapsed.as_secs_f64(),
            self.rows_per_second()
        )
    }
}

impl fmt::Display for SeedReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} likes, {} were there already", self.imported, self.unchanged)?;
        if self.refused > 0 {
            write!(f, ", {} of deleted accounts", self.refused)?;
        }
        write!(f, "; {} users with a name and friends", self.named_users)?;
        write!(
            f,
            "; {:.1} s, {:.0} likes/s. The counts are up to date.",
            self.elapsed.as_secs_f64(),
            self.rows_per_second()
        )
    }
}

fn rate(rows: u64, elapsed: Duration) -> f64 {
    rows as f64 / elapsed.as_secs_f64().max(0.001)
}
