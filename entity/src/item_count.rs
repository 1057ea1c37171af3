//! The materialised total that reads use: the sum of an item's shards.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "item_count")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub item_id: String,
    pub like_count: i64,
    pub dislike_count: i64,
    /// Grows with every fold that met an event of the item; milliseconds of the database's clock or more.
    pub version: i64,
    pub reconciled_at: Option<i64>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
