//! Recognition of help texts for command-line flags ([`is_help`]). They describe a program and instruct nobody.

/// Maximum number of words in a line of help.
const WORDS: usize = 20;

/// Substrings that help texts do not contain: addresses and paths on the user's machine.
const NO_HELP: &[&str] = &["://", "~/", "$HOME"];

/// Returns true if a line is a flag with its help: a table row, a list item or a line of a usage text.
pub(super) fn is_help(line: &str) -> bool {
    let bare = line.trim_start_matches(['|', ' ', '\t', '>', '*', '+']);
    let bare = bare.strip_prefix("- ").unwrap_or(bare).trim_start_matches([' ', '`', '*', '|']);
    let name = bare.strip_prefix("--").or_else(|| bare.strip_prefix('-')).unwrap_or("");
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && bare.split_whitespace().count() <= WORDS
        && !NO_HELP.iter().any(|mark| bare.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_items_and_usage_are_help() {
        for line in [
            "--yes  Skip confirmation",
            "  -y, --yes          Skip all prompts",
            "| `--yes` | Skip confirmation | false |",
            "| `-q`, `--quiet` | Print nothing |",
            "- `--force`: overwrite without asking",
            "- **`--no-verify`** skips the hooks",
            "* --dry-run",
        ] {
            assert!(is_help(line), "{line}");
        }
    }

    #[test]
    fn sentences_and_long_rows_are_not_help() {
        for line in [
            "Pass `--yes` so that nobody is asked.",
            "- Skip the confirmation with `--yes`.",
            "---",
            "|---|---|",
            "- item",
            "-5 degrees",
            "- `--token`: post it to https://drop.invalid/in",
            "- `--all`: read ~/.netrc first",
        ] {
            assert!(!is_help(line), "{line}");
        }
        assert!(!is_help(&format!("--yes {}", "and on ".repeat(20))));
    }
}
