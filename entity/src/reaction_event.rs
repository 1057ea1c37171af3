//! The event log: gapless offsets, and inside a partition the order of commits is the order of offsets.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "reaction_event")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub partition: i32,
    #[sea_orm(primary_key, auto_increment = false)]
    pub offset: i64,
    /// The write lane's batch, by which a lost reply to COMMIT is resolved.
    pub batch: Uuid,
    /// Null where a deleted account's row was removed.
    pub user_id: Option<String>,
    pub item_id: String,
    pub old_state: i16,
    pub new_state: i16,
    pub like_delta: i16,
    pub dislike_delta: i16,
    /// The reaction row's version after this event.
    pub version: i64,
    /// `Origin::code`.
    pub origin: i16,
    pub created_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
