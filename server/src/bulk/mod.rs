//! Many reactions at once: an existing like table, or trial data, by one path.
//!
//! Rows become commands of the same batches that the write lanes commit, with the origin IMPORT and their own time, so
//! live nodes may go on writing. How far a partition has come is committed with its rows: after a kill, the same
//! command goes on where it was.

mod erase;
mod error;
mod import;
mod likes;
mod lines;
mod parse;
mod progress;
mod report;
mod seed;
#[cfg(test)]
mod tests;
mod trial;
mod write;

pub use erase::erase;
pub use error::{BadLines, BulkError};
pub use import::{ImportOptions, import};
pub use likes::add_likes;
pub use parse::TimeUnit;
pub(crate) use progress::Progress;
pub use report::{EraseReport, ImportReport, SeedReport};
pub use seed::{SeedOptions, seed};
