//! How far a partition of the log is folded; its row is also the lock on the counters.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "checkpoint")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub partition: i32,
    /// The last folded offset. Nobody ever moves it back.
    pub offset: i64,
    /// The fence of a shard row that is not there.
    pub base_offset: i64,
    /// Grows when the counters were rewritten, so that nodes read their watched items again.
    pub epoch: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
