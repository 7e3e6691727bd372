//! [`Session`]: the skills that a conversation has read so far.

use skill::SkillName;

use crate::tool_policy::{Declared, ToolPolicy};

/// Skills read in one conversation, which determine the tools that are offered and allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Session {
    read: Vec<Declared>,
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
    #[must_use]
    pub fn policy(&self, always_on: &[String]) -> ToolPolicy {
        ToolPolicy::of(&self.read, always_on)
    }

    /// Returns the tools to offer next, without duplicates.
    ///
    /// These are the tools in `always`, then those of `others` that the skills read so far declare or that are grouped
    /// under the name of one of them. A tool that was offered remains offered.
    #[must_use]
    pub fn offered<'a>(&self, always: &[&'a str], others: &[(&'a str, Option<&str>)]) -> Vec<&'a str> {
        let mut offered = always.to_vec();
        let declared: Vec<Declared> = self.read.iter().filter(|declared| declared.tools.is_some()).cloned().collect();
        let policy = ToolPolicy::of(&declared, &[]);
        for (tool, group) in others {
            let is_grouped = group.is_some_and(|group| self.read.iter().any(|known| known.skill.as_str() == group));
            let is_declared = policy.restricts && policy.allows(tool);
            if (is_grouped || is_declared) && !offered.contains(tool) {
                offered.push(tool);
            }
        }
        offered
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
        let others = [("fetch", None), ("fill", Some("forms")), ("send", None), ("read_skill", None)];
        let mut session = Session::default();
        assert_eq!(session.offered(&["read_skill"], &others), ["read_skill"]);
        assert!(!session.note(skill("forms", None)));
        assert_eq!(session.offered(&["read_skill"], &others), ["read_skill", "fill"]);
        assert!(session.note(skill("web", Some(&["fetch", "read_skill"]))));
        assert!(!session.note(skill("web", Some(&["fetch", "read_skill"]))), "read twice");
        assert_eq!(session.offered(&["read_skill"], &others), ["read_skill", "fetch", "fill"]);
        let policy = session.policy(&["read_skill".to_owned()]);
        assert!(policy.allows("fetch") && !policy.allows("send"));
        assert!(session.note(skill("web", Some(&["send"]))), "it was changed meanwhile");
        assert_eq!(session.skills().count(), 2);
    }
}
