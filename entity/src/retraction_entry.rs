//! Reactions of a proposal: what each was, and the version at which the retraction left its row.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "retraction_entry")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub proposal_id: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub item_id: String,
    /// The row's state before; 0 where nothing was taken back.
    pub state: i16,
    /// The row's time before.
    pub reacted_at: i64,
    /// The row's version after; 0 where nothing was taken back.
    pub version: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
