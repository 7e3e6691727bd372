//! [`manifest`] and [`plugin`]: skills as a marketplace of plugins, in the format of Claude Code.
//!
//! Each skill is one plugin, because people install and update plugins. A plugin's files outside its `skills` folder can
//! start programs (`hooks`, `.mcp.json`). So a skill is never the root of its plugin, but its folder `skills/NAME`.

mod export;

use registry_index::Entry;
use serde_json::{Value, json};
use skill::{Bundle, BundleError, Limits, Owner, PathError, QualifiedName, SkillName, SkillPath};
use thiserror::Error;

pub use export::{ExportedMarketplace, MarketplaceError, MarketplaceRequest, SkippedSkill, export_marketplace};

/// Schema URL that identifies the format.
const SCHEMA: &str = "https://anthropic.com/claude-code/marketplace.schema.json";

/// Separator of owner and name in a plugin's name. It does not occur in names.
const BETWEEN: &str = "--";

/// Returns the manifest of a marketplace. `name` must consist of lowercase letters, digits and hyphens.
pub fn manifest(name: &str, owner: &str, plugins: Vec<Value>) -> Value {
    json!({
        "$schema": SCHEMA, "name": name, "description": format!("Agent Skills of {owner}, from skillhub"),
        "owner": {"name": owner}, "plugins": plugins,
    })
}

/// Returns the manifest's entry for a release, which is in the folder `skills/NAME` of the plugin at `source`.
///
/// In a marketplace for `only` one owner, a plugin has the skill's name; otherwise it is `owner--name`.
pub fn plugin(entry: &Entry, only: Option<&Owner>, source: &Value) -> Value {
    let QualifiedName { owner, name } = &entry.name;
    let mut plugin = json!({
        "name": if only.is_some() { name.to_string() } else { format!("{owner}{BETWEEN}{name}") },
        "description": entry.description, "version": entry.version, "author": {"name": owner.as_str()},
        "keywords": entry.keywords, "source": source, "strict": false, "skills": [format!("./skills/{name}")],
    });
    if let Some(license) = &entry.license {
        plugin["license"] = json!(license);
    }
    plugin
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
