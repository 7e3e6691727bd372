//! [`open`]: a skill's instructions as an agent reads them, and its other files.

use std::path::{Path, PathBuf};

use library::{Head, Scope};
use skill::{Limits, SkillName, SkillPath, validate::load};

use crate::{
    catalogue::{Catalogue, folder_of},
    error::AgentError,
    listed::Listed,
    prompt,
    safe_text::{contained, escape},
    settings::Settings,
    sight::Sight,
    tool_policy::Declared,
};

/// Files named below the instructions.
pub const FILES_LISTED: usize = 50;

/// Bytes of one answer to a model; the rest is asked for apart.
pub const OUTPUT_BYTES: usize = 64 << 10;

/// What is opened: by its name, by its path, or by both, which then must agree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Which {
    /// The bare name, or `owner/name`.
    pub name: Option<SkillName>,
    /// The absolute path of its folder or of its `SKILL.md`.
    pub path: Option<PathBuf>,
}

/// A skill that was opened.
#[derive(Debug, Clone)]
pub struct Instructions {
    /// Its name.
    pub name: SkillName,
    /// Whose it is.
    pub scope: Scope,
    /// Its folder, absolute; a built-in skill has none.
    pub path: Option<PathBuf>,
    /// Its revision: the newest, the earlier one that its folder is at, or the one that the run was given; `None`
    /// without a history and for an edit that is not recorded.
    pub head: Option<Head>,
    /// Whether it is an edit of the folder that is not recorded.
    pub edited: bool,
    /// The digest of its files, `sha256:…`.
    pub digest: String,
    /// Why an edit of the folder waits for a person; this is the newest revision then.
    pub held: Option<String>,
    /// `SKILL.md` without the frontmatter.
    pub body: String,
    /// Departures from the standard.
    pub warnings: Vec<String>,
    /// Its other files.
    pub files: Vec<SkillPath>,
    /// What it says of tools.
    pub declared: Declared,
    /// Whether a person has to be asked before it is used.
    pub asked: bool,
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    /// Its path.
    pub path: SkillPath,
    /// All its bytes.
    pub bytes: Vec<u8>,
    /// Whether it may be run.
    pub executable: bool,
    /// Whether a person has to be asked before the agent reads it.
    pub asked: bool,
}

/// Opens a skill for an agent. One that the agent may not see is not there.
///
/// # Errors
/// [`AgentError`]
pub fn open(
    catalogue: &Catalogue,
    settings: &Settings,
    agent: &str,
    which: &Which,
) -> Result<Instructions, AgentError> {
    open_in_run(catalogue, settings, agent, which, None)
}

/// Opens a skill for an agent in a run of it, which may have been given a revision that is on trial.
///
/// # Errors
/// [`AgentError`]
pub fn open_in_run(
    catalogue: &Catalogue,
    settings: &Settings,
    agent: &str,
    which: &Which,
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
        declared: Declared { skill: listed.name.clone(), tools: loaded.frontmatter.allowed_tools },
        asked,
    })
}

/// What a skill that an agent has read says of tools.
///
/// # Errors
/// The agent may not see it.
pub fn declared(
    catalogue: &Catalogue,
    settings: &Settings,
    agent: &str,
    name: &SkillName,
) -> Result<Declared, AgentError> {
    let listed = pick(catalogue, settings, agent, &Which { name: Some(name.clone()), path: None })?;
    check(catalogue, settings, agent, listed).map(|_| listed.declared())
}

/// Reads one file of a skill for an agent.
///
/// # Errors
/// [`AgentError`]
pub fn read_file(
    catalogue: &Catalogue,
    settings: &Settings,
    agent: &str,
    name: &SkillName,
    path: &str,
) -> Result<FileText, AgentError> {
    read_file_in_run(catalogue, settings, agent, (name, path), None)
}

/// Reads one file of a skill for an agent in a run of it.
///
/// # Errors
/// [`AgentError`]
pub fn read_file_in_run(
    catalogue: &Catalogue,
    settings: &Settings,
    agent: &str,
    (name, path): (&SkillName, &str),
    run: Option<&str>,
) -> Result<FileText, AgentError> {
    let which = Which { name: Some(name.clone()), path: None };
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

/// The skill that is meant.
fn pick<'a>(
    catalogue: &'a Catalogue,
    settings: &Settings,
    agent: &str,
    which: &Which,
) -> Result<&'a Listed, AgentError> {
    let in_container = |path: &Path| {
        let (folder, root) = (folder_of(path), settings.container_path.as_deref());
        let is_told = |listed: &&Listed| prompt::trees().any(|tree| Path::new(&tree.folder(root, listed)) == folder);
        catalogue.skills.iter().find(is_told)
    };
    let by_path = |path: &Path| {
        catalogue.at(path).or_else(|| in_container(path)).ok_or_else(|| AgentError::NoSkillAt(path.to_owned()))
    };
    match (&which.name, &which.path) {
        (None, None) => Err(AgentError::Nothing),
        (None, Some(path)) => by_path(path),
        (Some(name), path) => {
            let seen = || catalogue.seen(settings, agent);
            let listed = catalogue.find(name).map_err(|_| catalogue.missing(name.as_str(), &seen()))?;
            match path {
                Some(path) if by_path(path)?.name != *name => {
                    Err(AgentError::Disagree { name: name.clone(), path: path.clone() })
                }
                _ => Ok(listed),
            }
        }
    }
}

/// Whether a person has to be asked before the agent uses the skill.
fn check(catalogue: &Catalogue, settings: &Settings, agent: &str, listed: &Listed) -> Result<bool, AgentError> {
    match listed.sight(settings, agent) {
        Sight::Seen => Ok(false),
        Sight::Asked => Ok(true),
        Sight::Disabled => Err(AgentError::Disabled(listed.name.clone())),
        Sight::Unusable(fault) => Err(AgentError::Unusable { name: listed.name.clone(), fault }),
        Sight::Denied | Sight::NotOnList => {
            Err(catalogue.missing(listed.name.as_str(), &catalogue.seen(settings, agent)))
        }
    }
}

impl Instructions {
    /// The instructions as a model gets them: in `<skill_content>`, with the skill's folder and its files,
    /// at most so many bytes of instructions.
    #[must_use]
    pub fn skill_content(&self, limit: usize) -> String {
        let body = contained(&self.body);
        let (shown, rest) = cut(body.trim(), limit);
        let mut text = format!("<skill_content name=\"{}\">\n{shown}\n", escape(self.name.as_str()));
        if rest > 0 {
            text.push_str(&format!(
                "[{} not shown; the whole text is the file SKILL.md]\n",
                skill::counted(rest, "more byte")
            ));
        }
        if let Some(why) = &self.held {
            text.push_str(&format!("[an edit of the folder waits for a person: {}]\n", escape(why)));
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
    /// The text from a byte on, at most so many bytes, and how many follow; `None` when it is no text.
    #[must_use]
    pub fn text(&self, from: usize, limit: usize) -> Option<(&str, usize)> {
        let text = std::str::from_utf8(&self.bytes).ok()?;
        let from = (from.min(text.len())..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        Some(cut(text.get(from..).unwrap_or_default(), limit))
    }
}

/// The beginning of a text, at most so many bytes, and how many bytes follow it.
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
