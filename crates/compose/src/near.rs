//! [`near`]: the name that somebody may have meant.

/// Names that are longer than this are not compared.
const MAX_CHARS: usize = 64;

/// The nearest of some names, if it is near enough to be a slip: at most one change in three letters, two at most in short names.
pub(crate) fn near<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    if length > MAX_CHARS {
        return None;
    }
    let allowed = (length / 3).clamp(1, 3);
    let ranked = names.into_iter().filter(|other| other.chars().count() <= MAX_CHARS);
    let ranked = ranked.map(|other| (distance(&name.to_lowercase(), &other.to_lowercase()), other));
    ranked.filter(|(far, _)| *far <= allowed).min_by_key(|(far, _)| *far).map(|(_, other)| other)
}

/// `", did you mean …?"` or what there is, for a hint.
pub(crate) fn suggest<'a>(name: &str, names: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = near(name, names.clone()) {
        return format!("did you mean `{near}`?");
    }
    let mut all: Vec<&str> = names.into_iter().collect();
    let more = all.len().saturating_sub(12);
    all.truncate(12);
    match (all.is_empty(), more) {
        (true, _) => "there is none".to_owned(),
        (_, 0) => format!("there is `{}`", all.join("`, `")),
        _ => format!("there is `{}` and {more} more", all.join("`, `")),
    }
}

/// Insertions, removals, replacements and swaps of neighbours between two texts.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for j in 0..=b.len() {
        rows[0][j] = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let changed = usize::from(a[i - 1] != b[j - 1]);
            let mut least = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + changed);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = least;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_other_words_are_not() {
        let names = ["web_fetch", "web_search", "write_file"];
        assert_eq!(near("web_fecth", names), Some("web_fetch"));
        assert_eq!(near("webfetch", names), Some("web_fetch"));
        assert_eq!(near("Write_File", names), Some("write_file"));
        assert_eq!(near("delete", names), None);
        assert_eq!(suggest("delete", names), "there is `web_fetch`, `web_search`, `write_file`");
    }
}
