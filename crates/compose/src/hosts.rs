//! Combination of several tool hosts into one ([`Hosts`]).

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use crate::host::{Bounds, ToolFault, ToolHost, ToolSpec};

/// Several hosts of tools. If two have a tool with the same name, the first one's is used.
#[derive(Clone)]
pub struct Hosts {
    hosts: Vec<Arc<dyn ToolHost>>,
    groups: Arc<BTreeMap<String, Vec<String>>>,
}

impl Hosts {
    /// Combines hosts in order of precedence.
    pub fn new(hosts: Vec<Arc<dyn ToolHost>>) -> Self {
        Self { hosts, groups: Arc::default() }
    }

    /// Sets the groups: names of tools by the skill that makes them available once it was read.
    #[must_use]
    pub fn grouped(self, groups: BTreeMap<String, Vec<String>>) -> Self {
        Self { groups: Arc::new(groups), ..self }
    }

    /// Returns the names of the tools grouped under a skill.
    pub fn group(&self, skill: &str) -> &[String] {
        self.groups.get(skill).map(Vec::as_slice).unwrap_or_default()
    }
}

impl ToolHost for Hosts {
    fn tools(&self) -> Vec<ToolSpec> {
        let mut tools: Vec<ToolSpec> = Vec::new();
        for tool in self.hosts.iter().flat_map(|host| host.tools()) {
            if !tools.iter().any(|known| known.name == tool.name) {
                tools.push(tool);
            }
        }
        tools
    }

    fn has(&self, tool: &str) -> bool {
        self.hosts.iter().any(|host| host.has(tool))
    }

    fn faults(&self) -> Vec<(String, String)> {
        self.hosts.iter().flat_map(|host| host.faults()).collect()
    }

    fn call(&self, tool: &str, input: &Value, bounds: &Bounds<'_>) -> Result<Value, ToolFault> {
        let host = self.hosts.iter().find(|host| host.has(tool));
        let missing = || ToolFault::permanent("unknown_tool", format!("unknown tool `{tool}`"));
        host.ok_or_else(missing)?.call(tool, input, bounds)
    }
}
