//! [`entries`]: parser for the lock file of ClawHub.

use std::{collections::BTreeMap, path::Path};

use serde::Deserialize;

use super::{ForeignEntry, ForeignError, ForeignSource, Recorded, parse};
use crate::spec::{GitSpec, SpecError};

/// Folders that may contain the lock file; the last is the tool's former name.
pub const FOLDERS: [&str; 2] = [".clawhub", ".clawdhub"];
/// Registry of skills without another source.
const REGISTRY: &str = "https://clawhub.ai";

#[derive(Deserialize)]
struct File {
    skills: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    version: Option<String>,
    owner_handle: Option<String>,
    source_kind: Option<String>,
    source_repository: Option<String>,
    source_path: Option<String>,
    pinned: Option<bool>,
}

/// Parses the file's entries.
pub(super) fn entries(path: &Path, text: &str) -> Result<Vec<ForeignEntry>, ForeignError> {
    let file: File = parse(path, text, 1..=1, "1")?;
    let of_one = |(key, entry): (String, Entry)| {
        let slug = key.rsplit('/').next().unwrap_or(&key).to_owned();
        let source = entry.place(&key, &slug);
        let source = source.map_err(|source| ForeignError::Source { path: path.to_owned(), key: key.clone(), source });
        let pinned = entry.pinned == Some(true);
        let note = || format!("ClawHub had it pinned; to pin it here, run: skillhub pin {slug}");
        Ok(ForeignEntry {
            source: source?,
            recorded: Recorded::None,
            version: entry.version.filter(|version| !version.is_empty()),
            notes: pinned.then(note).into_iter().collect(),
            folder: slug,
            key,
        })
    };
    file.skills.into_iter().map(of_one).collect()
}

impl Entry {
    fn place(&self, key: &str, slug: &str) -> Result<ForeignSource, SpecError> {
        let is_catalogued = self.source_kind.as_deref() == Some("skills-sh");
        if let Some(repository) = self.source_repository.as_deref().filter(|_| is_catalogued) {
            let path = self.source_path.as_deref().unwrap_or_default();
            let folder = path.trim_end_matches("SKILL.md").trim_matches('/');
            let path = if folder.is_empty() { None } else { Some(folder.parse()?) };
            let git: GitSpec = format!("github:{repository}").parse()?;
            return Ok(ForeignSource::Git(Box::new(GitSpec { path, ..git })));
        }
        let owner = self.owner_handle.as_deref().map(|owner| owner.trim_start_matches('@'));
        let of_key = key.split_once('/').map(|(owner, _)| owner.trim_start_matches('@'));
        let place = match owner.or(of_key) {
            Some(owner) => format!("{REGISTRY}/{owner}/{slug}"),
            None => format!("{REGISTRY}/{slug}"),
        };
        Ok(ForeignSource::Other { kind: "clawhub".to_owned(), place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_versions_and_repositories_are_read() {
        let text = r#"{"version":1,"skills":{
            "@acme/pdf":{"version":"1.2.0","installedAt":1},
            "notes":{"version":null,"installedAt":1,"ownerHandle":"zoe","pinned":true},
            "tidy":{"version":"x","installedAt":1,"sourceKind":"skills-sh","sourceRepository":"o/r",
                    "sourcePath":"skills/tidy"}}}"#;
        let all = entries(Path::new("/w/.clawhub/lock.json"), text).unwrap();
        let places: Vec<String> = all.iter().map(|entry| entry.source.describe()).collect();
        assert_eq!(places, ["https://clawhub.ai/acme/pdf", "https://clawhub.ai/zoe/notes", "github:o/r#skills/tidy"]);
        let folders: Vec<&str> = all.iter().map(|entry| entry.folder.as_str()).collect();
        assert_eq!(folders, ["pdf", "notes", "tidy"]);
        assert_eq!((all[0].version.as_deref(), all[1].notes.len()), (Some("1.2.0"), 1));
    }
}
