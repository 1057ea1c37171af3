//! Knows which offsets of each partition's log the bus has told this node whole.
//!
//! A fold's ranges count once all of its topics have arrived. A partition's coverage then rises without gaps: a range
//! that comes too early waits for the one before it. Where one is lost, coverage stays behind the checkpoint, and the
//! node reads its watched items again.

use std::collections::{BTreeMap, VecDeque};

use crate::domain::FoldedRange;

/// Partitions that are kept track of. One past it is never covered, so the node reads its watched items every second.
pub const PARTITIONS_MAX: usize = 1_024;

/// Folds of which some topics are still to come. Past it the oldest is given up, as if its message were lost.
const INCOMPLETE_FOLDS_MAX: usize = 256;

/// Ranges per partition that wait for an earlier one. Past it further ones are let go, as if they were lost: the gap
/// before them makes the node read again anyway.
const WAITING_RANGES_MAX: usize = 1_024;

/// One per node.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    partitions: Vec<Partition>,
    incomplete: VecDeque<Incomplete>,
}

#[derive(Debug, Default)]
struct Partition {
    covered: i64,
    /// `from` to `to` of ranges that begin past `covered`.
    waiting: BTreeMap<i64, i64>,
}

#[derive(Debug)]
struct Incomplete {
    fold: u64,
    missing: u16,
    ranges: Vec<FoldedRange>,
}

impl Coverage {
    /// The message of one topic has been offered to the hub; `topics` are all those on which the fold was published.
    pub(super) fn note(&mut self, fold: u64, topics: u16, topic: usize, ranges: &[FoldedRange]) {
        if ranges.is_empty() {
            return;
        }
        let known = self.incomplete.iter().position(|incomplete| incomplete.fold == fold);
        let mut incomplete = known.and_then(|index| self.incomplete.remove(index)).unwrap_or_else(|| Incomplete {
            fold,
            missing: topics,
            ranges: ranges.to_vec(),
        });
        incomplete.missing &= !(1 << topic);
        if incomplete.missing == 0 {
            self.note_whole(&incomplete.ranges);
            return;
        }
        if self.incomplete.len() == INCOMPLETE_FOLDS_MAX {
            self.incomplete.pop_front();
        }
        self.incomplete.push_back(incomplete);
    }

    /// All that a fold changed has been offered to the hub.
    pub(super) fn note_whole(&mut self, ranges: &[FoldedRange]) {
        for range in ranges {
            if let Some(partition) = self.partition(range.partition) {
                partition.add(range.from, range.to);
            }
        }
    }

    /// True where the log is folded further than the bus has told; `checkpoints` has one offset per partition.
    pub(super) fn behind(&self, checkpoints: &[i64]) -> bool {
        checkpoints
            .iter()
            .enumerate()
            .any(|(index, offset)| self.partitions.get(index).map_or(0, |partition| partition.covered) < *offset)
    }

    /// The watched items were read again, with counts that include these offsets.
    pub(super) fn covered_to(&mut self, offsets: &[i64]) {
        for (index, offset) in offsets.iter().enumerate() {
            if let Some(partition) = self.partition(index) {
                partition.add(i64::MIN, *offset);
            }
        }
    }

    fn partition(&mut self, index: usize) -> Option<&mut Partition> {
        if index >= PARTITIONS_MAX {
            return None;
        }
        if index >= self.partitions.len() {
            self.partitions.resize_with(index + 1, Partition::default);
        }
        self.partitions.get_mut(index)
    }
}

impl Partition {
    fn add(&mut self, from: i64, to: i64) {
        if from > self.covered {
            if self.waiting.len() < WAITING_RANGES_MAX {
                let end = self.waiting.entry(from).or_insert(to);
                *end = to.max(*end);
            }
            return;
        }
        self.covered = self.covered.max(to);
        while let Some(next) = self.waiting.first_entry().filter(|next| *next.key() <= self.covered) {
            self.covered = self.covered.max(next.remove());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(partition: usize, from: i64, to: i64) -> FoldedRange {
        FoldedRange { partition, from, to }
    }

    #[test]
    fn a_fold_is_covered_when_its_last_topic_arrives() {
        let mut coverage = Coverage::default();
        coverage.note(1, 0b101, 0, &[range(0, 0, 5), range(1, 0, 2)]);
        coverage.note(1, 0b101, 0, &[range(0, 0, 5), range(1, 0, 2)]);
        assert!(coverage.behind(&[5, 2]));
        coverage.note(1, 0b101, 2, &[range(0, 0, 5), range(1, 0, 2)]);
        assert!(!coverage.behind(&[5, 2]));
        assert!(coverage.behind(&[5, 3]));
        assert!(coverage.behind(&[5, 2, 1]));
    }

    #[test]
    fn a_lost_topic_leaves_a_gap_until_the_items_are_read_again() {
        let mut coverage = Coverage::default();
        coverage.note(1, 0b11, 0, &[range(0, 0, 5)]);
        coverage.note(2, 0b1, 0, &[range(0, 5, 8)]);
        assert!(coverage.behind(&[8]));
        assert!(!coverage.behind(&[0]));
        coverage.covered_to(&[6]);
        assert!(!coverage.behind(&[8]), "the range that waited joins on");
        assert!(coverage.behind(&[9]));
    }

    #[test]
    fn reordered_repeated_and_overlapping_ranges_join_up() {
        let mut coverage = Coverage::default();
        for (from, to) in [(7, 9), (3, 7), (3, 4), (7, 9), (0, 3), (0, 3), (2, 5), (8, 12)] {
            coverage.note_whole(&[range(0, from, to)]);
        }
        assert!(!coverage.behind(&[12]));
        assert!(coverage.partitions.iter().all(|partition| partition.waiting.is_empty()));
    }

    #[test]
    fn coverage_never_goes_back() {
        let mut coverage = Coverage::default();
        coverage.covered_to(&[10]);
        coverage.covered_to(&[4]);
        coverage.note_whole(&[range(0, 0, 2)]);
        assert!(!coverage.behind(&[10]));
    }

    #[test]
    fn memory_is_bounded_whatever_arrives() {
        let mut coverage = Coverage::default();
        for fold in 0..10_000 {
            let offset = i64::try_from(fold).unwrap() * 10;
            coverage.note(fold, 0b11, 1, &[range(0, offset, offset + 1)]);
            coverage.note_whole(&[range(1, offset + 5, offset + 6), range(usize::MAX, 0, 1)]);
        }
        assert_eq!(coverage.incomplete.len(), INCOMPLETE_FOLDS_MAX);
        assert_eq!(coverage.partitions.len(), 2);
        assert_eq!(coverage.partitions[1].waiting.len(), WAITING_RANGES_MAX);
        coverage.covered_to(&[100_000, 100_000]);
        assert!(coverage.partitions[1].waiting.is_empty());
        assert!(!coverage.behind(&[100_000, 100_000]));
    }
}
