//! The output types of the schema, written by hand.

pub mod connection;
pub mod erasure;
pub mod item;
pub mod reaction;
pub mod retraction;
pub mod user;
pub mod viewer;
