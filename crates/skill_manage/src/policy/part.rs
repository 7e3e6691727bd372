//! [`Part`]: one thing that a change touches, as policies tell them apart.

use std::{cell::OnceCell, collections::BTreeSet, fmt};

use library::{Action, Origin};
use scan::{Part as SkillPart, Verdict, capabilities};
use serde::{Deserialize, Serialize};
use skill::{Bundle, Limits, SkillPath, diff::Change, diff::FileChange, frontmatter};

/// Keys of the frontmatter, by letters and digits, from which agents read what a skill may do.
const TOOL_KEYS: [&str; 9] = [
    "allowedtools",
    "disallowedtools",
    "deniedtools",
    "tools",
    "permissions",
    "permissionmode",
    "hooks",
    "mcpservers",
    "sandbox",
];
/// The key of a composed tool.
const SCHEMA_KEY: &str = "toolschema";

/// What kind of thing a change touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Class {
    /// Anything that is none of the others.
    #[serde(rename = "text")]
    Text,
    /// A file in a folder `scripts`, in any case and depth.
    #[serde(rename = "scripts")]
    Scripts,
    /// What the frontmatter says about tools, hooks and permissions.
    #[serde(rename = "allowed-tools")]
    AllowedTools,
    /// The `tool_schema` of the frontmatter.
    #[serde(rename = "tool_schema")]
    ToolSchema,
    /// A file that is or was executable.
    #[serde(rename = "executables")]
    Executables,
    /// A file under `evals/`.
    #[serde(rename = "evals")]
    Evals,
    /// In a rule: all of them.
    #[serde(rename = "any")]
    Any,
}

impl Class {
    /// The word in rules.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Scripts => "scripts",
            Self::AllowedTools => "allowed-tools",
            Self::ToolSchema => "tool_schema",
            Self::Executables => "executables",
            Self::Evals => "evals",
            Self::Any => "any",
        }
    }

    /// Whether what is touched is a script or can be run.
    pub(crate) fn is_script(self) -> bool {
        matches!(self, Self::Scripts | Self::Executables)
    }

    /// Whether what is touched can run or widen rights.
    pub(crate) fn is_delicate(self) -> bool {
        matches!(self, Self::Scripts | Self::AllowedTools | Self::ToolSchema | Self::Executables)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A change as the policy sees it.
#[derive(Debug, Clone)]
pub(crate) struct Proposed<'a> {
    pub skill: &'a str,
    /// What was asked for; of several edits what each is.
    pub actions: &'a [Action],
    pub origin: Option<&'a Origin>,
    pub before: &'a Bundle,
    pub after: &'a Bundle,
    pub files: &'a [FileChange],
    /// The verdict over new findings alone.
    pub verdict: Verdict,
    privilege: OnceCell<Option<String>>,
}

impl<'a> Proposed<'a> {
    /// What is proposed for a skill of which this was, and that would be.
    pub fn new(
        skill: &'a str,
        (actions, origin): (&'a [Action], Option<&'a Origin>),
        (before, after): (&'a Bundle, &'a Bundle),
        files: &'a [FileChange],
        verdict: Verdict,
    ) -> Self {
        Self { skill, actions, origin, before, after, files, verdict, privilege: OnceCell::new() }
    }

    /// A privilege that the scripts have after the change and had not before; it is worked out once.
    pub fn new_privilege(&self) -> Option<&str> {
        let find = || {
            let of_scripts = |bundle: &Bundle| {
                let found = capabilities(bundle).privileges.into_iter().filter(|found| found.part == SkillPart::Script);
                found.map(|found| found.what).collect::<BTreeSet<String>>()
            };
            let after = of_scripts(self.after);
            let before = if after.is_empty() { BTreeSet::new() } else { of_scripts(self.before) };
            after.into_iter().find(|privilege| !before.contains(privilege))
        };
        self.privilege.get_or_init(find).as_deref()
    }

    /// Whether evals change together with what they judge.
    pub fn moves_its_evals(&self) -> bool {
        let (evals, judged): (Vec<_>, Vec<_>) = self.files.iter().partition(|file| is_eval(&file.path));
        !evals.is_empty() && !judged.is_empty() && !self.before.is_empty()
    }
}

/// One class that one changed file belongs to; each is decided about by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    pub class: Class,
    pub path: &'a SkillPath,
    pub removed: bool,
}

/// All that a change touches. A file is in every class that fits it, and in `text` where none does.
pub(crate) fn parts<'a>(change: &Proposed<'a>) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    for file in change.files {
        let removed = file.change == Change::Removed;
        parts.extend(classes(change, &file.path).into_iter().map(|class| Part { class, path: &file.path, removed }));
    }
    parts
}

fn classes(change: &Proposed<'_>, path: &SkillPath) -> Vec<Class> {
    let is_executable = |bundle: &Bundle| bundle.get(path).is_some_and(|file| file.executable);
    let (before, after) = (change.before, change.after);
    let mut classes = Vec::new();
    if is_eval(path) {
        classes.push(Class::Evals);
    }
    if folders(path).any(|folder| folder.eq_ignore_ascii_case("scripts")) {
        classes.push(Class::Scripts);
    }
    if is_executable(before) || is_executable(after) {
        classes.push(Class::Executables);
    }
    if path.is_skill_md() {
        classes.extend(rights(before, after));
        classes.push(Class::Text);
    }
    if classes.is_empty() {
        classes.push(Class::Text);
    }
    classes
}

fn folders(path: &SkillPath) -> impl Iterator<Item = &str> {
    path.as_str().rsplit_once('/').map_or("", |(folders, _)| folders).split('/')
}

fn is_eval(path: &SkillPath) -> bool {
    path.top_folder().is_some_and(|folder| folder.eq_ignore_ascii_case("evals"))
}

/// Which rights the frontmatter states otherwise than before; both where one of the two cannot be read
/// and the text that is meant to be frontmatter differs.
fn rights(before: &Bundle, after: &Bundle) -> Vec<Class> {
    let (before, after) = (before.skill_md().unwrap_or(EMPTY), after.skill_md().unwrap_or(EMPTY));
    let differs = |is_wanted: &dyn Fn(&str) -> bool| {
        let limits = Limits::default();
        match (frontmatter::values_of(before, &limits, is_wanted), frontmatter::values_of(after, &limits, is_wanted)) {
            (Ok(before), Ok(after)) => before != after,
            _ => head(before) != head(after),
        }
    };
    let mut changed = Vec::new();
    if differs(&|key| TOOL_KEYS.contains(&key)) {
        changed.push(Class::AllowedTools);
    }
    if differs(&|key| key == SCHEMA_KEY) {
        changed.push(Class::ToolSchema);
    }
    changed
}

/// A `SKILL.md` that asks for nothing.
const EMPTY: &str = "---\n---\n";

/// The text that a reader could take for frontmatter: all of it where its end cannot be found.
fn head(text: &str) -> &str {
    frontmatter::split(text).map_or(text, |split| split.yaml)
}
