//! [`evidence`]: what a proposal of an update was made from, for the person who decides about it.

use library::{Evidence, EvidenceKind, Library, Origin, Revision, RevisionId};
use skill::{Digest, SkillName, merge::Conflict};

/// What is known of how uses of a revision went, in words; asked for only where a person has to decide.
pub type Outcomes<'a> = dyn Fn(&Library, &SkillName, &RevisionId) -> Option<String> + 'a;

/// Places of a conflict that are named one by one; the proposal's files have them all.
const PLACES: usize = 5;
/// Characters of one piece of evidence.
const CHARS: usize = 1000;

/// The three that were to be merged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sides<'a> {
    /// The revision that is here, with the release that it came from.
    pub head: Option<&'a Revision>,
    /// The digest of what is here, an edit by hand included.
    pub ours: Digest,
    /// Whether the files of the installed release were to be had.
    pub has_base: bool,
    /// The release that comes.
    pub theirs: &'a Origin,
}

/// What was merged, how the revision that is here did, and where the sides disagree.
pub(super) fn evidence(sides: &Sides<'_>, outcomes: Option<String>, conflicts: &[Conflict]) -> Vec<Evidence> {
    let Sides { head, ours, has_base, theirs } = sides;
    let base = head.and_then(|head| head.origin.as_ref()).map(|origin| match has_base {
        true => format!("installed: {}", with_digest(origin)),
        false => format!("installed: {}, which is not to be had any more", with_digest(origin)),
    });
    let here = head.map(|head| format!("here: revision {} ({}), {ours}", head.number, head.id.short()));
    let comes = format!("comes: {}", with_digest(theirs));
    let places = conflicts.iter().take(PLACES).map(|conflict| format!("conflict: {conflict}"));
    let more = conflicts.len().checked_sub(PLACES).filter(|more| *more > 0);
    let more = more.map(|more| format!("conflict: {more} more places, marked in the files"));
    let all = base.into_iter().chain(here).chain([comes]).chain(outcomes).chain(places).chain(more);
    all.map(|text| Evidence { kind: EvidenceKind::Text, text: tame(&text) }).collect()
}

fn with_digest(origin: &Origin) -> String {
    format!("{}, {}", origin.release(), origin.digest)
}

/// Without characters that nobody sees, and cut. Keys of a frontmatter and names are a stranger's.
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
    use skill::{SkillPath, merge::ConflictKind};

    use super::*;

    fn origin(version: &str) -> Origin {
        Origin {
            kind: "registry".to_owned(),
            source: "local".to_owned(),
            name: "acme/demo".to_owned(),
            version: Some(version.to_owned()),
            commit: None,
            digest: Digest::of_bytes(version.as_bytes()).to_string(),
        }
    }

    fn conflict(key: &str) -> Conflict {
        let kind = ConflictKind::Key { key: key.to_owned() };
        Conflict { path: SkillPath::skill_md(), kind, lines: None, base: None, ours: None, theirs: None }
    }

    #[test]
    fn it_names_what_comes_and_the_first_places_and_counts_the_rest() {
        let theirs = origin("1.1.0");
        let sides = Sides { head: None, ours: Digest::of_bytes(b"x"), has_base: true, theirs: &theirs };
        let keys: Vec<Conflict> = (0..7).map(|key| conflict(&format!("k{key}\u{202e}\u{1b}"))).collect();
        let found = evidence(&sides, Some("3 runs".to_owned()), &keys);
        let texts: Vec<&str> = found.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts[0], format!("comes: acme/demo 1.1.0, {}", theirs.digest));
        assert_eq!((texts.len(), texts[1], texts[7]), (8, "3 runs", "conflict: 2 more places, marked in the files"));
        assert!(found.iter().all(|one| one.text.parse() == Ok(one.clone())), "{texts:#?}");
        assert_eq!(evidence(&sides, None, &[]).len(), 1);
        assert_eq!(tame(&"x".repeat(5000)).len(), CHARS);
    }
}
