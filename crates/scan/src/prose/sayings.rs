//! [`Sayings`]: what the sentences of a passage say, and what remains of it once what is forbidden, allowed by the user or
//! told of others is taken away.

use std::sync::LazyLock;

use super::lexicon::{self, Set, Term};

/// What a passage says, sentence by sentence: the concepts, and the deeds that it negates.
#[derive(Default)]
pub(super) struct Sayings {
    /// All of it.
    pub whole: Vec<(Set, Set)>,
    /// What remains without sentences about attacks, and without what others than the agent do.
    pub meant: Vec<(Set, Set)>,
    /// What remains of that without deeds for which the user is asked first.
    pub freely: Vec<(Set, Set)>,
    /// For each sentence the deeds that the reader is told to do.
    ordered: Vec<Set>,
}

impl Sayings {
    /// Brings the terms of a passage together by sentence.
    pub fn gather(&mut self, terms: &[Term], hidden: bool) {
        let Self { whole, meant, freely, ordered } = self;
        for sentences in [&mut *whole, meant, freely] {
            sentences.clear();
        }
        let first = terms.first().map_or(0, |term| term.sentence);
        let count = terms.last().map_or(0, |last| (last.sentence - first) as usize + 1);
        let unsaid = (if hidden { GUARDS.hidden } else { 0 }, 0);
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
                if let Some((said, negated)) = sentences.get_mut(at).filter(|_| counts) {
                    let set = if term.negated { negated } else { said };
                    *set |= 1 << term.concept;
                }
            }
        }
        if !hidden {
            let teaches = |whole: &(Set, Set)| whole.0 & GUARDS.teach != 0;
            meant.iter_mut().zip(whole).filter(|(_, whole)| teaches(whole)).for_each(|(meant, _)| *meant = (0, 0));
        }
        freely.extend_from_slice(meant);
        if !hidden {
            let asked: Vec<Set> = (0..meant.len()).map(|at| allowed(meant, at)).collect();
            freely.iter_mut().zip(asked).for_each(|(freely, asked)| freely.0 &= !asked);
        }
    }

    /// Whether it names deeds and has its reader do none of them: it forbids them, or tells what others do.
    pub fn forbids(&self) -> bool {
        let deeds = lexicon::deeds() & !GUARDS.mild;
        let (whole, freely) = (together(&self.whole), together(&self.freely));
        (whole.0 | whole.1) & deeds != 0 && freely.0 & deeds == 0
    }

    /// Whether a sentence tells its reader to do something with a target, and the user is not asked about it.
    pub fn orders(&self) -> bool {
        let mut both = self.freely.iter().zip(&self.ordered);
        both.any(|((said, _), ordered)| said & ordered & !GUARDS.mild != 0 && said & GUARDS.target != 0)
    }
}

/// What sentences say together.
pub(super) fn together(sentences: &[(Set, Set)]) -> (Set, Set) {
    sentences.iter().fold((0, 0), |all, one| (all.0 | one.0, all.1 | one.1))
}

/// Concepts by which a passage is no instruction.
pub(super) struct Guards {
    pub teach: Set,
    pub forbid: Set,
    /// The user decides.
    pub asked: Set,
    /// The user is told, or has asked.
    pub told: Set,
    pub addressee: Set,
    pub not: Set,
    pub lesson: Set,
    pub waived: Set,
    pub hidden: Set,
    pub robot: Set,
    /// Where something goes to somebody else, or out of sight; that the user is told of something else allows it not.
    pub away: Set,
    /// Deeds that harm nobody, whatever they are done to.
    pub mild: Set,
    /// Deeds for which `ask the user` is taken as well.
    pub asking: Set,
    /// What an order has to be about to be an attack: a secret, an agent's file, a foreign host, a hidden place.
    pub target: Set,
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
    }
});

/// The deeds of a sentence that the user allows: in it, or in the one before or after it that says nothing else.
fn allowed(sentences: &[(Set, Set)], at: usize) -> Set {
    let said = |at: Option<usize>| at.and_then(|at| sentences.get(at)).map_or(0, |sentence| sentence.0);
    let here = said(Some(at));
    let asks = |set: Set| set & GUARDS.asked != 0 && set & GUARDS.waived == 0;
    let asks_alone = |set: Set| asks(set) && set & lexicon::deeds() & !(GUARDS.mild | GUARDS.asking) == 0;
    let is_told = here & GUARDS.told != 0 && here & (GUARDS.away | GUARDS.waived) == 0;
    let near = [at.checked_sub(1), at.checked_add(1)];
    let is_allowed = asks(here) || is_told || near.into_iter().any(|near| asks_alone(said(near)));
    if is_allowed { lexicon::deeds() } else { 0 }
}
