//! The lines of a file, with a bound on each, numbered as an editor numbers them, and hashed as they go by.

use std::io::{self, BufRead, Read};

use xxhash_rust::xxh3::Xxh3Default;

use super::parse::LineError;

/// Longest line without its end. A longer one is a bad line and is never held in memory.
pub(super) const LINE_MAX_BYTES: usize = 4 * 1024;
/// How much of an overlong line is read, and thrown away, at a time.
const SKIP_BYTES: u64 = 64 * 1024;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads one line after the other.
pub(super) struct LineReader<R> {
    source: R,
    line: Vec<u8>,
    number: u64,
    bytes: u64,
    hash: Xxh3Default,
}

impl<R: BufRead> LineReader<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, line: Vec::new(), number: 0, bytes: 0, hash: Xxh3Default::new() }
    }

    /// The next line and its number, without its end; `None` at the end of the file.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Result<&str, LineError>)>> {
        if !self.read(LINE_MAX_BYTES as u64 + 2)? {
            return Ok(None);
        }
        self.number += 1;
        let mut too_long = false;
        if !self.ended() {
            // Either the last line of the file, or one that goes on past the bound.
            too_long = self.line.len() > LINE_MAX_BYTES;
            while self.line.len() > LINE_MAX_BYTES && !self.ended() && self.read(SKIP_BYTES)? {}
        }
        let line = without_end(&self.line);
        let line = if self.number == 1 { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line };
        if too_long || line.len() > LINE_MAX_BYTES {
            return Ok(Some((self.number, Err(LineError::TooLong))));
        }
        Ok(Some((self.number, std::str::from_utf8(line).map_err(|_| LineError::NotUtf8))))
    }

    /// Bytes read so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Hash of all that was read so far.
    pub(super) fn digest(&self) -> u128 {
        self.hash.digest128()
    }

    fn ended(&self) -> bool {
        self.line.last() == Some(&b'\n')
    }

    fn read(&mut self, limit: u64) -> io::Result<bool> {
        self.line.clear();
        let count = self.source.by_ref().take(limit).read_until(b'\n', &mut self.line)?;
        self.hash.update(&self.line);
        self.bytes += count as u64;
        Ok(count > 0)
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use xxhash_rust::xxh3::xxh3_128;

    use super::*;

    fn read(content: &[u8]) -> Vec<(u64, Result<String, LineError>)> {
        let mut reader = LineReader::new(content);
        let mut lines = Vec::new();
        while let Some((number, line)) = reader.next().unwrap() {
            lines.push((number, line.map(str::to_owned)));
        }
        assert_eq!(reader.digest(), xxh3_128(content), "every byte is hashed");
        assert_eq!(reader.bytes(), content.len() as u64);
        lines
    }

    #[test]
    fn lines_are_numbered_as_an_editor_numbers_them() {
        let line = |number, text: &str| (number, Ok(text.to_owned()));
        assert_eq!(read(b""), []);
        assert_eq!(read(b"\xef\xbb\xbfa\r\n\nb"), [line(1, "a"), line(2, ""), line(3, "b")]);
        assert_eq!(read(b"a\n"), [line(1, "a")]);
    }

    #[test]
    fn an_overlong_line_is_one_bad_line() {
        let longest = "x".repeat(LINE_MAX_BYTES);
        for end in ["\n", "\r\n", ""] {
            assert_eq!(read(format!("{longest}{end}").as_bytes()), [(1, Ok(longest.clone()))]);
        }
        for length in [1, 2, 3, 1_000_000] {
            let content = format!("a\n{longest}{}\nb\n", "y".repeat(length));
            let lines = read(content.as_bytes());
            assert_eq!(lines[1], (2, Err(LineError::TooLong)), "{length}");
            assert_eq!(lines[2..], [(3, Ok("b".to_owned()))], "{length}");
        }
        assert_eq!(read(format!("{longest}y").as_bytes()), [(1, Err(LineError::TooLong))]);
    }

    #[test]
    fn a_line_that_is_not_text_is_one_bad_line() {
        assert_eq!(read(b"\xff\xfe\nb"), [(1, Err(LineError::NotUtf8)), (2, Ok("b".to_owned()))]);
    }
}
