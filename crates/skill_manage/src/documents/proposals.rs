//! [`ShownProposal`]: documents about held changes, as a list and individually.

use std::collections::BTreeMap;

use jiff::Timestamp;
use library::{Actor, Library, Proposal, ProposalEntry, ProposalId};
use scan::{Capabilities, CapabilityDelta};
use serde_json::{Value, json};
use skill::{SkillName, SkillPath};

use super::time;
use crate::{
    error::ManageError,
    review::{self, ProposalRef},
};

/// Proposal with its current status.
#[derive(Debug)]
pub struct ShownProposal {
    /// Stored proposal, with waived findings removed.
    pub entry: ProposalEntry,
    /// True if the skill has changed since the proposal was made.
    pub moved: bool,
    /// Capabilities of the proposed skill, if its files are available.
    pub capabilities: Option<Capabilities>,
    /// Difference of these capabilities from those of the base.
    pub delta: Option<CapabilityDelta>,
    /// Reference with which a person accepts the proposal as made. `None` if it is damaged.
    pub reviewed: Option<ProposalRef>,
}

impl ShownProposal {
    /// Returns the proposal as JSON.
    #[must_use]
    pub fn document(&self, now: Timestamp) -> Value {
        let mut document = summary(&self.entry, now);
        if let ProposalEntry::Whole(proposal) = &self.entry {
            document = over(document, details(proposal, self.moved));
            let reviewed = self.reviewed.as_ref().map(ToString::to_string);
            document = over(document, json!(self.delta));
            document = over(document, json!({"capabilities": self.capabilities, "reviewed": reviewed}));
        }
        json!({"ok": true, "proposal": document})
    }
}

/// Reads a proposal for display.
///
/// # Errors
/// The proposal does not exist or is at another revision, or the library cannot be read.
pub fn proposal(library: &Library, target: &ProposalRef) -> Result<ShownProposal, ManageError> {
    let mut entry = match target.revision {
        Some(_) => ProposalEntry::Whole(Box::new(review::proposal(library, target)?)),
        None => review::get(library, &target.id)?,
    };
    let ProposalEntry::Whole(proposal) = &mut entry else {
        return Ok(ShownProposal { entry, moved: false, capabilities: None, delta: None, reviewed: None });
    };
    // The base files of a decided proposal may have been collected.
    let states = review::contents(library, proposal).ok();
    if let Some((_, files)) = states.as_ref().filter(|_| proposal.state.is_open()) {
        proposal.scan.waive(files, &library.waivers(&proposal.skill)?);
        library.scanner().accept(&mut proposal.scan, files);
    }
    let moved = library.head(&proposal.skill)?.map(|head| head.id) != proposal.base;
    let reviewed = Some(ProposalRef::reviewed(proposal, proposal.base.as_ref()));
    let capabilities = states.as_ref().map(|(_, files)| scan::capabilities(files));
    let delta = states.and_then(|(base, files)| CapabilityDelta::between(&base, &files));
    Ok(ShownProposal { entry, moved, capabilities, delta, reviewed })
}

/// Returns the capability delta of each pending proposal in a list.
#[must_use]
pub fn deltas(libraries: &[Library], entries: &[ProposalEntry]) -> Vec<Option<CapabilityDelta>> {
    let of = |entry: &ProposalEntry| {
        let ProposalEntry::Whole(proposal) = entry else { return None };
        let is_new = proposal.base.is_none() || !proposal.state.is_open();
        let mut states = libraries.iter().filter(|_| !is_new).flat_map(|library| review::contents(library, proposal));
        states.next().and_then(|(base, files)| CapabilityDelta::between(&base, &files))
    };
    entries.iter().map(of).collect()
}

/// Returns a list of proposals with their deltas as JSON.
#[must_use]
pub fn proposals(entries: &[ProposalEntry], deltas: &[Option<CapabilityDelta>], now: Timestamp) -> Value {
    let listed = entries.iter().zip(deltas).map(|(entry, delta)| over(summary(entry, now), json!(delta)));
    json!({"ok": true, "proposals": listed.collect::<Vec<_>>()})
}

/// Counts the pending, unexpired proposals of each skill.
///
/// # Errors
/// The library cannot be read.
pub fn waiting(libraries: &[Library], now: Timestamp) -> Result<BTreeMap<SkillName, usize>, ManageError> {
    let mut waiting = BTreeMap::new();
    for proposal in review::list(libraries, false, None)?.into_iter().filter_map(ProposalEntry::into_whole) {
        if !proposal.is_expired(now) {
            *waiting.entry(proposal.skill).or_default() += 1;
        }
    }
    Ok(waiting)
}

fn summary(entry: &ProposalEntry, now: Timestamp) -> Value {
    match entry {
        ProposalEntry::Whole(proposal) => json!({
            "id": proposal.id.as_str(),
            "name": proposal.skill.as_str(),
            "state": review::state_at(proposal, now),
            "revision": proposal.revision,
            "action": proposal.action.as_str(),
            "actor": actor(&proposal.actor),
            "reason": proposal.reason,
            "why": proposal.why,
            "created": time(proposal.created),
            "updated": time(proposal.updated),
            "expires": time(proposal.expires),
            "verdict": proposal.scan.verdict(),
            "note": proposal.note,
            "superseded_by": proposal.superseded_by.as_ref().map(ProposalId::as_str),
        }),
        ProposalEntry::Damaged(damaged) => json!({
            "id": damaged.id.as_str(),
            "name": damaged.skill.as_ref().map(SkillName::as_str),
            "state": if damaged.decided.is_some() { "rejected" } else { "damaged" },
            "damaged": damaged.why,
            "revision": null, "action": null, "actor": null, "reason": null, "why": null, "created": null,
            "updated": null, "expires": null, "verdict": null, "note": null, "superseded_by": null,
        }),
    }
}

fn actor(actor: &Actor) -> Value {
    json!({"kind": actor.kind.as_str(), "id": actor.id})
}

fn over(mut document: Value, more: Value) -> Value {
    if let (Some(document), Value::Object(more)) = (document.as_object_mut(), more) {
        document.extend(more);
    }
    document
}

fn details(proposal: &Proposal, moved: bool) -> Value {
    let files = proposal.files.iter().map(|file| {
        json!({
            "path": file.path.as_str(),
            "change": file.change,
            "size": file.file.as_ref().map(|file| file.bytes.len()),
            "executable": file.file.as_ref().map(|file| file.executable),
        })
    });
    let decided = proposal.decided.as_ref().map(|decided| {
        json!({
            "by": actor(&decided.by), "time": time(decided.time), "reason": decided.reason,
            "revision": decided.revision,
        })
    });
    json!({
        "base": proposal.base,
        "moved": moved,
        "digest": proposal.digest.to_string(),
        "run": proposal.run,
        "thread": proposal.thread,
        "absorbed_into": proposal.absorbed_into,
        "evidence": proposal.evidence,
        "edited_by": proposal.edited_by.as_ref().map(actor),
        "files": files.collect::<Vec<_>>(),
        "ruleset": proposal.scan.ruleset,
        "findings": proposal.scan.findings,
        "release": proposal.release.as_ref().map(|release| json!({
            "name": release.origin.name(), "version": release.origin.version(),
            "commit": release.origin.commit().map(ToString::to_string), "digest": release.origin.digest().to_string(),
            "unresolved": release.unresolved.iter().map(SkillPath::as_str).collect::<Vec<_>>(),
        })),
        "decided": decided,
    })
}
