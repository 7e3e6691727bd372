//! [`PluginManifest`]: the manifest in which a repository lists its plugins, whose skills it offers.
//!
//! A manifest arrives with its repository and is not trusted: it is bounded, its paths stay inside the repository, and
//! other repositories that it names are fetched only when a person chooses one, over https.

use serde::Deserialize;
use serde_json::Value;
use skill::{Limits, SkillPath};

use crate::spec::GitSpec;

/// Path of the manifest below the root of a source.
pub(crate) const MANIFEST: &str = ".claude-plugin/marketplace.json";

/// Maximum size of a manifest in bytes.
pub(crate) const MOST_BYTES: u64 = 2 << 20;

/// Maximum number of plugins that are read from a manifest.
pub(crate) const MOST_PLUGINS: usize = 2000;

/// Maximum number of skills that are read from one plugin.
const MOST_SKILLS: usize = 2000;

/// The plugins of a manifest that could be read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PluginManifest {
    pub plugins: Vec<Plugin>,
    /// Parts of the manifest that were ignored, one sentence each.
    pub warnings: Vec<String>,
}

/// A plugin of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plugin {
    pub name: String,
    pub description: String,
    pub source: PluginSource,
}

/// Location of a plugin's skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PluginSource {
    /// A folder of the same source, empty for its root, and the folders that the plugin lists as its skills.
    Here { folder: String, skills: Vec<String> },
    /// Another repository.
    Foreign(GitSpec),
}

#[derive(Deserialize)]
struct ManifestDocument {
    #[serde(default)]
    metadata: Value,
    plugins: Vec<Value>,
}

#[derive(Deserialize)]
struct PluginDocument {
    name: String,
    #[serde(default)]
    description: Value,
    #[serde(default)]
    source: Value,
    #[serde(default)]
    skills: Value,
}

/// Fields of a plugin's source in another repository.
#[derive(Deserialize)]
struct ForeignDocument {
    source: String,
    repo: Option<String>,
    url: Option<String>,
    path: Option<String>,
    #[serde(rename = "ref")]
    reference: Option<String>,
    sha: Option<String>,
}

impl PluginManifest {
    /// Parses a manifest. Whatever cannot be read becomes a warning.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut manifest = Self::default();
        let document: ManifestDocument = match serde_json::from_slice(bytes) {
            Ok(document) => document,
            Err(error) => {
                manifest.warnings.push(format!("{MANIFEST} was ignored: {error}"));
                return manifest;
            }
        };
        let root = match document.metadata.get("pluginRoot") {
            None | Some(Value::Null) => Some(String::new()),
            Some(root) => root.as_str().and_then(|root| joined("", root)),
        };
        let Some(root) = root else {
            manifest
                .warnings
                .push(format!("{MANIFEST} was ignored: its pluginRoot is not a folder inside the repository"));
            return manifest;
        };
        if document.plugins.len() > MOST_PLUGINS {
            manifest.warnings.push(format!("only the first {MOST_PLUGINS} plugins of {MANIFEST} were read"));
        }
        for plugin in document.plugins.into_iter().take(MOST_PLUGINS) {
            let name = plugin.get("name").and_then(Value::as_str).map(|name| format!("the plugin {name:?}"));
            let name = name.unwrap_or_else(|| "a plugin without a name".to_owned());
            match Plugin::read(plugin, &root) {
                Ok(plugin) => manifest.plugins.push(plugin),
                Err(why) => manifest.warnings.push(format!("{name} of {MANIFEST} was ignored: {why}")),
            }
        }
        manifest
    }
}

impl Plugin {
    fn read(plugin: Value, root: &str) -> Result<Self, String> {
        let PluginDocument { name, description, source, skills } =
            serde_json::from_value(plugin).map_err(|error| error.to_string())?;
        let description = description.as_str().unwrap_or_default();
        let description = description.chars().take(Limits::default().description_chars).collect();
        let source = match source {
            Value::Null => here(root, "", &skills)?,
            Value::String(folder) => here(root, &folder, &skills)?,
            other => PluginSource::Foreign(foreign(other)?),
        };
        Ok(Self { name, description, source })
    }

    /// Returns this plugin, as part of the source itself if it names the repository that has the manifest.
    pub fn in_repository(mut self, url: &str) -> Self {
        let same = |other: &str| other.trim_end_matches(".git").eq_ignore_ascii_case(url.trim_end_matches(".git"));
        if let PluginSource::Foreign(git) = &self.source
            && same(&git.url())
        {
            let folder = git.path.as_ref().map(ToString::to_string).unwrap_or_default();
            self.source = PluginSource::Here { folder, skills: Vec::new() };
        }
        self
    }

    /// Returns whether a folder of the source is one of this plugin's skills.
    pub fn has(&self, skill: &str) -> bool {
        let PluginSource::Here { folder, skills } = &self.source else { return false };
        let is_below = |parent: &str| SkillFolder(skill).below(parent).is_some();
        if !skills.is_empty() {
            return skills.iter().any(|listed| is_below(listed));
        }
        SkillFolder(skill).below(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with("skills/"))
    }
}

/// Path of a folder relative to the source.
struct SkillFolder<'a>(&'a str);

impl<'a> SkillFolder<'a> {
    /// Returns the path below a parent; empty for the parent itself, `None` outside of it.
    fn below(&self, parent: &str) -> Option<&'a str> {
        match self.0.strip_prefix(parent)? {
            rest if parent.is_empty() || rest.is_empty() => Some(rest),
            rest => rest.strip_prefix('/'),
        }
    }
}

fn here(root: &str, folder: &str, skills: &Value) -> Result<PluginSource, String> {
    let outside = |path: &str| format!("{path:?} is not a folder inside the repository");
    let folder = joined(root, folder).ok_or_else(|| outside(folder))?;
    let listed = match skills {
        Value::String(one) => vec![one.as_str()],
        Value::Array(all) => all.iter().filter_map(Value::as_str).take(MOST_SKILLS).collect(),
        _ => Vec::new(),
    };
    let skills = listed.into_iter().map(|path| joined(&folder, path).ok_or_else(|| outside(path)));
    Ok(PluginSource::Here { skills: skills.collect::<Result<_, _>>()?, folder })
}

fn foreign(source: Value) -> Result<GitSpec, String> {
    let document: ForeignDocument = serde_json::from_value(source).map_err(|error| error.to_string())?;
    let ForeignDocument { source, repo, url, path, reference, sha } = document;
    let address = match (source.as_str(), repo, url) {
        ("github", Some(repo), _) => format!("github:{repo}"),
        ("git-subdir" | "url", _, Some(url)) if url.contains(':') => url,
        ("git-subdir", _, Some(repo)) => format!("github:{repo}"),
        _ => return Err(format!("its source {source:?} is not supported")),
    };
    let git: GitSpec = address.parse().map_err(|error| format!("{error}"))?;
    if git.transport() != "https" {
        return Err(format!("{address:?} is not an https URL"));
    }
    let path = match path.as_deref().map(|path| joined("", path).ok_or(path)) {
        None => git.path.clone(),
        Some(Ok(path)) if path.is_empty() => None,
        Some(Ok(path)) => Some(SkillPath::parse(&path).map_err(|error| error.to_string())?),
        Some(Err(path)) => return Err(format!("{path:?} is not a folder inside the repository")),
    };
    let reference = sha.or(reference).or_else(|| git.reference.clone());
    GitSpec { path, reference, ..git }.checked().map_err(|error| error.to_string())
}

/// Joins a relative path to a folder of the source. Returns `None` if it is not a path inside the source.
fn joined(folder: &str, path: &str) -> Option<String> {
    if path.starts_with('/') {
        return None;
    }
    let parts: Vec<&str> = folder.split('/').chain(path.split('/')).filter(|part| !matches!(*part, "" | ".")).collect();
    let path = parts.join("/");
    (path.is_empty() || SkillPath::parse(&path).is_ok()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> PluginManifest {
        PluginManifest::parse(text.as_bytes())
    }

    fn sources(text: &str) -> Vec<String> {
        let source = |plugin: &Plugin| match &plugin.source {
            PluginSource::Here { folder, skills } => format!("{folder}|{}", skills.join(",")),
            PluginSource::Foreign(git) => git.to_string(),
        };
        parsed(text).plugins.iter().map(source).collect()
    }

    #[test]
    fn each_kind_of_source_is_read() {
        let text = r#"{"metadata": {"pluginRoot": "./plugins"}, "plugins": [
            {"name": "a", "source": "./a"},
            {"name": "b", "source": "./", "skills": ["./x", "skills/y"]},
            {"name": "c", "source": "c", "skills": "./skills/"},
            {"name": "d"},
            {"name": "e", "source": {"source": "github", "repo": "o/r", "ref": "v1"}},
            {"name": "f", "source": {"source": "url", "url": "https://h.example/o/r.git"}},
            {"name": "g", "source": {"source": "git-subdir", "url": "o/r", "path": "./p/q", "sha": "abc"}}]}"#;
        assert_eq!(
            sources(text),
            [
                "plugins/a|", "plugins|plugins/x,plugins/skills/y", "plugins/c|plugins/c/skills", "plugins|",
                "github:o/r@v1", "https://h.example/o/r.git", "github:o/r#p/q@abc",
            ]
        );
    }

    #[test]
    fn unsafe_parts_become_warnings() {
        for source in [
            r#""../x""#,
            r#""/etc""#,
            r#""a/../../x""#,
            r#"".git/hooks""#,
            "7",
            r#"{"source": "github", "repo": "../r"}"#,
            r#"{"source": "url", "url": "file:///home/ann/private"}"#,
            r#"{"source": "url", "url": "https://ann:secret@h.example/r.git"}"#,
            r#"{"source": "url", "url": "ext::sh -c x"}"#,
            r#"{"source": "git-subdir", "url": "https://h.example/r.git", "path": "../x"}"#,
            r#"{"source": "github", "repo": "o/r", "ref": "--upload-pack=x"}"#,
            r#"{"source": "npm", "package": "x"}"#,
        ] {
            let text = format!(r#"{{"plugins": [{{"name": "bad", "source": {source}}}, {{"name": "good"}}]}}"#);
            let manifest = parsed(&text);
            assert_eq!((manifest.plugins.len(), manifest.warnings.len()), (1, 1), "{source}: {manifest:?}");
            assert!(!manifest.warnings[0].contains("secret"), "{manifest:?}");
        }
        for text in ["", "[]", "{}", r#"{"plugins": 1}"#, r#"{"metadata": {"pluginRoot": "../x"}, "plugins": []}"#] {
            assert_eq!(parsed(text).warnings.len(), 1, "{text}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(parsed(&deep).warnings.len(), 1);
        let many = r#"{"name": "x"},"#.repeat(MOST_PLUGINS + 1);
        let many = parsed(&format!(r#"{{"plugins": [{}]}}"#, many.trim_end_matches(',')));
        assert_eq!((many.plugins.len(), many.warnings.len()), (MOST_PLUGINS, 1));
    }

    #[test]
    fn skills_belong_to_their_plugin() {
        let plugins =
            parsed(r#"{"plugins": [{"name": "a", "source": "p"}, {"name": "b", "skills": ["x", "y/z"]}]}"#).plugins;
        let of = |skill: &str| {
            plugins.iter().filter(|plugin| plugin.has(skill)).map(|plugin| plugin.name.as_str()).collect::<String>()
        };
        for (skill, plugin) in [
            ("p", "a"),
            ("p/skills/x", "a"),
            ("p/docs/x", ""),
            ("pp/skills/x", ""),
            ("x", "b"),
            ("y/z/w", "b"),
            ("y", ""),
        ] {
            assert_eq!(of(skill), plugin, "{skill}");
        }
    }

    #[test]
    fn own_repository_is_not_foreign() {
        let text = r#"{"plugins": [{"name": "a", "source": {"source": "github", "repo": "Acme/Skills"}}]}"#;
        let plugin = parsed(text).plugins.remove(0);
        let here = plugin.clone().in_repository("https://github.com/acme/skills.git").source;
        assert_eq!(here, PluginSource::Here { folder: String::new(), skills: Vec::new() });
        assert!(matches!(plugin.in_repository("https://github.com/acme/other.git").source, PluginSource::Foreign(_)));
    }
}
