//! Accounts that are being deleted or were, and how far that is. The tombstone itself is `account.erased_at`.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "erasure")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: String,
    pub requested_at: i64,
    /// Rows of `reaction` removed so far.
    pub removed: i64,
    /// Null while something of the user is still there.
    pub finished_at: Option<i64>,
    /// Until then one node is at work on it.
    pub lease_until: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
