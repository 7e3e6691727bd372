//! [`Session`]: the skills that a conversation has read so far.

use skill::SkillName;

use crate::tool_policy::{Declared, ToolPolicy};

/// Skills read in one conversation, which determine the tools that are offered and allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Session {
    read: Vec<Declared>,
    /// Tools that were named as a next step.
    tools: Vec<String>,
}

impl Session {
    /// Records that a skill was read. Returns whether this changes the set of tools.
    pub fn note(&mut self, declared: Declared) -> bool {
        let known = self.read.iter_mut().find(|known| known.skill == declared.skill);
        match known {
            Some(known) => std::mem::replace(known, declared.clone()).tools != declared.tools,
            None => {
                let changes = declared.tools.is_some();
                self.read.push(declared);
                changes
            }
        }
    }

    /// Yields the skills that were read, in order.
    pub fn skills(&self) -> impl Iterator<Item = &SkillName> {
        self.read.iter().map(|declared| &declared.skill)
    }

    /// Returns the tool policy of the skills that were read.
    pub fn policy(&self, always_on: &[String]) -> ToolPolicy {
        ToolPolicy::of(&self.read, always_on)
    }

    /// Records that the server named a tool as a next step. Returns whether the tool is new.
    pub fn add_tool(&mut self, tool: &str) -> bool {
        let is_new = !self.has_tool(tool);
        if is_new {
            self.tools.push(tool.to_owned());
        }
        is_new
    }

    /// Returns whether the server named a tool as a next step.
    pub fn has_tool(&self, tool: &str) -> bool {
        self.tools.iter().any(|known| known == tool)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activated_skills_add_and_restrict_tools() {
        let skill = |name: &str, tools: Option<&[&str]>| Declared {
            skill: SkillName::parse(name).unwrap(),
            tools: tools.map(|tools| tools.iter().map(|tool| (*tool).to_owned()).collect()),
        };
        let mut session = Session::default();
        assert!(!session.note(skill("forms", None)));
        assert!(session.note(skill("web", Some(&["fetch", "read_skill"]))));
        assert!(!session.note(skill("web", Some(&["fetch", "read_skill"]))), "read twice");
        assert!(session.add_tool("skill_diff") && !session.add_tool("skill_diff"));
        assert!(session.has_tool("skill_diff") && !session.has_tool("skill_history"));
        let policy = session.policy(&["read_skill".to_owned()]);
        assert!(policy.allows("fetch") && !policy.allows("send"));
        assert!(session.note(skill("web", Some(&["send"]))), "it was changed meanwhile");
        assert_eq!(session.skills().count(), 2);
    }
}
