//! [`ToolPolicy`]: the tools that an agent may call, given the skills in use.

use serde_json::{Value, json};
use skill::{SkillName, frontmatter::split_tools};

use crate::permission::matches;

/// Tool that a skill allows: `Bash(git:*)` is the tool `Bash` with the pattern `git:*`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AllowedTool {
    /// Name of the tool, which may contain `*`.
    pub tool: String,
    /// Restriction on its arguments, as written in the skill.
    pub pattern: Option<String>,
}

impl AllowedTool {
    /// Parses one entry of `allowed-tools`.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
            Some((tool, pattern)) => Self {
                tool: tool.trim().to_owned(),
                pattern: Some(pattern.trim().to_owned()).filter(|p| !p.is_empty()),
            },
            None => Self { tool: text.to_owned(), pattern: None },
        }
    }

    /// Parses a whole value, as in `Bash(git add:*) Read`.
    pub fn all(text: &str) -> Vec<Self> {
        split_tools(text).iter().map(|entry| Self::parse(entry)).collect()
    }
}

/// Declaration of tools by one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// Name of the skill.
    pub skill: SkillName,
    /// Entries of its `allowed-tools`. `None` if it does not declare tools.
    pub tools: Option<Vec<String>>,
}

/// Tools that may be called while some skills are in use.
///
/// If no skill in use declares tools, every tool may be called. As soon as one does, only the tools declared by any of
/// them are allowed, in addition to the tools that are always on. An empty list declares that no tool is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPolicy {
    /// True if any tool is disallowed.
    pub restricts: bool,
    /// Allowed tools, without duplicates, with the skills that declare them.
    pub tools: Vec<(AllowedTool, Vec<SkillName>)>,
    /// Names, which may contain `*`, of tools that are always allowed.
    pub always_on: Vec<String>,
}

impl ToolPolicy {
    /// Returns the policy of the skills in use, in this order.
    pub fn of(skills: &[Declared], always_on: &[String]) -> Self {
        let mut policy = Self { restricts: false, tools: Vec::new(), always_on: always_on.to_vec() };
        for Declared { skill, tools } in skills {
            let Some(tools) = tools else { continue };
            policy.restricts = true;
            for tool in tools.iter().map(|entry| AllowedTool::parse(entry)) {
                match policy.tools.iter_mut().find(|(known, _)| *known == tool) {
                    Some((_, by)) if by.contains(skill) => {}
                    Some((_, by)) => by.push(skill.clone()),
                    None => policy.tools.push((tool, vec![skill.clone()])),
                }
            }
        }
        policy
    }

    /// Returns the policy as JSON: `{"restricts","tools":[{"tool","pattern","skills"}],"always_on"}`.
    pub fn document(&self) -> Value {
        let tools = self.tools.iter().map(|(tool, by)| {
            let skills: Vec<&str> = by.iter().map(SkillName::as_str).collect();
            json!({"tool": tool.tool, "pattern": tool.pattern, "skills": skills})
        });
        json!({"restricts": self.restricts, "tools": tools.collect::<Vec<_>>(), "always_on": self.always_on})
    }

    /// Returns whether a tool of this name may be called. The host enforces restrictions on its arguments.
    pub fn allows(&self, tool: &str) -> bool {
        !self.restricts
            || self.always_on.iter().any(|pattern| matches(pattern, tool))
            || self.tools.iter().any(|(allowed, _)| matches(&allowed.tool, tool))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(skill: &str, tools: Option<&[&str]>) -> Declared {
        let tools = tools.map(|tools| tools.iter().map(|tool| (*tool).to_owned()).collect());
        Declared { skill: SkillName::parse(skill).unwrap(), tools }
    }

    #[test]
    fn entries_are_read_with_their_patterns() {
        let read = AllowedTool::all("Bash(git add:*) Read, mcp__x__* Write()");
        let names: Vec<_> = read.iter().map(|tool| (tool.tool.as_str(), tool.pattern.as_deref())).collect();
        assert_eq!(names, [("Bash", Some("git add:*")), ("Read", None), ("mcp__x__*", None), ("Write", None)]);
    }

    #[test]
    fn declared_tools_are_combined() {
        let always = ["read_skill".to_owned()];
        let all = ToolPolicy::of(&[declared("a", None), declared("b", None)], &always);
        assert!(!all.restricts && all.allows("anything"));
        let some = ToolPolicy::of(
            &[
                declared("a", None),
                declared("b", Some(&["Read", "Bash(git:*)"])),
                declared("c", Some(&["Read", "mcp__x__*"])),
            ],
            &always,
        );
        assert_eq!(some.tools.len(), 3);
        for (tool, allowed) in
            [("Read", true), ("Bash", true), ("mcp__x__y", true), ("Write", false), ("read_skill", true)]
        {
            assert_eq!(some.allows(tool), allowed, "{tool}");
        }
        let none = ToolPolicy::of(&[declared("a", Some(&[]))], &always);
        assert!(none.restricts && !none.allows("Read") && none.allows("read_skill"));
    }
}
