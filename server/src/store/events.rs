//! The log's own figures, and how far an import has come in it.

use std::collections::HashMap;

use super::{Store, column, statement};
use crate::error::Result;

impl Store {
    /// Events that are committed and not folded, over all partitions.
    pub async fn log_lag_events(&self) -> Result<u64> {
        let sql = "SELECT CAST(sum(l.next_offset - 1 - c.\"offset\") AS bigint) AS lag
                   FROM checkpoint c JOIN log_partition l ON l.id = c.partition";
        let rows = self.read(statement(self.backend, sql, vec![])).await?;
        let lag: Option<i64> = rows.first().map(|row| column(row, "lag")).transpose()?.flatten();
        Ok(u64::try_from(lag.unwrap_or_default()).unwrap_or_default())
    }

    /// The last committed line of an import, per partition; absent where none is.
    pub async fn import_progress(&self, import_id: &str) -> Result<HashMap<usize, i64>> {
        let sql = "SELECT partition, line FROM import_progress WHERE import_id = $1";
        let rows = self.read(statement(self.backend, sql, vec![import_id.into()])).await?;
        let line = |row| {
            let partition: i32 = column(row, "partition")?;
            Ok((usize::try_from(partition).unwrap_or_default(), column(row, "line")?))
        };
        rows.iter().map(line).collect()
    }
}
