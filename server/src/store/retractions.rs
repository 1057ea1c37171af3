//! Proposals of an abuse system: stored first, carried out in small batches afterwards, and undone where the person has
//! done nothing since.
//!
//! A proposal keeps the ends of the log as they were when it was made. A row that changed later is not its matter, and
//! that holds for whoever carries it out, how late and how often ever: no like that somebody takes anew, or gets back,
//! is taken by an older proposal.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use sea_orm::{ConnectionTrait, DatabaseTransaction, DbErr, QueryResult, Value};
use xxhash_rust::xxh3::xxh3_128;

use super::catalog::{CatalogRefusal, TryError};
use super::decide::{Command, Decision, Source};
use super::erasures::lease_from;
use super::rows::{self, Column};
use super::{Backend, Store, WORK_SILENCE_MAX, answered, batch, column, fault, statement, when_free};
use crate::domain::{ItemId, Micros, ProposalId, ReactionState, UserId};
use crate::error::{Error, Result};

/// Whose reactions a proposal is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suspects {
    /// These, whatever they say.
    Reactions(BTreeSet<(UserId, ItemId)>),
    /// All that this user has when the proposal is made.
    User(UserId),
}

/// What an abuse system proposes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    pub id: ProposalId,
    pub suspects: Suspects,
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetractionStatus {
    Applying,
    Applied,
    Restoring,
    Restored,
}

/// How far a proposal is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retraction {
    pub proposal: ProposalId,
    pub status: RetractionStatus,
    pub retracted: i64,
    pub restored: i64,
    pub created_at: Micros,
}

/// A proposal with work to do, left to the caller for the length of a lease.
#[derive(Debug, Clone)]
pub struct RetractionWork {
    pub proposal: ProposalId,
    pub step: RetractionStep,
}

#[derive(Debug, Clone)]
pub enum RetractionStep {
    /// Take back the entries' reactions.
    Entries { cuts: Vec<i64> },
    /// Take back all of a user's reactions.
    User { user: UserId, cuts: Vec<i64> },
    /// Give back what was taken.
    Restore,
}

/// A place among the reactions of a proposal.
pub type Place = (UserId, ItemId);

// The codes of `retraction.status`; even has work to do, and names the partial index.
const APPLYING: i16 = 0;
const APPLIED: i16 = 1;
const RESTORING: i16 = 2;
const RESTORED: i16 = 3;
/// All is taken back first, so that nothing is taken after it was given back.
const APPLYING_THEN_RESTORE: i16 = 4;
const HAS_WORK: &str = "status IN (0, 2, 4)";

impl Store {
    pub async fn retraction(&self, proposal: &ProposalId) -> Result<Option<Retraction>> {
        let sql = "SELECT status, retracted, restored, created_at FROM retraction WHERE proposal_id = $1";
        let rows = self.read(statement(self.backend, sql, vec![proposal.as_str().into()])).await?;
        let retraction = |row| {
            Ok(Retraction {
                proposal: proposal.clone(),
                status: status(column(row, "status")?)?,
                retracted: column(row, "retracted")?,
                restored: column(row, "restored")?,
                created_at: column(row, "created_at")?,
            })
        };
        rows.first().map(retraction).transpose()
    }

    /// Stores a proposal; the same one again changes nothing. What it says of deleted accounts is left out.
    pub(super) async fn propose(&self, on: &DatabaseTransaction, proposal: &Proposal) -> Result<(), TryError> {
        let fingerprint = fingerprint(proposal);
        let (user, pairs) = match &proposal.suspects {
            Suspects::User(user) => (Some(user), BTreeSet::new()),
            Suspects::Reactions(pairs) => (None, pairs.clone()),
        };
        let named: BTreeSet<&UserId> = pairs.iter().map(|(user, _)| user).chain(user).collect();
        let erased = self.erased_among(on, &named).await?;
        let user = user.filter(|user| !erased.contains(user));
        let reason = proposal.reason.as_deref().filter(|_| erased.is_empty());
        let insert = "INSERT INTO retraction (proposal_id, fingerprint, user_id, reason, cuts, status, retracted,
                        restored, created_at, lease_until)
                      VALUES ($1, $2, $3, $4, $5, $6, 0, 0, $7, 0) ON CONFLICT DO NOTHING";
        let values: Vec<Value> = vec![
            proposal.id.as_str().into(),
            fingerprint.as_str().into(),
            user.map(UserId::to_string).into(),
            reason.map(str::to_owned).into(),
            self.log_ends_now(on).await?.into(),
            APPLYING.into(),
            self.clock(on).await?.into(),
        ];
        let inserted = on.execute_raw(statement(self.backend, insert, values)).await?.rows_affected();
        if inserted == 0 {
            return self.is_the_same(on, &proposal.id, &fingerprint).await;
        }
        let pairs: Vec<_> = pairs.iter().filter(|(user, _)| !erased.contains(user)).collect();
        if pairs.is_empty() {
            return Ok(());
        }
        let entries = "INSERT INTO retraction_entry (proposal_id, user_id, item_id, state, reacted_at, version)
                       SELECT $1, x.u, x.i, 0, 0, 0 FROM {rows} WHERE true";
        let columns = vec![
            ("u", Column::Text(pairs.iter().map(|(user, _)| user.to_string()).collect())),
            ("i", Column::Text(pairs.iter().map(|(_, item)| item.to_string()).collect())),
        ];
        on.execute_raw(rows::over(self.backend, entries, vec![proposal.id.as_str().into()], columns)).await?;
        Ok(())
    }

    /// Has what a proposal took given back, once all of it is taken.
    pub(super) async fn ask_to_restore(&self, on: &DatabaseTransaction, proposal: &ProposalId) -> Result<(), TryError> {
        let sql = format!(
            "UPDATE retraction SET status = CASE status
               WHEN {APPLYING} THEN {APPLYING_THEN_RESTORE} WHEN {APPLIED} THEN {RESTORING} ELSE status END
             WHERE proposal_id = $1"
        );
        let asked = on.execute_raw(statement(self.backend, &sql, vec![proposal.as_str().into()])).await?;
        match asked.rows_affected() {
            0 => Err(refused("There is no proposal with this id.")),
            _ => Ok(()),
        }
    }

    async fn erased_among(
        &self,
        on: &DatabaseTransaction,
        users: &BTreeSet<&UserId>,
    ) -> Result<BTreeSet<UserId>, DbErr> {
        let sql = "SELECT a.id FROM {rows} CROSS JOIN account a WHERE a.id = x.u AND a.erased_at IS NOT NULL";
        let columns = rows::ids("u", users.iter().map(|user| user.as_str()));
        let found = on.query_all_raw(rows::over(self.backend, sql, vec![], columns)).await?;
        found.iter().map(|row| row.try_get("", "id").map(UserId::from_row)).collect()
    }

    /// The last offset of each partition, as a JSON list. A reaction that was answered before is at or below it.
    async fn log_ends_now(&self, on: &DatabaseTransaction) -> Result<String, DbErr> {
        let sql = "SELECT next_offset - 1 AS o FROM log_partition ORDER BY id";
        let rows = on.query_all_raw(statement(self.backend, sql, vec![])).await?;
        let ends: Vec<i64> = rows.iter().map(|row| row.try_get("", "o")).collect::<Result<_, _>>()?;
        Ok(serde_json::Value::from(ends).to_string())
    }

    async fn is_the_same(&self, on: &DatabaseTransaction, id: &ProposalId, fingerprint: &str) -> Result<(), TryError> {
        let sql = "SELECT fingerprint FROM retraction WHERE proposal_id = $1";
        let row = on.query_one_raw(statement(self.backend, sql, vec![id.as_str().into()])).await?;
        let known: Option<String> = row.map(|row| row.try_get("", "fingerprint")).transpose()?;
        if known.as_deref() == Some(fingerprint) {
            return Ok(());
        }
        Err(refused("This id stands for another proposal. Take a new one for each."))
    }

    /// The oldest proposal with work that nobody is at, now the caller's for the length of a lease, which each batch
    /// renews.
    pub async fn claim_retraction(&self) -> Result<Option<RetractionWork>> {
        let unfinished = format!("SELECT proposal_id FROM retraction WHERE {HAS_WORK} LIMIT 1");
        if self.read(statement(self.backend, &unfinished, vec![])).await?.is_empty() {
            return Ok(None);
        }
        let lock = match self.backend {
            Backend::Postgres => "FOR UPDATE SKIP LOCKED",
            // One process, one writer.
            Backend::Sqlite => "",
        };
        let sql = format!(
            "UPDATE retraction SET lease_until = $2 WHERE proposal_id = (
               SELECT proposal_id FROM retraction WHERE {HAS_WORK} AND lease_until <= $1
               ORDER BY created_at LIMIT 1 {lock}) RETURNING proposal_id, user_id, cuts, status"
        );
        let now = answered(WORK_SILENCE_MAX, self.clock(&self.pipeline)).await.map_err(fault::to_error)?;
        let claim = statement(self.backend, &sql, vec![now.into(), lease_from(now).into()]);
        let claimed = when_free(|| self.pipeline.query_one_raw(claim.clone()));
        let row = answered(WORK_SILENCE_MAX, claimed).await.map_err(fault::to_error)?;
        row.map(|row| work(&row)).transpose()
    }

    /// The step is done: on to the next one, if there is one.
    pub async fn finish_retraction_step(&self, work: &RetractionWork) -> Result<()> {
        let sql = match work.step {
            RetractionStep::Restore => format!("CASE status WHEN {RESTORING} THEN {RESTORED} ELSE status END"),
            RetractionStep::Entries { .. } | RetractionStep::User { .. } => format!(
                "CASE status WHEN {APPLYING} THEN {APPLIED} WHEN {APPLYING_THEN_RESTORE} THEN {RESTORING} ELSE status END"
            ),
        };
        let sql = format!("UPDATE retraction SET lease_until = 0, status = {sql} WHERE proposal_id = $1");
        let finish = statement(self.backend, &sql, vec![work.proposal.as_str().into()]);
        let finished = when_free(|| self.pipeline.execute_raw(finish.clone()));
        answered(WORK_SILENCE_MAX, finished).await.map_err(fault::to_error)?;
        Ok(())
    }

    /// The commands of the next `limit` reactions of a step, after `after`, and the last of them. Empty at the end.
    pub async fn retraction_commands(
        &self,
        work: &RetractionWork,
        after: Option<&Place>,
        limit: usize,
    ) -> Result<(Vec<Command>, Option<Place>)> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let (after_user, after_item) = after.map_or(("", ""), |(user, item)| (user.as_str(), item.as_str()));
        let of_entries: Vec<Value> =
            vec![work.proposal.as_str().into(), after_user.into(), after_item.into(), limit.into()];
        let commands = match &work.step {
            RetractionStep::User { user, cuts } => {
                let cut = cut_of(user, cuts);
                let sql = "SELECT item_id FROM reaction WHERE user_id = $1 AND item_id > $2 AND state <> 0
                             AND event_offset <= $3 ORDER BY item_id LIMIT $4";
                let values = vec![user.as_str().into(), after_item.into(), cut.into(), limit.into()];
                let rows = self.read(statement(self.backend, sql, values)).await?;
                let retract = |row| Ok(work.retract(user.clone(), ItemId::from_row(column(row, "item_id")?), cut));
                rows.iter().map(retract).collect::<Result<Vec<_>>>()?
            }
            RetractionStep::Entries { cuts } => {
                let sql = "SELECT user_id, item_id FROM retraction_entry WHERE proposal_id = $1 AND version = 0
                             AND (user_id, item_id) > ($2, $3) ORDER BY user_id, item_id LIMIT $4";
                let rows = self.read(statement(self.backend, sql, of_entries)).await?;
                let retract = |row| {
                    let (user, item) = place(row)?;
                    let cut = cut_of(&user, cuts);
                    Ok(work.retract(user, item, cut))
                };
                rows.iter().map(retract).collect::<Result<Vec<_>>>()?
            }
            RetractionStep::Restore => {
                let sql = "SELECT user_id, item_id, state, reacted_at, version FROM retraction_entry
                           WHERE proposal_id = $1 AND version > 0 AND (user_id, item_id) > ($2, $3)
                           ORDER BY user_id, item_id LIMIT $4";
                let rows = self.read(statement(self.backend, sql, of_entries)).await?;
                rows.iter().map(|row| work.restore(row)).collect::<Result<Vec<_>>>()?
            }
        };
        let last = commands.last().map(|command| (command.user.clone(), command.item.clone()));
        Ok((commands, last))
    }

    /// A batch's part in retractions: what was taken is remembered, what was taken and given back is counted.
    pub(super) async fn note_retractions(&self, on: &DatabaseTransaction, decision: &Decision) -> Result<(), DbErr> {
        let entries = &decision.entries;
        if !entries.is_empty() {
            let sql = "INSERT INTO retraction_entry (proposal_id, user_id, item_id, state, reacted_at, version)
                       SELECT x.p, x.u, x.i, x.s, x.t, x.v FROM {rows} WHERE true
                       ON CONFLICT (proposal_id, user_id, item_id) DO UPDATE
                         SET state = excluded.state, reacted_at = excluded.reacted_at, version = excluded.version";
            let columns = vec![
                ("p", Column::Text(entries.iter().map(|entry| entry.proposal.to_string()).collect())),
                ("u", Column::Text(entries.iter().map(|entry| entry.user.to_string()).collect())),
                ("i", Column::Text(entries.iter().map(|entry| entry.item.to_string()).collect())),
                ("s", Column::Small(entries.iter().map(|entry| entry.was.state.code()).collect())),
                ("t", Column::Big(entries.iter().map(|entry| entry.was.reacted_at).collect())),
                ("v", Column::Big(entries.iter().map(|entry| entry.left_at).collect())),
            ];
            on.execute_raw(rows::over(self.backend, sql, vec![], columns)).await?;
        }
        let mut moved: BTreeMap<&ProposalId, (i64, i64)> = BTreeMap::new();
        for entry in entries {
            moved.entry(&entry.proposal).or_default().0 += 1;
        }
        for proposal in &decision.restored {
            moved.entry(proposal).or_default().1 += 1;
        }
        if moved.is_empty() {
            return Ok(());
        }
        let sql = "UPDATE retraction SET retracted = retracted + x.n, restored = restored + x.m, lease_until = $1
                   FROM {rows} WHERE retraction.proposal_id = x.p";
        let columns = vec![
            ("p", Column::Text(moved.keys().map(ToString::to_string).collect())),
            ("n", Column::Big(moved.values().map(|(retracted, _)| *retracted).collect())),
            ("m", Column::Big(moved.values().map(|(_, restored)| *restored).collect())),
        ];
        on.execute_raw(rows::over(self.backend, sql, vec![lease_from(decision.at).into()], columns)).await?;
        Ok(())
    }
}

impl RetractionWork {
    fn retract(&self, user: UserId, item: ItemId, cut: i64) -> Command {
        let from = Source::Retract { proposal: self.proposal.clone(), cut };
        Command { user, item, wanted: ReactionState::None, key: None, from }
    }

    fn restore(&self, row: &QueryResult) -> Result<Command> {
        let (user, item) = place(row)?;
        let wanted = batch::state(row, "state").map_err(fault::to_error)?;
        let (version, reacted_at) = (column(row, "version")?, column(row, "reacted_at")?);
        let from = Source::Restore { proposal: self.proposal.clone(), version, reacted_at };
        Ok(Command { user, item, wanted, key: None, from })
    }
}

fn refused(message: &str) -> TryError {
    TryError::Refused(CatalogRefusal::Failed(Error::bad_input("input.proposalId", message)))
}

fn place(row: &QueryResult) -> Result<Place> {
    Ok((UserId::from_row(column(row, "user_id")?), ItemId::from_row(column(row, "item_id")?)))
}

fn cut_of(user: &UserId, cuts: &[i64]) -> i64 {
    cuts[user.partition(cuts.len())]
}

fn work(row: &QueryResult) -> Result<RetractionWork> {
    let user: Option<String> = column(row, "user_id")?;
    let cuts: String = column(row, "cuts")?;
    let cuts = serde_json::from_str(&cuts).map_err(Error::internal)?;
    let code: i16 = column(row, "status")?;
    let step = match (code, user) {
        (RESTORING, _) => RetractionStep::Restore,
        (_, Some(user)) => RetractionStep::User { user: UserId::from_row(user), cuts },
        // Also where the user was deleted meanwhile: then there are no entries either.
        (_, None) => RetractionStep::Entries { cuts },
    };
    Ok(RetractionWork { proposal: ProposalId::from_row(column(row, "proposal_id")?), step })
}

fn status(code: i16) -> Result<RetractionStatus> {
    match code {
        APPLYING => Ok(RetractionStatus::Applying),
        APPLIED => Ok(RetractionStatus::Applied),
        RESTORING | APPLYING_THEN_RESTORE => Ok(RetractionStatus::Restoring),
        RESTORED => Ok(RetractionStatus::Restored),
        _ => Err(Error::internal_detail(format!("{code} is no status of a retraction"))),
    }
}

/// By which a proposal that is sent again is known to say the same. Ids have no spaces and no line ends.
fn fingerprint(proposal: &Proposal) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    match &proposal.suspects {
        Suspects::User(user) => {
            let _ = writeln!(text, "{user}");
        }
        Suspects::Reactions(pairs) => {
            for (user, item) in pairs {
                let _ = writeln!(text, "{user} {item}");
            }
        }
    }
    if let Some(reason) = &proposal.reason {
        let _ = write!(text, "because {reason}");
    }
    format!("{:032x}", xxh3_128(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposal(suspects: Suspects, reason: Option<&str>) -> Proposal {
        let id = ProposalId::parse("p").expect("a good id");
        Proposal { id, suspects, reason: reason.map(str::to_owned) }
    }

    fn pairs(pairs: &[(&str, &str)]) -> Suspects {
        let pair = |(user, item): &(&str, &str)| (UserId::from_row((*user).into()), ItemId::from_row((*item).into()));
        Suspects::Reactions(pairs.iter().map(pair).collect())
    }

    #[test]
    fn a_proposal_is_known_by_what_it_says_and_not_by_its_order() {
        let known = |suspects, reason| fingerprint(&proposal(suspects, reason));
        let one = known(pairs(&[("ana", "a"), ("ben", "b")]), Some("bots"));
        assert_eq!(one, known(pairs(&[("ben", "b"), ("ana", "a")]), Some("bots")));
        let others = [
            known(pairs(&[("ana", "a")]), Some("bots")),
            known(pairs(&[("ana", "a"), ("ben", "b")]), None),
            known(pairs(&[("ana", "b"), ("ben", "a")]), Some("bots")),
            known(Suspects::User(UserId::from_row("ana".into())), Some("bots")),
        ];
        assert!(others.iter().all(|other| *other != one));
    }
}
