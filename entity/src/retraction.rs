//! Proposals of an abuse system to take reactions back, and how far each is.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "retraction")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub proposal_id: String,
    /// By which the same proposal is known when it is sent again.
    pub fingerprint: String,
    /// Whose reactions, all of them; null where the entries say which.
    pub user_id: Option<String>,
    pub reason: Option<String>,
    /// Per partition, as a JSON list, the last offset when the proposal was made: what came later is not its matter.
    pub cuts: String,
    /// 0 applying, 1 applied, 2 restoring, 3 restored, 4 applying with a restoration to follow. Even has work to do.
    pub status: i16,
    pub retracted: i64,
    pub restored: i64,
    pub created_at: i64,
    /// Until then one node is at work on it.
    pub lease_until: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
