//! The scalars of the schema: counts past 2^31 and instants.

use async_graphql::{InputValueError, InputValueResult, Scalar, ScalarType, Value};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::domain::Micros;

/// 2^53 − 1: the largest whole number that every JSON reader keeps exact.
const COUNT_MAX: u64 = (1 << 53) - 1;

/// A whole number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count(u64);

impl From<u64> for Count {
    fn from(number: u64) -> Self {
        Self(number.min(COUNT_MAX))
    }
}

impl From<i64> for Count {
    /// Below zero is zero: stored numbers never are, unless rows were tampered with.
    fn from(number: i64) -> Self {
        Self::from(u64::try_from(number).unwrap_or(0))
    }
}

/// A whole number from 0 to 2^53 − 1, sent as a JSON number. `Int` ends at 2^31 − 1, which a busy item passes.
#[Scalar]
impl ScalarType for Count {
    fn parse(value: Value) -> InputValueResult<Self> {
        match &value {
            Value::Number(number) => number
                .as_u64()
                .filter(|number| *number <= COUNT_MAX)
                .map(Self)
                .ok_or_else(|| InputValueError::custom("a count is a whole number from 0 to 2^53 - 1")),
            _ => Err(InputValueError::expected_type(value)),
        }
    }

    fn to_value(&self) -> Value {
        Value::from(self.0)
    }
}

/// An instant in microseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateTime(pub Micros);

/// An instant as RFC 3339 in UTC with milliseconds, rounded down: `2030-01-31T09:30:00.250Z`.
#[Scalar]
impl ScalarType for DateTime {
    fn parse(value: Value) -> InputValueResult<Self> {
        let Value::String(text) = &value else {
            return Err(InputValueError::expected_type(value));
        };
        let instant = OffsetDateTime::parse(text, &Rfc3339)
            .map_err(|_| InputValueError::custom("an instant looks like 2030-01-31T09:30:00.250Z"))?;
        let micros = instant.unix_timestamp_nanos().div_euclid(1_000);
        i64::try_from(micros).map(Self).map_err(|_| InputValueError::custom("the instant is out of range"))
    }

    fn to_value(&self) -> Value {
        Value::String(rfc3339_millis(self.0))
    }
}

/// `2030-01-31T09:30:00.250Z`, rounded down; instants outside the years 0 to 9999 give their nearest end.
pub fn rfc3339_millis(micros: Micros) -> String {
    const FIRST: i64 = -62_167_219_200_000;
    const LAST: i64 = 253_402_300_799_999;
    let millis = micros.div_euclid(1_000).clamp(FIRST, LAST);
    let instant = OffsetDateTime::from_unix_timestamp(millis.div_euclid(1_000)).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (year, month, day) = instant.to_calendar_date();
    let (hour, minute, second) = instant.to_hms();
    let (month, milli) = (u8::from(month), millis.rem_euclid(1_000));
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_numbers_within_their_bounds() {
        assert_eq!(Count::from(5_000_000_000_i64).to_value().to_string(), "5000000000");
        assert_eq!(Count::from(-1_i64).to_value().to_string(), "0");
        assert_eq!(Count::from(u64::MAX).to_value().to_string(), "9007199254740991");
        assert!(Count::parse(Value::from(COUNT_MAX)).is_ok());
        assert!(Count::parse(Value::from(COUNT_MAX + 1)).is_err());
        assert!(Count::parse(Value::from(-1)).is_err());
        assert!(Count::parse(Value::from("1")).is_err());
    }

    #[test]
    fn instants_are_floored_to_milliseconds() {
        assert_eq!(rfc3339_millis(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339_millis(1_896_082_200_250_999), "2030-01-31T09:30:00.250Z");
        assert_eq!(rfc3339_millis(-1), "1969-12-31T23:59:59.999Z");
        assert_eq!(rfc3339_millis(i64::MAX), "9999-12-31T23:59:59.999Z");
        assert_eq!(rfc3339_millis(i64::MIN), "0000-01-01T00:00:00.000Z");
    }

    #[test]
    fn an_instant_reads_back() {
        let read = DateTime::parse(Value::from("2030-01-31T09:30:00.250Z")).unwrap();
        assert_eq!(read, DateTime(1_896_082_200_250_000));
        assert!(DateTime::parse(Value::from("yesterday")).is_err());
    }
}
