//! Fields of a frontmatter, extracted from the parsed map.

use std::{cell::OnceCell, collections::BTreeMap};

use serde::{Deserialize, de::DeserializeOwned};
use serde_yaml::{Mapping, Value};

use super::{FrontmatterError, cost};
use crate::Limits;

/// Fields of a frontmatter. Text fields that contain a number or a boolean are taken as written. Values of another type
/// are omitted and listed in [`Frontmatter::faults`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Frontmatter {
    /// Value of `name`, as written.
    pub name: Option<String>,
    /// Value of `description`: the purpose of the skill and when to use it.
    pub description: Option<String>,
    /// Value of `license`, as written.
    pub license: Option<String>,
    /// Value of `compatibility`: requirements on the environment.
    pub compatibility: Option<String>,
    /// Text entries of `metadata`.
    pub metadata: BTreeMap<String, String>,
    /// Text keys of `metadata`, in the order of the file.
    pub metadata_keys: Vec<String>,
    /// Tools of `allowed-tools`, given as text or a list. The spellings `allowed_tools` and `allowedTools` are read as
    /// well. `None` if the key is absent, empty if it allows no tool.
    pub allowed_tools: Option<Vec<String>>,
    /// Values of `keywords` and `tags`, at the top level or in `metadata`.
    pub keywords: Vec<String>,
    /// Required skills, as `owner/name` with an optional version range.
    pub requires: Vec<String>,
    /// All top-level keys, in the order of the file.
    pub keys: Vec<String>,
    /// Fields whose values do not have the type that the standard requires.
    pub faults: Vec<FieldFault>,
    /// Line, from 1, of the first value that had to be quoted to make the block valid YAML.
    pub quoted_line: Option<usize>,
    top_level_version: Option<String>,
    pub(super) map: Mapping,
}

/// Field whose value has the wrong type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldFault {
    /// Key of the field, with `metadata.` before a nested one.
    pub key: String,
    /// Expected type, as a phrase for the message.
    pub expected: &'static str,
    /// Severity of the mismatch.
    pub kind: FaultKind,
}

/// Severity of a field of the wrong type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// Wrong type in any mode of validation.
    Type,
    /// Nested values in `metadata`. Clients commonly accept them, strict validation does not.
    Nested,
    /// A list in place of text with commas, read as such a text. Strict validation refuses it.
    List,
    /// A `requires` that is neither text nor a list of text, so that it names no skill.
    Requires,
}

/// Keys of `metadata` that may be a list as well as text with commas.
const LISTS: [&str; 3] = ["keywords", "tags", "requires"];

/// Fields that may accidentally be numbers or booleans, parsed again as text.
#[derive(Default, Deserialize)]
#[serde(default)]
struct AsText {
    name: Option<String>,
    description: Option<String>,
    license: Option<String>,
    compatibility: Option<String>,
    version: Option<String>,
}

#[derive(Deserialize)]
struct MetadataAsText {
    metadata: BTreeMap<String, String>,
}

/// Parses the fields of a YAML text as JSON.
pub(super) fn as_json(yaml: &str) -> Result<serde_json::Map<String, serde_json::Value>, FrontmatterError> {
    parsed(yaml)
}

/// Parses a YAML text after checking the cost.
fn parsed<T: DeserializeOwned>(yaml: &str) -> Result<T, FrontmatterError> {
    #[cfg(debug_assertions)]
    crate::work::note("parse", yaml.as_bytes());
    cost::check(yaml).map_err(|message| FrontmatterError::Yaml { message, line: None })?;
    serde_yaml::from_str(yaml).map_err(|error| yaml_error(&error, yaml))
}

/// Parses a YAML text as a map. An empty text gives an empty map.
fn map_of(yaml: &str) -> Result<Mapping, FrontmatterError> {
    match parsed(yaml)? {
        Value::Mapping(map) => Ok(map),
        Value::Null => Ok(Mapping::new()),
        _ => Err(FrontmatterError::NotAMap),
    }
}

impl Frontmatter {
    /// Reads the fields of a YAML text.
    pub(super) fn from_yaml(yaml: &str) -> Result<Self, FrontmatterError> {
        Ok(Reader { yaml, map: map_of(yaml)?, as_text: OnceCell::new(), faults: Vec::new() }.read())
    }

    /// Returns the author's version: `version`, or `metadata.version` if that is absent.
    pub fn version(&self) -> Option<String> {
        self.top_level_version.clone().or_else(|| self.metadata.get("version").cloned())
    }

    /// Returns the title in `metadata.title`, in any script, as one line within the limit. `None` if it is empty.
    pub fn title(&self) -> Option<String> {
        let line = self.metadata.get("title")?.split_whitespace().collect::<Vec<_>>().join(" ");
        let title: String = line.chars().take(Limits::default().title_chars).collect();
        Some(title).filter(|title| !title.is_empty())
    }

    /// Returns whether a key is present, with a value of any type.
    pub fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|k| k == key)
    }

    /// Returns the entries whose keys satisfy `is_wanted`, as text for comparison with another version only.
    ///
    /// Keys are normalised to their letters and digits in lower case, so that no spelling hides one: `allowedtools` for
    /// `allowed-tools` and `Allowed_Tools`. Aliases are resolved. Merge keys and keys that are not text are always
    /// included.
    pub fn values_of(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let is_meant = |key: &Value| {
            let text = key_text(key);
            let plain: String = text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
            text == "<<" || !key.is_string() || is_wanted(&plain)
        };
        let meant = self.map.iter().filter(|(key, _)| is_meant(key));
        let mut values: Vec<String> = meant.map(|(key, value)| format!("{key:?}: {value:?}")).collect();
        values.sort();
        values
    }
}

struct Reader<'a> {
    yaml: &'a str,
    map: Mapping,
    as_text: OnceCell<AsText>,
    faults: Vec<FieldFault>,
}

impl Reader<'_> {
    fn read(mut self) -> Frontmatter {
        let metadata = self.metadata();
        let entries = self.map.get("metadata").and_then(Value::as_mapping).into_iter().flatten();
        let metadata_keys = entries.filter_map(|(key, _)| key.as_str().map(str::to_owned)).collect();
        let mut keywords = self.listed("keywords").unwrap_or_default();
        keywords.extend(self.listed("tags").unwrap_or_default());
        let requires = with_whole_ranges(self.requires());
        Frontmatter {
            name: self.text("name"),
            description: self.text("description"),
            license: self.text("license"),
            compatibility: self.text("compatibility"),
            top_level_version: self.text("version"),
            allowed_tools: self.tools(),
            keys: self.map.keys().map(key_text).collect(),
            metadata,
            metadata_keys,
            keywords,
            requires,
            faults: self.faults,
            quoted_line: None,
            map: self.map,
        }
    }

    /// Returns the texts of a list, at the top level or in `metadata`. `None` if the value is neither text nor a list
    /// of text.
    fn listed(&self, key: &str) -> Option<Vec<String>> {
        let in_metadata = || self.map.get("metadata")?.get(key);
        match self.map.get(key).or_else(in_metadata) {
            None | Some(Value::Null) => Some(Vec::new()),
            Some(value) => texts(value),
        }
    }

    fn requires(&mut self) -> Vec<String> {
        self.listed("requires").unwrap_or_else(|| {
            let key = if self.map.contains_key("requires") { "requires" } else { "metadata.requires" };
            self.fault(key, "skill names separated by commas, or a list of strings", FaultKind::Requires);
            Vec::new()
        })
    }

    fn text(&mut self, key: &str) -> Option<String> {
        match self.map.get(key)? {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            Value::Number(_) | Value::Bool(_) => self.as_written(key),
            _ => {
                self.fault(key, "text", FaultKind::Type);
                None
            }
        }
    }

    /// Returns a scalar as written in the file, so that `1.10` and `007` are preserved.
    fn as_written(&self, key: &str) -> Option<String> {
        let fields = self.as_text.get_or_init(|| serde_yaml::from_str(self.yaml).unwrap_or_default());
        let field = match key {
            "name" => &fields.name,
            "description" => &fields.description,
            "license" => &fields.license,
            "compatibility" => &fields.compatibility,
            _ => &fields.version,
        };
        field.clone()
    }

    fn metadata(&mut self) -> BTreeMap<String, String> {
        let entries = match self.map.get("metadata") {
            None | Some(Value::Null) => return BTreeMap::new(),
            Some(Value::Mapping(entries)) => entries.clone(),
            Some(_) => {
                self.fault("metadata", "a mapping of strings to strings", FaultKind::Type);
                return BTreeMap::new();
            }
        };
        if entries.values().any(|value| matches!(value, Value::Number(_) | Value::Bool(_)))
            && let Ok(MetadataAsText { metadata }) = serde_yaml::from_str(self.yaml)
        {
            return metadata;
        }
        let is_list =
            |key: &Value, value: &Value| LISTS.iter().any(|list| key.as_str() == Some(list)) && texts(value).is_some();
        let mut nested = entries.iter().filter(|(_, value)| scalar_text(value).is_none()).peekable();
        if nested.peek().is_some() {
            let only_lists = nested.all(|(key, value)| is_list(key, value));
            let kind = if only_lists { FaultKind::List } else { FaultKind::Nested };
            self.fault("metadata", "a mapping of strings to strings, without nesting", kind);
        }
        entries.iter().filter_map(|(key, value)| Some((key_text(key), scalar_text(value)?))).collect()
    }

    fn tools(&mut self) -> Option<Vec<String>> {
        let key =
            ["allowed-tools", "allowed_tools", "allowedTools"].into_iter().find(|key| self.map.contains_key(*key))?;
        let tools = match self.map.get(key)? {
            Value::Null => Some(Vec::new()),
            Value::String(text) => Some(split_tools(text)),
            list => texts(list),
        };
        if tools.is_none() {
            self.fault(key, "tool names separated by spaces, or a list of strings", FaultKind::Type);
        }
        tools
    }

    fn fault(&mut self, key: &str, expected: &'static str, kind: FaultKind) {
        self.faults.push(FieldFault { key: key.to_owned(), expected, kind });
    }
}

fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null => Some(String::new()),
        _ => None,
    }
}

fn key_text(key: &Value) -> String {
    scalar_text(key).unwrap_or_else(|| "(a key that is not a string)".to_owned())
}

/// Returns the items of a list of text, or of a text with commas.
pub(super) fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(split_commas(text)),
        Value::Sequence(items) => items.iter().map(scalar_text).collect(),
        _ => None,
    }
}

/// Rejoins version ranges that were split at their own comma: `acme/a@>=1, <2`. A part without a slash is not a skill.
fn with_whole_ranges(parts: Vec<String>) -> Vec<String> {
    let mut whole: Vec<String> = Vec::new();
    for part in parts {
        match whole.last_mut() {
            Some(last) if !part.contains('/') && last.contains('@') => {
                last.push_str(", ");
                last.push_str(&part);
            }
            _ => whole.push(part),
        }
    }
    whole
}

fn split_commas(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Splits `allowed-tools` given as text at spaces and commas outside parentheses: `Bash(git add:*) Read` names two
/// tools.
pub fn split_tools(text: &str) -> Vec<String> {
    let mut depth = 0usize;
    let separates = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c.is_whitespace() || c == ',')
    };
    text.split(separates).filter(|tool| !tool.is_empty()).map(str::to_owned).collect()
}

/// Converts the parser's error and adds the line of the file. Lines are counted by `\n` alone, whereas YAML also ends
/// lines at a lone carriage return and some Unicode characters.
fn yaml_error(error: &serde_yaml::Error, yaml: &str) -> FrontmatterError {
    let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
    let line = error.location().map(|at| 2 + lines(yaml.as_bytes().get(..at.index()).unwrap_or(yaml.as_bytes())));
    let message = without_positions(&error.to_string());
    FrontmatterError::Yaml { message, line }
}

/// Removes ` at line 3 column 1` from a parser message, since those positions are relative to the block.
fn without_positions(message: &str) -> String {
    let mut parts = message.split(" at line ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let rest = rest.strip_prefix(" column ").unwrap_or(rest);
        text.push_str(rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    text
}
