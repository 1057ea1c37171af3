//! The callers' own ids: 1 to 255 printable ASCII characters without spaces, compared byte by byte.

use std::fmt;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

/// Longest id in bytes.
pub const ID_MAX_BYTES: usize = 255;

/// Why a text is not an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    #[error("an id has at least one character")]
    Empty,
    #[error("an id has at most {ID_MAX_BYTES} characters")]
    TooLong,
    #[error("an id consists of printable ASCII characters without spaces")]
    Character,
}

fn parse(text: &str) -> Result<Arc<str>, IdError> {
    if text.is_empty() {
        return Err(IdError::Empty);
    }
    if !text.bytes().all(|byte| (b'!'..=b'~').contains(&byte)) {
        return Err(IdError::Character);
    }
    if text.len() > ID_MAX_BYTES {
        return Err(IdError::TooLong);
    }
    Ok(Arc::from(text))
}

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks the alphabet and the length.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                parse(text).map(Self)
            }

            /// An id that was read from the store, where only parsed ids are written.
            pub fn from_row(text: String) -> Self {
                Self(Arc::from(text))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &self.0)
            }
        }
    };
}

id_type! {
    /// A thing that can be liked, unique across item types.
    ItemId
}

id_type! {
    /// A person.
    UserId
}

id_type! {
    /// A proposal of an abuse system, by its own name for it.
    ProposalId
}

impl UserId {
    /// The log partition that orders this user's writes, of `count` partitions (at least one).
    pub fn partition(&self, count: usize) -> usize {
        let hash = xxh3_64(self.0.as_bytes());
        usize::try_from(hash % count as u64).expect("a remainder below a usize is a usize")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_printable_ascii_of_1_to_255_bytes() {
        assert_eq!(ItemId::parse(""), Err(IdError::Empty));
        assert_eq!(ItemId::parse("a b"), Err(IdError::Character));
        assert_eq!(ItemId::parse("é"), Err(IdError::Character));
        assert_eq!(ItemId::parse("a\u{0}"), Err(IdError::Character));
        assert_eq!(ItemId::parse(&"x".repeat(256)), Err(IdError::TooLong));
        assert!(ItemId::parse(&"~".repeat(255)).is_ok());
        assert!(ItemId::parse("post:1!").is_ok());
    }

    #[test]
    fn the_partition_of_a_user_is_fixed_for_ever() {
        // A changed hash would let two partitions write one user's rows.
        let ana = UserId::parse("ana").expect("a good id");
        assert_eq!(ana.partition(1), 0);
        assert_eq!(xxh3_64(b""), 0x2d06_8005_38d3_94c2, "the published value of no bytes");
        assert_eq!(xxh3_64(b"ana"), 7_558_107_722_271_077_882, "as other implementations have it");
        assert_eq!(ana.partition(4), 2);
    }
}
