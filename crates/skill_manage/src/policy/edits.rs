//! [`Policy::judge_edit`]: a check that an agent could have made an edit of a skill's folder through `skill_manage`.

use std::cell::OnceCell;

use library::{Action, Actor, ActorKind, HandEdit};
use skill::diff::{self, Change, FileChange};

use super::{Decision, Policy, Proposed};

/// Actions with which an agent could make each kind of change to a file.
const ACTIONS: [(Change, &[Action]); 3] = [
    (Change::Added, &[Action::WriteFile]),
    (Change::Modified, &[Action::Edit, Action::Patch, Action::WriteFile]),
    (Change::Removed, &[Action::RemoveFile]),
];

impl Policy {
    /// Returns the reason why an agent could not make a hand edit, or `None` if it could.
    #[must_use]
    pub fn objection(&self, edit: &HandEdit<'_>) -> Option<String> {
        self.judge_edit(&Actor::new(ActorKind::Agent, ""), edit).objection()
    }

    /// Decides about a hand edit as if the actor had made it. An edit of a folder may result from any of several
    /// actions, so the strictest decision counts. A return to an earlier head counts as a rollback.
    pub(crate) fn judge_edit(&self, actor: &Actor, edit: &HandEdit<'_>) -> Decision {
        let files = diff::diff(edit.before, edit.after).files;
        let decide = |actions: &[Action], files: &[FileChange]| {
            let HandEdit { skill, origin, before, after, verdict, .. } = *edit;
            let (skill, privilege) = (skill.as_str(), OnceCell::new());
            self.decide(actor, &Proposed { skill, actions, origin, before, after, files, verdict, privilege })
        };
        if edit.is_return {
            return decide(&[Action::Rollback], &files);
        }
        ACTIONS.into_iter().fold(decide(&[Action::External], &files), |strictest, (change, actions)| {
            let of_kind: Vec<FileChange> = files.iter().filter(|file| file.change == change).cloned().collect();
            strictest.or_stricter(decide(actions, &of_kind))
        })
    }
}

#[cfg(test)]
mod tests {
    use scan::Verdict;
    use skill::SkillName;
    use testkit::bundle;

    use super::*;
    use crate::policy::{Layer, Preset, Rule};

    const ONE: &str = "---\nname: pdf\n---\none\n";
    const TWO: &str = "---\nname: pdf\n---\ntwo\n";

    fn objection(policy: &Policy, after: &[(&str, &str)], verdict: Verdict, is_return: bool) -> Option<String> {
        let (skill, before) = (SkillName::parse("pdf").unwrap(), bundle(&[("SKILL.md", ONE)]));
        let after = bundle(after);
        let edit = HandEdit { skill: &skill, origin: None, before: &before, after: &after, verdict, is_return };
        policy.objection(&edit)
    }

    #[test]
    fn presets_hold_edits_like_agents() {
        let text = [("SKILL.md", TWO)];
        let script = [("SKILL.md", ONE), ("scripts/a.sh", "echo")];
        let evals = [("SKILL.md", TWO), ("evals/a.json", "{}")];
        let of = |preset: Preset| Policy::from(preset);
        let (open, balanced, strict) = (of(Preset::Open), of(Preset::Balanced), of(Preset::Strict));
        assert_eq!(objection(&balanced, &text, Verdict::Warn, false), None);
        assert_eq!(objection(&balanced, &script, Verdict::Allow, false), None);
        assert!(objection(&balanced, &script, Verdict::Warn, false).is_some());
        assert!(objection(&balanced, &evals, Verdict::Allow, false).is_some());
        assert!(objection(&balanced, &evals, Verdict::Allow, true).is_some(), "also as it was once");
        assert_eq!(objection(&open, &script, Verdict::Warn, false), None);
        assert!(objection(&strict, &text, Verdict::Allow, false).is_some());
        assert!(objection(&strict, &text, Verdict::Allow, true).is_some());
    }

    #[test]
    fn action_rules_match_equivalent_edits() {
        let rule = |action: &str| {
            let table = serde_json::json!({"decision": "deny", "actions": [action]});
            let rules: Vec<Rule> = vec![serde_json::from_value(table).unwrap()];
            Policy::new(Layer { file: "f".to_owned(), preset: Some(Preset::Balanced), rules, why: None }, Vec::new())
        };
        let added = [("SKILL.md", ONE), ("references/a.md", "a")];
        let of_actions = [
            ("patch", true, false),
            ("write_file", true, true),
            ("remove_file", false, false),
            ("rollback", false, false),
        ];
        for (action, modifies, adds) in of_actions {
            let policy = rule(action);
            let modified = objection(&policy, &[("SKILL.md", TWO)], Verdict::Allow, false);
            assert_eq!(modified.is_some(), modifies, "{action}");
            assert_eq!(objection(&policy, &added, Verdict::Allow, false).is_some(), adds, "{action}");
        }
        assert!(objection(&rule("rollback"), &[("SKILL.md", TWO)], Verdict::Allow, true).is_some());
    }
}
