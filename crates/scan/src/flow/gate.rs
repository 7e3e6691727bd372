//! [`Ends`]: which ends of a flow a text has words for, so that only what may hold a whole flow is parsed.

use std::sync::LazyLock;

use crate::literals::Literals;

use super::{
    parse::Language,
    shell_words::SHELL_WORDS,
    words::{
        BY_NAME, CHANNEL, DECODE, ENVIRONMENT, EVAL, FETCH, HOME, LAUNCH, PIECES, REMOVE, SECRET, SEND, STEERING,
        STORE, WHOLE, WORDS, WRITE,
    },
};

/// The ends of flows that a text has words for: of a shell in the upper half, else in the lower.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ends(u32);

/// Where the bits of a shell begin.
const SHELL: u32 = 16;

/// Which sets of ends make a flow.
const FLOWS: &[u32] = &[
    SECRET | SEND,
    ENVIRONMENT | SEND,
    WHOLE | SEND,
    FETCH | EVAL,
    FETCH | STORE | LAUNCH,
    DECODE | EVAL,
    CHANNEL | LAUNCH,
    CHANNEL | EVAL,
    DECODE | LAUNCH,
    STEERING | WRITE,
    REMOVE | HOME,
    BY_NAME | PIECES,
    BY_NAME | DECODE,
];

impl Ends {
    /// The ends that stand in a text.
    pub fn of(text: &str) -> Self {
        static FINDER: LazyLock<Literals> =
            LazyLock::new(|| Literals::new(words().flat_map(|(_, words)| words.iter().copied())));
        static OWNERS: LazyLock<Vec<u32>> =
            LazyLock::new(|| words().flat_map(|(end, words)| words.iter().map(move |_| end)).collect());
        let mut all = 0;
        let owners = OWNERS.as_slice();
        FINDER.find(text.as_bytes(), |place, _| all |= owners.get(place).copied().unwrap_or(0));
        Self(all)
    }

    /// Those of two texts that work together.
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether some flow may begin, end or pass here, when `far` is what other files have. What starts
    /// programs may hold a script of the other kind.
    pub fn may_flow(self, far: Self, language: Language) -> bool {
        let of_language = |ends: Self| {
            let (shell, other) = (ends.0 >> SHELL, ends.0 & ((1 << SHELL) - 1));
            let (own, foreign) = if language == Language::Shell { (shell, other) } else { (other, shell) };
            if own & LAUNCH == 0 { own } else { own | foreign }
        };
        let (here, all) = (of_language(self), of_language(self.and(far)));
        FLOWS.iter().any(|flow| here & flow != 0 && all & flow == *flow)
    }

    /// The ends that count also where the other one is in another file.
    pub fn far(self) -> Self {
        Self(self.0 & (SECRET | WHOLE | SEND | FETCH | EVAL))
    }
}

/// The words of all languages with their bits.
fn words() -> impl Iterator<Item = (u32, &'static [&'static str])> {
    let shell = SHELL_WORDS.iter().map(|(end, words)| (end << SHELL, *words));
    WORDS.iter().copied().chain(shell)
}
