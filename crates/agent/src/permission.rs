//! [`Permissions`]: which agent may see and use which skill.

use serde::{Deserialize, Serialize};

/// What holds for a skill or a tool; a later one is stricter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The agent uses it.
    #[default]
    Allow,
    /// The agent sees it, and a person is asked before each use.
    Ask,
    /// The agent does not see it.
    Deny,
}

/// What a permission is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// Skills whose names match, bare or after their owners'.
    Skill(String),
    /// Tools of skillhub whose names match.
    Tool(String),
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// The agents that it is for, a pattern.
    pub agent: String,
    /// What it is about, a pattern.
    pub subject: Subject,
    /// What holds then.
    pub decision: Decision,
}

/// Rules of which the last that matches holds. Where none does, skills are allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permissions {
    rules: Vec<Permission>,
}

/// What holds for a tool that no rule names: what brings something new from outside is asked about.
const ASKED: [&str; 1] = ["install_skill"];

impl Permissions {
    /// Those of these rules.
    #[must_use]
    pub fn new(rules: Vec<Permission>) -> Self {
        Self { rules }
    }

    /// What holds for a skill, by its bare name and, where it was installed, `owner/name`.
    #[must_use]
    pub fn skill(&self, agent: &str, name: &str, qualified: Option<&str>) -> Decision {
        let is_meant = |subject: &Subject| match subject {
            Subject::Skill(pattern) => matches(pattern, name) || qualified.is_some_and(|name| matches(pattern, name)),
            Subject::Tool(_) => false,
        };
        self.last(agent, is_meant).unwrap_or_default()
    }

    /// Tests for a rule about skills.
    #[must_use]
    pub fn name_skills(&self) -> bool {
        self.rules.iter().any(|rule| matches!(rule.subject, Subject::Skill(_)))
    }

    /// What holds for a tool of skillhub.
    #[must_use]
    pub fn tool(&self, agent: &str, tool: &str) -> Decision {
        let is_meant = |subject: &Subject| matches!(subject, Subject::Tool(pattern) if matches(pattern, tool));
        self.last(agent, is_meant).unwrap_or(if ASKED.contains(&tool) { Decision::Ask } else { Decision::Allow })
    }

    fn last(&self, agent: &str, is_meant: impl Fn(&Subject) -> bool) -> Option<Decision> {
        let mut rules = self.rules.iter().rev();
        rules.find(|rule| matches(&rule.agent, agent) && is_meant(&rule.subject)).map(|rule| rule.decision)
    }
}

/// Whether a text is what a pattern says, in which `*` stands for any characters and `?` for one.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut from) = (0, 0);
    // Where to go on when what follows the last star does not match.
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
    fn stars_and_question_marks_match() {
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
    fn the_last_rule_that_matches_holds() {
        let rule = |agent: &str, skill: &str, decision| Permission {
            agent: agent.to_owned(),
            subject: Subject::Skill(skill.to_owned()),
            decision,
        };
        let permissions = Permissions::new(vec![
            rule("*", "internal-*", Decision::Deny),
            rule("codex", "internal-*", Decision::Ask),
            rule("*", "internal-public", Decision::Allow),
            rule("*", "acme/*", Decision::Deny),
        ]);
        assert_eq!(permissions.skill("claude-code", "internal-a", None), Decision::Deny);
        assert_eq!(permissions.skill("codex", "internal-a", None), Decision::Ask);
        assert_eq!(permissions.skill("codex", "internal-public", None), Decision::Allow);
        assert_eq!(permissions.skill("codex", "pdf", Some("acme/pdf")), Decision::Deny);
        assert_eq!(permissions.skill("codex", "pdf", None), Decision::Allow);
        assert_eq!(permissions.tool("codex", "install_skill"), Decision::Ask);
        assert_eq!(permissions.tool("codex", "read_skill"), Decision::Allow);
    }
}
