//! Capabilities of a skill, as a table or in a few lines.

use std::io::{self, Write};

use scan::{Capabilities, Capability, CapabilityDelta, Part, Undeclared, Use};

use super::{Table, WARN, visible};

/// Maximum number of names per list in a line.
const TOLD: usize = 4;

/// Maximum number of lines about capabilities that a change adds.
const ADDED: usize = 8;

/// Maximum length of a name, in characters.
const NAME: usize = 48;

/// Summarises the capabilities of scripts and code in one line, and those that the skill does not declare in another.
/// Empty lines are left out.
pub fn capability_lines(capabilities: &Capabilities) -> Vec<String> {
    let outside: Vec<&Use> = capabilities.writes.iter().filter(|used| used.outside == Some(true)).collect();
    let of = |list: &[Use]| join_uses(&list.iter().filter(|used| used.part >= Part::Code).collect::<Vec<_>>());
    let parts = [
        ("runs", of(&capabilities.commands)),
        ("network", of(&capabilities.hosts)),
        ("variables", of(&capabilities.environment)),
        ("writes", join_uses(&outside)),
        ("persistence", of(&capabilities.persistence)),
    ];
    let parts: Vec<String> =
        parts.into_iter().filter_map(|(word, names)| Some(format!("{word}: {}", names?))).collect();
    let mut lines = Vec::new();
    if !parts.is_empty() {
        lines.push(parts.join("; "));
    }
    if let Some(undeclared) = told_undeclared(&capabilities.undeclared) {
        lines.push(format!("{WARN}undeclared{WARN:#}  {undeclared}"));
    }
    lines
}

/// Formats the capabilities that a change adds, one line each, such as `+ network api.example.com`.
pub fn delta_lines(delta: &CapabilityDelta) -> Vec<String> {
    let line = |one: &Capability| Capability { what: cut(&one.what), ..one.clone() }.to_string();
    let mut lines: Vec<String> = delta.added.iter().take(ADDED).map(line).collect();
    let more = delta.added.len() - lines.len();
    lines.extend((more > 0).then(|| format!("{more} more")));
    lines.extend((!delta.complete).then(|| "perhaps more: the skill is too large for a complete analysis".to_owned()));
    lines.iter().map(|one| format!("{WARN}+{WARN:#} {one}")).collect()
}

/// Writes all capabilities as a table, one row each.
///
/// # Errors
/// The stream cannot be written.
pub fn write_capabilities(capabilities: &Capabilities, out: &mut dyn Write) -> io::Result<()> {
    let tools = match &capabilities.allowed_tools {
        Some(tools) if tools.is_empty() => "none".to_owned(),
        Some(tools) => visible(&tools.join(", ")),
        None => "not declared".to_owned(),
    };
    writeln!(out, "  allowed-tools: {tools}")?;
    if capabilities.is_empty() {
        return writeln!(out, "  no commands, hosts or files found");
    }
    let mut table = Table::new(&["  what", "name", "in", "where"]);
    let lists = [
        ("host", &capabilities.hosts),
        ("command", &capabilities.commands),
        ("variable", &capabilities.environment),
        ("writes", &capabilities.writes),
        ("reads", &capabilities.reads),
        ("persistence", &capabilities.persistence),
        ("privilege", &capabilities.privileges),
    ];
    for (word, list) in lists {
        for used in list {
            table.row(&[format!("  {word}"), cut(&used.what), part(used.part).to_owned(), places(used)]);
        }
    }
    for one in &capabilities.undeclared {
        let place = format!("{}:{} {}", visible(&one.place.path), one.place.line, one.why);
        table.row(&["  undeclared".to_owned(), cut(&one.what), one.kind.to_owned(), place]);
    }
    table.write(out)?;
    if !capabilities.complete {
        writeln!(out, "  {WARN}incomplete{WARN:#}: the skill is too large for a complete analysis")?;
    }
    Ok(())
}

fn part(part: Part) -> &'static str {
    match part {
        Part::Text => "text",
        Part::Code => "code block",
        Part::Script => "script",
    }
}

fn places(used: &Use) -> String {
    let first = used.places.first().map(|place| format!("{}:{}", visible(&place.path), place.line));
    match used.count {
        0 | 1 => first.unwrap_or_default(),
        count => format!("{} and {} more", first.unwrap_or_default(), count - 1),
    }
}

fn join_uses(list: &[&Use]) -> Option<String> {
    let names: Vec<String> = list.iter().map(|used| cut(&used.what)).collect();
    some_of(&names)
}

fn told_undeclared(list: &[Undeclared]) -> Option<String> {
    let name =
        |one: &Undeclared| format!("{} {} ({}:{})", one.kind, cut(&one.what), visible(&one.place.path), one.place.line);
    some_of(&list.iter().map(name).collect::<Vec<_>>())
}

fn some_of(names: &[String]) -> Option<String> {
    let told = names.get(..TOLD).unwrap_or(names).join(", ");
    match names.len() {
        0 => None,
        count if count <= TOLD => Some(told),
        count => Some(format!("{told} and {} more", count - TOLD)),
    }
}

/// Shortens a name to the maximum length.
fn cut(text: &str) -> String {
    skill::shortened(&visible(text), NAME)
}
