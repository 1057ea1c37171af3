//! Prints the event log as lines of JSON, for whoever carries it elsewhere: each partition in order and without gaps.
//!
//! Offsets are handed out under their partition's lock and kept to the commit, so an event that can be read has all the
//! events before it committed: reading on from an offset never misses one that commits late. A reader that keeps the
//! last offset it has seen and begins again after it gets every event exactly once. What cannot be read whole, because it
//! was removed or is damaged, ends the relay with a word; nothing is skipped.

use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;
use time::OffsetDateTime;
use tokio::time::sleep;
use tracing::warn;

use crate::domain::{LogPosition, Micros, UserId};
use crate::error::{Error, ErrorCode, Result, chain};
use crate::store::Store;
use crate::store::events::LogEvent;

/// Most events of one read; partitions take turns after each.
const PAGE_MAX: i64 = 1_000;
/// Pause at the end of the log before it is looked at again.
const POLL: Duration = Duration::from_millis(100);
/// Pause while the store is away, doubled from the first to the last; it goes on for as long as it takes.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// Most bytes of one write: what a pipe takes whole or not at all, so that a kill leaves no half line. The longest line
/// has about 1,300, since an id has at most 255 characters.
const WRITE_MAX: usize = 4_096;

/// Why a relay ended before its time.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    #[error(
        "partition {partition}: offset {asked} is no longer in the log, which begins at {first}. What came before is in \
         the rows only; go on with --from {partition}:{first}"
    )]
    Removed { partition: usize, asked: i64, first: i64 },
    #[error("partition {partition}: offset {asked} is past the log's end; the next event will be {next}")]
    PastEnd { partition: usize, asked: i64, next: i64 },
    #[error("partition {partition}: offset {offset} is missing in the middle of the log, which is damaged")]
    Gap { partition: usize, offset: i64 },
    #[error("the log has no partition {0}")]
    NoPartition(usize),
    #[error(transparent)]
    Store(#[from] Error),
    #[error("the events cannot be written")]
    Output(#[source] io::Error),
}

/// A reading of the log, and how far it is.
pub struct Relay {
    store: Store,
    places: Vec<Place>,
    follow: bool,
}

/// The next offset of a partition.
struct Place {
    partition: usize,
    next: i64,
    /// Where the log ended at the start: without following, a reading ends there, also under load.
    end: i64,
}

impl Relay {
    /// Reads `from` these positions, each the first event to print; where there is none, all partitions from their first
    /// event. With `follow` it goes on with what is yet to come.
    pub async fn open(store: Store, from: &[LogPosition], follow: bool) -> Result<Self, RelayError> {
        let extents = store.log_extents().await?;
        let place = |position: &LogPosition| {
            let LogPosition { partition, offset } = *position;
            let extent = extents.get(partition).ok_or(RelayError::NoPartition(partition))?;
            if offset > extent.next {
                return Err(RelayError::PastEnd { partition, asked: offset, next: extent.next });
            }
            Ok(Place { partition, next: offset, end: extent.next })
        };
        let all = extents.iter().enumerate().map(|(partition, extent)| LogPosition { partition, offset: extent.first });
        let places = match from {
            [] => all.map(|position| place(&position)).collect::<Result<_, _>>()?,
            from => from.iter().map(place).collect::<Result<Vec<_>, _>>()?,
        };
        let is_named = |partition: &usize| places.iter().any(|place: &Place| place.partition == *partition);
        let left_out: Vec<_> = (0..extents.len()).filter(|partition| !is_named(partition)).collect();
        if !left_out.is_empty() {
            warn!(partitions = ?left_out, "events of these partitions are not printed: name each with --from");
        }
        Ok(Self { store, places, follow })
    }

    /// Prints to the end of the log, or for ever; an output that nobody reads any more is a good end. Writing blocks its
    /// thread, so this runs as a task of its own.
    pub async fn run(mut self, mut output: impl Write) -> Result<(), RelayError> {
        let mut pause = BACKOFF.0;
        loop {
            match self.turn(&mut output).await {
                Ok(More::AtOnce) => pause = BACKOFF.0,
                Ok(More::Perhaps) if self.follow => {
                    pause = BACKOFF.0;
                    sleep(POLL).await;
                }
                Ok(More::Perhaps) => return Ok(()),
                Err(RelayError::Store(away)) if self.follow && away.code() == ErrorCode::Unavailable => {
                    warn!(error = %chain(&away), pause_ms = pause.as_millis(), "the log is read again after a pause");
                    sleep(pause).await;
                    pause = (pause * 2).min(BACKOFF.1);
                }
                Err(RelayError::Output(closed)) if closed.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                Err(ended) => return Err(ended),
            }
        }
    }

    /// One page of each partition.
    async fn turn(&mut self, output: &mut impl Write) -> Result<More, RelayError> {
        let mut more = More::Perhaps;
        for place in &mut self.places {
            let most = if self.follow { PAGE_MAX } else { PAGE_MAX.min(place.end - place.next) };
            if most <= 0 {
                continue;
            }
            let page = self.store.log_page(place.partition, place.next, most).await?;
            let (partition, asked) = (place.partition, place.next);
            let whole = page.events.iter().zip(asked..).take_while(|(event, offset)| event.offset == *offset).count();
            write_whole_lines(output, &page.events[..whole])?;
            place.next += i64::try_from(whole).unwrap_or(i64::MAX);
            let there = page.next_offset.min(asked + most);
            if place.next < there {
                return Err(missing(&self.store, partition, place.next).await?);
            }
            if place.next < page.next_offset && (self.follow || place.next < place.end) {
                more = More::AtOnce;
            }
        }
        Ok(more)
    }
}

/// Whether a turn has left something that can be read now.
enum More {
    AtOnce,
    Perhaps,
}

/// Why an event that was committed is not there.
async fn missing(store: &Store, partition: usize, offset: i64) -> Result<RelayError> {
    let first = store.log_extents().await?.get(partition).map_or(offset, |extent| extent.first);
    Ok(match first > offset {
        true => RelayError::Removed { partition, asked: offset, first },
        false => RelayError::Gap { partition, offset },
    })
}

/// An event as it is printed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    partition: usize,
    offset: i64,
    /// Null where the user was erased.
    user: Option<&'a str>,
    item: &'a str,
    old_state: &'static str,
    new_state: &'static str,
    like_delta: i16,
    dislike_delta: i16,
    version: i64,
    origin: &'static str,
    at: String,
}

impl<'a> Line<'a> {
    fn of(event: &'a LogEvent) -> Self {
        Self {
            partition: event.partition,
            offset: event.offset,
            user: event.user.as_ref().map(UserId::as_str),
            item: event.item.as_str(),
            old_state: event.old_state.word(),
            new_state: event.new_state.word(),
            like_delta: event.like_delta,
            dislike_delta: event.dislike_delta,
            version: event.version,
            origin: event.origin.word(),
            at: rfc3339_micros(event.created_at),
        }
    }
}

fn write_whole_lines(output: &mut impl Write, events: &[LogEvent]) -> Result<(), RelayError> {
    let mut lines = Vec::with_capacity(WRITE_MAX);
    for event in events {
        let line = serde_json::to_vec(&Line::of(event)).map_err(Error::internal)?;
        if lines.len() + line.len() + 1 > WRITE_MAX {
            write(output, &lines)?;
            lines.clear();
        }
        lines.extend(line);
        lines.push(b'\n');
    }
    write(output, &lines)
}

fn write(output: &mut impl Write, lines: &[u8]) -> Result<(), RelayError> {
    if lines.is_empty() {
        return Ok(());
    }
    tokio::task::block_in_place(|| output.write_all(lines).and_then(|()| output.flush())).map_err(RelayError::Output)
}

/// `2030-01-31T09:30:00.250999Z`
fn rfc3339_micros(at: Micros) -> String {
    let nanos = i128::from(at) * 1_000;
    let instant = OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (year, month, day) = instant.to_calendar_date();
    let (hour, minute, second) = instant.to_hms();
    let (month, micro) = (u8::from(month), instant.microsecond());
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micro:06}Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ItemId, Origin, ReactionState};

    fn event(offset: i64, id: &str) -> LogEvent {
        LogEvent {
            partition: 3,
            offset,
            user: (offset != 2).then(|| UserId::parse(id).unwrap()),
            item: ItemId::parse(id).unwrap(),
            old_state: ReactionState::None,
            new_state: ReactionState::Like,
            like_delta: 1,
            dislike_delta: 0,
            version: 1,
            origin: Origin::User,
            created_at: 1_896_082_200_250_999,
        }
    }

    /// Keeps what each write was given.
    #[derive(Default)]
    struct Writes(Vec<Vec<u8>>);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn every_write_is_whole_lines_that_a_pipe_takes_at_once() {
        let longest = "\"".repeat(255);
        let events: Vec<_> = (1..=20).map(|offset| event(offset, &longest)).collect();
        let mut writes = Writes::default();
        write_whole_lines(&mut writes, &events).unwrap();
        assert!(writes.0.len() > 1);
        assert!(writes.0.iter().all(|write| write.len() <= WRITE_MAX && write.ends_with(b"\n")));
        let lines = writes.0.concat();
        assert_eq!(lines.split(|byte| *byte == b'\n').count(), events.len() + 1);
    }

    #[test]
    fn a_line_has_the_documented_names() {
        let line = serde_json::to_string(&Line::of(&event(2, "post:1"))).unwrap();
        let wanted = r#"{"partition":3,"offset":2,"user":null,"item":"post:1","oldState":"NONE","newState":"LIKE","likeDelta":1,"dislikeDelta":0,"version":1,"origin":"USER","at":"2030-01-31T09:30:00.250999Z"}"#;
        assert_eq!(line, wanted);
    }
}
