//! JSON format of a proposal's file, version 1 ([`Document`]).
//!
//! Text content is stored as text to keep the file readable, other content as base64. Fields that this version does
//! not know are preserved.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use skill::{Digest, File, SkillName, SkillPath, diff::Change, objects_and_commas};

use super::{
    DamagedProposal, Evidence, Proposal, ProposalDecision, ProposalEntry, ProposalId, ProposalState, ProposedFile,
    ProposedRelease, StoredProposal,
};
use crate::{
    origin::Origin,
    revision::{Action, Actor, RevisionId},
};

const FORMAT: u32 = 1;
/// Limit of the number of values in a file: many times those of the largest skill, its release and its scan report.
const VALUES: usize = 500_000;

#[derive(Serialize, Deserialize)]
struct Document {
    format: u32,
    id: String,
    skill: String,
    state: ProposalState,
    revision: u64,
    action: Action,
    base: Option<RevisionId>,
    files: Vec<FileDocument>,
    digest: String,
    actor: String,
    reason: Option<String>,
    run: Option<String>,
    thread: Option<String>,
    absorbed_into: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<Evidence>,
    why: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    release: Option<ReleaseDocument>,
    scan: scan::Report,
    created: String,
    updated: String,
    expires: String,
    edited_by: Option<String>,
    note: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    superseded_by: Option<String>,
    decided: Option<DecidedDocument>,
}

#[derive(Serialize, Deserialize)]
struct FileDocument {
    path: String,
    change: ChangeWord,
    #[serde(default)]
    executable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct ReleaseDocument {
    origin: Origin,
    files: Vec<FileDocument>,
    digest: String,
    unresolved: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ChangeWord {
    Added,
    Modified,
    Removed,
}

#[derive(Serialize, Deserialize)]
struct DecidedDocument {
    by: String,
    time: String,
    reason: Option<String>,
    revision: Option<RevisionId>,
}

/// Parses the file of a proposal. A file that cannot be parsed becomes a damaged entry.
pub(crate) fn parse(id: ProposalId, bytes: Vec<u8>) -> ProposalEntry {
    match parse_whole(&id, &bytes) {
        Ok(proposal) => {
            let kept = StoredProposal { file: Some(bytes.into()), state: Some(proposal.state) };
            ProposalEntry::Whole(Box::new(Proposal { kept, ..proposal }))
        }
        Err(why) => {
            let value = if is_flood(&bytes) { None } else { serde_json::from_slice(&bytes).ok() };
            let value: Value = value.unwrap_or_default();
            let skill = value["skill"].as_str().and_then(|skill| SkillName::parse(skill).ok());
            let was_rejected = value["damaged"].is_string();
            let decided = was_rejected.then(|| decided_of(&value["decided"])).flatten();
            let why = value["damaged"].as_str().map_or(why, str::to_owned);
            ProposalEntry::Damaged(Box::new(DamagedProposal { id, skill, why, decided, file: Some(bytes) }))
        }
    }
}

/// Creates the entry of a file that cannot even be read.
pub(super) fn unreadable(id: ProposalId, error: &std::io::Error) -> ProposalEntry {
    let why = format!("cannot read it: {error}");
    ProposalEntry::Damaged(Box::new(DamagedProposal { id, skill: None, why, decided: None, file: None }))
}

fn decided_of(value: &Value) -> Option<ProposalDecision> {
    let document: DecidedDocument = serde_json::from_value(value.clone()).ok()?;
    document.into_decided().ok()
}

/// Returns whether parsing would take many times the file's size in memory.
fn is_flood(bytes: &[u8]) -> bool {
    objects_and_commas(bytes).1 > VALUES
}

fn parse_whole(id: &ProposalId, bytes: &[u8]) -> Result<Proposal, String> {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    if is_flood(bytes) {
        return Err(format!("it has more than {VALUES} values"));
    }
    let another = |format| format!("it has format {format}, but this version of skillhub reads only {FORMAT}");
    let document: Document =
        serde_json::from_slice(bytes).map_err(|error| match serde_json::from_slice::<Format>(bytes) {
            Ok(Format { format }) if format != FORMAT => another(format),
            _ => error.to_string(),
        })?;
    if document.format != FORMAT {
        return Err(another(document.format));
    }
    if document.id != id.as_str() {
        return Err(format!("it has the proposal {:?} instead", document.id));
    }
    document.into_proposal(id)
}

impl Document {
    fn into_proposal(self, id: &ProposalId) -> Result<Proposal, String> {
        if self.state.is_open() == self.decided.is_some() {
            return Err(format!("it is {} {} a decision", self.state.as_str(), without(self.state.is_open())));
        }
        Ok(Proposal {
            id: id.clone(),
            skill: SkillName::parse(&self.skill).map_err(|_| format!("{:?} is not a valid skill name", self.skill))?,
            state: self.state,
            revision: self.revision,
            action: self.action,
            base: self.base,
            files: self.files.into_iter().map(FileDocument::into_file).collect::<Result<_, _>>()?,
            digest: digest(&self.digest)?,
            actor: actor(&self.actor)?,
            reason: self.reason,
            run: self.run,
            thread: self.thread,
            absorbed_into: self.absorbed_into,
            evidence: self.evidence,
            why: self.why,
            release: self.release.map(ReleaseDocument::into_release).transpose()?,
            scan: self.scan,
            created: time(&self.created)?,
            updated: time(&self.updated)?,
            expires: time(&self.expires)?,
            edited_by: self.edited_by.as_deref().map(actor).transpose()?,
            note: self.note,
            superseded_by: superseded_by(self.superseded_by)?,
            decided: self.decided.map(DecidedDocument::into_decided).transpose()?,
            kept: StoredProposal::default(),
        })
    }

    fn of(proposal: &Proposal) -> Self {
        Self {
            format: FORMAT,
            id: proposal.id.to_string(),
            skill: proposal.skill.to_string(),
            state: proposal.state,
            revision: proposal.revision,
            action: proposal.action,
            base: proposal.base.clone(),
            files: proposal.files.iter().map(FileDocument::of).collect(),
            digest: proposal.digest.to_string(),
            actor: proposal.actor.to_string(),
            reason: proposal.reason.clone(),
            run: proposal.run.clone(),
            thread: proposal.thread.clone(),
            absorbed_into: proposal.absorbed_into.clone(),
            evidence: proposal.evidence.clone(),
            why: proposal.why.clone(),
            release: proposal.release.as_ref().map(ReleaseDocument::of),
            scan: proposal.scan.clone(),
            created: proposal.created.to_string(),
            updated: proposal.updated.to_string(),
            expires: proposal.expires.to_string(),
            edited_by: proposal.edited_by.as_ref().map(ToString::to_string),
            note: proposal.note.clone(),
            superseded_by: proposal.superseded_by.as_ref().map(ToString::to_string),
            decided: proposal.decided.as_ref().map(DecidedDocument::of),
        }
    }
}

fn without(is_open: bool) -> &'static str {
    if is_open { "and has" } else { "without" }
}

fn actor(text: &str) -> Result<Actor, String> {
    text.parse().map_err(|error: crate::revision::ActorError| error.to_string())
}

fn superseded_by(text: Option<String>) -> Result<Option<ProposalId>, String> {
    text.map(|text| ProposalId::parse(&text).map_err(|error| error.to_string())).transpose()
}

fn digest(text: &str) -> Result<Digest, String> {
    text.parse().map_err(|_| format!("{text:?} is not a digest"))
}

fn time(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|_| format!("{text:?} is not a time"))
}

impl FileDocument {
    fn of(file: &ProposedFile) -> Self {
        let content = file.file.as_ref();
        let text = content.and_then(File::text).map(str::to_owned);
        Self {
            path: file.path.to_string(),
            change: match file.change {
                Change::Added => ChangeWord::Added,
                Change::Modified => ChangeWord::Modified,
                Change::Removed => ChangeWord::Removed,
            },
            executable: content.is_some_and(|file| file.executable),
            base64: content.filter(|_| text.is_none()).map(|file| STANDARD.encode(&file.bytes)),
            text,
        }
    }

    fn into_file(self) -> Result<ProposedFile, String> {
        let path = SkillPath::parse(&self.path).map_err(|error| error.to_string())?;
        let in_file = |what: &str| format!("{path}: {what}");
        let bytes = match (self.text, self.base64) {
            (Some(text), None) => Some(text.into_bytes()),
            (None, Some(base64)) => Some(STANDARD.decode(base64).map_err(|_| in_file("its content is not base64"))?),
            (None, None) => None,
            (Some(_), Some(_)) => return Err(in_file("it has two contents")),
        };
        let (change, is_removed) = match self.change {
            ChangeWord::Added => (Change::Added, false),
            ChangeWord::Modified => (Change::Modified, false),
            ChangeWord::Removed => (Change::Removed, true),
        };
        if bytes.is_none() != is_removed {
            return Err(in_file("its content and its kind of change do not match"));
        }
        let file = bytes.map(|bytes| File { bytes: bytes.into(), executable: self.executable });
        Ok(ProposedFile { path, change, file })
    }
}

impl ReleaseDocument {
    fn of(release: &ProposedRelease) -> Self {
        Self {
            origin: release.origin.clone(),
            files: release.files.iter().map(FileDocument::of).collect(),
            digest: release.digest.to_string(),
            unresolved: release.unresolved.iter().map(ToString::to_string).collect(),
        }
    }

    fn into_release(self) -> Result<ProposedRelease, String> {
        let path = |path: String| SkillPath::parse(&path).map_err(|error| error.to_string());
        Ok(ProposedRelease {
            origin: self.origin,
            files: self.files.into_iter().map(FileDocument::into_file).collect::<Result<_, _>>()?,
            digest: digest(&self.digest)?,
            unresolved: self.unresolved.into_iter().map(path).collect::<Result<_, _>>()?,
        })
    }
}

impl DecidedDocument {
    fn of(decided: &ProposalDecision) -> Self {
        Self {
            by: decided.by.to_string(),
            time: decided.time.to_string(),
            reason: decided.reason.clone(),
            revision: decided.revision.clone(),
        }
    }

    fn into_decided(self) -> Result<ProposalDecision, String> {
        Ok(ProposalDecision {
            by: actor(&self.by)?,
            time: time(&self.time)?,
            reason: self.reason,
            revision: self.revision,
        })
    }
}

/// Serialises an entry to the content of its file.
pub(crate) fn write(entry: &ProposalEntry) -> serde_json::Result<Vec<u8>> {
    let document = match entry {
        ProposalEntry::Whole(proposal) => {
            let known = serde_json::to_value(Document::of(proposal))?;
            match &proposal.kept.file {
                Some(found) => over(serde_json::from_slice(found)?, known),
                None => known,
            }
        }
        ProposalEntry::Damaged(damaged) => rejected(damaged)?,
    };
    let mut bytes = serde_json::to_vec_pretty(&document)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Returns the document of a damaged file that was rejected: its bytes and the decision.
fn rejected(damaged: &DamagedProposal) -> serde_json::Result<Value> {
    let bytes = damaged.file.as_deref().unwrap_or_default();
    let (key, content) = match std::str::from_utf8(bytes) {
        Ok(text) => ("text", text.to_owned()),
        Err(_) => ("base64", STANDARD.encode(bytes)),
    };
    Ok(json!({
        "format": FORMAT,
        "id": damaged.id.as_str(),
        "skill": damaged.skill.as_ref().map(SkillName::as_str),
        "state": ProposalState::Rejected,
        "damaged": damaged.why,
        key: content,
        "decided": serde_json::to_value(damaged.decided.as_ref().map(DecidedDocument::of))?,
    }))
}

/// Merges the known fields over the document that was read, so that unknown fields are preserved.
fn over(found: Value, known: Value) -> Value {
    match (found, known) {
        (Value::Object(mut found), Value::Object(known)) => {
            let mut fields = Map::new();
            for (key, value) in known {
                let before = found.remove(&key).unwrap_or(Value::Null);
                fields.insert(key, over(before, value));
            }
            fields.extend(found);
            Value::Object(fields)
        }
        (_, known) => known,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flood_of_values_counts_as_damage() {
        let id = ProposalId::parse("p1").unwrap();
        let flood = format!(r#"{{"skill":"a","x":[{}0]}}"#, "0,".repeat(VALUES + 1));
        let ProposalEntry::Damaged(found) = parse(id, flood.into_bytes()) else { panic!("it is whole") };
        assert!(found.why.contains("more than 500000 values") && found.skill.is_none(), "{}", found.why);
    }
}
