//! [`words`]: the literals that indicate flow ends, in each group of languages.

/// The literals as tab-separated values, kept as data because they change often. The first lines describe the columns.
const TABLE: &str = include_str!("../data/words.tsv");

/// Number of bits per group of languages. Python and JavaScript have the lowest bits.
pub(super) const KIND: u32 = 16;
/// Bit offset of the shell group.
pub(super) const SHELL: u32 = KIND;
/// Bit offset of the group of languages that are analysed without a grammar.
pub(super) const LEXICAL: u32 = 2 * KIND;

/// Secret: a file or program with credentials, or captured user data.
pub(super) const SECRET: u32 = 1;
/// Environment access, or a common variable in it.
pub(super) const ENVIRONMENT: u32 = 1 << 1;
/// Download from the network.
pub(super) const FETCH: u32 = 1 << 2;
pub(super) const DECODE: u32 = 1 << 3;
pub(super) const SEND: u32 = 1 << 4;
/// Execution of text as code.
pub(super) const EVAL: u32 = 1 << 5;
/// Start of a program.
pub(super) const LAUNCH: u32 = 1 << 6;
/// Creation of a binary or executable file.
pub(super) const STORE: u32 = 1 << 7;
/// Write to any file.
pub(super) const WRITE: u32 = 1 << 8;
/// File that runs at startup or steers agents.
pub(super) const STEERING: u32 = 1 << 9;
pub(super) const REMOVE: u32 = 1 << 10;
pub(super) const HOME: u32 = 1 << 11;
/// Name lookup by a string.
pub(super) const BY_NAME: u32 = 1 << 12;
/// Incoming data from the network, without a request.
pub(super) const CHANNEL: u32 = 1 << 14;
/// Access to the whole environment.
pub(super) const WHOLE: u32 = 1 << 15;
/// Assembly of a text from pieces.
pub(super) const PIECES: u32 = 1 << 13;

/// Names of the flow ends in the table, in the order of their bits.
const ENDS: [&str; KIND as usize] = [
    "secret", "environment", "fetch", "decode", "send", "eval", "launch", "store", "write", "steering", "remove",
    "home", "by_name", "pieces", "channel", "whole",
];

/// Returns the literals of all languages with the bits of the ends that they indicate.
pub(super) fn words() -> impl Iterator<Item = (u64, &'static str)> {
    TABLE.lines().filter(|line| !line.starts_with('#')).flat_map(|line| {
        let mut columns = line.split('\t');
        let groups: &[u32] = match columns.next() {
            Some("script") => &[0],
            Some("shell") => &[SHELL],
            Some("lexical") => &[LEXICAL],
            _ => &[0, SHELL, LEXICAL],
        };
        let bit_of = |end: &str| ENDS.iter().position(|known| *known == end).map_or(0, |place| 1_u64 << place);
        let ends = columns.next().unwrap_or("").split(' ').map(bit_of).fold(0, |ends, end| ends | end);
        groups.iter().flat_map(move |group| columns.clone().map(move |word| (ends << group, literal(word))))
    })
}

/// Replaces the escapes of the table.
fn literal(word: &'static str) -> &'static str {
    if !word.contains('\\') {
        return word;
    }
    // Needed as long as the program runs, like the table itself.
    word.replace("\\n", "\n").replace("\\t", "\t").replace("\\_", " ").leak()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_known_languages_and_ends() {
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let columns: Vec<&str> = line.split('\t').collect();
            assert!(["any", "script", "shell", "lexical"].contains(&columns[0]), "{line}");
            assert!(columns[1].split(' ').all(|end| ENDS.contains(&end)), "{line}");
            assert!(columns.len() > 2 && columns.iter().all(|column| !column.is_empty()), "{line}");
        }
    }
}
