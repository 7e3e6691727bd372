//! Validation of the frontmatter's fields against the standard.

use unicode_normalization::UnicodeNormalization;

use super::Strictness;
use crate::{Frontmatter, Limits, Needs, Problem, SkillName, frontmatter::FaultKind, problem::Severity};

/// Keys defined by the standard. Strict validation refuses others, as its reference library does.
const KNOWN_KEYS: [&str; 6] = ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];

/// Additional keys that skillhub reads. Only strict validation refuses them.
const OWN_KEYS: [&str; 5] = ["version", "keywords", "tags", "requires", "tool_schema"];

/// Checks every field and returns all problems.
pub(super) fn check(
    fields: &Frontmatter,
    folder: Option<&str>,
    text: &str,
    strictness: Strictness,
    limits: &Limits,
) -> Vec<Problem> {
    let mut check = Check { text, strictness, problems: Vec::new() };
    check.name(fields, folder);
    check.description(fields, limits);
    check.compatibility(fields, limits);
    check.types(fields);
    check.unknown_keys(fields);
    check.unknown_needs(fields);
    check.problems
}

struct Check<'a> {
    text: &'a str,
    strictness: Strictness,
    problems: Vec<Problem>,
}

impl Check<'_> {
    fn push(&mut self, code: &'static str, severity: Severity, key: &str, message: String) {
        let line = line_of_key(self.text, key);
        self.problems.push(Problem::of_skill_md(code, severity, message, line));
    }

    fn error(&mut self, code: &'static str, key: &str, message: String) {
        self.push(code, Severity::Error, key, message);
    }

    fn name(&mut self, fields: &Frontmatter, folder: Option<&str>) {
        let Some(name) = fields.name.as_deref() else {
            if !fields.faults.iter().any(|fault| fault.key == "name") {
                self.error("name_missing", "name", "the frontmatter has no `name`".to_owned());
            }
            return;
        };
        let mut suggested = Some(format!("; a valid name is {:?}", SkillName::suggested(name).as_str()));
        for fault in SkillName::faults(name) {
            let message = format!("{fault}{}", suggested.take().unwrap_or_default());
            self.error("name_invalid", "name", message);
        }
        if let Some(folder) = folder
            && !name.trim().nfkc().eq(folder.nfkc())
        {
            let message = format!("the name {name:?} differs from the folder's name {folder:?}; rename one of them");
            self.error("name_mismatch", "name", message);
        }
    }

    fn description(&mut self, fields: &Frontmatter, limits: &Limits) {
        let key = "description";
        match fields.description.as_deref().map(str::trim) {
            None if fields.faults.iter().any(|fault| fault.key == key) => {}
            None => {
                let message = "the frontmatter has no `description`; describe what the skill does and when to use it";
                self.error("description_missing", key, message.to_owned());
            }
            Some("") => self.error("description_empty", key, "the description is empty".to_owned()),
            Some(description) => self.length("description_too_long", key, description, limits.description_chars),
        }
    }

    fn compatibility(&mut self, fields: &Frontmatter, limits: &Limits) {
        match fields.compatibility.as_deref().map(str::trim) {
            None => {}
            Some("") => {
                self.error("compatibility_empty", "compatibility", "`compatibility` is empty; remove it".to_owned());
            }
            Some(text) => self.length("compatibility_too_long", "compatibility", text, limits.compatibility_chars),
        }
    }

    fn length(&mut self, code: &'static str, key: &str, text: &str, limit: usize) {
        let chars = text.chars().count();
        if chars > limit {
            self.error(code, key, format!("the {key} has {chars} characters, but the limit is {limit}"));
        }
    }

    fn types(&mut self, fields: &Frontmatter) {
        for fault in &fields.faults {
            let message = format!("`{}` must be {}", fault.key, fault.expected);
            match fault.kind {
                FaultKind::Type => self.error("field_type", &fault.key, message),
                FaultKind::Nested => {
                    self.push("metadata_nested", self.strictness.tolerated(), &fault.key, message);
                }
                FaultKind::List if self.strictness == Strictness::Strict => {
                    self.error("metadata_nested", &fault.key, message);
                }
                FaultKind::List => {}
                FaultKind::Requires => {
                    let message = format!("{message}; it was ignored");
                    self.push("requires_type", Severity::Warning, &fault.key, message);
                }
            }
        }
    }

    fn unknown_needs(&mut self, fields: &Frontmatter) {
        let (key, groups) = ("metadata.needs", Needs::GROUPS.join(", "));
        for group in fields.unknown_needs() {
            let message = format!("`{key}` has no group {group:?}; the groups are {groups}");
            self.push("needs_group", Severity::Warning, key, message);
        }
    }

    fn unknown_keys(&mut self, fields: &Frontmatter) {
        let is_own = |key: &str| self.strictness == Strictness::Standard && OWN_KEYS.contains(&key);
        let is_known = |key: &str| KNOWN_KEYS.contains(&key) || is_own(key);
        let unknown: Vec<&String> = fields.keys.iter().filter(|key| !is_known(key)).collect();
        for key in unknown {
            let way_on = match key.as_str() {
                "allowed_tools" | "allowedTools" => "the standard spells it `allowed-tools`".to_owned(),
                _ => format!("the standard has the keys {}; put other data under `metadata`", KNOWN_KEYS.join(", ")),
            };
            self.push("unknown_key", self.strictness.tolerated(), key, format!("unknown key `{key}`: {way_on}"));
        }
    }
}

/// Warns about a valid name that registries refuse, and suggests one.
pub(super) fn unpublishable(fields: &Frontmatter, text: &str) -> Option<Problem> {
    let name = SkillName::parse_standard(fields.name.as_deref()?).ok()?;
    let why = name.unpublishable()?;
    let title = fields.title().unwrap_or_else(|| name.to_string());
    let message = format!(
        "registries refuse the name {name:?}: {why}; name the skill and its \
         folder {:?} and keep {title:?} as `title` under `metadata`",
        SkillName::suggested(&title).as_str(),
        name = name.as_str(),
    );
    Some(Problem::of_skill_md("name_not_publishable", Severity::Warning, message, line_of_key(text, "name")))
}

/// Returns the line, from 1, of a key of the frontmatter, or of `metadata` (`metadata.KEY`). Line 1 if it is absent.
fn line_of_key(text: &str, key: &str) -> Option<usize> {
    let inner = key.strip_prefix("metadata.");
    let is_key = |line: &str| {
        let line = if inner.is_some() { line.trim_start() } else { line };
        let line = line.trim_start_matches(['"', '\'']);
        let rest = line.strip_prefix(inner.unwrap_or(key));
        rest.is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
    };
    let lines = text.lines().enumerate().skip(1).take_while(|(_, line)| *line != "---");
    Some(lines.into_iter().find(|(_, line)| is_key(line)).map_or(1, |(number, _)| number + 1))
}
