//! Bugs that can be planted, each of which one oracle must find: by SQL under the running server, or by altering what
//! comes over the wire before it is written down. They need no state, so a run can plant but one.

use clap::ValueEnum;
use serde_json::{Value, json};

use super::oracles;
use crate::views::Item;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Plant {
    /// Each update of a shard counts one like more.
    ShardCountsTwice,
    /// Each update of a total counts one dislike more.
    TotalCountsTwice,
    /// A row keeps its state when its event is written.
    RowNotChanged,
    /// A flip with event and row that nobody asked for.
    FlipNobodyAsked,
    /// The same as if an abuse system had given it back.
    RetractionNobodyAsked,
    /// A row of a user whose account is erased.
    ErasedRowBack,
    /// A process that ends without being told.
    EndsByItself,
    /// An answer of no change is told as a change.
    ChangeInvented,
    /// A replayed answer names another previous reaction.
    ReplayDiffers,
    /// A read shows the heart before the last.
    OldHeart,
    /// The count of an item that only the viewer uses lacks the viewer.
    TapNotInCount,
    /// Some pushes carry an older version.
    PushGoesBack,
    /// Some pushes carry another count under the same version.
    CountDiffers,
    /// Some pushes are below zero.
    PushBelowZero,
    /// A total is below zero, which the server shows as zero and says in its log.
    TotalBelowZero,
    /// Pushes of one item stop after the first.
    PushWithheld,
    /// Pages lack their first liker.
    LikerMissing,
    /// Pages have their last liker twice.
    LikerTwice,
}

/// The item that is spoiled where one is enough.
pub const ITEM: &str = "shared:0";

impl Plant {
    pub const ALL: &[Self] = &[
        Self::ShardCountsTwice,
        Self::TotalCountsTwice,
        Self::RowNotChanged,
        Self::FlipNobodyAsked,
        Self::RetractionNobodyAsked,
        Self::ErasedRowBack,
        Self::EndsByItself,
        Self::ChangeInvented,
        Self::ReplayDiffers,
        Self::OldHeart,
        Self::TapNotInCount,
        Self::PushGoesBack,
        Self::CountDiffers,
        Self::PushBelowZero,
        Self::TotalBelowZero,
        Self::PushWithheld,
        Self::LikerMissing,
        Self::LikerTwice,
    ];

    /// As the command line has it.
    pub fn name(self) -> String {
        self.to_possible_value().expect("no plant is hidden").get_name().to_owned()
    }

    /// The oracle that must find it.
    pub fn oracle(self) -> &'static str {
        match self {
            Self::ShardCountsTwice | Self::TotalCountsTwice => oracles::CONSERVATION,
            Self::RowNotChanged => oracles::LOG,
            Self::FlipNobodyAsked | Self::ChangeInvented => oracles::EXPLAINED,
            Self::RetractionNobodyAsked => oracles::RETRACTED,
            Self::ErasedRowBack => oracles::ERASED,
            Self::EndsByItself => oracles::PROCESSES,
            Self::ReplayDiffers => oracles::ANSWERS,
            Self::OldHeart | Self::TapNotInCount => oracles::OWN,
            Self::PushGoesBack | Self::CountDiffers => oracles::PUSHES,
            Self::PushBelowZero | Self::TotalBelowZero => oracles::SIGN,
            Self::PushWithheld => oracles::CONVERGENCE,
            Self::LikerMissing | Self::LikerTwice => oracles::PAGES,
        }
    }

    /// What is done to the database while the server uses it.
    pub fn sql(self) -> Option<String> {
        let each_update = |table: &str, column: &str| {
            format!(
                "CREATE TRIGGER plant AFTER UPDATE ON {table} WHEN NEW.item_id LIKE 'shared:%' BEGIN
                 UPDATE {table} SET {column} = {column} + 1 WHERE item_id = NEW.item_id; END"
            )
        };
        match self {
            Self::ShardCountsTwice => Some(each_update("item_count_shard", "like_count")),
            Self::TotalCountsTwice => Some(each_update("item_count", "dislike_count")),
            Self::TotalBelowZero => Some(format!(
                "CREATE TRIGGER plant AFTER UPDATE ON item_count WHEN NEW.item_id = '{ITEM}' BEGIN
                 UPDATE item_count SET like_count = -5 WHERE item_id = NEW.item_id; END"
            )),
            Self::RowNotChanged => Some(
                "CREATE TRIGGER plant AFTER UPDATE ON reaction WHEN NEW.item_id LIKE 'shared:%' BEGIN
                 UPDATE reaction SET state = OLD.state WHERE user_id = NEW.user_id AND item_id = NEW.item_id; END"
                    .to_owned(),
            ),
            Self::FlipNobodyAsked => Some(flip(0)),
            Self::RetractionNobodyAsked => Some(flip(3)),
            Self::ErasedRowBack => Some(
                "INSERT INTO account (id, erased_at) SELECT user_id, 1 FROM reaction LIMIT 1
                 ON CONFLICT (id) DO UPDATE SET erased_at = 1"
                    .to_owned(),
            ),
            _ => None,
        }
    }

    pub fn spoil_payload(self, payload: &mut Value) {
        if self == Self::ChangeInvented && payload["changed"] == false && payload["replayed"] == false {
            payload["changed"] = true.into();
        }
        if self == Self::ReplayDiffers && payload["replayed"] == true {
            let other = if payload["previousReaction"] == "LIKE" { "DISLIKE" } else { "LIKE" };
            payload["previousReaction"] = other.into();
        }
    }

    pub fn spoil_read(self, item: &mut Value) {
        let number = |value: &Value| value.as_i64().unwrap_or_default();
        if self == Self::OldHeart && number(&item["myReactionVersion"]) > 1 {
            item["myReactionVersion"] = json!(number(&item["myReactionVersion"]) - 1);
        }
        let solo = item["id"].as_str().is_some_and(|id| id.starts_with(super::clients::SOLO));
        if self == Self::TapNotInCount && solo && number(&item["likeCount"]) > 0 {
            item["likeCount"] = json!(number(&item["likeCount"]) - 1);
        }
    }

    /// Whether the watcher never hears of it.
    pub fn withholds(self, item: &Item) -> bool {
        self == Self::PushWithheld && item.id == ITEM && item.count_version > 0
    }

    /// What is written down; the page itself shows the truth.
    pub fn spoil_push(self, item: &mut Item) {
        let some = item.count_version > 0 && item.count_version % 7 == 0;
        match self {
            Self::PushGoesBack if some => item.count_version -= 1_000_000,
            Self::CountDiffers if some => item.like_count += 1,
            Self::PushBelowZero if some => item.like_count = -1,
            _ => {}
        }
    }

    pub fn spoil_page(self, connection: &mut Value) {
        let Some(edges) = connection["edges"].as_array_mut() else { return };
        match self {
            Self::LikerMissing if edges.len() > 1 => drop(edges.remove(0)),
            Self::LikerTwice => edges.extend(edges.last().cloned()),
            _ => {}
        }
    }
}

/// A whole flip, as a lane would write it, of this origin.
fn flip(origin: u8) -> String {
    format!(
        "BEGIN IMMEDIATE;
         INSERT INTO reaction_event (partition, \"offset\", batch, user_id, item_id, old_state, new_state,
           like_delta, dislike_delta, version, origin, created_at)
         SELECT 0, next_offset, randomblob(16), 'nobody', '{ITEM}', 0, 1, 1, 0, 1, {origin}, last_at FROM log_partition;
         INSERT INTO reaction (user_id, item_id, state, version, reacted_at, event_offset)
         SELECT 'nobody', '{ITEM}', 1, 1, last_at, next_offset FROM log_partition;
         UPDATE log_partition SET next_offset = next_offset + 1;
         COMMIT"
    )
}
