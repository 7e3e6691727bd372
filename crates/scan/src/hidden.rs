//! [`check`]: text hidden in characters that a reader cannot see or mistakes for others.

use crate::{
    characters::{is_invisible, latin_look_alike},
    excerpt::Excerpt,
    finder::{Finder, excerpt_at},
    rules,
    source::Source,
};

/// Distance of a tag character from the ASCII character that it stands for.
const TAGS: u32 = 0xE0000;

/// Maximum number of characters of a hidden text that a message shows.
const SPELLED: usize = 80;

/// Adds findings for hidden characters in one file. Binary files are skipped, since these bytes mean something else
/// there.
pub(crate) fn check(source: &Source<'_>, finder: &mut Finder) {
    if source.is_binary() || source.text.is_ascii() {
        return;
    }
    for (index, line) in source.lines() {
        if line.is_ascii() || !line.chars().any(may_hide) {
            continue;
        }
        let first = index == 0;
        let chars: Vec<char> = line.chars().skip(usize::from(first && line.starts_with('\u{FEFF}'))).collect();
        for (found, rule) in [
            (tags(&chars), &rules::UNICODE_TAGS),
            (direction(&chars), &rules::UNICODE_DIRECTION),
            (zero_width(&chars), &rules::UNICODE_ZERO_WIDTH),
            (stray(&chars), &rules::UNICODE_STRAY),
            (selectors(&chars), &rules::UNICODE_SELECTORS),
        ] {
            if found {
                let excerpt = first_hidden(source, index);
                let spelled = if rule.id == rules::UNICODE_TAGS.id { spelled(&chars) } else { String::new() };
                let message = [rule.message, &spelled].concat();
                if let Some(signal) = finder.add_told(rule, rule.evidence, source, index, &excerpt.text, message) {
                    signal.excerpt = excerpt;
                }
            }
        }
        if let Some(word) = mixed(&chars) {
            add_mixed(source, index, &word, finder);
        }
    }
}

/// Returns the excerpt of a line with its first hidden characters marked.
fn first_hidden(source: &Source<'_>, index: usize) -> Excerpt {
    let line = source.line(index);
    let at = line.find(|c: char| !c.is_ascii() && is_invisible(c)).or_else(|| line.find(may_hide)).unwrap_or(0);
    let run: usize = line.get(at..).unwrap_or("").chars().take_while(|c| is_invisible(*c)).map(char::len_utf8).sum();
    let start = source.line_start(index) + at;
    excerpt_at(source, start..start + run)
}

/// Returns the text that tag characters stand for, as the end of a message; empty if they stand for none.
fn spelled(chars: &[char]) -> String {
    let letter = |c: &char| u32::from(*c).checked_sub(TAGS).and_then(char::from_u32).filter(|c| matches!(c, ' '..='~'));
    let text: String = chars.iter().filter_map(letter).take(SPELLED).collect();
    if text.is_empty() { text } else { format!("; they spell “{}”", text.trim()) }
}

/// Returns whether the line checks need to look at a character.
fn may_hide(c: char) -> bool {
    !c.is_ascii() && (is_invisible(c) || latin_look_alike(c).is_some())
}

/// Detects tag characters outside of region flags. A flag is a black flag, tags and the cancel tag.
fn tags(chars: &[char]) -> bool {
    let mut flag = false;
    for c in chars {
        match c {
            '\u{1F3F4}' => flag = true,
            '\u{E007F}' => flag = false,
            '\u{E0000}'..='\u{E0FFF}' if is_selector(*c) => {}
            '\u{E0061}'..='\u{E007A}' | '\u{E0030}'..='\u{E0039}' if flag => {}
            '\u{E0000}'..='\u{E0FFF}' => return true,
            _ => flag = false,
        }
    }
    false
}

/// Detects forced writing direction, or direction controls in a line without right-to-left letters.
fn direction(chars: &[char]) -> bool {
    let turns = |c: &char| matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    let needs = |c: &char| matches!(c, '\u{590}'..='\u{8FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}');
    let forced = chars.iter().any(|c| matches!(c, '\u{202D}' | '\u{202E}'));
    forced || (chars.iter().any(turns) && !chars.iter().any(needs))
}

/// Detects three or more invisible characters inside ASCII words, or a long run of them. Such a cut keeps filters from
/// recognising a word.
fn zero_width(chars: &[char]) -> bool {
    let cut = |w: &&[char]| matches!(w, [a, b, c] if is_zero_width(*b) && a.is_ascii_graphic() && c.is_ascii_graphic());
    let cuts = chars.windows(3).filter(cut).count();
    cuts >= 3 || longest_run(chars, is_zero_width) >= 4
}

/// Detects a single invisible character inside a word.
fn stray(chars: &[char]) -> bool {
    let cut = |w: &[char]| matches!(w, [a, b, c] if is_zero_width(*b) && a.is_ascii_alphanumeric() && c.is_ascii_alphanumeric());
    chars.windows(3).any(cut) && !zero_width(chars)
}

/// Detects a run of variation selectors, which can hide bytes behind one visible character.
fn selectors(chars: &[char]) -> bool {
    longest_run(chars, is_selector) >= 4
}

/// Returns the first word of Latin letters mixed with look-alikes from another script.
fn mixed(chars: &[char]) -> Option<String> {
    let is_mixed = |word: &&[char]| {
        let latin = word.iter().filter(|c| c.is_ascii_alphabetic()).count();
        let alike = word.iter().filter(|c| imitated(**c).is_some()).count();
        latin >= 2 && alike >= 1 && latin + alike == word.len()
    };
    chars.split(|c| !c.is_alphabetic()).find(is_mixed).map(|word| word.iter().collect())
}

/// Returns the Latin letter that a letter of another script looks like. Letters of Latin alphabets do not count.
fn imitated(c: char) -> Option<char> {
    latin_look_alike(c).filter(|_| !matches!(c, 'ı' | 'ɡ' | 'ɑ'))
}

/// Adds a finding that names the first look-alike letter of a word and the letter that belongs there.
fn add_mixed(source: &Source<'_>, index: usize, word: &str, finder: &mut Finder) {
    let rule = &rules::UNICODE_LOOK_ALIKE;
    let Some((letter, latin)) = word.chars().find_map(|c| Some((c, imitated(c)?))) else { return };
    let script = if matches!(letter, '\u{370}'..='\u{3FF}') { "Greek" } else { "Cyrillic" };
    let code = format!("U+{:04X}", u32::from(letter));
    let start = source.line(index).find(word).unwrap_or(0) + source.line_start(index);
    let excerpt = excerpt_at(source, start..start + word.len());
    let message =
        format!("{}: “{letter}” in “{word}” is {script} ({code}) and imitates the Latin “{latin}”", rule.message);
    if let Some(signal) = finder.add_told(rule, rule.evidence, source, index, &excerpt.text, message) {
        signal.excerpt = excerpt;
        signal.remedy = format!(
            "replace “{letter}” ({code}) by the Latin letter “{latin}”; to explain the look-alike, write {code} instead"
        )
        .into();
    }
}

fn is_zero_width(c: char) -> bool {
    matches!(c, '\u{200B}'..='\u{200D}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}' | '\u{180E}' | '\u{3164}' | '\u{FFA0}' | '\u{115F}')
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
}

fn longest_run(chars: &[char], wanted: fn(char) -> bool) -> usize {
    let (mut longest, mut run) = (0, 0);
    for c in chars {
        run = if wanted(*c) { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}
