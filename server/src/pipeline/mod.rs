//! The pipeline: derives the counts from the log, and proves them by the rows.

pub mod counter;
pub mod reconciler;
pub mod recount;
