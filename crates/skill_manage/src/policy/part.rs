//! [`Part`]: one part of a change, as distinguished by policies.

use std::{cell::OnceCell, collections::BTreeSet, fmt, sync::Arc};

use library::{Action, Origin};
use scan::{Part as SkillPart, Verdict, capabilities};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Bundle, Frontmatter, SkillPath, diff::Change, diff::FileChange, frontmatter};

/// Frontmatter keys, normalised to letters and digits, from which agents read the rights of a skill.
const TOOL_KEYS: [&str; 9] = [
    "allowedtools", "disallowedtools", "deniedtools", "tools", "permissions", "permissionmode", "hooks", "mcpservers",
    "sandbox",
];
/// Normalised key of a composed tool.
const SCHEMA_KEY: &str = "toolschema";

/// Class of content that a change touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Class {
    /// Content of no other class.
    #[serde(rename = "text")]
    Text,
    /// File in a folder `scripts`, in any case and at any depth.
    #[serde(rename = "scripts")]
    Scripts,
    /// Frontmatter keys on tools, hooks and permissions.
    #[serde(rename = "allowed-tools")]
    AllowedTools,
    /// The `tool_schema` of the frontmatter.
    #[serde(rename = "tool_schema")]
    ToolSchema,
    /// File that is or was executable.
    #[serde(rename = "executables")]
    Executables,
    /// File under `evals/`.
    #[serde(rename = "evals")]
    Evals,
    /// Every class, for use in rules.
    #[serde(rename = "any")]
    Any,
}

impl Class {
    /// Returns the name used in rules.
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

    /// Returns whether the content is a script or executable.
    pub(crate) fn is_script(self) -> bool {
        matches!(self, Self::Scripts | Self::Executables)
    }

    /// Returns whether the content can run or widen rights.
    pub(crate) fn is_delicate(self) -> bool {
        matches!(self, Self::Scripts | Self::AllowedTools | Self::ToolSchema | Self::Executables)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Change as input of the policy.
#[derive(Debug, Clone)]
pub(crate) struct Proposed<'a> {
    pub skill: &'a str,
    /// Requested actions, one for each of several edits.
    pub actions: &'a [Action],
    pub origin: Option<&'a Origin>,
    pub before: &'a Bundle,
    pub after: &'a Bundle,
    pub files: &'a [FileChange],
    /// Verdict on new findings alone.
    pub verdict: Verdict,
    /// Cache of [`Self::new_privilege`].
    pub privilege: OnceCell<Option<String>>,
}

impl Proposed<'_> {
    /// Returns a privilege that the scripts gain by the change. The result is cached.
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

    /// Returns whether the change modifies evals together with the content that they test.
    pub fn moves_its_evals(&self) -> bool {
        let (evals, judged): (Vec<_>, Vec<_>) = self.files.iter().partition(|file| is_eval(&file.path));
        !evals.is_empty() && !judged.is_empty() && !self.before.is_empty()
    }
}

/// One class of one changed file. Each part is decided separately.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    pub class: Class,
    pub path: &'a SkillPath,
    pub removed: bool,
}

/// Returns all parts of a change. A file belongs to every class that matches it, or to `text` if none does.
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

/// Returns the classes of rights in the frontmatter that a change modifies. If one of the two frontmatters cannot be
/// parsed, both classes are returned when their text differs.
fn rights(before: &Bundle, after: &Bundle) -> Vec<Class> {
    let differs = |is_wanted: &dyn Fn(&str) -> bool| match (front(before), front(after)) {
        (Some(before), Some(after)) => before.values_of(is_wanted) != after.values_of(is_wanted),
        _ => head(before) != head(after),
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

/// Returns the frontmatter, which is empty without a `SKILL.md`. `None` if it cannot be read.
fn front(bundle: &Bundle) -> Option<Arc<Frontmatter>> {
    bundle.skill_md().map_or_else(|| Some(Arc::default()), |_| bundle.frontmatter())
}

/// Returns the text that a reader could take for frontmatter, which is the whole file if its end cannot be found.
fn head(bundle: &Bundle) -> &str {
    let text = bundle.skill_md().unwrap_or_default();
    frontmatter::split(text).map_or(text, |split| split.yaml)
}
