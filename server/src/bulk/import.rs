//! Importing an existing like table, in two passes over its file: one checks every line, one writes.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::PathBuf;
use std::time::Instant;

use futures_util::future::join;
use tokio::task::yield_now;
use tracing::{info, warn};

use super::error::{BadLines, BulkError};
use super::lines::LineReader;
use super::parse::{Format, LineError, Parser, Reacted, TimeUnit};
use super::progress::Progress;
use super::report::ImportReport;
use super::write::{self, Chunks, Feed, Row};
use crate::domain::Micros;
use crate::store::Store;

/// A time this far past the database's clock is not yet in the future: clocks differ.
const CLOCK_DIFFERENCE_MAX: Micros = 60 * 1_000_000;
/// Lines between two looks at what else there is to do, and at the progress bar.
const LINES_AT_A_TIME: u64 = 1_000;
const READ_BUFFER_BYTES: usize = 256 * 1024;
/// A time before this, the end of 1970, most likely has another unit.
const UNLIKELY_BEFORE: Micros = 365 * 86_400 * 1_000_000;

#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// CSV or NDJSON, by its ending.
    pub file: PathBuf,
    /// Of times that are whole numbers.
    pub time_unit: TimeUnit,
    /// Leave bad lines out instead of importing nothing.
    pub skip_bad_lines: bool,
}

/// Imports the file, or goes on with an import of the same content that was stopped.
pub async fn import(store: Store, options: ImportOptions) -> Result<ImportReport, BulkError> {
    import_in(Chunks::default(), &store, &options).await
}

pub(super) async fn import_in(
    chunks: Chunks,
    store: &Store,
    options: &ImportOptions,
) -> Result<ImportReport, BulkError> {
    let started = Instant::now();
    if store.partitions() == 0 {
        return Err(BulkError::NoSchema);
    }
    let format = Format::of(&options.file).ok_or_else(|| BulkError::UnknownFormat(options.file.clone()))?;
    let source = ImportFile { options, format, latest: store.pulse().await?.basis.read_at + CLOCK_DIFFERENCE_MAX };
    let checked = source.check().await?;
    if checked.bad.count > 0 && !options.skip_bad_lines {
        return Err(BulkError::BadLines(checked.bad));
    }
    store.make_room_for_load().await?;
    let done = store.import_progress(&checked.import_id).await?;
    let (feed, writing) = write::open(store, Some(&checked.import_id), chunks);
    let progress = Progress::new("importing", checked.rows);
    let (fed, written) = join(source.feed(feed, &checked, &done, &progress), writing.run(&progress)).await;
    progress.finish();
    let (written, fed) = (written?, fed?);
    write::fold(store).await?;
    Ok(ImportReport {
        lines: checked.rows,
        done_before: fed.done_before,
        resumed_at: fed.first_line.filter(|_| !done.is_empty()),
        imported: written.changed,
        unchanged: written.unchanged,
        refused: written.refused,
        skipped: checked.bad,
        elapsed: started.elapsed(),
    })
}

/// The file, and what its lines are held against: the same in both passes.
struct ImportFile<'a> {
    options: &'a ImportOptions,
    format: Format,
    latest: Micros,
}

/// What the first pass found.
struct Checked {
    rows: u64,
    bad: BadLines,
    digest: u128,
    /// The content, and all that gives it another meaning.
    import_id: String,
}

/// What the second pass handed on.
#[derive(Default)]
struct Fed {
    done_before: u64,
    first_line: Option<u64>,
}

impl ImportFile<'_> {
    async fn check(&self) -> Result<Checked, BulkError> {
        let mut rows = self.rows()?;
        let mut checked = Checked { rows: 0, bad: BadLines::default(), digest: 0, import_id: String::new() };
        let mut unlikely = 0_u64;
        let progress = Progress::of_bytes("checking", rows.length);
        while let Some((line, row)) = rows.next().map_err(|source| self.unreadable(source))? {
            match row {
                Ok(row) => {
                    checked.rows += 1;
                    unlikely += u64::from(row.at < UNLIKELY_BEFORE);
                }
                Err(error) => checked.bad.add(line, error),
            }
            if line.is_multiple_of(LINES_AT_A_TIME) {
                progress.set(rows.lines.bytes());
                yield_now().await;
            }
        }
        progress.finish();
        if unlikely > 0 {
            warn!(lines = unlikely, of = checked.rows, "times are in 1970: is --time-unit right?");
        }
        checked.digest = rows.lines.digest();
        checked.import_id = format!("{:032x} {} {}", checked.digest, self.format.word(), self.options.time_unit.word());
        Ok(checked)
    }

    /// Hands on the rows that are not committed yet, in the order of the file.
    async fn feed(
        &self,
        feed: Feed,
        checked: &Checked,
        done: &HashMap<usize, i64>,
        progress: &Progress,
    ) -> Result<Fed, BulkError> {
        let mut rows = self.rows()?;
        let mut fed = Fed::default();
        let mut count = 0;
        while let Some((line, row)) = rows.next().map_err(|source| self.unreadable(source))? {
            // Bad lines were told by the first pass.
            let Ok(row) = row else { continue };
            count += 1;
            let done_to = done.get(&feed.partition(&row.user)).copied().unwrap_or_default();
            if line <= u64::try_from(done_to).unwrap_or_default() {
                fed.done_before += 1;
                progress.add(1);
                continue;
            }
            if fed.first_line.is_none() {
                fed.first_line = Some(line);
                if fed.done_before > 0 {
                    info!(line, "the import goes on where it was stopped");
                }
            }
            if !feed.push(Row::of(line, row)).await {
                // A writer has failed, and tells why.
                return Ok(fed);
            }
        }
        if count != checked.rows || rows.lines.digest() != checked.digest {
            return Err(BulkError::FileChanged(self.options.file.clone()));
        }
        Ok(fed)
    }

    fn rows(&self) -> Result<Rows, BulkError> {
        let open = || {
            let file = File::open(&self.options.file)?;
            let length = file.metadata()?.len();
            Ok((BufReader::with_capacity(READ_BUFFER_BYTES, file), length))
        };
        let (file, length) = open().map_err(|source| self.unreadable(source))?;
        let parser = Parser::new(self.format, self.options.time_unit, self.latest);
        Ok(Rows { lines: LineReader::new(file), parser, length })
    }

    fn unreadable(&self, source: io::Error) -> BulkError {
        BulkError::Unreadable { file: self.options.file.clone(), source }
    }
}

/// The lines of the file that say something.
struct Rows {
    lines: LineReader<BufReader<File>>,
    parser: Parser,
    /// Bytes of the file.
    length: u64,
}

impl Rows {
    fn next(&mut self) -> io::Result<Option<(u64, Result<Reacted, LineError>)>> {
        while let Some((number, line)) = self.lines.next()? {
            match line.and_then(|line| self.parser.parse(line)) {
                Ok(None) => {}
                Ok(Some(row)) => return Ok(Some((number, Ok(row)))),
                Err(error) => return Ok(Some((number, Err(error)))),
            }
        }
        Ok(None)
    }
}
