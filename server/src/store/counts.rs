//! Copies of the counts, and the pulse of the pipeline.

use std::collections::HashMap;
use std::sync::Arc;

use sea_orm::QueryResult;

use super::{Backend, Store, column, statement};
use crate::domain::{Basis, CountCopy, ItemId};
use crate::error::{Error, Result};

const READ_COUNTS: &str = include_str!("sql/read_counts.sql");
const READ_COUNTS_SQLITE: &str = include_str!("sql/read_counts_sqlite.sql");

/// How far the pipeline is, without any item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulse {
    pub basis: Arc<Basis>,
    /// Changes when the counters were rewritten without a fold.
    pub epoch: i64,
}

impl Store {
    /// A copy for each item, zeros where nobody has reacted yet. One statement.
    pub async fn count_copies(&self, items: &[ItemId]) -> Result<(Pulse, HashMap<ItemId, CountCopy>)> {
        let rows = self.read_counts(items).await?;
        let first = rows.first().ok_or_else(|| Error::internal_detail("the checkpoints are missing"))?;
        let pulse = self.pulse_of(first)?;
        let mut copies = HashMap::with_capacity(items.len());
        for row in &rows {
            let Some(id): Option<String> = column(row, "item_id")? else {
                continue;
            };
            let item = ItemId::from_row(id);
            let copy = CountCopy {
                item: item.clone(),
                like_count: column(row, "like_count")?,
                dislike_count: column(row, "dislike_count")?,
                version: column(row, "version")?,
                basis: Arc::clone(&pulse.basis),
            };
            copies.insert(item, copy);
        }
        for item in items {
            copies.entry(item.clone()).or_insert_with(|| CountCopy {
                item: item.clone(),
                like_count: 0,
                dislike_count: 0,
                version: 0,
                basis: Arc::clone(&pulse.basis),
            });
        }
        Ok((pulse, copies))
    }

    /// The checkpoints, their age and the epoch.
    pub async fn pulse(&self) -> Result<Pulse> {
        Ok(self.count_copies(&[]).await?.0)
    }

    async fn read_counts(&self, items: &[ItemId]) -> Result<Vec<QueryResult>> {
        let ids: Vec<String> = items.iter().map(ItemId::to_string).collect();
        let statement = match self.backend {
            Backend::Postgres => statement(self.backend, READ_COUNTS, vec![ids.into()]),
            Backend::Sqlite => {
                let ids = serde_json::to_string(&ids).map_err(Error::internal)?;
                statement(self.backend, READ_COUNTS_SQLITE, vec![ids.into(), Self::sqlite_now().into()])
            }
        };
        self.read(statement).await
    }

    fn pulse_of(&self, row: &QueryResult) -> Result<Pulse> {
        let offsets = match self.backend {
            Backend::Postgres => column(row, "offsets")?,
            Backend::Sqlite => {
                let offsets: String = column(row, "offsets")?;
                serde_json::from_str(&offsets).map_err(Error::internal)?
            }
        };
        let basis = Basis { offsets, as_of: column(row, "as_of")?, read_at: column(row, "read_at")? };
        Ok(Pulse { basis: Arc::new(basis), epoch: column(row, "epoch")? })
    }
}
