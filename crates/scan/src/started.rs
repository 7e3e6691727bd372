//! [`check`]: scripts that agent hooks start automatically and that send data away.
//!
//! A script that a user runs may have a legitimate reason to send data. A hook runs it at every turn of the agent and
//! passes the conversation to it, so weaker signs are enough for a finding.

use skill::SkillPath;

use crate::{
    Evidence, Related, Rule,
    engine::SearchError,
    finder::Finder,
    judgement::Signal,
    rules::{AGENT_HOOK, AGENT_HOOK_NETWORK, FLOW_SECRET_SENT, HOST_NOT_TOLD},
    source::Source,
};

/// Number of lines of a setting that may contain the arguments of its command.
const SETTING: usize = 4;

/// Bytes of text searched for a name at the cost of one step.
const FAST: usize = 64;

/// Strings by which a script reads the input from a hook.
const TAKES: &[&str] = &[
    "stdin", "STDIN", "@-", "-T -", "$(cat)", "`cat`", "readFileSync(0", "transcript_path", "CLAUDE_PROJECT_DIR",
    "fileinput", "$input",
];

/// Adds a finding for each hook that starts a script of the skill which sends data.
pub(crate) fn check(sources: &[&Source<'_>], finder: &mut Finder) -> Result<(), SearchError> {
    for (at, line, command) in starts(sources, finder) {
        let Some(settings) = sources.get(at) else { continue };
        for script in sources.iter().filter(|source| source.kind().runs && !source.is_binary()) {
            finder.charge(command.len() / FAST + 1)?;
            if !names(&command, script.path) {
                continue;
            }
            if let Some(sent) = sends(script, finder) {
                let message =
                    format!("{}: it starts {}, which {}", AGENT_HOOK_NETWORK.message, script.path, sent.message);
                let (path, at, excerpt) = (script.path.to_owned(), sent.line, sent.excerpt.text.clone());
                let sent = Related { label: "sent in".into(), path, line: at, excerpt };
                let shown = settings.line(line).trim();
                let evidence = AGENT_HOOK_NETWORK.evidence;
                let signal = finder.add_told(&AGENT_HOOK_NETWORK, evidence, settings, line, shown, message);
                signal.into_iter().for_each(|signal| signal.related.push(sent.clone()));
            }
        }
    }
    Ok(())
}

/// Returns the commands of hooks, each with the index of its source, the line and the surrounding text.
fn starts(sources: &[&Source<'_>], finder: &Finder) -> Vec<(usize, usize, String)> {
    let is_hook = |rule: &Rule, evidence: Evidence| rule.id == AGENT_HOOK.id && evidence == rule.evidence;
    let mut all = Vec::new();
    for signal in finder.signals().iter().filter(|signal| is_hook(signal.rule, signal.evidence)) {
        let Some(at) = sources.iter().position(|source| source.path == signal.path) else { continue };
        let first = signal.line.saturating_sub(1);
        let lines = (first..first + SETTING).filter_map(|line| Some(sources.get(at)?.line(line)));
        all.push((at, first, lines.collect::<Vec<_>>().join("\n")));
    }
    let own = sources.iter().position(|source| source.path == SkillPath::SKILL_MD);
    if let Some((at, source)) = own.and_then(|at| Some((at, sources.get(at)?))) {
        all.extend(hooks_of_skill(source).map(|line| (at, line, source.line(line).to_owned())));
    }
    all
}

/// Returns the lines with commands under `hooks` in a skill's frontmatter.
fn hooks_of_skill<'s>(source: &'s Source<'_>) -> impl Iterator<Item = usize> + 's {
    let head = source.lines().skip(1).take_while(|(_, line)| line.trim_end() != "---");
    let hooks = head.skip_while(|(_, line)| !line.starts_with("hooks:")).skip(1);
    let below = hooks.take_while(|(_, line)| line.starts_with([' ', '\t', '-']));
    below.filter(|(_, line)| line.contains("command")).map(|(at, _)| at)
}

/// Returns whether a command contains the file name of a script as a whole word.
fn names(command: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    command.match_indices(name).any(|(at, _)| {
        let before = command.get(..at).and_then(|before| before.chars().next_back());
        let after = command.get(at + name.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Returns the signal that makes a script dangerous in a hook. This is a flow of secrets to the network,
/// or an undeclared host in a script that reads the hook's input.
fn sends<'f>(script: &Source<'_>, finder: &'f Finder) -> Option<&'f Signal> {
    let own =
        || finder.signals().iter().filter(|signal| signal.path == script.path && signal.evidence >= Evidence::Strong);
    let takes = || TAKES.iter().any(|word| script.text.contains(word));
    let sent = own().find(|signal| signal.rule.category == FLOW_SECRET_SENT.category);
    sent.or_else(|| own().find(|signal| signal.rule.id == HOST_NOT_TOLD.id && takes()))
}
