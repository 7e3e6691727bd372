//! Conditions on data that is read and on its destination.

use crate::{
    hosts::{Trust, addresses, homes_of_key, is_near, is_sample, is_within, trust_of},
    rules,
};

/// Returns true if a private key is read as text rather than loaded by a program that uses keys.
pub(crate) fn is_read_as_text(matched: &str) -> bool {
    !["ssh-add", "ssh-keygen", "ssh -i", "from_private_key", "key_filename", "secret set", "IdentityFile"]
        .iter()
        .any(|own| matched.contains(own))
}

/// Returns true unless all files of keys that a match names are public halves, or give one (`ssh-keygen -y`), and none
/// of its words changes their names.
pub(crate) fn is_no_public_key(matched: &str) -> bool {
    // Words that may change a name, and programs that read keys from elsewhere.
    const CHANGES: &[&str] = &[
        "private", "without", "extension", "suffix", "strip", "remove", "drop", "trim", "cut", "slice", "replace",
        "[:", "%", "split", "stem", "rename", "head -c", "sed ", "minus", "shorten", ":-", "::", ": -", "keychain",
        "wallet", "security ",
    ];
    const SSH: [&str; 3] = [".ssh/", "id_rsa", "id_ed25519"];
    let lower = matched.to_ascii_lowercase();
    let mut parts = lower.split(".ssh/");
    let mut before = parts.next().unwrap_or("");
    let mut count = 0;
    for part in parts {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let name = part.split(|c| !is_name(c)).next().unwrap_or("").trim_end_matches('.');
        let is_public = name.starts_with("id_") && name.ends_with(".pub");
        if !is_public && !prints_public_half(before) {
            return true;
        }
        (before, count) = (part, count + 1);
    }
    let others = rules::CREDENTIAL_EXFILTRATION.literals.iter().filter(|literal| !SSH.contains(literal));
    let names_other = others.map(|literal| literal.to_ascii_lowercase()).any(|literal| lower.contains(&literal));
    count == 0 || names_other || CHANGES.iter().any(|word| lower.contains(word))
}

/// Returns true if a text ends with the start of a command that prints the public half of a key.
fn prints_public_half(text: &str) -> bool {
    let command = text.rsplit(['\n', ';', '|', '&', '(']).next().unwrap_or("");
    ["ssh-keygen -y ", "ssh-keygen -yf "].iter().any(|start| command.contains(start))
}

/// Returns true if a path obfuscated with shell wildcards matches a known sensitive file.
pub(crate) fn is_hidden_path(path: &str) -> bool {
    let bare: String = path.chars().filter(|c| !matches!(c, '[' | ']' | '\\')).collect();
    ["/etc/shadow", "/etc/passwd", "/etc/sudoers", ".ssh/id_rsa", ".ssh/id_ed25519", ".aws/credentials"]
        .iter()
        .any(|known| bare.len() == known.len() && bare.bytes().zip(known.bytes()).all(|(a, b)| a == b || a == b'?'))
}

/// Returns true if a path does not belong to the setup of an SSH client.
pub(crate) fn is_no_setup(matched: &str) -> bool {
    !matched.to_ascii_lowercase().contains("known_hosts")
}

/// Returns true if at least two service keys go to a host that does not belong to their service.
pub(crate) fn has_strange_key(matched: &str) -> bool {
    let Some((_, rest)) = matched.split_once("://") else { return false };
    let host: String = rest.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '.' | '-')).collect();
    let names = matched.split("${").skip(1).map(|rest| rest.strip_prefix("env:").unwrap_or(rest));
    let names = names.map(|rest| rest.split(['}', ':']).next().unwrap_or(""));
    names.filter(|name| crate::followed::is_strange(name, &host.to_ascii_lowercase())).count() >= 2
}

pub(crate) fn names_a_machine(matched: &str) -> bool {
    !matched.contains("localhost") && matched.contains('.')
}

/// Returns true if mail is handed to a server that is not well known.
pub(crate) fn is_no_mail_service(matched: &str) -> bool {
    let host = matched.split(['"', '\'']).nth(1).unwrap_or("").to_ascii_lowercase();
    !is_near(&host) && !is_sample(&host) && !trust_of(&host).is_known()
}

/// Returns true if the last step sends a body with what an earlier one read. Keys count only if they neither belong to
/// the receiving service nor merely authenticate to it.
pub(crate) fn sends_what_was_read(matched: &str) -> bool {
    // The steps end with their code block.
    let steps = matched.split("\n```").next().unwrap_or(matched);
    let lower = steps.to_ascii_lowercase();
    let (before, sent) = lower.rsplit_once("://").unwrap_or(("", &lower));
    let has_body =
        ["body", "payload", "data", "content", "json", "params", "text", "value"].iter().any(|key| sent.contains(key));
    let host = sent.split(['/', '"', '\'', '\n']).next().unwrap_or("");
    let is_file = ["/.", "\\.", ".env", "id_rsa", "printenv"].iter().any(|mark| before.contains(mark));
    let signs_in = sent.contains("authorization") || sent.contains("api-key");
    has_body
        && addresses(&lower).any(|address| !is_near(&address.host))
        && (is_file || !signs_in && !names_its_service(steps, host))
}

/// Returns true if a host's name contains the first word of a key's name, as `ACME` in `ACME_TOKEN`.
pub(crate) fn names_its_service(matched: &str, host: &str) -> bool {
    let words = matched.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let mut keys = words.filter(|word| ["_TOKEN", "_KEY", "SECRET", "PASSWORD"].iter().any(|end| word.ends_with(end)));
    keys.any(|key| host.contains(&key.split('_').next().unwrap_or(key).to_ascii_lowercase()))
}

/// Returns true if a repository is pushed to a host that is not a forge.
pub(crate) fn is_no_forge(matched: &str) -> bool {
    let lower = matched.to_ascii_lowercase();
    let words = lower.split(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-')));
    let mut words = words.filter(|word| word.contains('.'));
    !matched.contains(['$', '<'])
        && !words.any(|word| is_near(word) || is_sample(word) || trust_of(word) == Trust::Forge)
}

/// Returns true if files are published to a new repository or to a host that is not a registry.
pub(crate) fn goes_to_strangers(matched: &str) -> bool {
    matched.contains("repo create") || super::hosts::is_no_registry(matched)
}

/// Returns true if a token goes to a named host outside the service that issued it.
pub(crate) fn is_other_service(matched: &str) -> bool {
    const GIVERS: &[&str] = &["GITHUB", "GCP", "AZURE", "HEROKU"];
    // Google's hosts for the data of others keep their requests to themselves.
    let is_shared = |host: &str| trust_of(host) == Trust::Tenant && !is_within(host, "googleapis.com");
    let is_home = |host: &str| {
        let mut domains = GIVERS.iter().filter_map(|giver| homes_of_key(giver)).flatten();
        domains.any(|domain| is_within(host, domain)) && !is_shared(host)
    };
    let mut all = addresses(matched).peekable();
    matched.contains('.')
        && (all.peek().is_none() || all.any(|address| !address.is_nowhere() && !is_home(&address.host)))
}

/// Returns true if a download from an unknown host is made executable and a later line runs it.
pub(crate) fn is_started(matched: &str) -> bool {
    let (command, rest) = matched.split_once('\n').unwrap_or((matched, ""));
    let mut words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    let named = words.by_ref().skip_while(|word| !is_output(word)).nth(1);
    let Some(path) = named.filter(|path| path.len() > 3 && !path.contains("://")) else { return false };
    let is_call = |line: &str| {
        let line = line.trim_start_matches([' ', '\t', '$', '`', '-']);
        let line = ["sudo ", "nohup ", "exec ", "start "]
            .iter()
            .fold(line, |line, word| line.strip_prefix(word).unwrap_or(line));
        let bare = line.trim_start_matches("./");
        let after = bare.strip_prefix(path.trim_start_matches("./"));
        after.is_some_and(|after| after.is_empty() || after.starts_with([' ', '`', ';', '&']))
    };
    super::hosts::is_unknown(command)
        && !addresses(command).all(|address| address.is_nowhere())
        && rest.contains("chmod")
        && rest.contains(path)
        && rest.lines().any(is_call)
}

pub(crate) fn is_output(word: &str) -> bool {
    matches!(word, "-o" | "-O" | "--output" | "--output-document")
        || word.starts_with('-') && !word.starts_with("--") && word.ends_with(['o', 'O'])
}

/// Returns true if the text after a picture from an unknown host has secrets or private data encoded into the picture's
/// address.
pub(crate) fn is_filled_with_secrets(matched: &str) -> bool {
    const SECRETS: &[&str] = &[".env", "secret", "token", "api key", "credential", "password", "environment var"];
    const SPELT: &[&str] = &["base64", "encoded", "hex ", "url-encode"];
    const FILLED: &[&str] = &["replace ", "fill in", "url encoded", "url-encode", "encodes the", "urlencode"];
    const PRIVATE: &[&str] = &[
        "of the document", "conversation", "customer", "user's message", "the prompt", "file content", "of the file",
        "source code", "the diff",
    ];
    let lower = matched.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let is_filled = has(FILLED) && has(PRIVATE);
    (is_filled || has(SECRETS) && has(SPELT)) && super::hosts::is_strange_page(matched)
}
