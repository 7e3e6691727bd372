//! [`Conversations`]: the state of the conversations in one file while it is read.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use library::OutcomeKind;

use super::SkillUse;
use crate::{optimise::sanitise, record::QUERY_CHARS};

/// Uses of skills in one file, with indices into them.
#[derive(Default)]
pub struct Conversations {
    /// Uses, in the order of reading.
    uses: Vec<SkillUse>,
    /// Uses by call id. The first call with an id counts.
    by_call: HashMap<String, Vec<usize>>,
    /// Uses of each conversation since its last interruption.
    of_session: HashMap<String, Vec<usize>>,
    /// Last use of each skill in a conversation, by conversation and skill.
    last: HashMap<(String, String), usize>,
    /// Start of the user's first message in each conversation.
    queries: HashMap<String, Arc<str>>,
    /// Skills that a call changes if it succeeds, by call id.
    changes: HashMap<String, Vec<String>>,
}

impl Conversations {
    /// Adds the uses by one call. An empty call id refers to no later line.
    pub fn read(&mut self, call: &str, uses: Vec<SkillUse>) {
        let first = self.uses.len();
        for (index, used) in (first..).zip(uses) {
            self.of_session.entry(used.session.clone()).or_default().push(index);
            self.last.insert((used.session.clone(), used.skill.clone()), index);
            self.uses.push(used);
        }
        if !call.is_empty() {
            self.by_call.entry(call.to_owned()).or_insert_with(|| (first..self.uses.len()).collect());
        }
    }

    /// Notes a message of the user, of which the first in a conversation counts. Hosts put their own remarks in tags.
    pub fn say(&mut self, session: &str, text: &str) {
        if self.queries.contains_key(session) || text.trim_start().starts_with('<') {
            return;
        }
        let start = sanitise(text, QUERY_CHARS);
        if !start.is_empty() {
            self.queries.insert(session.to_owned(), start.into());
        }
    }

    /// Returns the uses, with the user's words of their conversations.
    pub fn finish(self) -> Vec<SkillUse> {
        let Self { uses, queries, .. } = self;
        uses.into_iter().map(|used| SkillUse { query: queries.get(&used.session).cloned(), ..used }).collect()
    }

    /// Notes that a call changes skills, which [`Self::succeed`] confirms.
    pub fn begin_change(&mut self, call: &str, skills: Vec<String>) {
        if !skills.is_empty() {
            self.changes.entry(call.to_owned()).or_insert(skills);
        }
    }

    /// Sets the content of a call's uses. The first content counts.
    pub fn set_content(&mut self, call: &str, text: &str) {
        let (found, text) = (self.by_call.get(call).cloned().unwrap_or_default(), Arc::<str>::from(text));
        for index in found {
            if let Some(used) = self.uses.get_mut(index) {
                used.content.get_or_insert_with(|| Arc::clone(&text));
            }
        }
    }

    /// Notes that a call failed.
    pub fn fail(&mut self, call: &str, time: Option<Timestamp>) {
        self.forget_change(call);
        let found = self.by_call.get(call).cloned().unwrap_or_default();
        self.add_event(&found, OutcomeKind::Failed, time);
    }

    /// Notes that a call changed nothing.
    pub fn forget_change(&mut self, call: &str) {
        self.changes.remove(call);
    }

    /// Notes that a call succeeded. A change corrects the last use of the skill in the conversation.
    pub fn succeed(&mut self, call: &str, session: &str, time: Option<Timestamp>) {
        for skill in self.changes.remove(call).unwrap_or_default() {
            let corrected = self.last.get(&(session.to_owned(), skill)).copied();
            self.add_event(corrected.as_slice(), OutcomeKind::Corrected, time);
        }
    }

    /// Notes that a conversation was interrupted, which aborts its uses since the last interruption.
    pub fn abort(&mut self, session: &str, time: Option<Timestamp>) {
        let found = self.of_session.remove(session).unwrap_or_default();
        self.add_event(&found, OutcomeKind::Aborted, time);
    }

    fn add_event(&mut self, uses: &[usize], kind: OutcomeKind, time: Option<Timestamp>) {
        for index in uses {
            if let Some(used) = self.uses.get_mut(*index) {
                used.add_event(kind, time);
            }
        }
    }
}
