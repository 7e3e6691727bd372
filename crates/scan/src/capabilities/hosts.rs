//! Extraction of hosts from a piece ([`read`]), as URLs, git remotes or bare addresses.

use crate::hosts::{bare, is_address};

use super::{COMPUTED, Collector, Kind, Language, Part, Piece};

const SCHEMES: [&str; 18] = [
    "http", "https", "ftp", "ftps", "sftp", "ssh", "git", "ws", "wss", "smb", "tcp", "udp", "ldap", "redis", "mysql",
    "postgres", "postgresql", "mongodb",
];

/// Maximum number of characters examined before a scheme.
const BEFORE: usize = 48;

/// Maximum length of a host name in bytes.
const NAME: usize = 253;

/// Records every host in a piece.
pub(super) fn read(piece: &Piece<'_>, found: &mut Collector) {
    let (names_url, names_git, is_code) = (piece.names("://"), piece.names("git@"), piece.language != Language::Text);
    if !names_url && !names_git && !is_code {
        return;
    }
    for (at, line) in piece.text.lines().enumerate() {
        for (mark, _) in line.match_indices("://") {
            if let Some(host) = behind_scheme(line, mark, piece.part) {
                found.add(Kind::Host, &host, piece.spot(at));
            }
        }
        for (mark, _) in line.match_indices("git@") {
            let rest = line.get(mark + 4..).unwrap_or_default();
            if let Some(host) = rest.split(':').next().and_then(host_of) {
                found.add(Kind::Host, &host, piece.spot(at));
            }
        }
        if is_code {
            for address in bare(line) {
                found.add(Kind::Host, &address.host, piece.spot(at));
            }
            for address in line.split(|c: char| !c.is_ascii_alphanumeric() && c != '.').filter(|word| is_address(word))
            {
                found.add(Kind::Host, address, piece.spot(at));
            }
        }
    }
}

fn behind_scheme(line: &str, mark: usize, part: Part) -> Option<String> {
    let before = line.get(..mark)?;
    let start = before.rfind(|c: char| !c.is_ascii_alphabetic()).map_or(0, |at| at + 1);
    let scheme = before.get(start..)?.to_ascii_lowercase();
    if !SCHEMES.contains(&scheme.as_str()) {
        return None;
    }
    // XML namespaces and JSON schemas are identifiers. Nothing connects to them.
    let near: String = before.chars().rev().take(BEFORE).collect::<Vec<_>>().into_iter().rev().collect();
    if near.contains("xmlns") || near.contains("$schema") {
        return None;
    }
    let rest = line.get(mark + 3..)?;
    let end = rest.find(|c: char| c.is_whitespace() || "/?#\"'`)]<>,;|\\*".contains(c)).unwrap_or(rest.len());
    let authority = rest.get(..end)?;
    let host = authority.rsplit('@').next().unwrap_or_default();
    if host.contains(['$', '{', '%', '<', '[']) {
        return (part != Part::Text).then(|| COMPUTED.to_owned());
    }
    host_of(host)
}

/// Normalises a host: without its port, in lower case. Returns `None` if it is not a valid name.
pub(crate) fn host_of(text: &str) -> Option<String> {
    let name = text.split(':').next().unwrap_or_default().trim_end_matches('.');
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    let fits = !name.is_empty() && name.len() <= NAME && name.chars().all(is_name) && !name.contains("..");
    (fits && name.chars().any(char::is_alphanumeric)).then(|| name.to_lowercase())
}

/// Returns the host in `user@host:path` or `host/path`.
pub(super) fn host_in(word: &str) -> Option<String> {
    let word = word.rsplit('@').next().unwrap_or(word).split(['/', ':']).next().unwrap_or_default();
    host_of(word).filter(|host| is_host(host))
}

/// Returns true if a word could be a host: an IPv4 address, `localhost`, or a name with letters after its last dot.
pub(super) fn is_host(word: &str) -> bool {
    let Some((before, last)) = word.rsplit_once('.') else { return word == "localhost" };
    is_address(word) || (!before.is_empty() && last.len() >= 2 && last.chars().all(|c| c.is_ascii_alphabetic()))
}
