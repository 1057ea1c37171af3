//! What a run prints: its figures, and of a violation the part of the history that shows it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use super::history::{Cause, History, Outcome, Source};
use super::killer::Faults;
use super::options::Backend;
use super::oracles::Violation;
use super::plan::Step;
use super::settle::Settled;
use super::snapshot::Snapshot;

/// Lines of history that a violation shows: the last ones.
const SLICE_MAX: usize = 150;
/// Violations of one oracle that are named.
const NAMED_MAX: usize = 5;

#[derive(Debug)]
pub struct Report {
    pub seed: u64,
    pub backend: Backend,
    pub length: Duration,
    pub plan: Vec<Step>,
    pub history: History,
    pub snapshot: Snapshot,
    pub faults: Faults,
    pub lost_commits: usize,
    pub settled: Settled,
    pub violations: Vec<Violation>,
}

impl Report {
    /// The run in figures.
    pub fn summary(&self) -> String {
        let History { ops, looks, scans, erasures, proposals, deaths, clamped: _ } = &self.history;
        let ok = ops.iter().filter(|op| matches!(op.outcome, Outcome::Ok(_))).count();
        let unknown = ops.iter().filter(|op| matches!(op.outcome, Outcome::Unknown(_))).count();
        let pushes = looks.iter().filter(|look| matches!(look.source, Source::Push(_))).count();
        let mut kills: BTreeMap<&str, usize> = BTreeMap::new();
        for death in deaths {
            if let Cause::Failpoint(name) = &death.cause {
                *kills.entry(name).or_default() += 1;
            }
        }
        let not_started = deaths.iter().filter(|death| death.cause == Cause::NotStarted).count();
        let finished = erasures.iter().filter(|erasure| erasure.finished.is_some()).count();
        let rate = ops.len() as f64 / self.length.as_secs_f64();
        let pages: usize = scans.iter().map(|scan| scan.pages).sum();
        let failed = ops.len() - ok - unknown;
        let Settled { writes, folded, all } = self.settled;
        let mut text = String::new();
        let mut line = |name: &str, value: String| writeln!(text, "{name:<12}{value}").expect("a string takes all");
        line("requests", format!("{ok} ok, {failed} failed, {unknown} unknown; {rate:.0} a second"));
        line("log", format!("{} events", self.snapshot.events.len()));
        line(
            "clients",
            format!("{} reads, {pushes} pushes, {} lists in {pages} pages", looks.len() - pushes, scans.len()),
        );
        line("erasures", format!("{finished} of {}; {} retractions", erasures.len(), proposals.len()));
        line("faults", counted(&self.faults));
        line("failpoints", format!("{}; {not_started} starts failed", counted(&kills)));
        line("commits lost", self.lost_commits.to_string());
        line("converged", format!("{all:.2}s: writes {writes:.2}s, log folded {folded:.2}s, everybody {all:.2}s"));
        text
    }

    /// The run as a row of a table; `HEAD` is the table's head.
    pub fn row(&self) -> String {
        let ok = self.history.ops.iter().filter(|op| matches!(op.outcome, Outcome::Ok(_))).count();
        let unknown = self.history.ops.iter().filter(|op| matches!(op.outcome, Outcome::Unknown(_))).count();
        let pushes = self.history.looks.iter().filter(|look| matches!(look.source, Source::Push(_))).count();
        let kills = self.history.deaths.iter().filter(|death| matches!(death.cause, Cause::Failpoint(_))).count();
        let faults: usize = self.faults.values().sum();
        let verdict = if self.violations.is_empty() { "none" } else { self.violations[0].oracle };
        format!(
            "| {} | {:.0} s | {ok} | {unknown} | {} | {pushes} | {} | {faults} | {kills} | {} | {:.1} s | {verdict} |",
            self.seed,
            self.length.as_secs_f64(),
            self.snapshot.events.len(),
            self.history.scans.len(),
            self.lost_commits,
            self.settled.all
        )
    }

    /// Everything that somebody needs to understand a violation.
    pub fn failure(&self) -> String {
        let mut text = format!("seed {}, the plan was:\n", self.seed);
        for step in &self.plan {
            writeln!(text, "{step}").expect("a string takes all");
        }
        let mut named: BTreeMap<&str, usize> = BTreeMap::new();
        for violation in &self.violations {
            let number = named.entry(violation.oracle).or_default();
            *number += 1;
            if *number <= NAMED_MAX {
                let Violation { oracle, what, user, item } = violation;
                let whose = [user, item].into_iter().flatten().cloned().collect::<Vec<_>>().join(" on ");
                writeln!(text, "violated: {oracle}: {whose}: {what}").expect("a string takes all");
            }
        }
        if let Some(first) = self.violations.first() {
            writeln!(text, "\nThe history of the first:").expect("a string takes all");
            text += &self.slice(first);
        }
        writeln!(text, "\n{} violations: {}", self.violations.len(), counted(&named)).expect("a string takes all");
        text
    }

    /// Requests, answers, pushes and events of the user and the item, in the order of time.
    fn slice(&self, violation: &Violation) -> String {
        let of_user = |user: Option<&String>| violation.user.is_none() || violation.user.as_ref() == user;
        let of_item = |item: &String| violation.item.as_ref().is_none_or(|of| of == item);
        let mut lines = Vec::new();
        for op in self.history.ops.iter().filter(|op| of_user(Some(&op.user)) && of_item(&op.item)) {
            lines.push((op.end, format!("request {op:?}")));
        }
        let looks = self.history.looks.iter().filter(|look| of_item(&look.item));
        for look in looks.filter(|look| look.user.is_none() || of_user(look.user.as_ref())) {
            lines.push((look.end, format!("shown   {look:?}")));
        }
        let events = self.snapshot.events.iter();
        for event in events.filter(|event| of_user(event.user.as_ref()) && of_item(&event.item)) {
            lines.push((event.at, format!("event   {event:?}")));
        }
        for erasure in self.history.erasures.iter().filter(|erasure| of_user(Some(&erasure.user))) {
            lines.push((erasure.start, format!("erasure {erasure:?}")));
        }
        let proposals = self.history.proposals.iter();
        for proposal in proposals.filter(|of| of.pairs.iter().any(|pair| of_user(Some(&pair.0)) && of_item(&pair.1))) {
            lines.push((proposal.start, format!("retract {proposal:?}")));
        }
        for death in &self.history.deaths {
            lines.push((death.at, format!("death   {death:?}")));
        }
        lines.sort();
        let shown = &lines[lines.len().saturating_sub(SLICE_MAX)..];
        shown.iter().map(|(_, line)| format!("{line}\n")).collect()
    }
}

/// The columns of `Report::row`.
pub const HEAD: &str = "| seed | faults for | acknowledged | unknown | events | pushes | lists | faults | kills at failpoints | \
     commits lost | converged in | violations |\n|---|---|---|---|---|---|---|---|---|---|---|---|";

fn counted(numbers: &BTreeMap<&str, usize>) -> String {
    let parts: Vec<_> = numbers.iter().map(|(name, number)| format!("{name} {number}")).collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}
