//! Cursors: opaque places in one list.
//!
//! A cursor holds a row's key, so that a page goes on where it stopped however many rows came or went. A checksum
//! over the list it belongs to makes a cut, edited or foreign cursor an error, not a wrong page. It is no secret:
//! whoever forges one reaches nothing that they could not page to.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use xxhash_rust::xxh3::xxh3_64;

use crate::domain::{ItemId, UserId};
use crate::service::ListKey;

const VERSION: u8 = 1;
/// Version, kind, and the time in microseconds.
const HEAD_BYTES: usize = 1 + 1 + 8;
const CHECKSUM_BYTES: usize = 8;
/// Longest cursor in characters: a head, an id of 255 bytes and a checksum, in base64. A longer one is refused unread.
const TEXT_MAX: usize = 364;

/// A list that is paged by cursor.
#[derive(Debug, Clone, Copy)]
pub enum List<'a> {
    LikersOf(&'a ItemId),
    LikedBy(&'a UserId),
}

impl List<'_> {
    fn kind(self) -> u8 {
        match self {
            Self::LikersOf(_) => 1,
            Self::LikedBy(_) => 2,
        }
    }

    fn owner(&self) -> &str {
        match self {
            Self::LikersOf(item) => item.as_str(),
            Self::LikedBy(user) => user.as_str(),
        }
    }

    pub fn encode(self, key: &ListKey) -> String {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + key.id.len() + CHECKSUM_BYTES);
        bytes.extend([VERSION, self.kind()]);
        bytes.extend(key.at.to_be_bytes());
        bytes.extend(key.id.as_bytes());
        bytes.extend(self.checksum(&bytes));
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// `None` where the text is no cursor of this list.
    pub fn decode(self, text: &str) -> Option<ListKey> {
        if text.len() > TEXT_MAX {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (body, checksum) = bytes.split_last_chunk::<CHECKSUM_BYTES>()?;
        let (head, id) = body.split_first_chunk::<HEAD_BYTES>()?;
        let [version, kind, at @ ..] = *head;
        let good = version == VERSION && kind == self.kind() && *checksum == self.checksum(body);
        let id = std::str::from_utf8(id).ok().filter(|id| good && UserId::parse(id).is_ok())?;
        Some(ListKey { at: i64::from_be_bytes(at), id: id.to_owned() })
    }

    fn checksum(&self, body: &[u8]) -> [u8; CHECKSUM_BYTES] {
        xxh3_64(&[body, &[0], self.owner().as_bytes()].concat()).to_be_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: &str) -> ItemId {
        ItemId::parse(id).unwrap()
    }

    #[test]
    fn a_cursor_reads_back_to_the_microsecond() {
        let post = item("post:1");
        let list = List::LikersOf(&post);
        for at in [0, 1, -1, 1_896_082_200_250_999, i64::MAX, i64::MIN] {
            let key = ListKey { at, id: "~".repeat(255) };
            let text = list.encode(&key);
            assert!(text.len() <= TEXT_MAX, "{}", text.len());
            assert_eq!(list.decode(&text), Some(key));
        }
    }

    #[test]
    fn a_foreign_cut_or_edited_cursor_is_none() {
        let (post, other, ana) = (item("post:1"), item("post:2"), UserId::parse("post:1").unwrap());
        let list = List::LikersOf(&post);
        let text = list.encode(&ListKey { at: 1_700_000_000_000_000, id: "ana".to_owned() });
        assert_eq!(List::LikersOf(&other).decode(&text), None, "another item's");
        assert_eq!(List::LikedBy(&ana).decode(&text), None, "another kind of list");
        for end in 0..text.len() {
            assert_eq!(list.decode(&text[..end]), None, "cut to {end}");
        }
        for place in 0..text.len() {
            let mut edited = text.clone().into_bytes();
            edited[place] = if edited[place] == b'A' { b'B' } else { b'A' };
            assert_eq!(list.decode(std::str::from_utf8(&edited).unwrap()), None, "edited at {place}");
        }
        for strange in ["", "é", "====", &format!("{text}="), &"A".repeat(TEXT_MAX + 1)] {
            assert_eq!(list.decode(strange), None, "{strange}");
        }
    }
}
