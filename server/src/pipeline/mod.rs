//! The pipeline: derives the counts from the log, proves them by the rows, and removes what is past its time.

pub mod counter;
pub mod reconciler;
pub mod recount;
pub mod retention;
