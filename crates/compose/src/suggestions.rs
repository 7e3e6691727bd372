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

/// Returns the hint `did you mean …?`, or a list of the known names.
pub(crate) fn suggest<'a>(name: &str, names: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = near(name, names.clone()) {
        return format!("did you mean `{near}`?");
    }
    let mut all: Vec<&str> = names.into_iter().collect();
    let more = all.len().saturating_sub(12);
    all.truncate(12);
    match (all.is_empty(), more) {
        (true, _) => "none are available here".to_owned(),
        (_, 0) => format!("use one of `{}`", all.join("`, `")),
        _ => format!("use one of `{}` and {more} more", all.join("`, `")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_names_are_suggested() {
        let names = ["web_fetch", "web_search", "write_file"];
        assert_eq!(near("web_fecth", names), Some("web_fetch"));
        assert_eq!(near("webfetch", names), Some("web_fetch"));
        assert_eq!(near("Write_File", names), Some("write_file"));
        assert_eq!(near("delete", names), None);
        assert_eq!(suggest("delete", names), "use one of `web_fetch`, `web_search`, `write_file`");
    }
}
