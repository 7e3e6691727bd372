//! Which skills are listed when not all of them fit.

use std::collections::BTreeSet;

use crate::catalogue::Listed;

/// Bytes that count as one token: an estimate that needs no model's vocabulary.
const BYTES_PER_TOKEN: usize = 4;

/// Puts the skills that fit a task first; without a task they keep their order.
pub(super) fn rank<'a>(mut skills: Vec<&'a Listed>, task: Option<&str>) -> Vec<&'a Listed> {
    if let Some(task) = task {
        let wanted = words(task);
        let score = |listed: &Listed| {
            let hits = |text: &str| words(text).intersection(&wanted).count();
            3 * hits(listed.name.as_str()) + hits(&listed.description)
        };
        skills.sort_by_cached_key(|listed| std::cmp::Reverse(score(listed)));
    }
    skills
}

/// The most skills, from the first on, whose list is within a budget of tokens, and the others.
pub(super) fn within<'a>(
    skills: Vec<&'a Listed>,
    budget: Option<usize>,
    render: impl Fn(&[&'a Listed]) -> String,
) -> (Vec<&'a Listed>, Vec<&'a Listed>) {
    let Some(budget) = budget else { return (skills, Vec::new()) };
    let frame = render(&[]).len();
    let mut bytes = frame;
    let fits = |listed: &&&'a Listed| {
        bytes += render(&[**listed]).len() - frame;
        bytes.div_ceil(BYTES_PER_TOKEN) <= budget
    };
    let count = skills.iter().take_while(fits).count();
    let mut kept = skills;
    let left_out = kept.split_off(count);
    (kept, left_out)
}

/// The words of a text in lower case, and for scripts without spaces each two characters that stand
/// together.
fn words(text: &str) -> BTreeSet<String> {
    let lower = text.to_lowercase();
    let mut words = BTreeSet::new();
    for word in lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if word.is_ascii() {
            if word.len() > 2 {
                words.insert(word.to_owned());
            }
            continue;
        }
        let letters: Vec<char> = word.chars().collect();
        words.extend(letters.windows(2).map(|pair| pair.iter().collect::<String>()));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_with_and_without_spaces() {
        let found = words("Fill a PDF-form 填写表单");
        for word in ["fill", "pdf", "form", "填写", "表单"] {
            assert!(found.contains(word), "{word} in {found:?}");
        }
        assert!(!found.contains("a"));
    }
}
