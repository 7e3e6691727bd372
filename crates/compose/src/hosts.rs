//! [`Hosts`]: several hosts as one.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use crate::host::{Bounds, ToolFault, ToolHost, ToolSpec};

/// Several hosts of tools; where two have a tool of one name, the first one's counts.
#[derive(Clone)]
pub struct Hosts {
    hosts: Vec<Arc<dyn ToolHost>>,
    groups: Arc<BTreeMap<String, Vec<String>>>,
}

impl Hosts {
    /// These, in this order.
    #[must_use]
    pub fn new(hosts: Vec<Arc<dyn ToolHost>>) -> Self {
        Self { hosts, groups: Arc::default() }
    }

    /// The same with groups: the names of tools by the skill that brings them once it was read.
    #[must_use]
    pub fn grouped(self, groups: BTreeMap<String, Vec<String>>) -> Self {
        Self { groups: Arc::new(groups), ..self }
    }

    /// The names of the tools that are grouped under a skill.
    #[must_use]
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
        let missing = || ToolFault::lasting("unknown_tool", format!("there is no tool `{tool}`"));
        host.ok_or_else(missing)?.call(tool, input, bounds)
    }
}
