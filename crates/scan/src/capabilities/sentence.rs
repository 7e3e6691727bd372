//! [`is_sentence`]: prose in code blocks, such as lines of a commit message, that would be taken for commands.

use super::{Part, Piece};

/// Programs whose names look like words.
const PROGRAMS: [&str; 5] = ["Rscript", "Xvfb", "Xorg", "Xephyr", "Xwayland"];

/// Programs that a file system without cases finds under a capitalised name too.
const PLAIN: [&str; 14] = [
    "sudo", "doas", "curl", "wget", "ssh", "scp", "bash", "python", "node", "reboot", "shutdown", "open", "git", "npm",
];

/// Returns true if a command of a code block is a sentence: a capitalised word, followed by words only. Scripts are
/// always read as commands.
pub(super) fn is_sentence(piece: &Piece<'_>, name: &str, rest: &[String]) -> bool {
    let is_capitalised = name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.len() > 2
        && name.chars().skip(1).all(|c| c.is_ascii_lowercase());
    let is_word = |word: &String| {
        let word = word.trim_end_matches([',', '.', ':', '!', '?']);
        word.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '\'' | '’')) && !word.starts_with('-')
    };
    piece.part == Part::Code
        && is_capitalised
        && !PROGRAMS.contains(&name)
        && !PLAIN.contains(&name.to_ascii_lowercase().as_str())
        && rest.iter().all(is_word)
}
