//! [`Marketplace`] and [`Plugin`]: skills as a marketplace of plugins, in the format of Claude Code.
//!
//! Each skill is one plugin, because people install and update plugins. A plugin's files outside its `skills` folder can
//! start programs (`hooks`, `.mcp.json`). So a skill is never the root of its plugin, but its folder `skills/NAME`.

mod export;

use registry_index::Entry;
use schemars::JsonSchema;
use serde::Serialize;
use skill::{Bundle, BundleError, Limits, Owner, PathError, QualifiedName, SkillName, SkillPath};
use thiserror::Error;

pub use export::{ExportedMarketplace, MarketplaceError, MarketplaceRequest, SkippedSkill, export_marketplace};

/// Schema URL that identifies the format.
const SCHEMA: &str = "https://anthropic.com/claude-code/marketplace.schema.json";

/// Separator of owner and name in a plugin's name. It does not occur in names.
const BETWEEN: &str = "--";

/// Manifest of a marketplace.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Marketplace<'a> {
    /// URL that identifies the format.
    #[serde(rename = "$schema")]
    schema: &'static str,
    /// Name of the marketplace: lowercase letters, digits and hyphens.
    name: &'a str,
    /// One sentence for people.
    description: String,
    /// Owner of the skills, or the server.
    owner: Party<'a>,
    /// One plugin for each skill.
    plugins: Vec<Plugin<'a>>,
}

/// Owner of a marketplace, or author of a plugin.
#[derive(Debug, Serialize, JsonSchema)]
struct Party<'a> {
    /// Name.
    name: &'a str,
}

/// A release as a plugin of a marketplace.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Plugin<'a> {
    /// Name of the skill, in a marketplace of several owners `owner--name`.
    name: String,
    /// Description of the skill.
    description: &'a str,
    /// Version of the release.
    version: String,
    /// Owner of the skill.
    author: Party<'a>,
    /// Words under which the skill is found.
    keywords: &'a [String],
    /// Location of the plugin.
    source: PluginSource,
    /// Always `false`: the plugin has no manifest of its own.
    strict: bool,
    /// The folder of the skill in the plugin.
    skills: [String; 1],
    /// License of the skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    license: Option<&'a str>,
}

/// Location of a plugin's files.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PluginSource {
    /// Folder in the marketplace.
    Folder(String),
    /// Archive on a server.
    Archive {
        /// Always `archive`.
        source: &'static str,
        /// Address of the archive.
        url: String,
        /// Hash of the archive, in hexadecimal.
        sha256: String,
    },
}

impl<'a> Marketplace<'a> {
    /// Creates a marketplace. `name` must consist of lowercase letters, digits and hyphens.
    pub fn new(name: &'a str, owner: &'a str, plugins: Vec<Plugin<'a>>) -> Self {
        let description = format!("Agent Skills of {owner}, from skillhub");
        Self { schema: SCHEMA, name, description, owner: Party { name: owner }, plugins }
    }
}

impl<'a> Plugin<'a> {
    /// Creates the plugin of a release, which is in the folder `skills/NAME` of the plugin at `source`.
    ///
    /// In a marketplace for `only` one owner, a plugin has the skill's name; otherwise it is `owner--name`.
    pub fn of(entry: &'a Entry, only: Option<&Owner>, source: PluginSource) -> Self {
        let QualifiedName { owner, name } = &entry.name;
        Self {
            name: if only.is_some() { name.to_string() } else { format!("{owner}{BETWEEN}{name}") },
            description: &entry.description,
            version: entry.version.to_string(),
            author: Party { name: owner.as_str() },
            keywords: &entry.keywords,
            source,
            strict: false,
            skills: [format!("./skills/{name}")],
            license: entry.license.as_deref(),
        }
    }
}

/// Reasons why the files of a skill cannot be those of a plugin.
#[derive(Debug, Error)]
pub enum PluginError {
    /// A path is too long below the plugin's folder.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The files are too many or too large.
    #[error(transparent)]
    Bundle(#[from] BundleError),
}

/// Returns the files of a plugin: those of the skill in the folder `skills/NAME`.
///
/// # Errors
/// [`PluginError`]
pub fn plugin_files(name: &SkillName, skill: &Bundle) -> Result<Bundle, PluginError> {
    let below = |path: &SkillPath| SkillPath::parse(&format!("skills/{name}/{path}"));
    let files = skill.files().map(|(path, file)| Ok((below(path)?, file.clone())));
    Ok(Bundle::from_files(files.collect::<Result<Vec<_>, PathError>>()?, &Limits::default())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marketplace_has_the_published_schema() {
        testkit::assert_published::<Marketplace<'_>>("marketplace");
    }
}
