//! [`SkillsConfig`]: the table `[skills]`, which locates the skills.

mod deerflow;

use std::path::{Path, PathBuf};

use cap_std::{ambient_authority, fs::Dir};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::paths;

/// Directory layouts of other systems. Each is defined in a module of its own, used only through its entry here.
const LAYOUTS: &[Layout] = &[deerflow::DEERFLOW];

/// Names of the folders in which a system keeps its skills.
struct Layout {
    /// Class name that stands for local folders in the system's own configuration.
    class: &'static str,
    /// Name of the folder of read-only skills.
    public: &'static str,
    /// Name of the folder of editable skills.
    custom: &'static str,
}

impl Layout {
    /// Tests which of the two a folder contains, as (public, custom).
    fn has(&self, folder: &Path) -> (bool, bool) {
        let has = |part| Dir::open_ambient_dir(folder, ambient_authority()).is_ok_and(|dir| dir.is_dir(part));
        (has(self.public), has(self.custom))
    }
}

/// Source of the skills: a folder or a registry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Fields")]
pub struct SkillsConfig {
    storage: SkillsStorage,
    path: Option<String>,
    /// Path of the skills folder as seen in a container.
    pub container_path: Option<String>,
    /// True if a `SKILL.md` in a subfolder of a skill is a skill of its own. Otherwise it is ignored.
    pub inner: bool,
    uploads: Option<String>,
}

/// The kinds of storage for skills.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum SkillsStorage {
    /// Folders on this machine.
    #[default]
    Local,
    /// A registry, whose skills are read-only.
    Registry,
}

/// Source of the skills.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Fields {
    /// `local` for folders, the default, or `registry` for the read-only skills of a registry.
    r#use: Option<String>,
    /// Absolute path of the library's folder, or the registry as `--registry` takes it.
    path: Option<String>,
    /// Absolute path under which agents in a container see the skills.
    container_path: Option<String>,
    /// `own` if a `SKILL.md` in a subfolder of a skill is a skill of its own; `hidden`, the default, to ignore it.
    inner: Option<String>,
    /// Absolute path of the folder for installs over HTTP that name a thread and a path.
    uploads: Option<String>,
}

impl TryFrom<Fields> for SkillsConfig {
    type Error = String;

    fn try_from(fields: Fields) -> Result<Self, String> {
        let storage = match fields.r#use.as_deref() {
            None | Some("local") => SkillsStorage::Local,
            Some("registry") => SkillsStorage::Registry,
            Some(class) if LAYOUTS.iter().any(|layout| layout.class == class) => SkillsStorage::Local,
            Some(other) => return Err(format!("skills.use is {other:?}, but must be \"local\" or \"registry\"")),
        };
        let is_path = |text: &String| text.starts_with('/') || text == "~" || text.starts_with("~/");
        let folder = fields.path.as_ref().filter(|_| storage == SkillsStorage::Local);
        for (key, text) in [("path", folder), ("uploads", fields.uploads.as_ref())] {
            if let Some(text) = text.filter(|text| !is_path(text) && !Path::new(text).is_absolute()) {
                return Err(format!("skills.{key} is {text:?}, but must be an absolute path"));
            }
        }
        if fields.path.as_ref().is_some_and(String::is_empty) {
            return Err("skills.path is empty; remove it to use the default".to_owned());
        }
        if let Some(text) = fields.container_path.as_ref().filter(|text| !text.starts_with('/')) {
            return Err(format!("skills.container_path is {text:?}, but must begin with /"));
        }
        let inner = match fields.inner.as_deref() {
            None | Some("hidden") => false,
            Some("own") => true,
            Some(other) => return Err(format!("skills.inner is {other:?}, but must be \"hidden\" or \"own\"")),
        };
        let Fields { path, container_path, uploads, .. } = fields;
        Ok(Self { storage, path, container_path, inner, uploads })
    }
}

impl SkillsConfig {
    /// Returns the folder with one subfolder for each thread, in which hosts leave archives to install.
    #[must_use]
    pub fn uploads(&self, user_home: &Path) -> Option<PathBuf> {
        self.uploads.as_deref().map(|text| paths::expanded(text, Some(user_home)))
    }

    /// Returns the library's folder, if the configuration sets it: the folder of editable skills where a known layout
    /// is found, otherwise the configured folder itself.
    #[must_use]
    pub fn library(&self, user_home: &Path) -> Option<PathBuf> {
        let folder = self.folder(user_home)?;
        let layout = LAYOUTS.iter().find(|layout| layout.has(&folder) != (false, false));
        Some(layout.map_or_else(|| folder.clone(), |layout| folder.join(layout.custom)))
    }

    /// Returns the folder of read-only skills, if a known layout has one.
    #[must_use]
    pub fn public_folder(&self, user_home: &Path) -> Option<PathBuf> {
        let folder = self.folder(user_home)?;
        LAYOUTS.iter().find(|layout| layout.has(&folder).0).map(|layout| folder.join(layout.public))
    }

    fn folder(&self, user_home: &Path) -> Option<PathBuf> {
        let path = self.path.as_deref().filter(|_| self.storage == SkillsStorage::Local);
        path.map(|text| paths::expanded(text, Some(user_home)))
    }

    /// Returns the registry whose skills are listed as public ones, if the storage is a registry. The inner value is as
    /// `--registry` takes it, or `None` for the default registry.
    #[must_use]
    pub fn registry(&self) -> Option<Option<&str>> {
        (self.storage == SkillsStorage::Registry).then_some(self.path.as_deref())
    }
}

/// Returns the folders of the read-only and of the editable skills in a folder that has both.
#[must_use]
pub fn public_and_custom(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    let layout = LAYOUTS.iter().find(|layout| layout.has(folder) == (true, true))?;
    Some((folder.join(layout.public), folder.join(layout.custom)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SkillsConfig, String> {
        toml::from_str(text).map_err(|error: toml::de::Error| error.message().to_owned())
    }

    // DF1: the storage setting.
    #[test]
    fn storage_is_local_or_registry() {
        let home = Path::new("/home/ann");
        assert_eq!(read("").unwrap(), SkillsConfig::default());
        for local in LAYOUTS.iter().map(|layout| layout.class).chain(["local"]) {
            let config = read(&format!("use = {local:?}\npath = \"~/skills\"")).unwrap();
            assert_eq!((config.library(home), config.registry()), (Some(home.join("skills")), None));
        }
        let config = read("use = \"registry\"\npath = \"git@host:team/skills.git\"").unwrap();
        assert_eq!((config.library(home), config.registry()), (None, Some(Some("git@host:team/skills.git"))));
        assert_eq!(read("use = \"registry\"").unwrap().registry(), Some(None));
        for (text, part) in [
            ("use = \"s3\"", "skills.use"),
            ("use = 1", "string"),
            ("path = \"skills\"", "skills.path"),
            ("path = \"\"", "skills.path"),
            ("container_path = \"mnt\"", "skills.container_path"),
            ("uploads = \"threads\"", "skills.uploads"),
            ("folder = \"x\"", "folder"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
