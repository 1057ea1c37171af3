//! The states of a reaction and the origins of an event, with their numbers in the store.

/// What a person thinks of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReactionState {
    None,
    Like,
    Dislike,
}

impl ReactionState {
    /// The number in the store: 0 NONE, 1 LIKE, 2 DISLIKE. Partial indexes name these as literals.
    pub fn code(self) -> i16 {
        match self {
            Self::None => 0,
            Self::Like => 1,
            Self::Dislike => 2,
        }
    }

    /// The state of a stored number; nothing else is ever written.
    pub fn from_code(code: i16) -> Option<Self> {
        match code {
            0 => Some(Self::None),
            1 => Some(Self::Like),
            2 => Some(Self::Dislike),
            _ => None,
        }
    }

    /// The word in requests, answers and files.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Like => "LIKE",
            Self::Dislike => "DISLIKE",
        }
    }
}

/// Where an event came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    User,
    Import,
    /// A deleted account's row was removed; the event names nobody.
    Erasure,
    /// An abuse system took a reaction back, or gave it back.
    Retraction,
}

impl Origin {
    /// The number in the store.
    pub fn code(self) -> i16 {
        match self {
            Self::User => 0,
            Self::Import => 1,
            Self::Erasure => 2,
            Self::Retraction => 3,
        }
    }

    /// The origin of a stored number; nothing else is ever written.
    pub fn from_code(code: i16) -> Option<Self> {
        match code {
            0 => Some(Self::User),
            1 => Some(Self::Import),
            2 => Some(Self::Erasure),
            3 => Some(Self::Retraction),
            _ => None,
        }
    }

    /// The word where events are printed.
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "USER",
            Self::Import => "IMPORT",
            Self::Erasure => "ERASURE",
            Self::Retraction => "RETRACTION",
        }
    }
}
