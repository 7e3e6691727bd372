//! [`LockedSkill`] as text: the format of an entry in the file.

use std::{ffi::OsStr, fmt::Display, path::Path};

use library::{Origin, OriginFields};
use skill::{Digest, SkillName};
use toml::{Table, Value};

use super::{LockedSkill, LockedWaiver};
use crate::foreign::Recorded;

/// Start of a path below the file's folder.
const BELOW: &str = "./";

impl LockedSkill {
    /// Reads a `[[skill]]` table.
    pub(super) fn of(value: Value) -> Result<Self, String> {
        let Value::Table(mut raw) = value else { return Err("it is not a table".to_owned()) };
        let fields = OriginFields {
            name: text(&mut raw, "name")?.ok_or("it has no `name`")?,
            version: text(&mut raw, "version")?,
            kind: text(&mut raw, "kind")?.ok_or("it has no `kind`")?,
            source: text(&mut raw, "source")?.unwrap_or_default(),
            commit: text(&mut raw, "commit")?,
            digest: text(&mut raw, "digest")?.ok_or("it has no `digest`")?,
        };
        if !fields.digest.starts_with("sha256:") && !Recorded::is_placeholder(&fields.digest) {
            return Err(format!("`digest`: {:?} is not a digest, nor a hash of a known tool", fields.digest));
        }
        raw.contains_key("archive").then_some(()).ok_or("it has no `archive`")?;
        let alias = text(&mut raw, "as")?.map(|name| SkillName::parse(&name)).transpose();
        let mut skill = Self {
            origin: Origin::try_from(fields).map_err(|error| error.to_string())?,
            alias: alias.map_err(|error| format!("`as`: {error}"))?,
            requested: text(&mut raw, "requested")?.unwrap_or_default(),
            local: matches!(raw.remove("local"), Some(Value::Boolean(true))),
            signer: text(&mut raw, "signer")?,
            archive: digest(&mut raw, "archive")?,
            content: digest(&mut raw, "content")?,
            agents: texts(raw.remove("agents")),
            ruleset: text(&mut raw, "ruleset")?.unwrap_or_default(),
            requires: texts(raw.remove("requires")),
            dependency: matches!(raw.remove("dependency"), Some(Value::Boolean(true))),
            capabilities: texts(raw.remove("capabilities")),
            waivers: LockedWaiver::read(raw.remove("waivers"))?,
            raw: Table::new(),
        };
        skill.raw = raw;
        Ok(skill)
    }

    /// Returns the entry with the absolute path of a folder or archive that the file has relative to its own folder.
    pub(super) fn with_absolute_source(self, project: &Path) -> Self {
        let absolute = |text: &str| Some(project.join(text.strip_prefix(BELOW)?).display().to_string());
        self.with_source(absolute)
    }

    /// Returns the entry with a path relative to the file's folder if the folder or archive is below it, so that every
    /// clone of a project finds it.
    pub(super) fn with_relative_source(self, project: &Path) -> Self {
        let relative = |text: &str| {
            let below = Path::new(text).strip_prefix(project).ok()?;
            if !project.is_absolute() || below.as_os_str().is_empty() {
                return None;
            }
            let parts: Vec<&str> = below.iter().map(OsStr::to_str).collect::<Option<_>>()?;
            Some(format!("{BELOW}{}", parts.join("/")))
        };
        self.with_source(relative)
    }

    fn with_source(mut self, change: impl Fn(&str) -> Option<String>) -> Self {
        if let Origin::Folder { path: place, .. } | Origin::Archive { place, .. } = &mut self.origin {
            for text in [place, &mut self.requested] {
                if let Some(changed) = change(text) {
                    *text = changed;
                }
            }
        }
        self
    }

    /// Formats the entry as a `[[skill]]` table.
    pub(super) fn table_text(&self) -> String {
        format!("[[skill]]\n{}{}{}", self.field_lines(), self.capability_lines(), self.raw_lines())
    }

    fn field_lines(&self) -> String {
        let mut lines = String::new();
        let mut line = |key: &str, value: Value| lines.push_str(&line_of(key, value));
        let digest = |digest: Option<Digest>| digest.map(|digest| digest.to_string()).unwrap_or_default().into();
        let OriginFields { kind, source, name, version, commit, digest: of_release } = self.origin.clone().into();
        line("name", name.into());
        if let Some(alias) = &self.alias {
            line("as", alias.as_str().into());
        }
        line("requested", self.requested.as_str().into());
        for (key, value) in [("version", version), ("commit", commit), ("signer", self.signer.clone())] {
            if let Some(value) = value {
                line(key, value.into());
            }
        }
        line("kind", kind.into());
        line("source", source.into());
        if self.local {
            line("local", true.into());
        }
        line("archive", digest(self.archive));
        line("digest", of_release.into());
        line("content", digest(self.content));
        line("agents", Value::Array(self.agents.iter().map(|agent| agent.as_str().into()).collect()));
        line("ruleset", self.ruleset.as_str().into());
        if !self.requires.is_empty() {
            line("requires", Value::Array(self.requires.iter().map(|text| text.as_str().into()).collect()));
        }
        if self.dependency {
            line("dependency", true.into());
        }
        if !self.waivers.is_empty() {
            line("waivers", LockedWaiver::write(&self.waivers));
        }
        lines
    }

    /// Formats one capability on each line, so that a diff shows new ones.
    fn capability_lines(&self) -> String {
        let lines: String = self.capabilities.iter().map(|one| format!("  {},\n", Value::from(one.as_str()))).collect();
        if lines.is_empty() { lines } else { line_of("capabilities", format!("[\n{lines}]")) }
    }

    /// Formats the fields of later versions.
    fn raw_lines(&self) -> String {
        let mut table = Table::new();
        let mut lines = String::new();
        for (key, value) in &self.raw {
            match value {
                Value::Table(_) => drop(table.insert(key.clone(), value.clone())),
                plain => lines.push_str(&line_of(&Value::from(key.as_str()).to_string(), plain)),
            }
        }
        if !table.is_empty() {
            let nested = Value::Array(vec![Value::Table(table)]);
            let whole = Table::from_iter([("skill".to_owned(), nested)]).to_string();
            lines.push_str(whole.trim_start_matches("[[skill]]\n").trim_start());
        }
        lines
    }
}

fn line_of(key: &str, value: impl Display) -> String {
    format!("{key} = {value}\n")
}

/// Reads a digest; `None` if it is missing or empty.
fn digest(table: &mut Table, key: &str) -> Result<Option<Digest>, String> {
    let text = text(table, key)?.filter(|text| !text.is_empty());
    text.map(|text| text.parse()).transpose().map_err(|error: skill::DigestError| format!("`{key}`: {error}"))
}

fn text(table: &mut Table, key: &str) -> Result<Option<String>, String> {
    match table.remove(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{key}` is not a string")),
    }
}

fn texts(value: Option<Value>) -> Vec<String> {
    let Some(Value::Array(values)) = value else { return Vec::new() };
    values.into_iter().filter_map(|value| value.as_str().map(str::to_owned)).collect()
}
