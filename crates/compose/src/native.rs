//! Native tools of skillhub that steps may call ([`Native`]).

mod address;
mod compute;
mod fetch;
mod files;
mod fitting;
mod html;
pub(crate) mod located;
mod query;
mod search;
mod shell;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    host::{Approval, Bounds, ToolFault, ToolHost, ToolSpec},
    settings::NativeSettings,
};
use fetch::Fetcher;
pub use fetch::Resolve;
pub use html::page_text;
use located::Located;

/// Tools that access files in the working folder, send requests to allowed hosts, and compute.
pub struct Native {
    settings: NativeSettings,
    folder: PathBuf,
    kept: Vec<PathBuf>,
    fetcher: Fetcher,
}

impl Native {
    /// Creates the tools without a custom resolver. The working folder is `folder` unless the settings name one.
    pub fn new(settings: NativeSettings, folder: &Path) -> Self {
        Self::with_resolver(settings, folder, None)
    }

    /// Creates the tools with another resolver for host names.
    pub fn with_resolver(settings: NativeSettings, folder: &Path, resolve: Option<Arc<Resolve>>) -> Self {
        let folder = settings.folder.clone().unwrap_or_else(|| folder.to_owned());
        let fetcher = Fetcher::new(settings.hosts.clone(), settings.private_addresses, settings.fetch_bytes, resolve);
        Self { settings, folder, kept: Vec::new(), fetcher }
    }

    /// Protects folders from `write_file`, even inside the working folder. Skills are changed by their own
    /// operations.
    #[must_use]
    pub fn keeping(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        let real = |folder: PathBuf| library::resolve(&folder).unwrap_or(folder);
        self.kept = folders.into_iter().map(real).collect();
        self
    }

    /// Opens the folder to which a path belongs, and returns the path below it.
    fn files<'p>(&'p self, path: &'p str) -> Result<(files::Files, &'p str), ToolFault> {
        let located = Located::of(path, &self.settings.folders)?;
        Ok((files::Files::open(&located, &self.folder, self.settings.hidden)?, located.below))
    }
}

impl ToolHost for Native {
    fn tools(&self) -> Vec<ToolSpec> {
        let folders = &self.settings.folders;
        let mut tools =
            vec![files::read_spec(folders), files::list_spec(folders), files::write_spec(folders), fetch::spec()];
        tools.extend([search::spec(), query::spec(), compute::spec()]);
        if self.settings.shell {
            tools.push(shell::spec());
        }
        tools
    }

    fn call(&self, tool: &str, input: &Value, bounds: &Bounds<'_>) -> Result<Value, ToolFault> {
        bounds.remaining()?;
        match tool {
            "read_file" => {
                let wanted: files::Read = read(input)?;
                let (files, below) = self.files(&wanted.path)?;
                files.read(below, bounds)
            }
            "list_files" => {
                let wanted: files::List = read(input)?;
                let (files, below) = self.files(wanted.path.as_deref().unwrap_or_default())?;
                files.list(below, &wanted, bounds)
            }
            "write_file" => {
                let wanted: files::Write = read(input)?;
                let (files, below) = self.files(&wanted.path)?;
                files.write(below, &wanted, &self.kept, bounds)
            }
            "web_fetch" => self.fetcher.fetch(&read(input)?, bounds),
            "web_search" => search::search(&self.fetcher, self.settings.search.as_ref(), &read(input)?, bounds),
            "json_query" => query::run(read(input)?, bounds),
            "text_template" => compute::fill(&read(input)?, bounds),
            "shell" if self.settings.shell => shell::run(&self.folder, &read(input)?, bounds),
            _ => Err(ToolFault::permanent("unknown_tool", format!("unknown tool `{tool}`"))),
        }
    }
}

/// Creates the spec of a native tool. Its input is an object with exactly these properties.
fn spec(
    name: &str,
    description: &str,
    properties: Value,
    required: &[&str],
    output: Value,
    approval: Approval,
) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        input: json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false}),
        output: Some(output),
        approval,
    }
}

/// Returns the schema of an object as a tool's output.
fn gives(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn read<T: DeserializeOwned>(input: &Value) -> Result<T, ToolFault> {
    T::deserialize(input).map_err(|error| ToolFault::permanent("invalid_input", error.to_string()))
}

#[cfg(test)]
mod attacks;
#[cfg(test)]
mod tests;
