//! [`Anchored`]: a rule's expression, tried at one place.
//!
//! Of an automaton that is made while it runs, a search for a place where a match begins asks for states of all
//! the places that it passed, and for a second automaton that runs back from the end. At a known place there
//! is neither.

use std::{
    panic::{RefUnwindSafe, UnwindSafe},
    sync::Arc,
};

use regex_automata::{
    Anchored as Mode, Input,
    hybrid::dfa::{Cache, DFA},
    nfa::thompson::{Config, WhichCaptures},
    util::pool::Pool,
};

use crate::engine::{NFA_BYTES, plain, syntax};

/// Makes room for the states of an automaton.
type MakeCache = Box<dyn Fn() -> Cache + Send + Sync + UnwindSafe + RefUnwindSafe>;

/// An expression, ready to be tried at a place.
pub(crate) struct Anchored {
    automaton: Arc<DFA>,
    caches: Pool<Cache, MakeCache>,
}

impl Anchored {
    /// Compiles a rule's pattern, as [`crate::engine::compile`] does.
    pub fn compile(pattern: &str) -> Result<Self, String> {
        let config = Config::new().utf8(false).nfa_size_limit(Some(NFA_BYTES)).which_captures(WhichCaptures::None);
        let automaton = DFA::builder()
            .configure(DFA::config().skip_cache_capacity_check(true))
            .thompson(config)
            .syntax(syntax())
            .build(&plain(pattern))
            .map_err(|error| error.to_string())?;
        let automaton = Arc::new(automaton);
        let shared = Arc::clone(&automaton);
        let make: MakeCache = Box::new(move || shared.create_cache());
        Ok(Self { automaton, caches: Pool::new(make) })
    }

    /// Where the match ends that begins at a byte of a window.
    pub fn end(&self, window: &[u8], at: usize) -> Result<Option<usize>, String> {
        let input = Input::new(window).range(at..).anchored(Mode::Yes);
        let found = self.automaton.try_search_fwd(&mut self.caches.get(), &input);
        found.map(|found| found.map(|end| end.offset())).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{engine::compile, rules};

    #[test]
    fn at_the_place_of_a_match_it_ends_where_the_whole_expression_says() {
        let mut matches = 0;
        for rule in rules().iter().filter(|rule| !rule.pattern.is_empty()) {
            let (whole, anchored) = (compile(rule.pattern).unwrap(), Anchored::compile(rule.pattern).unwrap());
            for (_, text) in rules().iter().flat_map(|rule| rule.harmful.iter().chain(rule.harmless)) {
                for found in whole.find_iter(text) {
                    matches += 1;
                    let end = anchored.end(text.as_bytes(), found.start()).unwrap();
                    assert_eq!(end, Some(found.end()), "{}: {text}", rule.id);
                }
            }
        }
        assert!(matches > 200, "{matches}");
    }
}
