//! The truth: one row per person and item, never deleted by an unlike.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "reaction")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub item_id: String,
    /// `ReactionState::code`.
    pub state: i16,
    /// Counts the row's real flips, from 1, without gaps.
    pub version: i64,
    pub reacted_at: i64,
    /// The offset of the row's last event in its user's partition.
    pub event_offset: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
