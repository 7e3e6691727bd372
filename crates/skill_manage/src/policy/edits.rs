//! [`Policy::judge_edit`]: what an agent could do through `skill_manage`, asked of an edit of a skill's folder.

use library::{Action, Actor, ActorKind, HandEdit};
use skill::diff::{self, Change, FileChange};

use super::{Decision, Policy, Preset, Proposed};

/// The actions by which an agent could make each kind of change of a file.
const ACTIONS: [(Change, &[Action]); 3] = [
    (Change::Added, &[Action::WriteFile]),
    (Change::Modified, &[Action::Edit, Action::Patch, Action::WriteFile]),
    (Change::Removed, &[Action::RemoveFile]),
];

impl Policy {
    /// Why an agent could not make a hand edit; `None` where it could.
    #[must_use]
    pub fn objection(&self, edit: &HandEdit<'_>) -> Option<String> {
        match self.judge_edit(&Actor::new(ActorKind::Agent, ""), edit) {
            Decision::Apply(_) => None,
            Decision::Hold(why) | Decision::Refuse(why) => Some(why),
        }
    }

    /// Decides about a hand edit as if the actor made it. The strictest answer counts: an edit of a folder may be any
    /// of the actions that lead to it. A return to an earlier head is a rollback.
    pub(crate) fn judge_edit(&self, actor: &Actor, edit: &HandEdit<'_>) -> Decision {
        let files = diff::diff(edit.before, edit.after).files;
        let decide = |actions: &[Action], files: &[FileChange]| {
            self.decide(
                actor,
                &Proposed {
                    skill: edit.skill.as_str(),
                    actions,
                    origin: edit.origin,
                    before: edit.before,
                    after: edit.after,
                    files,
                    verdict: edit.verdict,
                },
            )
        };
        if edit.is_return && actor.kind != ActorKind::Person && self.is_strict() {
            return Decision::Hold("the policy `strict` holds every change that an agent makes".to_owned());
        }
        if edit.is_return {
            return decide(&[Action::Rollback], &files);
        }
        let mut decisions = vec![decide(&[Action::External], &files)];
        for (change, actions) in ACTIONS {
            let of_kind: Vec<FileChange> = files.iter().filter(|file| file.change == change).cloned().collect();
            decisions.push(decide(actions, &of_kind));
        }
        let rank = |decision: &Decision| match decision {
            Decision::Apply(_) => 0,
            Decision::Hold(_) => 1,
            Decision::Refuse(_) => 2,
        };
        let strictest = decisions.into_iter().reduce(|a, b| if rank(&b) > rank(&a) { b } else { a });
        strictest.unwrap_or_else(|| Decision::Refuse("nothing decides about it".to_owned()))
    }

    fn is_strict(&self) -> bool {
        self.layers.iter().any(|layer| layer.preset == Some(Preset::Strict))
    }
}
