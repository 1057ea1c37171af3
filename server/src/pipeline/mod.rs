//! The pipeline: derives the counts from the log, proves them by the rows, and does what goes on in the background: it
//! removes what is past its time or of deleted accounts, and takes back what an abuse system proposed.

pub mod counter;
pub mod eraser;
mod pace;
pub mod reconciler;
pub mod recount;
pub mod retention;
pub mod retractor;
