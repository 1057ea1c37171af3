//! Why a bulk load did not happen or did not end.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::parse::LineError;
use crate::error::Error;
use crate::store::fold::FoldError;

/// Bad lines that are told with their reason; the rest is a number.
const BAD_LINES_TOLD: usize = 20;

/// Each variant says what to do about it; the sources say more.
#[derive(Debug, thiserror::Error)]
pub enum BulkError {
    #[error("{}: the name must end in .csv, .ndjson or .jsonl, which says how the file is to be read", .0.display())]
    UnknownFormat(PathBuf),
    #[error("{} cannot be read", .file.display())]
    Unreadable {
        file: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("nothing was imported. {0}\nCorrect the file, or leave the bad lines out with --skip-bad-lines.")]
    BadLines(BadLines),
    #[error("{} changed while it was imported; some of its lines may be in. Run the same command again.", .0.display())]
    FileChanged(PathBuf),
    #[error("the database has no tables yet: run `likewise migrate` first")]
    NoSchema,
    #[error("{likes} likes do not fit: {users} users and {items} items make {} pairs at most", u64::from(*.users) * u64::from(*.items))]
    TooManyLikes { likes: u64, users: u32, items: u32 },
    #[error(
        "the store could not be written, the last time at row {row}; what came before is in. Run the same command again to go on from there."
    )]
    Stopped {
        row: u64,
        #[source]
        source: Error,
    },
    #[error("the store refuses row {row}")]
    Refused {
        row: u64,
        #[source]
        source: Error,
    },
    #[error("the users could not be written. Run the same command again.")]
    Catalog(#[source] Error),
    #[error("the account is as it was: nothing could be written. Run the same command again.")]
    Tombstone(#[source] Error),
    #[error(
        "the account is closed, and something of it is still there. A running server removes it, or the same command again."
    )]
    Erasure(#[source] Error),
    #[error("the store could not be read. Run the same command again.")]
    Unavailable(#[from] Error),
    #[error(
        "all rows are in, and the counts could not be brought up to date. A running server does it, or the same command again."
    )]
    Fold(#[source] FoldError),
}

/// The bad lines of a file: the first ones with their reason, and how many there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BadLines {
    pub count: u64,
    /// Number of the line, from 1 as an editor shows it, and what is wrong with it.
    pub first: Vec<(u64, LineError)>,
}

impl BadLines {
    pub(super) fn add(&mut self, line: u64, error: LineError) {
        self.count += 1;
        if self.first.len() < BAD_LINES_TOLD {
            self.first.push((line, error));
        }
    }
}

impl fmt::Display for BadLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = if self.count == 1 { "1 bad line" } else { &format!("{} bad lines", self.count) };
        write!(f, "The file has {lines}:")?;
        for (line, error) in &self.first {
            write!(f, "\n  line {line}: {error}")?;
        }
        match self.count - self.first.len() as u64 {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}
