//! Indexes of skills below `/.well-known`, which clients of others read.

use schemars::JsonSchema;
use serde::Serialize;

/// Index for `npx skills add`, in the format Agent Skills Discovery 0.2.0.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ArchiveIndex<'a> {
    /// URL that identifies the format.
    #[serde(rename = "$schema")]
    pub schema: &'static str,
    /// Skills, sorted by name.
    pub skills: Vec<ArchivedSkill<'a>>,
}

/// A skill with its archive.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ArchivedSkill<'a> {
    /// Bare name of the skill.
    pub name: &'a str,
    /// Always `archive`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Description, at most 1024 UTF-16 code units.
    pub description: String,
    /// Newest version.
    pub version: String,
    /// Path of the archive on this server.
    pub url: String,
    /// Hash of the archive, as `sha256:` and hexadecimal digits.
    pub digest: String,
}

/// Index for OpenCode and older versions of `npx skills`, which fetch files one by one.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileIndex<'a> {
    /// Skills, sorted by name.
    pub skills: Vec<ListedFiles<'a>>,
}

/// A skill with its files.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListedFiles<'a> {
    /// Bare name of the skill.
    pub name: &'a str,
    /// Description, at most 1024 UTF-16 code units.
    pub description: String,
    /// Newest version.
    pub version: String,
    /// Paths below the skill's name in the folder of the index.
    pub files: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Index of skills below `/.well-known`.
    #[derive(JsonSchema)]
    #[schemars(untagged)]
    #[expect(dead_code, reason = "has the types of the indexes, for their schema")]
    enum WellKnownIndex<'a> {
        /// `GET /.well-known/agent-skills/index.json`
        Archives(ArchiveIndex<'a>),
        /// `GET /.well-known/skills/index.json`
        Files(FileIndex<'a>),
    }

    #[test]
    fn indexes_have_the_published_schema() {
        testkit::assert_published::<WellKnownIndex<'_>>("well-known");
    }
}
