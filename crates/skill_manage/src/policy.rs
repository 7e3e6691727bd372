//! [`Policy`]: what becomes of a change that the scanner let through.

use std::{fmt, str::FromStr};

use library::{ActorKind, Snapshot};
use scan::Verdict;
use skill::{Bundle, Limits, diff::Change, diff::FileChange, frontmatter};
use thiserror::Error;

/// How much agents may change without a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Policy {
    /// Whatever the scanner lets through.
    Open,
    /// Text at once; what can run or widen rights only when the scanner has nothing to say.
    #[default]
    Balanced,
    /// Nothing.
    Strict,
}

/// The text is no [`Policy`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is no policy; it is one of open, balanced, strict")]
pub struct PolicyError(pub String);

impl FromStr for Policy {
    type Err = PolicyError;
    fn from_str(text: &str) -> Result<Self, PolicyError> {
        match text {
            "open" => Ok(Self::Open),
            "balanced" => Ok(Self::Balanced),
            "strict" => Ok(Self::Strict),
            other => Err(PolicyError(other.to_owned())),
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "open",
            Self::Balanced => "balanced",
            Self::Strict => "strict",
        })
    }
}

/// A change as the policy sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Proposed<'a> {
    pub before: &'a Snapshot,
    pub after: &'a Bundle,
    pub files: &'a [FileChange],
    /// The verdict over new findings alone.
    pub verdict: Verdict,
}

/// What the policy says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    Apply,
    /// A person must look at it first: why.
    Hold(String),
}

impl Policy {
    /// Decides about an edit by a kind of actor. People's changes are applied; so are deletions.
    pub(crate) fn decide(self, actor: ActorKind, change: &Proposed<'_>) -> Decision {
        if actor == ActorKind::Person || change.after.is_empty() {
            return Decision::Apply;
        }
        match self {
            Self::Open => Decision::Apply,
            Self::Balanced => balanced(change),
            Self::Strict => Decision::Hold("the policy `strict` holds every change that an agent makes".to_owned()),
        }
    }
}

fn balanced(change: &Proposed<'_>) -> Decision {
    let (evals, judged): (Vec<_>, Vec<_>) =
        change.files.iter().partition(|file| file.path.top_folder() == Some("evals"));
    if !evals.is_empty() && !judged.is_empty() && change.before.exists() {
        return Decision::Hold("evals change together with what they judge".to_owned());
    }
    if change.verdict < Verdict::Warn {
        return Decision::Apply;
    }
    let delicate = change.files.iter().find(|file| is_delicate(change, file));
    match delicate {
        Some(file) => Decision::Hold(format!("{} can run or widen rights, and the scanner warns of it", file.path)),
        None => Decision::Apply,
    }
}

/// Whether a changed file can run, or the change widens what the skill may do.
fn is_delicate(change: &Proposed<'_>, file: &FileChange) -> bool {
    if file.change == Change::Removed {
        return false;
    }
    let executable = |bundle: &Bundle| bundle.get(&file.path).is_some_and(|file| file.executable);
    file.path.top_folder().is_some_and(|folder| folder.eq_ignore_ascii_case("scripts"))
        || (executable(change.after) && !executable(&change.before.bundle))
        || (file.path.is_skill_md() && rights(&change.before.bundle) != rights(change.after))
}

/// What a skill's frontmatter says about tools: their list, and the text that holds its `tool_schema`.
fn rights(bundle: &Bundle) -> (Option<Vec<String>>, Option<&str>) {
    let Some(text) = bundle.skill_md() else { return (None, None) };
    let Ok(reading) = frontmatter::read(text, &Limits::default()) else { return (None, None) };
    let has_schema = reading.frontmatter.has("tool_schema");
    let schema = frontmatter::split(text).ok().filter(|_| has_schema).map(|split| schema_in(split.yaml));
    (reading.frontmatter.allowed_tools, schema)
}

/// The part of a frontmatter that decides its `tool_schema`: from the key on, or all of it where the
/// key is written another way or an alias could refer to what stands before.
fn schema_in(yaml: &str) -> &str {
    let start = if yaml.starts_with("tool_schema") { Some(0) } else { yaml.find("\ntool_schema") };
    start.and_then(|at| yaml.get(at..)).filter(|rest| !rest.contains('*')).unwrap_or(yaml)
}

#[cfg(test)]
mod tests {
    use skill::{File, SkillPath, diff};

    use super::*;

    fn bundle(files: &[(&str, &str, bool)]) -> Bundle {
        let files = files.iter().map(|(path, text, executable)| {
            (SkillPath::parse(path).unwrap(), File { bytes: text.as_bytes().into(), executable: *executable })
        });
        Bundle::from_files(files, &Limits::default()).unwrap()
    }

    fn decide(policy: Policy, actor: ActorKind, before: &Bundle, after: &Bundle, verdict: Verdict) -> Decision {
        let files = diff::diff(before, after).files;
        let before = Snapshot { base: None, bundle: before.clone() };
        policy.decide(actor, &Proposed { before: &before, after, files: &files, verdict })
    }

    #[test]
    fn text_is_applied_and_what_runs_waits_when_warned_of() {
        let md = "---\nname: a\n---\n";
        let base = bundle(&[("SKILL.md", md, false)]);
        let decide = |after: &Bundle, verdict| decide(Policy::Balanced, ActorKind::Agent, &base, after, verdict);
        let text = bundle(&[("SKILL.md", "---\nname: a\n---\nmore", false)]);
        assert_eq!(decide(&text, Verdict::Warn), Decision::Apply);
        for after in [
            bundle(&[("SKILL.md", md, false), ("scripts/a.sh", "x", false)]),
            bundle(&[("SKILL.md", md, false), ("assets/a", "x", true)]),
            bundle(&[("SKILL.md", "---\nname: a\nallowed-tools: Bash\n---\n", false)]),
            bundle(&[("SKILL.md", "---\nname: a\ntool_schema: {steps: []}\n---\n", false)]),
        ] {
            assert_eq!(decide(&after, Verdict::Allow), Decision::Apply);
            assert!(matches!(decide(&after, Verdict::Warn), Decision::Hold(_)), "{after:?}");
        }
    }

    #[test]
    fn a_tool_schema_cannot_change_unseen() {
        let skill = |fields: &str| bundle(&[("SKILL.md", &format!("---\nname: a\n{fields}---\n"), false)]);
        let waits = |before: &str, after: &str| {
            let (before, after) = (skill(before), skill(after));
            decide(Policy::Balanced, ActorKind::Agent, &before, &after, Verdict::Warn) != Decision::Apply
        };
        assert!(waits("tool_schema: {steps: [a]}\n", "tool_schema: {steps: [b]}\n"));
        assert!(waits("\"tool\\x5fschema\": {steps: [a]}\n", "\"tool\\x5fschema\": {steps: [b]}\n"), "an escaped key");
        assert!(waits("x: &x [a]\ntool_schema: *x\n", "x: &x [b]\ntool_schema: *x\n"), "an alias");
        assert!(!waits("license: MIT\ntool_schema: {steps: [a]}\n", "license: ISC\ntool_schema: {steps: [a]}\n"));
    }

    #[test]
    fn evals_do_not_change_with_what_they_judge() {
        let base = bundle(&[("SKILL.md", "1", false), ("evals/evals.json", "1", false)]);
        let both = bundle(&[("SKILL.md", "2", false), ("evals/evals.json", "2", false)]);
        let one = bundle(&[("SKILL.md", "1", false), ("evals/evals.json", "2", false)]);
        assert!(matches!(decide(Policy::Balanced, ActorKind::Agent, &base, &both, Verdict::Allow), Decision::Hold(_)));
        assert_eq!(decide(Policy::Balanced, ActorKind::Agent, &base, &one, Verdict::Allow), Decision::Apply);
        assert_eq!(
            decide(Policy::Balanced, ActorKind::Agent, &Bundle::default(), &both, Verdict::Allow),
            Decision::Apply
        );
    }

    #[test]
    fn strict_holds_agents_and_open_holds_nobody() {
        let (base, after) =
            (bundle(&[("SKILL.md", "1", false)]), bundle(&[("SKILL.md", "2", false), ("scripts/a", "", true)]));
        assert!(matches!(decide(Policy::Strict, ActorKind::Agent, &base, &after, Verdict::Allow), Decision::Hold(_)));
        assert_eq!(decide(Policy::Strict, ActorKind::Person, &base, &after, Verdict::Warn), Decision::Apply);
        assert_eq!(decide(Policy::Open, ActorKind::Agent, &base, &after, Verdict::Warn), Decision::Apply);
    }
}
