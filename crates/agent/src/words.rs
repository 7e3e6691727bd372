//! [`words`]: the tokens by which texts are compared.

use std::collections::BTreeSet;

/// Returns the words of a text in lower case. For scripts without spaces, these are all pairs of adjacent characters.
pub(crate) fn words(text: &str) -> BTreeSet<String> {
    let lower = text.to_lowercase();
    let mut words = BTreeSet::new();
    for word in lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if word.is_ascii() {
            if word.len() > 1 {
                words.insert(word.to_owned());
            }
            continue;
        }
        let letters: Vec<char> = word.chars().collect();
        if let [letter] = letters.as_slice() {
            words.insert(letter.to_string());
        }
        words.extend(letters.windows(2).map(|pair| pair.iter().collect::<String>()));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_in_any_script() {
        let found = words("Fill a PDF-form 填写表单");
        for word in ["fill", "pdf", "form", "填写", "写表", "表单"] {
            assert!(found.contains(word), "{word} in {found:?}");
        }
        assert!(!found.contains("a"));
    }
}
