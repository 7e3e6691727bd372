//! [`counted`]: a number with its noun in the singular or plural.

use std::fmt::Display;

/// Formats a count with its noun: `1 skill`, `2 skills`, `0 entries`. The noun is passed in the singular.
pub fn counted(count: impl Display, noun: &str) -> String {
    let count = count.to_string();
    if count == "1" { format!("1 {noun}") } else { format!("{count} {}", plural(noun)) }
}

fn plural(noun: &str) -> String {
    let ends = |ends: &[&str]| ends.iter().any(|end| noun.ends_with(end));
    match noun.strip_suffix('y') {
        Some(stem) if !ends(&["ay", "ey", "oy", "uy"]) => format!("{stem}ies"),
        _ if ends(&["s", "x", "ch", "sh"]) => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        assert_eq!(counted(1, "skill"), "1 skill");
        assert_eq!([counted(0, "skill"), counted(2_usize, "skill")], ["0 skills", "2 skills"]);
        assert_eq!(counted(21_u64, "held proposal"), "21 held proposals");
    }

    #[test]
    fn plurals_follow_english() {
        assert_eq!(
            [counted(2, "entry"), counted(2, "day"), counted(2, "match"), counted(2, "release")],
            ["2 entries", "2 days", "2 matches", "2 releases"]
        );
    }
}
