//! Reader for YAML documents: workflow steps, playbook tasks, container commands and cloud-init commands.

use super::{Page, json, variable, with_variables};

/// Keys whose value is one command, or the list of its words.
const ONE: &[&str] =
    &["run", "command", "cmd", "entrypoint", "shell", "raw", "exec", "sh", "entry", "test", "args", "bash", "pwsh"];

/// Keys whose value is a list of commands.
const SEVERAL: &[&str] = &[
    "script", "scripts", "commands", "cmds", "before_script", "after_script", "runcmd", "bootcmd", "install",
    "before_install", "steps", "pre_build", "build", "post_build", "postCreateCommand", "preStart", "postStart",
];

/// Extracts the commands of a YAML document to `page`.
pub(super) fn commands(text: &str, page: &mut Page) {
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    // Open list of commands, or of the words of one command.
    let mut list: Option<List> = None;
    while let Some(line) = lines.get(at) {
        let (indent, bare) = (indent_of(line), line.trim());
        if bare.is_empty() || bare.starts_with('#') {
            at += 1;
            continue;
        }
        if list.as_ref().is_some_and(|list| !list.holds(indent, bare))
            && let Some(ended) = list.take()
        {
            ended.put(page);
        }
        let item = bare.strip_prefix("- ").map(str::trim_start);
        let (key, rest) = key_of(item.unwrap_or(bare));
        at += 1;
        if let (Some(list), Some(item), None) = (&mut list, item, key) {
            at = list.take(item, &lines, at, indent, page);
            continue;
        }
        let Some(key) = key else { continue };
        let own = indent + bare.len() - item.unwrap_or(bare).len();
        if let Some(name) = rest.strip_prefix("${{").and_then(|inner| inner.trim_start().strip_prefix("secrets.")) {
            let name: String = name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            page.put(at - 1, &format!("{key}=${name}"));
        }
        if rest.starts_with("${{") && WRITTEN.iter().any(|part| rest.contains(part)) {
            page.put(at - 1, &format!("{key}=$(curl event.visitor)"));
        }
        if key.ends_with("get_url") {
            match rest.starts_with('{') {
                true => fetched(&[rest], at - 1, page),
                false => fetched(lines.get(at..(at + 8).min(lines.len())).unwrap_or_default(), at - 1, page),
            }
        }
        let is_one = ONE.contains(&key.rsplit('.').next().unwrap_or(key));
        if !is_one && !SEVERAL.contains(&key) {
            continue;
        }
        if rest.is_empty() {
            list = Some(List { indent: own, is_one, line: at, words: Vec::new() });
        } else {
            at = scalar(rest, &lines, at, own, page);
        }
    }
    if let Some(list) = list {
        list.put(page);
    }
}

/// Workflow expressions with content from untrusted contributors (substrings).
const WRITTEN: &[&str] = &[
    "github.event.comment.body", "github.event.issue.title", "github.event.issue.body",
    "github.event.pull_request.title", "github.event.pull_request.body", "github.event.discussion.body",
    "github.event.review.body", "github.head_ref",
];

/// Translates a playbook's download task to a `curl` command.
fn fetched(lines: &[&str], at: usize, page: &mut Page) {
    let of = |name: &str| {
        let behind = |line: &&str| line.split_once(name).map(|(_, value)| value.trim_start().to_owned());
        let value = lines.iter().find_map(behind)?;
        let value = value.trim_start_matches(['"', '\'']);
        Some(value.chars().take_while(|c| !matches!(c, '"' | '\'' | ',' | '}' | ' ')).collect::<String>())
    };
    if let (Some(from), Some(to)) = (of("url:"), of("dest:")) {
        page.put(at, &format!("curl -o {to} {from}"));
    }
}

/// List that is the value of a key.
struct List {
    indent: usize,
    /// True if its items are the words of one command.
    is_one: bool,
    line: usize,
    words: Vec<String>,
}

impl List {
    fn holds(&self, indent: usize, bare: &str) -> bool {
        indent > self.indent || indent == self.indent && bare.starts_with("- ")
    }

    /// Reads an item and returns the index of the next line.
    fn take(&mut self, item: &str, lines: &[&str], at: usize, indent: usize, page: &mut Page) -> usize {
        if !self.is_one || item.starts_with(['|', '>']) {
            return scalar(item, lines, at, indent, page);
        }
        self.words.push(unquoted(item));
        at
    }

    fn put(self, page: &mut Page) {
        if !self.words.is_empty() {
            let words: Vec<String> = self.words.iter().map(|word| plain(word)).collect();
            page.put_words(self.line, &words);
        }
    }
}

/// Reads one value behind a key or a dash and returns the index of the next line.
fn scalar(value: &str, lines: &[&str], at: usize, indent: usize, page: &mut Page) -> usize {
    if value.starts_with('[') {
        let words = if value.contains('"') { json::words(value) } else { flow_words(value) };
        let words: Vec<String> = words.iter().map(|word| plain(word)).collect();
        page.put_words(at - 1, &words);
        return at;
    }
    if !value.starts_with(['|', '>']) {
        page.put(at - 1, &plain(&unquoted(value)));
        return at;
    }
    let inside = |line: &&&str| line.trim().is_empty() || indent_of(line) > indent;
    let block: Vec<&str> = lines.get(at..).unwrap_or_default().iter().take_while(inside).copied().collect();
    let own = block.iter().filter(|line| !line.trim().is_empty()).map(|line| indent_of(line)).min().unwrap_or(0);
    let texts: Vec<&str> = block.iter().map(|line| line.get(own..).unwrap_or("")).collect();
    page.put(at, &plain(&texts.join(if value.starts_with('>') { " " } else { "\n" })));
    at + block.len()
}

fn flow_words(list: &str) -> Vec<String> {
    list.trim_matches(['[', ']']).split(',').map(|word| unquoted(word.trim())).collect()
}

/// Splits a line into its key and the text behind it.
fn key_of(line: &str) -> (Option<&str>, &str) {
    let Some((key, rest)) = line.split_once(':') else { return (None, line) };
    let key = key.trim_matches(['"', '\'']);
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'));
    if is_key && (rest.is_empty() || rest.starts_with([' ', '\t'])) { (Some(key), rest.trim()) } else { (None, line) }
}

fn unquoted(value: &str) -> String {
    if let Some(inner) = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        return crate::program::unescaped(inner);
    }
    if let Some(inner) = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        return inner.replace("''", "'");
    }
    value.split(" #").next().unwrap_or(value).to_owned()
}

/// Replaces the template expressions of workflows and playbooks in a command with shell variables.
fn plain(command: &str) -> String {
    if !command.contains("{{") {
        return command.to_owned();
    }
    let open = command.replace("'${{", "\"${{").replace("}}'", "}}\"");
    let command = with_variables(&open, "${{", "}}", |inside| {
        let all = ["toJSON(secrets)", "toJson(secrets)", "tojson(secrets)"].iter().any(|all| inside.contains(all));
        match inside.strip_prefix("secrets.").or_else(|| inside.strip_prefix("env.")) {
            _ if all => "$(printenv)".to_owned(),
            Some(name) => variable(name),
            None => variable(&inside.to_lowercase()),
        }
    });
    with_variables(&command, "{{", "}}", |inside| variable(&inside.to_lowercase()))
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}
