//! What a line of an import file says: a user, an item, a state and a time.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use likewise_entity::IdError;
use serde::de::{Deserialize, Deserializer, Visitor};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::domain::{ItemId, Micros, ReactionState, UserId};

const COLUMNS: [&str; 4] = ["user", "item", "state", "time"];
/// How much of a word that was not understood is told back.
const ECHO_MAX_CHARS: usize = 30;

/// The unit of times that are whole numbers since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    Seconds,
    Milliseconds,
    Microseconds,
}

impl TimeUnit {
    const fn micros(self) -> i64 {
        match self {
            Self::Seconds => 1_000_000,
            Self::Milliseconds => 1_000,
            Self::Microseconds => 1,
        }
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
            Self::Microseconds => "us",
        }
    }
}

/// How a file's lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Csv,
    Ndjson,
}

impl Format {
    /// By the ending of the file's name.
    pub(super) fn of(file: &Path) -> Option<Self> {
        match file.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "csv" => Some(Self::Csv),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            _ => None,
        }
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Ndjson => "ndjson",
        }
    }
}

/// A row of the table that is imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reacted {
    pub user: UserId,
    pub item: ItemId,
    pub state: ReactionState,
    pub at: Micros,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    #[error("is longer than {} bytes", super::lines::LINE_MAX_BYTES)]
    TooLong,
    #[error("is not UTF-8 text")]
    NotUtf8,
    #[error("has {0} fields; the four are user, item, state and time")]
    Fields(usize),
    #[error("has a quotation mark that is not closed")]
    Quote,
    #[error("is not a JSON object with user, item, state and time: {0}")]
    Json(String),
    #[error("user: {0}")]
    User(IdError),
    #[error("item: {0}")]
    Item(IdError),
    #[error("state: {0:?} is none of LIKE, DISLIKE and NONE")]
    State(String),
    #[error("time: {0:?} is neither RFC 3339, such as 2026-01-31T12:00:00Z, nor a whole number")]
    Time(String),
    #[error("time: is before 1970")]
    BeforeEpoch,
    #[error("time: is in the future; for whole numbers, see --time-unit")]
    Future,
}

/// Parses the lines of one file, from the first on.
#[derive(Debug)]
pub(super) struct Parser {
    format: Format,
    unit: TimeUnit,
    /// Times after this are in the future.
    latest: Micros,
    /// Where user, item, state and time stand in a CSV line.
    order: [usize; 4],
    may_be_header: bool,
}

impl Parser {
    pub(super) fn new(format: Format, unit: TimeUnit, latest: Micros) -> Self {
        Self { format, unit, latest, order: [0, 1, 2, 3], may_be_header: format == Format::Csv }
    }

    /// `None` for a line that says nothing: an empty one, or the header.
    pub(super) fn parse(&mut self, line: &str) -> Result<Option<Reacted>, LineError> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        match self.format {
            Format::Csv => {
                let fields = csv_fields(line)?;
                if std::mem::take(&mut self.may_be_header)
                    && let Some(order) = header_order(&fields)
                {
                    self.order = order;
                    return Ok(None);
                }
                self.reacted(self.order.map(|column| &*fields[column])).map(Some)
            }
            Format::Ndjson => {
                let Row { user, item, state, time } = serde_json::from_str(line).map_err(|error| json_error(&error))?;
                self.reacted([&user.0, &item.0, &state.0, &time.0]).map(Some)
            }
        }
    }

    fn reacted(&self, [user, item, state, time]: [&str; 4]) -> Result<Reacted, LineError> {
        Ok(Reacted {
            user: UserId::parse(user).map_err(LineError::User)?,
            item: ItemId::parse(item).map_err(LineError::Item)?,
            state: parse_state(state)?,
            at: self.parse_time(time)?,
        })
    }

    fn parse_time(&self, text: &str) -> Result<Micros, LineError> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let micros = if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            if digits.len() < text.len() {
                return Err(LineError::BeforeEpoch);
            }
            // What does not fit is far in the future.
            text.parse::<i64>().ok().and_then(|number| number.checked_mul(self.unit.micros())).unwrap_or(Micros::MAX)
        } else {
            let time = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| LineError::Time(echo(text)))?;
            i64::try_from(time.unix_timestamp_nanos().div_euclid(1_000)).unwrap_or(Micros::MAX)
        };
        match micros {
            ..0 => Err(LineError::BeforeEpoch),
            _ if micros > self.latest => Err(LineError::Future),
            _ => Ok(micros),
        }
    }
}

/// One line is one record: no id, state or time can hold a line break, so a quotation mark left open is a bad line and
/// not the start of a field that swallows the rest of the file.
fn csv_fields(line: &str) -> Result<Vec<Cow<'_, str>>, LineError> {
    let fields: Vec<_> = if line.contains('"') {
        quoted_fields(line)?
    } else {
        // What the csv crate would make of it, without a new reader for each line, which costs ten times as much.
        line.split(',').map(|field| Cow::Borrowed(field.trim_ascii())).collect()
    };
    if fields.len() == COLUMNS.len() { Ok(fields) } else { Err(LineError::Fields(fields.len())) }
}

fn quoted_fields(line: &str) -> Result<Vec<Cow<'_, str>>, LineError> {
    if !line.matches('"').count().is_multiple_of(2) {
        return Err(LineError::Quote);
    }
    let mut reader = csv::ReaderBuilder::new().has_headers(false).trim(csv::Trim::All).from_reader(line.as_bytes());
    let mut record = csv::StringRecord::new();
    // The line is text and there is one record, so there is nothing that can fail.
    reader.read_record(&mut record).map_err(|_| LineError::Quote)?;
    Ok(record.iter().map(|field| Cow::Owned(field.to_owned())).collect())
}

fn header_order(fields: &[Cow<'_, str>]) -> Option<[usize; 4]> {
    let place = |column: &str| fields.iter().position(|field| field.eq_ignore_ascii_case(column));
    let places = COLUMNS.map(place);
    places.iter().all(Option::is_some).then(|| places.map(Option::unwrap_or_default))
}

fn parse_state(text: &str) -> Result<ReactionState, LineError> {
    let states = [ReactionState::Like, ReactionState::Dislike, ReactionState::None];
    let state = states.into_iter().find(|state| state.word().eq_ignore_ascii_case(text));
    state.ok_or_else(|| LineError::State(echo(text)))
}

#[derive(serde::Deserialize)]
struct Row<'a> {
    #[serde(borrow)]
    user: Scalar<'a>,
    #[serde(borrow)]
    item: Scalar<'a>,
    #[serde(borrow)]
    state: Scalar<'a>,
    #[serde(borrow)]
    time: Scalar<'a>,
}

/// A text or a whole number: many tables have numbers for ids.
struct Scalar<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Scalar<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ScalarVisitor).map(Scalar)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a whole number")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }
}

/// Without serde's own "at line 1", which counts from the start of the line.
fn json_error(error: &serde_json::Error) -> LineError {
    let text = error.to_string();
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    LineError::Json(message.to_owned())
}

fn echo(text: &str) -> String {
    text.chars().take(ECHO_MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATEST: Micros = 1_800_000_000_000_000;

    fn parse(format: Format, line: &str) -> Result<Option<Reacted>, LineError> {
        Parser::new(format, TimeUnit::Milliseconds, LATEST).parse(line)
    }

    fn csv(line: &str) -> Result<Option<Reacted>, LineError> {
        parse(Format::Csv, line)
    }

    fn json(line: &str) -> Result<Option<Reacted>, LineError> {
        parse(Format::Ndjson, line)
    }

    fn ana(state: ReactionState, at: Micros) -> Result<Option<Reacted>, LineError> {
        let (user, item) = (UserId::parse("ana").unwrap(), ItemId::parse("post:1").unwrap());
        Ok(Some(Reacted { user, item, state, at }))
    }

    #[test]
    fn a_row_is_read_however_it_is_written() {
        let liked = ana(ReactionState::Like, 1_700_000_000_123_000);
        for line in [
            "ana,post:1,LIKE,1700000000123",
            " ana , post:1,like ,1700000000123 ",
            "\"ana\",\"post:1\",Like,\"1700000000123\"",
            "ana,post:1,LIKE,2023-11-14T22:13:20.123Z",
            "ana,post:1,LIKE,2023-11-14T23:13:20.123+01:00",
        ] {
            assert_eq!(csv(line), liked, "{line}");
        }
        for time in ["1700000000123", "\"1700000000123\"", "\"2023-11-14T22:13:20.123Z\""] {
            let line = format!(r#"{{"user":"ana","item":"post:1","state":"LIKE","time":{time},"app":"web"}}"#);
            assert_eq!(json(&line), liked, "{line}");
        }
        assert_eq!(csv("ana,post:1,DISLIKE,0"), ana(ReactionState::Dislike, 0));
        assert_eq!(csv("ana,post:1,none,1"), ana(ReactionState::None, 1_000));
        let escaped = json(r#"{"user":"\u0061na","item":"post:1","state":"NONE","time":1}"#);
        assert_eq!(escaped, ana(ReactionState::None, 1_000));
        let numbers = json(r#"{"user":7,"item":8,"state":"NONE","time":1}"#).unwrap().unwrap();
        assert_eq!((numbers.user.as_str(), numbers.item.as_str()), ("7", "8"));
    }

    #[test]
    fn lines_that_say_nothing_are_passed_over() {
        for line in ["", "  ", "\t"] {
            assert_eq!((csv(line), json(line)), (Ok(None), Ok(None)));
        }
        assert_eq!(csv("User,ITEM,state,\"time\""), Ok(None));
    }

    #[test]
    fn a_header_stands_first_and_orders_the_columns() {
        let parser = || Parser::new(Format::Csv, TimeUnit::Microseconds, LATEST);
        let mut ordered = parser();
        assert_eq!(ordered.parse(""), Ok(None));
        assert_eq!(ordered.parse("time,state,item,user"), Ok(None));
        assert_eq!(ordered.parse("5,LIKE,post:1,ana"), ana(ReactionState::Like, 5));
        let mut plain = parser();
        assert_eq!(plain.parse("ana,post:1,LIKE,5"), ana(ReactionState::Like, 5));
        assert_eq!(plain.parse("user,item,state,time"), Err(LineError::State("state".into())));
    }

    #[test]
    fn each_kind_of_bad_line_is_told_apart() {
        let long = "x".repeat(256);
        let cases = [
            ("ana,post:1,LIKE", LineError::Fields(3)),
            ("ana,post:1,LIKE,1,", LineError::Fields(5)),
            ("\"ana,post:1\",LIKE,1", LineError::Fields(3)),
            ("ana,post:1,LIKE,\"1", LineError::Quote),
            (",post:1,LIKE,1", LineError::User(IdError::Empty)),
            ("a na,post:1,LIKE,1", LineError::User(IdError::Character)),
            ("ana,\u{e9},LIKE,1", LineError::Item(IdError::Character)),
            (&format!("ana,{long},LIKE,1"), LineError::Item(IdError::TooLong)),
            ("ana,post:1,LOVE,1", LineError::State("LOVE".into())),
            ("ana,post:1,LIKE,", LineError::Time(String::new())),
            ("ana,post:1,LIKE,1.5", LineError::Time("1.5".into())),
            ("ana,post:1,LIKE,+1", LineError::Time("+1".into())),
            ("ana,post:1,LIKE,2023-11-14", LineError::Time("2023-11-14".into())),
            ("ana,post:1,LIKE,2023-02-30T00:00:00Z", LineError::Time("2023-02-30T00:00:00Z".into())),
            ("ana,post:1,LIKE,-1", LineError::BeforeEpoch),
            ("ana,post:1,LIKE,1969-12-31T23:59:59.999999999Z", LineError::BeforeEpoch),
            ("ana,post:1,LIKE,1800000000001", LineError::Future),
            ("ana,post:1,LIKE,99999999999999999999999", LineError::Future),
            ("ana,post:1,LIKE,9999-12-31T23:59:59Z", LineError::Future),
        ];
        for (line, error) in cases {
            assert_eq!(csv(line), Err(error), "{line}");
        }
    }

    #[test]
    fn bad_json_is_told_without_a_second_line_number() {
        let cases = [
            ("{", "EOF while parsing an object"),
            (r#"{"user":"ana","item":"i","state":"LIKE"}"#, "missing field `time`"),
            (
                r#"{"user":null,"item":"i","state":"LIKE","time":1}"#,
                "invalid type: null, expected a text or a whole number",
            ),
            (
                r#"{"user":"ana","item":"i","state":"LIKE","time":1.5}"#,
                "invalid type: floating point `1.5`, expected a text or a whole number",
            ),
            (r#"{"user":"a","user":"b","item":"i","state":"LIKE","time":1}"#, "duplicate field `user`"),
            (r#"{"user":"a","item":"i","state":"LIKE","time":1} x"#, "trailing characters"),
        ];
        for (line, message) in cases {
            assert_eq!(json(line), Err(LineError::Json(message.into())), "{line}");
        }
        assert_eq!(json(r#"{"user":"","item":"i","state":"LIKE","time":1}"#), Err(LineError::User(IdError::Empty)));
    }

    #[test]
    fn the_ending_says_the_format() {
        assert_eq!(Format::of(Path::new("a/likes.CSV")), Some(Format::Csv));
        assert_eq!(Format::of(Path::new("likes.ndjson")), Some(Format::Ndjson));
        assert_eq!(Format::of(Path::new("likes.jsonl")), Some(Format::Ndjson));
        assert_eq!(Format::of(Path::new("likes.json")), None);
        assert_eq!(Format::of(Path::new("csv")), None);
    }
}
