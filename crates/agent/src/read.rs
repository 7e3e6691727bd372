//! [`open`]: the instructions of a skill for an agent, and its other files.

use std::path::{Path, PathBuf};

use library::{Head, Scope};
use serde_json::{Value, json};
use skill::{Limits, SkillName, SkillPath, validate::load};

use crate::{
    catalogue::{Catalogue, folder_of},
    error::AgentError,
    listed_skill::ListedSkill,
    prompt,
    safe_text::{contained, escape},
    settings::Settings,
    tool_policy::Declared,
    visibility::Visibility,
};

/// Largest number of files listed below the instructions.
pub const FILES_LISTED: usize = 50;

/// Largest answer to a model, in bytes. The rest is read by further requests.
pub const OUTPUT_BYTES: usize = 64 << 10;

/// Selector of a skill by name, path or both. If both are given, they must agree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillSelector {
    /// Bare name without the owner. `None` if the skill is selected by path.
    pub name: Option<SkillName>,
    /// Absolute path of its folder or `SKILL.md`.
    pub path: Option<PathBuf>,
}

/// Opened skill with its instructions.
#[derive(Debug, Clone)]
pub struct Instructions {
    /// Name of the skill.
    pub name: SkillName,
    /// Scope that contains the skill.
    pub scope: Scope,
    /// Absolute path of its folder. `None` for a built-in skill.
    pub path: Option<PathBuf>,
    /// Revision: the newest one, the earlier one in its folder, or the one on trial in the run. `None` without a
    /// history and for an unrecorded edit.
    pub head: Option<Head>,
    /// True if it is an unrecorded edit of the folder.
    pub edited: bool,
    /// Digest of its files, `sha256:…`.
    pub digest: String,
    /// Reason why an edit of the folder is held for a person. The content is that of the newest revision then.
    pub held: Option<String>,
    /// Content of `SKILL.md` without the frontmatter.
    pub body: String,
    /// Tolerated deviations from the standard.
    pub warnings: Vec<String>,
    /// Files other than `SKILL.md`.
    pub files: Vec<SkillPath>,
    /// Declaration of tools.
    pub declared: Declared,
    /// True if a person has to give consent before it is used.
    pub asked: bool,
}

/// Content of one file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    /// Path of the file in the skill.
    pub path: SkillPath,
    /// Complete content in bytes.
    pub bytes: Vec<u8>,
    /// Executable bit of the file.
    pub executable: bool,
    /// True if a person has to give consent before the agent reads it.
    pub asked: bool,
}

/// Opens a skill for an agent. A skill that the agent may not see does not exist for it.
///
/// # Errors
/// [`AgentError`], for example for a hidden or invalid skill.
pub fn open(
    catalogue: &Catalogue,
    settings: &Settings,
    agent: &str,
    which: &SkillSelector,
) -> Result<Instructions, AgentError> {
    open_in_run(catalogue, settings, agent, which, None)
}

/// Opens a skill for an agent in a run, which may get a revision on trial.
///
/// # Errors
/// [`AgentError`], as for [`open`].
pub fn open_in_run(
    catalogue: &Catalogue,
    settings: &Settings,
    agent: &str,
    which: &SkillSelector,
    run: Option<&str>,
) -> Result<Instructions, AgentError> {
    let listed = pick(catalogue, settings, agent, which)?;
    let asked = check(catalogue, settings, agent, listed)?;
    let given = catalogue.given(listed, run)?;
    let bundle = given.files;
    let text = bundle.skill_md().unwrap_or_default();
    let loaded = load(text.as_bytes(), listed.name.as_str(), &Limits::default())
        .map_err(|problems| AgentError::Invalid { name: listed.name.clone(), problems })?;
    Ok(Instructions {
        edited: given.edited,
        digest: bundle.digest().to_string(),
        held: given.held,
        name: listed.name.clone(),
        scope: listed.scope,
        path: given.path,
        head: given.head,
        body: loaded.body,
        warnings: listed.warnings.clone(),
        files: bundle.paths().filter(|path| !path.is_skill_md()).cloned().collect(),
        declared: Declared { skill: listed.name.clone(), tools: loaded.frontmatter.allowed_tools.clone() },
        asked,
    })
}

/// Returns the declaration of tools of a skill that an agent has read.
///
/// # Errors
/// The agent may not see the skill.
pub fn declared(
    catalogue: &Catalogue,
    settings: &Settings,
    agent: &str,
    name: &SkillName,
) -> Result<Declared, AgentError> {
    let listed = pick(catalogue, settings, agent, &SkillSelector { name: Some(name.clone()), path: None })?;
    check(catalogue, settings, agent, listed).map(|_| listed.declared())
}

/// Reads one file of a skill for an agent.
///
/// # Errors
/// [`AgentError`], for example for a hidden skill or a missing file.
pub fn read_file(
    catalogue: &Catalogue,
    settings: &Settings,
    agent: &str,
    name: &SkillName,
    path: &str,
) -> Result<FileText, AgentError> {
    read_file_in_run(catalogue, settings, agent, name, path, None)
}

/// Reads one file of a skill for an agent in a run.
///
/// # Errors
/// [`AgentError`], as for [`read_file`].
pub fn read_file_in_run(
    catalogue: &Catalogue,
    settings: &Settings,
    agent: &str,
    name: &SkillName,
    path: &str,
    run: Option<&str>,
) -> Result<FileText, AgentError> {
    let which = SkillSelector { name: Some(name.clone()), path: None };
    let listed = pick(catalogue, settings, agent, &which)?;
    let asked = check(catalogue, settings, agent, listed)?;
    let inside = SkillPath::parse(path.strip_prefix("./").unwrap_or(path))
        .map_err(|error| AgentError::InvalidPath { path: path.to_owned(), why: error.to_string() })?;
    let bundle = catalogue.given(listed, run)?.files;
    match bundle.get(&inside) {
        Some(file) => Ok(FileText { path: inside, bytes: file.bytes.to_vec(), executable: file.executable, asked }),
        None => Err(AgentError::NoFile {
            name: name.clone(),
            path: path.to_owned(),
            files: bundle.paths().cloned().collect(),
        }),
    }
}

/// Finds the selected skill among those that the agent may know of.
fn pick<'a>(
    catalogue: &'a Catalogue,
    settings: &Settings,
    agent: &str,
    which: &SkillSelector,
) -> Result<&'a ListedSkill, AgentError> {
    let is_known =
        |listed: &&ListedSkill| settings.grants_visibility(agent, listed.name.as_str(), listed.qualified().as_deref());
    let in_container = |path: &Path| {
        let (folder, root) = (folder_of(path), settings.container_path.as_deref());
        let is_told =
            |listed: &&ListedSkill| prompt::trees().any(|tree| Path::new(&tree.folder(root, listed)) == folder);
        catalogue.skills.iter().find(is_told)
    };
    let by_path = |path: &Path| {
        let found = catalogue.at(path).or_else(|| in_container(path)).filter(is_known);
        found.ok_or_else(|| AgentError::NoSkillAt(path.to_owned()))
    };
    match (&which.name, &which.path) {
        (None, None) => Err(AgentError::Nothing),
        (None, Some(path)) => by_path(path),
        (Some(name), path) => {
            let missing = || catalogue.missing(name.as_str(), &catalogue.seen(settings, agent));
            let listed = catalogue.find(name).ok().filter(is_known).ok_or_else(missing)?;
            match path {
                Some(path) if by_path(path)?.name != *name => {
                    Err(AgentError::Disagree { name: name.clone(), path: path.clone() })
                }
                _ => Ok(listed),
            }
        }
    }
}

/// Checks that the agent may use the skill. Returns whether a person has to give consent first.
fn check(catalogue: &Catalogue, settings: &Settings, agent: &str, listed: &ListedSkill) -> Result<bool, AgentError> {
    match listed.visibility(settings, agent) {
        Visibility::Seen => Ok(false),
        Visibility::Asked => Ok(true),
        Visibility::Disabled => Err(AgentError::Disabled(listed.name.clone())),
        Visibility::Unusable(fault) => Err(AgentError::Unusable { name: listed.name.clone(), fault }),
        Visibility::Denied | Visibility::NotOnList => {
            Err(catalogue.missing(listed.name.as_str(), &catalogue.seen(settings, agent)))
        }
    }
}

impl Instructions {
    /// Formats the skill as JSON, with its instructions as they are given to the reader.
    pub fn document(&self, content: &str) -> Value {
        let files: Vec<&str> = self.files.iter().map(SkillPath::as_str).collect();
        json!({
            "ok": true, "name": self.name.as_str(), "path": self.path, "content": content, "files": files,
            "revision": self.head.as_ref().map(|head| &head.id), "allowed_tools": self.declared.tools,
            "edited": self.edited, "digest": self.digest, "held": self.held, "warnings": self.warnings,
        })
    }

    /// Formats the instructions for a model: in `<skill_content>`, with the skill's folder and files, and at most
    /// `limit` bytes of instructions.
    pub fn skill_content(&self, limit: usize) -> String {
        let body = contained(&self.body);
        let (shown, rest) = cut(body.trim(), limit);
        let mut text = format!("<skill_content name=\"{}\">\n{shown}\n", escape(self.name.as_str()));
        if rest > 0 {
            text.push_str(&format!(
                "[{} not shown; read SKILL.md for the complete text]\n",
                skill::counted(rest, "more byte")
            ));
        }
        if let Some(why) = &self.held {
            text.push_str(&format!(
                "[an edit of this skill's folder waits for a person's decision: {}]\n",
                escape(why)
            ));
        }
        text.push('\n');
        if let Some(path) = &self.path {
            text.push_str(&format!("Skill directory: {}\n", escape(&path.to_string_lossy())));
            text.push_str("Paths in these instructions are relative to it.\n");
        }
        if !self.files.is_empty() {
            text.push_str("<skill_files>\n");
            for file in self.files.iter().take(FILES_LISTED) {
                text.push_str(&format!("<file>{}</file>\n", escape(file.as_str())));
            }
            if self.files.len() > FILES_LISTED {
                text.push_str(&format!("and {} more\n", self.files.len() - FILES_LISTED));
            }
            text.push_str("</skill_files>\n");
        }
        text + "</skill_content>\n"
    }
}

impl FileText {
    /// Returns up to `limit` bytes of the text from the byte `from` on, and the number of bytes after them. `None` if
    /// the file is not text.
    pub fn text(&self, from: usize, limit: usize) -> Option<(&str, usize)> {
        let text = std::str::from_utf8(&self.bytes).ok()?;
        let from = (from.min(text.len())..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        Some(cut(text.get(from..).unwrap_or_default(), limit))
    }
}

/// Returns up to `limit` bytes from the start of a text, and the number of bytes after them.
fn cut(text: &str, limit: usize) -> (&str, usize) {
    let end = (0..=limit.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    let (shown, rest) = text.split_at(end);
    (shown, rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut("abc", 9), ("abc", 0));
        assert_eq!(cut("aé", 2), ("a", 2));
        let file =
            FileText { path: SkillPath::parse("a.md").unwrap(), bytes: "aéb".into(), executable: false, asked: false };
        assert_eq!(file.text(2, 9), Some(("b", 0)));
        assert_eq!(file.text(1, 2), Some(("é", 1)));
        assert_eq!(FileText { bytes: vec![0xff], ..file }.text(0, 9), None);
    }
}
