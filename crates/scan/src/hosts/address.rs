//! [`Address`]: a host in a text, with its path and scheme.

use memchr::{memchr2_iter, memmem};

use super::{is_near, is_sample};

/// Length of the longest significant scheme in bytes, plus one.
const SCHEME: usize = 6;

/// Maximum number of bytes examined in a path.
const PATH: usize = 512;

/// A network address found in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address<'t> {
    /// In lower case, without a port. Placeholders are kept if the host is only known at run time.
    pub host: String,
    /// The rest of the address, from its slash on. Empty if there is none.
    pub path: &'t str,
    /// True if the scheme authenticates the server.
    pub is_secure: bool,
    /// Byte offset of the host in the text.
    pub at: usize,
}

impl Address<'_> {
    /// Returns true if the host contains a variable or a placeholder.
    pub fn is_open(&self) -> bool {
        self.host.contains(['$', '{', '<', '%', '[', '\0'])
    }

    /// Returns true if the address leads to nobody: a placeholder, a sample or this machine.
    pub fn is_nowhere(&self) -> bool {
        self.is_open() || is_near(&self.host) || is_sample(&self.host)
    }
}

/// Returns the addresses in a text that have a scheme with a host.
pub(crate) fn addresses(text: &str) -> impl Iterator<Item = Address<'_>> {
    const SECURE: &[&str] = &["https", "wss", "sftp", "ssh", "ftps"];
    const WITHOUT_HOST: &[&str] = &["file", "s3", "s3a", "gs"];
    memmem::find_iter(text.as_bytes(), "://").filter_map(|mark| {
        let before = text.get(..mark)?;
        let letters = before.bytes().rev().take(SCHEME).take_while(u8::is_ascii_alphanumeric).count();
        let is_one_of = |all: &[&str]| {
            let scheme = before.get(mark - letters..).unwrap_or("");
            all.iter().any(|known| known.eq_ignore_ascii_case(scheme))
        };
        let behind = text.get(mark + 3..)?;
        // The end of a replacement in `sed`. In Ruby, `#{` begins a host that is put in.
        let is_cut_off = behind.starts_with('#') && !behind.starts_with("#{");
        (!is_cut_off && !is_one_of(WITHOUT_HOST)).then(|| address_at(text, mark + 3, is_one_of(SECURE)))
    })
}

/// Returns the first address in a text, also if it is relative to the page's scheme.
pub(crate) fn first(text: &str) -> Option<Address<'_>> {
    let at = text.find("//")? + 2;
    Some(address_at(text, at, text.get(..at - 2).is_some_and(|before| before.ends_with("https:"))))
}

fn address_at(text: &str, at: usize, is_secure: bool) -> Address<'_> {
    let rest = text.get(at..).unwrap_or("");
    let is_end = |c: char| c.is_whitespace() || "/?#\"'`)>,;|\\*".contains(c);
    let end = rest.find(is_end).unwrap_or(rest.len());
    let (authority, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let (login, host) = authority.rsplit_once('@').map_or((0, authority), |(login, host)| (login.len() + 1, host));
    let host = match host.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or(six),
        None => host.split(':').next().unwrap_or(host),
    };
    let behind = behind.get(..behind.floor_char_boundary(PATH)).unwrap_or("");
    let path_end = behind.find(|c: char| c.is_whitespace() || "\"'`)>|\\".contains(c)).unwrap_or(behind.len());
    let path = behind.get(..path_end).filter(|path| path.starts_with('/')).unwrap_or("");
    Address { host: host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase(), path, is_secure, at: at + login }
}

/// Maximum number of bytes of a command in which hosts are searched.
const COMMAND: usize = 1024;

/// Programs that accept a host without a scheme, with the form of their arguments.
const PROGRAMS: &[(&str, Takes)] = &[
    ("curl", Takes::Page),
    ("wget", Takes::Page),
    ("nc", Takes::Port),
    ("ncat", Takes::Port),
    ("netcat", Takes::Port),
    ("telnet", Takes::Port),
    ("ssh", Takes::Login),
    ("scp", Takes::File),
    ("sftp", Takes::Login),
    ("rsync", Takes::File),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// A host with an optional path.
    Page,
    /// A host, followed by a port as the next word.
    Port,
    /// A host, usually after a user name and `@`.
    Login,
    /// A host before a colon and a path.
    File,
}

/// Short options of these programs that take a value.
const VALUED: &[char] = &[
    'o', 'd', 'F', 'T', 'H', 'u', 'b', 'c', 'X', 'A', 'e', 'm', 'w', 'x', 'P', 'p', 'i', 'l', 'L', 'R', 'D', 'J', 'O',
];

/// Long options of these programs that take a value.
const VALUED_LONG: &[&str] = &[
    "--output", "--data", "--data-binary", "--data-raw", "--data-urlencode", "--form", "--upload-file", "--header",
    "--user", "--request", "--user-agent", "--cookie", "--max-time", "--connect-timeout", "--retry",
    "--output-document", "--post-file", "--post-data", "--rsh", "--exclude", "--include",
];

/// Returns the hosts that commands in a text name without a scheme.
pub(crate) fn bare(text: &str) -> Vec<Address<'_>> {
    let called = memchr2_iter(b' ', b'\t', text.as_bytes()).filter_map(|end| Some((end, program_before(text, end)?)));
    called.flat_map(|(end, takes)| named(text, end, takes)).collect()
}

/// Last letters of the names in [`PROGRAMS`], and the length of the longest name in bytes.
const LAST: &[u8] = b"chlpt";
const LONGEST: usize = 6;

/// Returns the argument form of the program whose name ends at a byte offset.
fn program_before(text: &str, end: usize) -> Option<Takes> {
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let before = text.as_bytes().get(..end)?;
    before.last().filter(|last| LAST.contains(&last.to_ascii_lowercase()))?;
    let length = before.iter().rev().take(LONGEST + 1).take_while(is_part).count();
    let word = before.get(end - length..)?;
    let is_it = |(name, _): &&(&str, Takes)| name.as_bytes().eq_ignore_ascii_case(word);
    PROGRAMS.iter().find(is_it).map(|(_, takes)| *takes)
}

/// Returns the hosts among a command's arguments, which begin at byte `start`.
fn named(text: &str, start: usize, takes: Takes) -> Vec<Address<'_>> {
    let end = text.floor_char_boundary(start + COMMAND);
    let (mut found, mut skips) = (Vec::new(), false);
    let mut words = words(text.get(start..end).unwrap_or("")).peekable();
    while let Some((at, word, ends)) = words.next() {
        let next = words.peek().map_or("", |(_, next, _)| next);
        match std::mem::take(&mut skips) {
            true => {}
            false if PROGRAMS.iter().any(|(name, _)| *name == word) => break,
            false if word.starts_with('-') => skips = has_value(word, takes),
            false => found.extend(read(text, start + at, word, takes, next)),
        }
        if ends {
            break;
        }
    }
    found
}

/// Returns the words of a text without quotes, with their byte offsets and true at the end of a command.
fn words(text: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    let mut at = 0;
    text.split_inclusive([' ', '\t', '\n']).map(move |piece| {
        let start = at;
        at += piece.len();
        let is_quote = |c: char| matches!(c, '"' | '\'' | '`' | '(' | ')' | '$') || c.is_whitespace();
        let bare = piece.trim_end_matches(['"', '\'', '`', ')', ';', '|', '&', ' ', '\t', '\n']);
        let word = bare.trim_start_matches(is_quote);
        let tail = piece.get(bare.len()..).unwrap_or("");
        let ends = tail.contains(['\n', ';', '|', '&', ')', '`']) && !piece.starts_with('\\');
        (start + bare.len() - word.len(), word, ends)
    })
}

fn has_value(option: &str, how: Takes) -> bool {
    if option.starts_with("--") {
        return VALUED_LONG.contains(&option);
    }
    let letter = option.chars().next_back().unwrap_or('-');
    // `curl` takes no value after these letters.
    VALUED.contains(&letter) && !(how == Takes::Page && matches!(letter, 'L' | 'O' | 'i' | 'l' | 'R' | 'J' | 'p'))
}

fn read<'t>(text: &'t str, at: usize, word: &str, how: Takes, next: &str) -> Option<Address<'t>> {
    let is_port = || next.split('-').all(|part| part.parse::<u16>().is_ok());
    let fits = match how {
        Takes::Page => true,
        Takes::Port => is_port(),
        Takes::Login => word.contains('@'),
        Takes::File => word.contains(':'),
    };
    let address = address_at(text, at, matches!(how, Takes::Login | Takes::File));
    let is_file = how == Takes::Page && address.path.is_empty() && !word.contains(':') && names_file(&address.host);
    (fits && !word.contains("://") && names_host(&address.host) && !is_file).then_some(address)
}

fn names_host(name: &str) -> bool {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
    let (before, last) = name.rsplit_once('.').unwrap_or(("", name));
    let is_name = last.len() > 1 && last.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_plain && !before.is_empty() && (is_name || is_address(name))
}

/// Returns true if a word is an IPv4 address other than `0.0.0.0`.
pub(crate) fn is_address(word: &str) -> bool {
    if !word.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let parts: Vec<&str> = word.split('.').collect();
    parts.len() == 4 && parts.iter().all(|part| part.parse::<u8>().is_ok()) && word != "0.0.0.0"
}

fn names_file(name: &str) -> bool {
    const ENDS: &[&str] =
        &["sh", "py", "js", "ts", "json", "md", "txt", "html", "yaml", "yml", "zip", "gz", "csv", "pdf"];
    name.rsplit('.').next().is_some_and(|last| ENDS.contains(&last))
}

/// Returns true if a command disables the verification of the server's identity.
pub(crate) fn is_unchecked(text: &str) -> bool {
    const WORDS: &[&str] = &["--insecure", "--no-check-certificate", "-SkipCertificateCheck", "--proxy-insecure"];
    let is_curls = |letters: &str| letters.contains('k') && letters.chars().all(|c| "kfsSLgivjOq#NRl0146".contains(c));
    text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',')).any(|word| {
        WORDS.iter().any(|known| word.eq_ignore_ascii_case(known))
            || word.strip_prefix('-').is_some_and(is_curls) && text.contains("curl")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_is_found_before_a_space() {
        for (name, takes) in PROGRAMS {
            assert!(program_before(&format!("sudo {name} a"), 5 + name.len()) == Some(*takes), "{name}");
            assert!(program_before(&format!("x{name} a"), 1 + name.len()).is_none(), "{name}");
        }
        assert!(program_before("CURL a", 4) == Some(Takes::Page));
    }
}
