//! [`check`]: hosts that scripts reach and that no text of the skill names.
//!
//! Honest skills name whom they talk to, if only because their users need an account there. Who sends what he
//! should not has every reason to keep the host out of the text, whatever the kind of the attack and the language
//! that it is written in.

use memchr::memmem;

use crate::{
    capabilities::{host_of, is_address},
    engine::SearchError,
    rules::{purpose::HOST_UNTOLD, purpose::KNOWN_HOSTS, purpose::REACHES},
    scanner::Finder,
    source::Source,
};

/// Hosts of one file that are looked at.
const HOSTS: usize = 64;

/// Lines before an address on which the call that it belongs to may begin.
const CALL: usize = 3;

/// A host in a file.
struct Named {
    host: String,
    line: usize,
    /// Where its line has said what comes before it.
    column: usize,
}

/// Adds the hosts that scripts reach and no text of the skill names.
pub(crate) fn check(sources: &[Source<'_>], finder: &mut Finder) -> Result<(), SearchError> {
    let mut told: Option<String> = None;
    for source in sources.iter().filter(|source| !source.kind().reads && !source.is_binary()) {
        let mut found: Vec<String> = Vec::new();
        for named in hosts(source) {
            let told = told.get_or_insert_with(|| told_by(sources));
            if found.contains(&named.host) || is_told(told, &named.host) {
                continue;
            }
            finder.charge(source.text.len())?;
            if is_reached(source, &named) {
                let message = format!("{}: {}", HOST_UNTOLD.message, named.host);
                let excerpt = source.line(named.line).trim();
                finder.add_told(&HOST_UNTOLD, HOST_UNTOLD.severity, source, named.line, excerpt, message);
                found.push(named.host);
            }
        }
    }
    Ok(())
}

/// All that people and agents read of a skill, in lower case.
fn told_by(sources: &[Source<'_>]) -> String {
    let texts = sources.iter().filter(|source| source.kind().reads && !source.is_binary());
    texts.map(|source| source.text.to_lowercase()).collect::<Vec<_>>().join("\n")
}

/// Whether a text names a host, or whose it is: `api.acme.com` by `acme`.
fn is_told(text: &str, host: &str) -> bool {
    let is_name = host.contains(|c: char| c.is_ascii_alphabetic());
    let owner = host.rsplit('.').skip(1).find(|label| label.len() > 3).filter(|_| is_name);
    let has = |part: &str| memmem::find(text.as_bytes(), part.as_bytes()).is_some();
    has(host) || owner.is_some_and(has)
}

/// The hosts of a file that are none of those that everybody reaches.
fn hosts<'s>(source: &'s Source<'_>) -> impl Iterator<Item = Named> + 's {
    let text = source.text.as_ref();
    let marks = memmem::find_iter(text.as_bytes(), "://").map(|at| at + 3);
    let named = move |at: usize| {
        let rest = text.get(at..)?;
        let end = rest.find(|c: char| c.is_whitespace() || "/?#\"'`)]<>,;|\\*".contains(c)).unwrap_or(rest.len());
        let authority = rest.get(..end)?;
        let host = host_of(authority.rsplit('@').next()?)?;
        let line = source.line_at(at);
        let column = at - source.line_start(line);
        is_somewhere(&host).then_some(Named { host, line, column })
    };
    marks.filter_map(named).take(HOSTS)
}

/// Whether a host is another machine, and none of those that everybody reaches.
fn is_somewhere(host: &str) -> bool {
    const NEAR: &[&str] = &["127.", "10.", "192.168.", "0.", "169.254.", "172."];
    let is_known = |known: &&str| host.strip_suffix(*known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    if is_address(host) {
        return !NEAR.iter().any(|near| host.starts_with(near));
    }
    let is_name =
        host.rsplit_once('.').is_some_and(|(_, last)| last.len() > 1 && last.bytes().all(|b| b.is_ascii_alphabetic()));
    is_name && !host.starts_with("your") && !KNOWN_HOSTS.iter().any(is_known)
}

/// Whether a call that reaches the network has the address, or a name that stands for it.
fn is_reached(source: &Source<'_>, named: &Named) -> bool {
    let line = source.line(named.line);
    let before = line.get(..named.column).unwrap_or("");
    if before.trim_start().starts_with(['#', '*', ';'])
        || before.trim_start().starts_with("//")
        || before.contains("<!--")
    {
        return false;
    }
    if (named.line.saturating_sub(CALL)..=named.line).any(|at| reaches(source.line(at))) {
        return true;
    }
    let Some(name) = name_before(before) else { return false };
    let uses = |at: usize| at != named.line && has_word(source.line(at), name);
    let mut lines = source.lines().map(|(at, _)| at);
    lines.any(|at| uses(at) && (at.saturating_sub(CALL - 1)..=at).any(|near| reaches(source.line(near))))
}

fn reaches(line: &str) -> bool {
    REACHES.iter().any(|word| line.contains(word))
}

/// The name that is set to what follows, as in `url = "https://`.
fn name_before(before: &str) -> Option<&str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let (left, _) = before.rsplit_once(['=', ':']).or_else(|| before.rsplit_once('='))?;
    let left = before.split_once(['=']).map_or(left, |(left, _)| left);
    let left = left.trim_end_matches([':', ' ', '\t', '"', '\'', '>', ')']);
    let left = left.split_once(": ").map_or(left, |(name, _)| name);
    let start = left
        .rfind(|c: char| !is_part(c))
        .map_or(0, |at| at + left.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8));
    left.get(start..).filter(|name| name.len() > 1)
}

fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line.get(at + word.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use skill::{Bundle, File, Limits, SkillPath};

    use super::*;
    use crate::scan;

    fn finds(text: &str, path: &str, script: &str) -> bool {
        let file = |(path, text): (&str, &str)| {
            (SkillPath::parse(path).unwrap(), File { bytes: text.as_bytes().into(), executable: false })
        };
        let text = format!("---\nname: a\ndescription: A.\n---\n{text}\n");
        let bundle =
            Bundle::from_files([("SKILL.md", text.as_str()), (path, script)].map(file), &Limits::default()).unwrap();
        scan(&bundle).findings.iter().any(|finding| finding.rule == HOST_UNTOLD.id)
    }

    #[test]
    fn a_host_is_told_by_its_name_or_its_owners() {
        let script = "import requests\nr = requests.get('https://api.acme-metrics.io/v1')\n";
        assert!(finds("Counts words.", "scripts/a.py", script));
        assert!(!finds("Needs an account at acme-metrics.", "scripts/a.py", script));
        assert!(!finds("Asks `https://api.acme-metrics.io`.", "scripts/a.py", script));
    }

    #[test]
    fn only_what_is_reached_counts() {
        for script in [
            "BASE = 'https://in.strange-place.io'\ndef f():\n    return requests.get(\n        BASE + '/x')\n",
            "const url: string = 'https://in.strange-place.io/x';\nawait fetch(url);\n",
            "curl -s https://in.strange-place.io/x\n",
            "c = URL(\"https://in.strange-place.io\").openConnection()\n",
        ] {
            assert!(finds("", "scripts/a.py", script), "{script}");
        }
        for script in [
            "# see https://in.strange-place.io\nrequests.get(url)\n",
            "print('Docs: https://in.strange-place.io')\n\n\n\n\nrequests.get(url)\n",
            "r = requests.get('https://api.github.com/x')\nr = requests.get('http://localhost:80')\n",
        ] {
            assert!(!finds("", "scripts/a.py", script), "{script}");
        }
    }
}
