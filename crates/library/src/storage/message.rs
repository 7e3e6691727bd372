//! Commit message of a revision: a line for people, then typed trailers.

use scan::Verdict;

use super::StorageError;
use crate::{
    origin::Origin,
    revision::{Acceptance, Action, Actor, NewRevision, Stamp},
};

/// Maximum number of characters of the reason in the first line.
const SUBJECT_CHARS: usize = 60;

/// Content of the trailers, without the fields that git itself stores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trailers {
    pub number: u64,
    pub action: Action,
    pub actor: Actor,
    pub reason: Option<String>,
    pub run: Option<String>,
    pub thread: Option<String>,
    pub origin: Option<Origin>,
    pub verdict: Verdict,
    pub ruleset: String,
    pub digest: String,
    pub files: usize,
    pub absorbed_into: Option<String>,
    pub acceptance: Option<Acceptance>,
}

impl Trailers {
    pub fn of(new: &NewRevision, number: u64, ruleset: &str, digest: String, files: usize) -> Self {
        let Stamp { actor, reason, run, thread, .. } = new.stamp.clone();
        Self {
            number,
            action: new.action,
            actor,
            reason,
            run,
            thread,
            origin: new.origin.clone(),
            verdict: new.content.verdict(),
            ruleset: ruleset.to_owned(),
            digest,
            files,
            absorbed_into: new.absorbed_into.clone(),
            acceptance: new.acceptance.clone(),
        }
    }

    /// Formats the commit message. `changed` are the paths to name if the reason is missing.
    pub fn write(&self, changed: &[String]) -> String {
        let about = match &self.reason {
            Some(reason) => one_line(reason),
            None => changed.iter().take(3).cloned().collect::<Vec<_>>().join(", "),
        };
        let subject = match about.as_str() {
            "" => self.action.as_str().to_owned(),
            about => format!("{}: {about}", self.action.as_str()),
        };
        let mut message = format!("{subject}\n\n");
        for (key, value) in self.pairs() {
            message.push_str(&format!("Skillhub-{key}: {}\n", escape(&value)));
        }
        message
    }

    fn pairs(&self) -> Vec<(&'static str, String)> {
        let origin = self.origin.as_ref().and_then(|origin| serde_json::to_string(origin).ok());
        let pairs = [
            ("Format", Some("1".to_owned())),
            ("Number", Some(self.number.to_string())),
            ("Action", Some(self.action.as_str().to_owned())),
            ("Actor", Some(self.actor.to_string())),
            ("Reason", self.reason.clone()),
            ("Run", self.run.clone()),
            ("Thread", self.thread.clone()),
            ("Origin", origin),
            ("Absorbed-Into", self.absorbed_into.clone()),
            ("Proposal", self.acceptance.as_ref().map(|acceptance| acceptance.proposal.clone())),
            ("Reviewer", self.acceptance.as_ref().map(|acceptance| acceptance.reviewer.to_string())),
            ("Edited-By", self.edited_by().map(ToString::to_string)),
            ("Verdict", Some(self.verdict.to_string())),
            ("Ruleset", Some(self.ruleset.clone())),
            ("Digest", Some(self.digest.clone())),
            ("Files", Some(self.files.to_string())),
        ];
        pairs.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }

    fn edited_by(&self) -> Option<&Actor> {
        self.acceptance.as_ref()?.edited_by.as_ref()
    }

    pub fn parse(message: &str) -> Result<Self, StorageError> {
        let block = message.trim_end().rsplit("\n\n").next().unwrap_or_default();
        let trailers: Vec<(&str, &str)> = block.lines().filter_map(trailer).collect();
        let value = |key: &str| trailers.iter().find(|(found, _)| *found == key).map(|(_, value)| unescape(value));
        let damaged = |key: &str| StorageError::Damaged(format!("a revision has no readable `Skillhub-{key}` trailer"));
        if value("Format").as_deref() != Some("1") {
            return Err(damaged("Format"));
        }
        let origin = match value("Origin") {
            Some(json) => Some(serde_json::from_str(&json).map_err(|_| damaged("Origin"))?),
            None => None,
        };
        let acceptance = match (value("Proposal"), value("Reviewer")) {
            (Some(proposal), Some(reviewer)) => {
                let edited_by = value("Edited-By").map(|actor| actor.parse().map_err(|_| damaged("Edited-By")));
                let reviewer = reviewer.parse().map_err(|_| damaged("Reviewer"))?;
                Some(Acceptance { proposal, reviewer, edited_by: edited_by.transpose()? })
            }
            _ => None,
        };
        Ok(Self {
            number: value("Number").and_then(|n| n.parse().ok()).ok_or_else(|| damaged("Number"))?,
            action: value("Action").and_then(|a| Action::from_word(&a)).ok_or_else(|| damaged("Action"))?,
            actor: value("Actor").and_then(|a| a.parse().ok()).ok_or_else(|| damaged("Actor"))?,
            reason: value("Reason"),
            run: value("Run"),
            thread: value("Thread"),
            origin,
            verdict: value("Verdict").and_then(|v| v.parse().ok()).ok_or_else(|| damaged("Verdict"))?,
            ruleset: value("Ruleset").ok_or_else(|| damaged("Ruleset"))?,
            digest: value("Digest").ok_or_else(|| damaged("Digest"))?,
            files: value("Files").and_then(|n| n.parse().ok()).ok_or_else(|| damaged("Files"))?,
            absorbed_into: value("Absorbed-Into"),
            acceptance,
        })
    }
}

/// Splits a trailer's line into key and value.
fn trailer(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.strip_prefix("Skillhub-")?.split_once(':')?;
    Some((key, value.strip_prefix(' ')?))
}

/// Converts a text to one short line without control characters.
fn one_line(text: &str) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
    skill::shortened(&words.join(" "), SUBJECT_CHARS)
}

/// Escapes backslashes, line ends and other control characters, so that a value fits on one line.
fn escape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

fn unescape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut rest = value.chars();
    while let Some(c) = rest.next() {
        match (c, if c == '\\' { rest.next() } else { None }) {
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some('r')) => out.push('\r'),
            ('\\', Some('u')) => {
                let hex: String = rest.by_ref().take(4).collect();
                out.extend(u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32));
            }
            ('\\', Some(other)) => out.push(other),
            (c, _) => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{origin::RegistryRelease, revision::ActorKind};

    fn trailers(reason: Option<&str>) -> Trailers {
        Trailers {
            number: 3,
            action: Action::Patch,
            actor: Actor::new(ActorKind::Agent, "claude"),
            reason: reason.map(str::to_owned),
            run: Some("r-1".into()),
            thread: None,
            origin: Some(Origin::Registry(RegistryRelease {
                registry: "/r".into(),
                name: "acme/pdf".parse().unwrap(),
                version: "1.0.0".parse().unwrap(),
                digest: skill::Digest::of_bytes(b""),
            })),
            verdict: Verdict::Warn,
            ruleset: "1".into(),
            digest: "sha256:1".into(),
            files: 2,
            absorbed_into: None,
            acceptance: Some(Acceptance {
                proposal: "k7m3qx".into(),
                reviewer: Actor::new(ActorKind::Person, "ann\\ "),
                edited_by: Some(Actor::new(ActorKind::Person, "ben")),
            }),
        }
    }

    #[test]
    fn trailers_survive_any_reason() {
        for reason in [
            None,
            Some("short"),
            Some("a\n\nSkillhub-Verdict: allow\nSkillhub-Number: 9"),
            Some("\\n \\ \u{7} \r\n"),
            Some(""),
        ] {
            let trailers = trailers(reason);
            assert_eq!(Trailers::parse(&trailers.write(&["SKILL.md".into()])).unwrap(), trailers, "{reason:?}");
        }
    }

    #[test]
    fn first_line_summarises_the_change() {
        assert!(trailers(Some("fix the\nflag")).write(&[]).starts_with("patch: fix the flag\n\n"));
        assert!(trailers(None).write(&["SKILL.md".into(), "a".into()]).starts_with("patch: SKILL.md, a\n\n"));
        assert!(trailers(Some(&"é".repeat(100))).write(&[]).lines().next().unwrap().ends_with('…'));
    }

    #[test]
    fn older_message_format_is_read() {
        let message = "edit: x\n\nSkillhub-Format: 1\nSkillhub-Number: 1\nSkillhub-Action: edit\nSkillhub-Actor: person:ann\n\
            Skillhub-Later-Field: kept\nSkillhub-Verdict: allow\nSkillhub-Ruleset: 1\nSkillhub-Digest: sha256:1\nSkillhub-Files: 1\n";
        assert_eq!(Trailers::parse(message).unwrap().actor.to_string(), "person:ann");
        assert!(Trailers::parse("no trailers").is_err());
    }
}
