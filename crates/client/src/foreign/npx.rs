//! [`of_project`] and [`of_user`]: parsers for the two lock files of `npx skills`.

use std::{collections::BTreeMap, path::Path};

use library::Origin;
use serde::Deserialize;

use super::{ForeignEntry, ForeignError, ForeignSource, Recorded, parse};
use crate::spec::{GitSpec, SpecError};

/// Name of the lock file in a project's root.
pub const OF_PROJECT: &str = "skills-lock.json";
/// Name of the lock file of a user, next to the folder of skills.
pub const OF_USER: &str = ".skill-lock.json";

#[derive(Deserialize)]
struct File {
    skills: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    source: String,
    source_type: String,
    source_url: Option<String>,
    #[serde(rename = "ref")]
    reference: Option<String>,
    skill_path: Option<String>,
    version: Option<String>,
    /// Hash over paths and contents, in a project's file.
    computed_hash: Option<String>,
    /// Hash in a user's file: the id of a git tree, or a hash over paths and contents.
    skill_folder_hash: Option<String>,
}

/// Parses a project's lock file.
pub(super) fn of_project(path: &Path, root: &Path, text: &str) -> Result<Vec<ForeignEntry>, ForeignError> {
    entries(path, root, parse(path, text, 1..=1, "1")?)
}

/// Parses a user's lock file. Versions 1 and 2 have fewer fields; npx skills itself discards files of these versions.
pub(super) fn of_user(path: &Path, root: &Path, text: &str) -> Result<Vec<ForeignEntry>, ForeignError> {
    entries(path, root, parse(path, text, 1..=3, "1 to 3")?)
}

fn entries(path: &Path, root: &Path, file: File) -> Result<Vec<ForeignEntry>, ForeignError> {
    let of_one = |(key, entry): (String, Entry)| {
        let source = entry.place(root);
        let source = source.map_err(|source| ForeignError::Source { path: path.to_owned(), key: key.clone(), source });
        let hash = entry.computed_hash.or(entry.skill_folder_hash);
        Ok(ForeignEntry {
            folder: folder_of(&key),
            source: source?,
            recorded: Recorded::of_npx(hash.as_deref().unwrap_or_default()),
            version: entry.version,
            notes: Vec::new(),
            key,
        })
    };
    file.skills.into_iter().map(of_one).collect()
}

impl Entry {
    fn place(&self, root: &Path) -> Result<ForeignSource, SpecError> {
        let url = match self.source_type.as_str() {
            "github" => format!("github:{}", self.source.trim_start_matches("github:")),
            "gitlab" | "git" => self.source_url.clone().unwrap_or_else(|| self.source.clone()),
            "local" => return Ok(ForeignSource::Folder(root.join(&self.source))),
            // In an origin, these words mean other kinds of sources.
            Origin::REGISTRY | Origin::FOLDER | Origin::ARCHIVE => {
                return Ok(ForeignSource::Other { kind: "other".to_owned(), place: self.source.clone() });
            }
            kind => return Ok(ForeignSource::Other { kind: kind.to_owned(), place: self.source.clone() }),
        };
        // For GitHub over ssh, `source` is a full URL and is used unchanged.
        let is_url = self.source.contains("://") || self.source.contains('@');
        let text = if self.source_type == "github" && is_url { &self.source } else { &url };
        let repository: GitSpec = text.parse()?;
        let meant = GitSpec { path: self.folder_in_repository()?, reference: self.reference(), ..repository };
        let whole = meant.to_string();
        match whole.parse::<GitSpec>()? == meant {
            true => Ok(ForeignSource::Git(Box::new(meant))),
            false => Err(SpecError::BadUrl(whole)),
        }
    }

    fn reference(&self) -> Option<String> {
        self.reference.clone().filter(|reference| !reference.is_empty())
    }

    fn folder_in_repository(&self) -> Result<Option<skill::SkillPath>, skill::PathError> {
        let path = self.skill_path.as_deref().unwrap_or_default().replace('\\', "/");
        let folder = path.strip_suffix("SKILL.md").unwrap_or(&path).trim_matches('/');
        let folder = folder.strip_prefix("./").unwrap_or(folder);
        if folder.is_empty() || folder == "." { Ok(None) } else { folder.parse().map(Some) }
    }
}

/// Returns the name of the folder in which npx skills installs the skill with this key.
fn folder_of(key: &str) -> String {
    let mut folder = String::new();
    for c in key.to_lowercase().chars() {
        match c {
            'a'..='z' | '0'..='9' | '.' | '_' => folder.push(c),
            _ if folder.ends_with('-') => {}
            _ => folder.push('-'),
        }
    }
    folder.trim_matches(['.', '-']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(entry: &str) -> Result<ForeignEntry, ForeignError> {
        let text = format!("{{\"version\":1,\"skills\":{{\"PDF Forms\":{entry}}}}}");
        of_project(Path::new("/p/skills-lock.json"), Path::new("/p"), &text).map(|mut all| all.remove(0))
    }

    fn place(entry: &str) -> String {
        one(entry).unwrap().source.describe()
    }

    #[test]
    fn sources_resolve_as_in_npx() {
        let github = r#"{"source":"o/r","sourceType":"github","skillPath":"skills/pdf/SKILL.md","computedHash":"x"}"#;
        assert_eq!(place(github), "github:o/r#skills/pdf");
        let of_ref = r#"{"source":"o/r","sourceType":"github","ref":"feature/x","skillPath":"SKILL.md"}"#;
        assert_eq!(place(of_ref), "github:o/r@feature/x");
        let ssh = r#"{"source":"git@github.com:o/r.git","sourceType":"github"}"#;
        assert_eq!(place(ssh), "git@github.com:o/r.git");
        let gitlab = r#"{"source":"g/s/r","sourceUrl":"https://gitlab.com/g/s/r.git","sourceType":"gitlab"}"#;
        assert_eq!(place(gitlab), "https://gitlab.com/g/s/r.git");
        let git = r#"{"source":"https://example.org/r","sourceType":"git","ref":"v1"}"#;
        assert_eq!(place(git), "https://example.org/r#@v1");
        assert_eq!(place(r#"{"source":"./mine","sourceType":"local"}"#), "/p/./mine");
        assert_eq!(place(r#"{"source":"left-pad","sourceType":"node_modules"}"#), "left-pad");
        assert_eq!(one(github).unwrap().folder, "pdf-forms");
    }

    /// git would take them for commands, they lead out of the repository, or they hold a password.
    #[test]
    fn hostile_sources_are_refused() {
        for hostile in [
            r#"{"source":"ext::sh -c x","sourceType":"git"}"#,
            r#"{"source":"--upload-pack=x","sourceType":"git"}"#,
            r#"{"source":"../r","sourceType":"github"}"#,
            r#"{"source":"o/r","sourceType":"github","ref":"--x"}"#,
            r#"{"source":"o/r","sourceType":"github","skillPath":"../../x/SKILL.md"}"#,
            r#"{"source":"https://u:secret@example.org/r","sourceType":"git"}"#,
        ] {
            let error = one(hostile).unwrap_err();
            assert!(matches!(error, ForeignError::Source { .. }), "{hostile}: {error}");
            assert!(!error.to_string().contains("secret"));
        }
    }

    #[test]
    fn unsupported_lock_files_are_refused() {
        let read = |text: &str| of_user(Path::new("/l"), Path::new("/"), text).unwrap_err();
        assert!(matches!(read(r#"{"version":4,"skills":{}}"#), ForeignError::Version { .. }));
        for bad in ["", "{", "[]", "{\"skills\":{}}", r#"{"version":3}"#, r#"{"version":3,"skills":{"a":{}}}"#] {
            assert!(matches!(read(bad), ForeignError::Damaged { .. }), "{bad}");
        }
        let deep = format!("{{\"version\":3,\"skills\":{}", "[".repeat(100_000));
        assert!(matches!(read(&deep), ForeignError::Damaged { .. }));
    }
}
