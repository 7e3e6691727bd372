//! [`Sayings`]: the concepts in the sentences of a passage, before and after the removal of statements that are
//! forbidden, allowed by the user or about others.

use std::sync::LazyLock;

use super::lexicon::{self, Concepts, Set, Term};

/// The concepts of a passage, sentence by sentence.
#[derive(Default)]
pub(super) struct Sayings {
    /// The sentences of the whole passage, unfiltered.
    pub whole: Vec<Concepts>,
    /// The sentences without those about attacks, and without deeds of somebody other than the agent.
    pub meant: Vec<Concepts>,
    /// [`Self::meant`] without the deeds that require the user's consent first.
    pub freely: Vec<Concepts>,
    /// Deeds in the imperative, per sentence.
    ordered: Vec<Set>,
}

impl Sayings {
    /// Replaces the contents with the terms of a passage, grouped by sentence.
    ///
    /// In `hidden` text, sentences about attacks are not filtered out, and requests for consent have no effect.
    pub fn gather(&mut self, terms: &[Term], hidden: bool) {
        let Self { whole, meant, freely, ordered } = self;
        for sentences in [&mut *whole, meant, freely] {
            sentences.clear();
        }
        let first = terms.first().map_or(0, |term| term.sentence);
        let count = terms.last().map_or(0, |last| (last.sentence - first) as usize + 1);
        let unsaid = Concepts { said: if hidden { GUARDS.hidden } else { 0 }, negated: 0 };
        whole.resize(count, unsaid);
        meant.resize(count, unsaid);
        ordered.clear();
        ordered.resize(count, 0);
        for term in terms {
            let at = (term.sentence - first) as usize;
            if let Some(ordered) = ordered.get_mut(at).filter(|_| term.ordered && !term.negated) {
                *ordered |= 1 << term.concept;
            }
            for (sentences, counts) in [(&mut *whole, true), (&mut *meant, !term.described)] {
                if let Some(here) = sentences.get_mut(at).filter(|_| counts) {
                    let set = if term.negated { &mut here.negated } else { &mut here.said };
                    *set |= 1 << term.concept;
                }
            }
        }
        if !hidden {
            let taught = meant.iter_mut().zip(whole).filter(|(_, whole)| whole.said & GUARDS.teach != 0);
            taught.for_each(|(meant, _)| *meant = Concepts::default());
        }
        freely.extend_from_slice(meant);
        if !hidden {
            let asked: Vec<Set> = (0..meant.len()).map(|at| allowed(meant, at)).collect();
            freely.iter_mut().zip(asked).for_each(|(freely, asked)| freely.said &= !asked);
        }
    }

    /// Returns true if the passage names deeds but has its reader do none of them: it forbids them or describes others.
    pub fn forbids(&self) -> bool {
        let deeds = lexicon::deeds() & !GUARDS.mild;
        let (whole, freely) = (Concepts::together(&self.whole), Concepts::together(&self.freely));
        whole.all() & deeds != 0 && freely.said & deeds == 0
    }

    /// Returns true if a sentence orders its reader to act on a target without asking the user.
    pub fn orders(&self) -> bool {
        let mut both = self.freely.iter().zip(&self.ordered);
        both.any(|(here, ordered)| here.said & ordered & !GUARDS.mild != 0 && here.said & GUARDS.target != 0)
    }
}

/// Concepts that turn a passage into something other than an instruction.
pub(super) struct Guards {
    pub teach: Set,
    pub forbid: Set,
    /// Requests for the user's decision.
    pub asked: Set,
    /// Statements that the user is informed, or has asked for it.
    pub told: Set,
    pub addressee: Set,
    pub not: Set,
    pub lesson: Set,
    pub waived: Set,
    pub hidden: Set,
    pub robot: Set,
    /// Destinations: somebody else, or a hidden location. Informing the user about something else does not permit
    /// these.
    pub away: Set,
    /// Deeds that are harmless whatever their object.
    pub mild: Set,
    /// Deeds that the phrase `ask the user` matches as well.
    pub asking: Set,
    /// Required objects of a malicious order: a secret, an agent's file, a foreign host, a hidden place.
    pub target: Set,
    /// Targets that are secrets, and those that are files of an agent or run at a start.
    pub secret: Set,
    pub own_file: Set,
}

pub(super) static GUARDS: LazyLock<Guards> = LazyLock::new(|| {
    let bit = |name| lexicon::concept(name).map_or(0, |concept| 1 << concept);
    Guards {
        teach: bit("teach"),
        forbid: bit("forbid"),
        asked: bit("ask-first"),
        told: bit("told"),
        addressee: bit("addressee"),
        not: bit("not") | bit("never") | bit("lest"),
        lesson: bit("lesson"),
        waived: bit("cover-story") | bit("omit"),
        hidden: bit("hidden"),
        robot: bit("robot"),
        away: ["host", "mail", "out", "unseen", "hidden"].into_iter().map(bit).sum(),
        asking: bit("fetch") | bit("waive"),
        mild: ["act", "ask-first", "told", "fail", "omit", "approve", "rank"].into_iter().map(bit).sum(),
        target: ["host", "mail", "store", "cred", "agent-file", "startup", "hidden"].into_iter().map(bit).sum(),
        secret: bit("store") | bit("cred"),
        own_file: bit("agent-file") | bit("startup"),
    }
});

/// Returns the deeds of a sentence that the user consents to, in that sentence or in an adjacent one without deeds of
/// its own.
fn allowed(sentences: &[Concepts], at: usize) -> Set {
    let said = |at: Option<usize>| at.and_then(|at| sentences.get(at)).map_or(0, |sentence| sentence.said);
    let here = said(Some(at));
    let asks = |set: Set| set & GUARDS.asked != 0 && set & GUARDS.waived == 0;
    let asks_alone = |set: Set| asks(set) && set & lexicon::deeds() & !(GUARDS.mild | GUARDS.asking) == 0;
    let is_told = here & GUARDS.told != 0 && here & (GUARDS.away | GUARDS.waived) == 0;
    let near = [at.checked_sub(1), at.checked_add(1)];
    let is_allowed = asks(here) || is_told || near.into_iter().any(|near| asks_alone(said(near)));
    if is_allowed { lexicon::deeds() } else { 0 }
}
