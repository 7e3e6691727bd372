//! [`PolicyFile`]: the policy in one file, with rules that are not interpreted yet.

use std::{
    io,
    path::{Path, PathBuf},
};

use cap_std::{ambient_authority, fs::Dir};
use library::{read_bounded, refuse_toml_flood};
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use skill::{Limits, Owner};
use toml::{Table, Value};

use crate::config::error::ConfigError;

const FORMAT: u32 = 1;

/// Preset and rules of one file. The caller that judges changes interprets them.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Name of the preset.
    pub preset: Option<String>,
    /// Owners whose releases must be signed; `*` for all.
    pub require_signatures: Vec<String>,
    /// Settings of the scanner.
    pub scan: scan::Settings,
    rules: Vec<Table>,
}

/// A file that contains only a policy, and `[scan]` in the format of `config.toml`:
///
/// ```toml
/// format = 1
/// policy = "strict"
/// require_signatures = ["acme"]
///
/// [[rules]]
/// decision = "deny"
/// changes = ["scripts"]
/// ```
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyDocument {
    /// Format of the file, 1.
    #[schemars(range(min = 1, max = 1))]
    format: u32,
    /// Policy preset for changes by agents: open, balanced or strict.
    #[schemars(extend("enum" = ["open", "balanced", "strict"]))]
    policy: Option<String>,
    /// Owners whose releases must be signed; `*` for all.
    #[serde(default)]
    require_signatures: Vec<String>,
    /// Additions to the scanner's rules.
    #[serde(default)]
    scan: scan::Settings,
    /// Policy rules, checked before the preset.
    #[serde(default)]
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    rules: Vec<Table>,
}

impl PolicyFile {
    pub(crate) fn new(path: PathBuf, preset: Option<String>, rules: Vec<Table>) -> Self {
        Self { path, preset, require_signatures: Vec::new(), scan: scan::Settings::default(), rules }
    }

    /// Reads a file that contains only a policy; `None` if it does not exist.
    ///
    /// # Errors
    /// [`ConfigError`]; a file that cannot be read or parsed is never ignored.
    pub fn read(path: &Path) -> Result<Option<Self>, ConfigError> {
        let io = |source| ConfigError::Io { path: path.to_owned(), source };
        let text = match settings_text(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io(error)),
        };
        let damaged = |message: String| ConfigError::Damaged { path: path.to_owned(), message };
        refuse_toml_flood(&text).map_err(damaged)?;
        let document: PolicyDocument =
            toml::from_str(&text).map_err(|error| damaged(error.to_string().trim_end().to_owned()))?;
        for owner in document.require_signatures.iter().filter(|owner| *owner != "*") {
            Owner::parse(owner).map_err(|source| ConfigError::Owner { path: path.to_owned(), source })?;
        }
        let (require_signatures, scan) = (document.require_signatures, document.scan);
        match document.format {
            FORMAT => Ok(Some(Self {
                require_signatures,
                scan,
                ..Self::new(path.to_owned(), document.policy, document.rules)
            })),
            found => Err(ConfigError::Format { path: path.to_owned(), found }),
        }
    }

    /// Parses the rules into the caller's type. `check` rejects rules that are contradictory or meaningless.
    ///
    /// # Errors
    /// [`ConfigError::Rule`] with the number of the first invalid rule.
    pub fn rules<T: DeserializeOwned, E: std::fmt::Display>(
        &self,
        check: impl Fn(&T) -> Result<(), E>,
    ) -> Result<Vec<T>, ConfigError> {
        let mut rules = Vec::new();
        for (at, table) in self.rules.iter().enumerate() {
            let fault = |message: String| ConfigError::Rule { path: self.path.clone(), number: at + 1, message };
            let read = Value::Table(table.clone()).try_into();
            let rule: T = read.map_err(|error| fault(error.message().to_owned()))?;
            check(&rule).map_err(|error| fault(error.to_string()))?;
            rules.push(rule);
        }
        Ok(rules)
    }
}

/// Reads a settings file of bounded size. Its last component may be a link.
///
/// # Errors
/// There is no regular file, or it is too large or not UTF-8.
pub fn settings_text(path: &Path) -> io::Result<String> {
    let (folder, name) = match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => (folder, name),
        _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    };
    // The last component may be a link, as in a managed configuration. Its target may be anywhere.
    let resolved = library::resolve(&folder.join(name))?;
    let parent = resolved.parent().unwrap_or(Path::new("/"));
    let dir = Dir::open_ambient_dir(parent, ambient_authority())?;
    let name = resolved.file_name().unwrap_or(name).to_str().ok_or(io::ErrorKind::InvalidFilename)?;
    if !dir.metadata(name)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let bytes = read_bounded(&dir, name, Limits::default().settings_bytes)?.ok_or(io::ErrorKind::NotFound)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Named {
        name: String,
    }

    #[test]
    fn damaged_policy_file_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temp.path(), ambient_authority()).unwrap();
        let path = temp.path().join("policy.toml");
        assert_eq!(PolicyFile::read(&path).unwrap(), None);
        dir.write("policy.toml", "format = 1\npolicy = \"strict\"\n[[rules]]\nname = \"a\"\n[[rules]]\nnam = 1\n")
            .unwrap();
        let file = PolicyFile::read(&path).unwrap().unwrap();
        assert_eq!(file.preset.as_deref(), Some("strict"));
        let error = file.rules(|_: &Named| Ok::<(), String>(())).unwrap_err();
        assert!(matches!(&error, ConfigError::Rule { number: 2, .. }), "{error}");
        for damaged in
            ["", "policy = \"strict\"", "format = 1\npolicy = 1", "format = 1\nowner = \"a\"", "format = 1\n[rules]"]
        {
            dir.write("policy.toml", damaged).unwrap();
            assert!(matches!(PolicyFile::read(&path), Err(ConfigError::Damaged { .. })), "{damaged}");
        }
        dir.write("policy.toml", "format = 1\n[scan]\nown_hosts = [\"acme.test\"]\n").unwrap();
        assert_eq!(PolicyFile::read(&path).unwrap().unwrap().scan.own_hosts, ["acme.test"]);
        dir.write("policy.toml", "format = 2").unwrap();
        assert!(matches!(PolicyFile::read(&path), Err(ConfigError::Format { found: 2, .. })));
        dir.remove_file("policy.toml").unwrap();
        dir.create_dir("policy.toml").unwrap();
        assert!(matches!(PolicyFile::read(&path), Err(ConfigError::Io { .. })));
    }
}
