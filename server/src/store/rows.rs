//! Many rows as parameters of one statement: arrays on PostgreSQL, one JSON text on SQLite.
//!
//! A statement names them as `{rows}`, which becomes a row source `x` with the columns that were given. Scalars come
//! first (`$1`, `$2`, …), the rows' parameters follow.

use std::fmt::Write;

use sea_orm::{Statement, Value};
use serde_json::Value as Json;

use super::{Backend, statement};

/// A column of parameters.
#[derive(Debug)]
pub(super) enum Column {
    Text(Vec<String>),
    Small(Vec<i16>),
    Big(Vec<i64>),
}

impl Column {
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn len(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Small(values) => values.len(),
            Self::Big(values) => values.len(),
        }
    }

    fn postgres_type(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Small(_) => "smallint",
            Self::Big(_) => "bigint",
        }
    }

    fn into_array(self) -> Value {
        match self {
            Self::Text(values) => values.into(),
            Self::Small(values) => values.into(),
            Self::Big(values) => values.into(),
        }
    }

    fn json(&self, index: usize) -> Json {
        match self {
            Self::Text(values) => Json::from(values[index].as_str()),
            Self::Small(values) => Json::from(values[index]),
            Self::Big(values) => Json::from(values[index]),
        }
    }
}

/// Parameter columns of equal length, by name.
pub(super) type Columns = Vec<(&'static str, Column)>;

/// One text column of the given ids.
pub(super) fn ids<'a>(name: &'static str, ids: impl IntoIterator<Item = &'a str>) -> Columns {
    vec![(name, Column::Text(ids.into_iter().map(str::to_owned).collect()))]
}

/// A statement over `scalars` and rows.
pub(super) fn over(backend: Backend, sql: &str, scalars: Vec<Value>, columns: Columns) -> Statement {
    let first = scalars.len() + 1;
    let mut values = scalars;
    let source = match backend {
        Backend::Postgres => {
            let source = postgres_source(first, &columns);
            values.extend(columns.into_iter().map(|(_, column)| column.into_array()));
            source
        }
        Backend::Sqlite => {
            let source = sqlite_source(first, &columns);
            values.push(as_json(&columns).into());
            source
        }
    };
    statement(backend, &sql.replace("{rows}", &source), values)
}

/// `unnest($1::text[], $2::bigint[]) AS x(u, v)`
fn postgres_source(first: usize, columns: &Columns) -> String {
    let mut arrays = String::new();
    let mut names = String::new();
    for (index, (name, column)) in columns.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        let _ = write!(arrays, "{comma}${}::{}[]", first + index, column.postgres_type());
        let _ = write!(names, "{comma}{name}");
    }
    format!("unnest({arrays}) AS x({names})")
}

/// `(SELECT value ->> 0 AS u, value ->> 1 AS v FROM json_each($1)) AS x`
fn sqlite_source(parameter: usize, columns: &Columns) -> String {
    let mut names = String::new();
    for (index, (name, _)) in columns.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        let _ = write!(names, "{comma}value ->> {index} AS {name}");
    }
    format!("(SELECT {names} FROM json_each(${parameter})) AS x")
}

fn as_json(columns: &Columns) -> String {
    let rows = columns.first().map_or(0, |(_, column)| column.len());
    let row = |index: usize| Json::Array(columns.iter().map(|(_, column)| column.json(index)).collect());
    Json::Array((0..rows).map(row).collect()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Columns {
        vec![("u", Column::Text(vec!["a\"".into(), "b".into()])), ("v", Column::Big(vec![1, i64::MAX]))]
    }

    #[test]
    fn postgres_takes_one_array_a_column() {
        assert_eq!(postgres_source(2, &columns()), "unnest($2::text[], $3::bigint[]) AS x(u, v)");
    }

    #[test]
    fn sqlite_takes_one_json_text() {
        let source = "(SELECT value ->> 0 AS u, value ->> 1 AS v FROM json_each($2)) AS x";
        assert_eq!(sqlite_source(2, &columns()), source);
        assert_eq!(as_json(&columns()), r#"[["a\"",1],["b",9223372036854775807]]"#);
    }
}
