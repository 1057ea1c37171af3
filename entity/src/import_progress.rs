//! How far a file was imported, per partition of the log, so that an import resumes after a kill.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "import_progress")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    /// Hash of the file's content and of the options that change its meaning.
    pub import_id: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub partition: i32,
    /// The last line of the file whose row for this partition is committed.
    pub line: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
