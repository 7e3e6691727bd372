//! Spelling suggestions by edit distance with insertions, deletions, substitutions and transpositions ([`near`]).

/// Maximum length of compared names, in characters.
const MAX_CHARS: usize = 64;

/// Returns the nearest of some names, if it may be a misspelling. The allowed distance is one per three letters: at
/// least one, at most three.
pub fn near<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    if !(2..=MAX_CHARS).contains(&length) {
        return None;
    }
    let allowed = (length / 3).clamp(1, 3);
    let ranked = names.into_iter().filter(|other| other.chars().count() <= MAX_CHARS);
    let ranked = ranked.map(|other| (strsim::osa_distance(&name.to_lowercase(), &other.to_lowercase()), other));
    ranked.filter(|(far, _)| *far <= allowed).min_by_key(|(far, _)| *far).map(|(_, other)| other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_names_have_a_near_one() {
        let names = ["web_fetch", "web_search", "write_file"];
        assert_eq!(near("web_fecth", names), Some("web_fetch"));
        assert_eq!(near("webfetch", names), Some("web_fetch"));
        assert_eq!(near("Write_File", names), Some("write_file"));
        assert_eq!(near("delete", names), None);
    }
}
