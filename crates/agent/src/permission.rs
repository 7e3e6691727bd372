//! [`Permissions`]: the rules on the visibility and use of skills by agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Decision on a skill or tool, from the mildest to the strictest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionDecision {
    /// The agent may use it.
    #[default]
    Allow,
    /// The agent sees it, and a person is asked before each use.
    Ask,
    /// The agent does not see it.
    Deny,
}

/// Subject of a permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// Skills with matching names, bare or as `owner/name`.
    Skill(String),
    /// Tools of skillhub with matching names.
    Tool(String),
}

/// One rule on a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// Pattern of the agents that it applies to.
    pub agent: String,
    /// Subject, by a name pattern.
    pub subject: Subject,
    /// Decision on matching requests.
    pub decision: PermissionDecision,
}

/// Ordered rules, of which the last match applies. By default, skills are allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permissions {
    rules: Vec<Permission>,
}

/// Tools that need consent unless a rule names them, since they bring in external content.
const ASKED: [&str; 1] = ["install_skill"];

impl Permissions {
    /// Creates permissions from rules in order.
    pub fn new(rules: Vec<Permission>) -> Self {
        Self { rules }
    }

    /// Returns the decision on a skill, by its bare name and, if it was installed, `owner/name`.
    pub fn skill(&self, agent: &str, name: &str, qualified: Option<&str>) -> PermissionDecision {
        let is_meant = |subject: &Subject| match subject {
            Subject::Skill(pattern) => matches(pattern, name) || qualified.is_some_and(|name| matches(pattern, name)),
            Subject::Tool(_) => false,
        };
        self.last(agent, is_meant).unwrap_or_default()
    }

    /// Returns whether any rule is about skills.
    pub fn name_skills(&self) -> bool {
        self.rules.iter().any(|rule| matches!(rule.subject, Subject::Skill(_)))
    }

    /// Returns the decision on a tool of skillhub.
    pub fn tool(&self, agent: &str, tool: &str) -> PermissionDecision {
        let is_meant = |subject: &Subject| matches!(subject, Subject::Tool(pattern) if matches(pattern, tool));
        self.last(agent, is_meant).unwrap_or(if ASKED.contains(&tool) {
            PermissionDecision::Ask
        } else {
            PermissionDecision::Allow
        })
    }

    fn last(&self, agent: &str, is_meant: impl Fn(&Subject) -> bool) -> Option<PermissionDecision> {
        let mut rules = self.rules.iter().rev();
        rules.find(|rule| matches(&rule.agent, agent) && is_meant(&rule.subject)).map(|rule| rule.decision)
    }
}

/// Returns whether a text matches a pattern, in which `*` stands for any characters and `?` for one.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut from) = (0, 0);
    // Position for backtracking to the last star.
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at + 1, from));
                at += 1;
            }
            Some(sign) if *sign == '?' || text.get(from) == Some(sign) => {
                at += 1;
                from += 1;
            }
            _ => {
                let Some((after, last)) = star else { return false };
                star = Some((after, last + 1));
                (at, from) = (after, last + 1);
            }
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|sign| *sign == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match() {
        for (pattern, text) in
            [("*", ""), ("a*", "abc"), ("*c", "abc"), ("a?c", "abc"), ("*b*b*", "abcb"), ("填*", "填写")]
        {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("", "a"), ("a", "ab"), ("?", ""), ("*d", "abc"), ("a*b", "ac"), ("*a?", "a")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
        assert!(!matches(&"*a".repeat(40), &"b".repeat(4000)), "in time");
    }

    #[test]
    fn last_matching_rule_wins() {
        let rule = |agent: &str, skill: &str, decision| Permission {
            agent: agent.to_owned(),
            subject: Subject::Skill(skill.to_owned()),
            decision,
        };
        let permissions = Permissions::new(vec![
            rule("*", "internal-*", PermissionDecision::Deny),
            rule("codex", "internal-*", PermissionDecision::Ask),
            rule("*", "internal-public", PermissionDecision::Allow),
            rule("*", "acme/*", PermissionDecision::Deny),
        ]);
        assert_eq!(permissions.skill("claude-code", "internal-a", None), PermissionDecision::Deny);
        assert_eq!(permissions.skill("codex", "internal-a", None), PermissionDecision::Ask);
        assert_eq!(permissions.skill("codex", "internal-public", None), PermissionDecision::Allow);
        assert_eq!(permissions.skill("codex", "pdf", Some("acme/pdf")), PermissionDecision::Deny);
        assert_eq!(permissions.skill("codex", "pdf", None), PermissionDecision::Allow);
        assert_eq!(permissions.tool("codex", "install_skill"), PermissionDecision::Ask);
        assert_eq!(permissions.tool("codex", "read_skill"), PermissionDecision::Allow);
    }
}
