//! [`evidence`]: describes the inputs of a proposed update to the person who decides about it.

use library::{Evidence, EvidenceKind, Library, Origin, Revision, RevisionId};
use skill::{Digest, SkillName, merge::Conflict};

/// Describes the recorded outcomes of a revision. Called only when a person has to decide.
pub type Outcomes<'a> = dyn Fn(&Library, &SkillName, &RevisionId) -> Option<String> + 'a;

/// Maximum number of conflicts listed individually. The proposal's files contain all of them.
const PLACES: usize = 5;
/// Maximum length of one piece of evidence, in characters.
const CHARS: usize = 1000;

/// The three inputs of the merge.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sides<'a> {
    /// Current revision, with the release that it came from.
    pub head: Option<&'a Revision>,
    /// Digest of the current files, including uncommitted hand edits.
    pub ours: Digest,
    /// True if the files of the installed release were available.
    pub has_base: bool,
    /// Release to be merged.
    pub theirs: &'a Origin,
}

/// Describes the inputs of the merge, the outcomes of the current revision, and the conflicts.
pub(super) fn evidence(sides: &Sides<'_>, outcomes: Option<String>, conflicts: &[Conflict]) -> Vec<Evidence> {
    let Sides { head, ours, has_base, theirs } = sides;
    let base = head.and_then(|head| head.origin.as_ref()).map(|origin| match has_base {
        true => format!("installed: {}", with_digest(origin)),
        false => format!("installed: {}, which is no longer available", with_digest(origin)),
    });
    let here = head.map(|head| format!("here: revision {} ({}), {ours}", head.number, head.id.short()));
    let comes = format!("comes: {}", with_digest(theirs));
    let places = conflicts.iter().take(PLACES).map(|conflict| format!("conflict: {conflict}"));
    let more = conflicts.len().checked_sub(PLACES).filter(|more| *more > 0);
    let more = more.map(|more| format!("conflict: {more} more, marked in the files"));
    let all = base.into_iter().chain(here).chain([comes]).chain(outcomes).chain(places).chain(more);
    all.map(|text| Evidence { kind: EvidenceKind::Text, text: tame(&text) }).collect()
}

fn with_digest(origin: &Origin) -> String {
    format!("{}, {}", origin.release(), origin.digest())
}

/// Replaces invisible characters and truncates the text. Names and frontmatter keys are untrusted.
fn tame(text: &str) -> String {
    let is_unseen = |c: char| {
        c.is_control()
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.chars().map(|c| if is_unseen(c) { '\u{fffd}' } else { c }).take(CHARS).collect()
}

#[cfg(test)]
mod tests {
    use library::RegistryRelease;
    use skill::{SkillPath, merge::ConflictKind};

    use super::*;

    fn origin(version: &str) -> Origin {
        Origin::Registry(RegistryRelease {
            registry: "local".to_owned(),
            name: "acme/demo".parse().unwrap(),
            version: version.parse().unwrap(),
            digest: Digest::of_bytes(version.as_bytes()),
        })
    }

    fn conflict(key: &str) -> Conflict {
        let kind = ConflictKind::Key { key: key.to_owned() };
        Conflict { path: SkillPath::skill_md(), kind, lines: None, base: None, ours: None, theirs: None }
    }

    #[test]
    fn excess_conflicts_are_only_counted() {
        let theirs = origin("1.1.0");
        let sides = Sides { head: None, ours: Digest::of_bytes(b"x"), has_base: true, theirs: &theirs };
        let keys: Vec<Conflict> = (0..7).map(|key| conflict(&format!("k{key}\u{202e}\u{1b}"))).collect();
        let found = evidence(&sides, Some("3 runs".to_owned()), &keys);
        let texts: Vec<&str> = found.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts[0], format!("comes: acme/demo 1.1.0, {}", theirs.digest()));
        assert_eq!((texts.len(), texts[1], texts[7]), (8, "3 runs", "conflict: 2 more, marked in the files"));
        assert!(found.iter().all(|one| one.text.parse() == Ok(one.clone())), "{texts:#?}");
        assert_eq!(evidence(&sides, None, &[]).len(), 1);
        assert_eq!(tame(&"x".repeat(5000)).len(), CHARS);
    }
}
