//! [`Stem`]: a word without the English endings of plurals and verbs, so that `tests` finds `test` and `testing`.
//!
//! The rules are few and cautious: an ending is removed only from what remains a word, and irregular forms are not known.
//! Words with other letters than those of English are their own stems.

/// Fewest letters that remain when an ending is removed.
const LETTERS: usize = 3;

/// The common part of the forms of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stem<'a> {
    start: &'a str,
    /// True if `y` or `i` follows, as in `query` and `queries`.
    has_y: bool,
}

impl<'a> Stem<'a> {
    /// Returns the stem of a word in lower case.
    pub fn of(word: &'a str) -> Self {
        let whole = Self { start: word, has_y: false };
        if !word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') {
            return whole;
        }
        if let Some(start) = without(word, "ies") {
            return Self { start, has_y: true };
        }
        let one = without_verb_ending(singular(word));
        match without(one, "y").filter(|start| !start.ends_with(is_vowel)) {
            Some(start) => Self { start, has_y: true },
            None => Self { start: one, has_y: false },
        }
    }

    /// Returns the letters with which all forms of the word begin.
    pub fn start(self) -> &'a str {
        self.start
    }

    /// Returns the beginnings of all forms of the word.
    pub fn prefixes(self) -> Vec<String> {
        let endings: &[&str] = if self.has_y { &["y", "i"] } else { &[""] };
        endings.iter().map(|ending| format!("{}{ending}", self.start)).collect()
    }
}

/// Removes the ending of a plural.
fn singular(word: &str) -> &str {
    let is_hissing = |start: &&str| ["ss", "x", "z", "ch", "sh"].iter().any(|end| start.ends_with(end));
    if let Some(start) = without(word, "es").filter(is_hissing) {
        return start;
    }
    without(word, "s").filter(|start| !start.ends_with(['s', 'u', 'i'])).unwrap_or(word)
}

/// Removes the ending of a verb, also the `e` before which it is left out.
fn without_verb_ending(word: &str) -> &str {
    let ending = ["ing", "ed"].iter().find_map(|ending| without(word, ending));
    let Some(start) = ending.filter(|start| start.contains(is_vowel)) else {
        // The letters before the `e` of a short word are often another word, as in `note`.
        return without(word, "e").filter(|start| start.len() > LETTERS).unwrap_or(word);
    };
    let mut letters = start.chars().rev();
    let last = letters.next().filter(|last| !matches!(last, 'l' | 's' | 'z'));
    match (last, letters.next()) {
        (Some(last), Some(before)) if last == before && !is_vowel(last) => start.strip_suffix(last).unwrap_or(start),
        _ => start,
    }
}

/// Removes an ending if enough letters remain.
fn without<'a>(word: &'a str, ending: &str) -> Option<&'a str> {
    word.strip_suffix(ending).filter(|start| start.len() >= LETTERS)
}

fn is_vowel(c: char) -> bool {
    matches!(c, 'a' | 'e' | 'i' | 'o' | 'u')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for forms in [
            "test tests testing tested", "query queries querying", "merge merges merging merged",
            "branch branches branching", "run runs running", "class classes", "note notes", "pdf pdfs",
            "process processes processing", "install installs installed installing", "pdf-form pdf-forms",
        ] {
            let stems: Vec<_> = forms.split(' ').map(Stem::of).collect();
            assert!(stems.iter().all(|stem| *stem == stems[0]), "{forms}: {stems:?}");
            for form in forms.split(' ') {
                let prefixes = stems[0].prefixes();
                assert!(prefixes.iter().any(|prefix| form.starts_with(prefix)), "{form}: {prefixes:?}");
            }
        }
    }

    #[test]
    fn other_words_keep_their_own() {
        for pair in ["not note", "new ring", "part party", "bus bu", "css c", "red r", "string str", "is i"] {
            let (one, other) = pair.split_once(' ').unwrap();
            assert_ne!(Stem::of(one), Stem::of(other), "{pair}");
        }
        for own in ["", "s", "es", "ing", "été", "图表", "k8s", "c++", "status", "analysis", "ss", "-"] {
            assert_eq!(Stem::of(own), Stem { start: own, has_y: false });
        }
    }
}
