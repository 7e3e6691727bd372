//! [`list`] and [`ask_further`]: what a source offers, as a list and as a question.

use std::collections::{BTreeMap, BTreeSet};

use client::{
    GitSpec, InstallError, InstallRequest, Installed, OfferedSkill, Pick, PickError, ResolveError, SourceListing, Spec,
    shared_names,
};
use serde_json::{Value, json};
use skill::{counted, shell_word};
use unicode_width::UnicodeWidthStr;

use super::installer;
use crate::{
    accepting::AcceptArgs,
    context::Context,
    exit::{CliError, Exit, failed},
    global::Global,
    hints,
    print::{FAINT, STRONG, Table, WARN, visible, wrapped},
    reading::read_answer,
};

/// Width of a line of the list in columns.
const COLUMNS: usize = 80;

/// Width of the names, except for longer ones.
const NAME_COLUMNS: usize = 28;

/// Prints the skills of the sources, and installs nothing.
pub fn list(context: &Context, global: &Global, request: &InstallRequest) -> Result<Exit, CliError> {
    let mut library = context.library()?;
    let mut listings = Vec::new();
    for spec in &request.specs {
        let mut offered = |spec: &Spec| {
            installer(context, &mut library, "fetching", &AcceptArgs::default(), |installer| {
                Ok(installer.offered(spec, request))
            })
        };
        let mut listing = offered(spec)?;
        if let (Spec::Qualified { name, .. }, Err(error)) = (spec, &listing)
            && is_unknown(error)
            && let Some(git) = ask_repository(context, global, &name.to_string())
        {
            listing = offered(&Spec::Git(git))?;
        }
        listings.push((spec.to_string(), listing.map_err(failed)?));
    }
    let sources: Vec<Value> = listings
        .iter()
        .map(|(source, listing)| {
            let skills: Vec<Value> = listing.skills.iter().map(|skill| document(listing, skill)).collect();
            json!({"source": source, "skills": skills, "warnings": listing.warnings})
        })
        .collect();
    context.out.answer(&json!({"ok": true, "sources": sources}), |out| {
        for (source, listing) in &listings {
            writeln!(out, "{STRONG}{}{STRONG:#}: {}", visible(source), counted(listing.skills.len(), "skill"))?;
            let shared = shared_names(&listing.skills);
            for (skill, line) in listing.skills.iter().zip(lines(&listing.skills, 2)) {
                writeln!(out, "  {line}")?;
                if shared.contains(skill.name.as_str()) {
                    let command = format!("skillhub install {}", shell_word(&listing.address(skill)));
                    writeln!(out, "    {}", visible(&hints::for_user(&command)))?;
                }
            }
            plugin_lines(&listing.skills).iter().try_for_each(|line| writeln!(out, "{line}"))?;
            for warning in &listing.warnings {
                out.message(format_args!("{WARN}note{WARN:#}: {}", visible(warning)))?;
            }
        }
        Ok(())
    })
}

fn document(listing: &SourceListing, skill: &OfferedSkill) -> Value {
    let install = shell_word(&listing.address(skill));
    let OfferedSkill { name, title, description, folder, plugin, repository, version } = skill;
    json!({
        "version": version, "name": name, "title": title, "description": description, "path": folder, "plugin": plugin,
        "repository": repository, "install": install,
    })
}

/// Formats one line per skill: its name and the start of its description, with the folder of a skill whose name others
/// have. The description after a long name is on a line of its own. `indent` columns are left free.
fn lines(skills: &[OfferedSkill], indent: usize) -> Vec<String> {
    let longest = skills.iter().map(|skill| visible(&skill.name).width()).max().unwrap_or(0).min(NAME_COLUMNS);
    let shared = shared_names(skills);
    let line = |skill: &OfferedSkill| {
        let name = visible(&skill.name).to_string();
        let gap = match longest.checked_sub(name.width()) {
            Some(short) => " ".repeat(short + 2),
            None => format!("\n{}", " ".repeat(indent + longest + 2)),
        };
        let place = skill.repository.as_ref().or_else(|| own_folder(skill, &shared));
        let place = place.map(|place| format!("in {place}: ")).unwrap_or_default();
        let title = skill.title.iter().map(|title| format!("{title} · ")).collect::<String>();
        let text = (place + &title + &skill.description).split_whitespace().collect::<Vec<_>>().join(" ");
        let free = COLUMNS.saturating_sub(indent + longest + 2);
        let text = Table::cut(&visible(&text).to_string(), free);
        format!("{STRONG}{name}{STRONG:#}{gap}{FAINT}{text}{FAINT:#}").trim_end().to_owned()
    };
    skills.iter().map(line).collect()
}

/// Returns the folder of a skill, if others have its name.
fn own_folder<'a>(skill: &'a OfferedSkill, shared: &BTreeSet<&str>) -> Option<&'a String> {
    Some(&skill.folder).filter(|folder| shared.contains(skill.name.as_str()) && !folder.is_empty())
}

/// Names the plugins that have several skills, which can be chosen together.
fn plugin_lines(skills: &[OfferedSkill]) -> Vec<String> {
    let mut plugins: BTreeMap<&str, usize> = BTreeMap::new();
    for plugin in skills.iter().filter_map(|skill| skill.plugin.as_deref()) {
        *plugins.entry(plugin).or_default() += 1;
    }
    let plugins: Vec<String> =
        plugins.iter().filter(|(_, skills)| **skills > 1).map(|(name, skills)| format!("{name} ({skills})")).collect();
    if plugins.is_empty() {
        return Vec::new();
    }
    wrapped(&format!("Plugins, for all of their skills at once: {}", visible(&plugins.join(", "))), COLUMNS)
}

/// Answer to the question about a failed install.
pub enum Further {
    /// Install this.
    Retry(Box<InstallRequest>),
    /// None of the skills of the source was chosen.
    Nothing,
}

/// Asks at a terminal for what a failed install of one spec lacks: whether a repository is meant, or which of its
/// skills. Returns `None` if there is nothing to ask or the repository is not meant.
pub fn ask_further(
    context: &Context,
    global: &Global,
    request: &InstallRequest,
    installed: &[Installed],
) -> Option<Further> {
    let retry = |request| Some(Further::Retry(Box::new(request)));
    let ([spec], [only]) = (request.specs.as_slice(), installed) else { return None };
    match (spec, only.error.as_ref()?) {
        (Spec::Qualified { name, .. }, error) if is_unknown(error) => {
            let git = ask_repository(context, global, &name.to_string())?;
            retry(InstallRequest { specs: vec![Spec::Git(git)], ..request.clone() })
        }
        (_, InstallError::Pick(PickError::Several { skills, outside, .. })) if can_ask(context) && !request.frozen => {
            let chosen = ask_skills(context, skills, outside.as_deref());
            let Some(skills) = chosen else { return Some(Further::Nothing) };
            retry(InstallRequest { pick: Pick { skills, all: false }, ..request.clone() })
        }
        _ => None,
    }
}

/// Returns whether no registry has the skill, and no folder has its name either.
fn is_unknown(error: &InstallError) -> bool {
    matches!(error, InstallError::Resolve(ResolveError::NotFound { is_folder: false, .. }))
}

fn can_ask(context: &Context) -> bool {
    context.is_at_terminal() && !context.out.json && !context.out.quiet
}

/// Asks whether `owner/repo` is a repository of GitHub.
pub fn ask_repository(context: &Context, global: &Global, name: &str) -> Option<GitSpec> {
    if !can_ask(context) {
        return None;
    }
    let question = format!("No skill {name} in the registries; install from github.com/{name}? [y/N] ");
    let is_agreed = global.yes || matches!(read_answer(&question)?.to_ascii_lowercase().as_str(), "y" | "yes");
    is_agreed.then(|| format!("github:{name}").parse().ok()).flatten()
}

/// Asks which of several skills are meant. An empty answer declines.
fn ask_skills(context: &Context, skills: &[OfferedSkill], outside: Option<&str>) -> Option<Vec<String>> {
    let digits = skills.len().to_string().len();
    for (at, line) in lines(skills, digits + 2).iter().enumerate() {
        context.out.note(&format!("{:>digits$}  {line}", at + 1));
    }
    outside.iter().for_each(|outside| context.out.note(outside));
    loop {
        let answer = read_answer("Install which? Numbers, names or all (press Enter for none): ")?;
        match chosen(&answer, skills) {
            Ok(names) if names.is_empty() => return None,
            Ok(names) => return Some(names),
            Err(word) => context.out.note(&format!("{} is not in the list", visible(&word))),
        }
    }
}

/// Parses an answer: numbers, ranges of numbers and names, separated by commas or spaces, or `all`, which leaves out
/// other repositories. A number means exactly one skill, by its folder if others have its name; a name means the first
/// skill that has it. The error is the first part that names no skill.
fn chosen(answer: &str, skills: &[OfferedSkill]) -> Result<Vec<String>, String> {
    let shared = shared_names(skills);
    let mut names: Vec<String> = Vec::new();
    for word in answer.split([',', ' ']).filter(|word| !word.is_empty()) {
        let exact = |skill| own_folder(skill, &shared).unwrap_or(&skill.name);
        let found: Vec<&String> = match (word, range(word)) {
            ("all" | "*", _) => skills.iter().filter(|skill| skill.repository.is_none()).map(|it| &it.name).collect(),
            (_, Some((first, last))) => {
                skills.get(first.wrapping_sub(1)..last).into_iter().flatten().map(exact).collect()
            }
            _ => skills.iter().map(|skill| &skill.name).filter(|name| *name == word).collect(),
        };
        if found.is_empty() {
            return Err(word.to_owned());
        }
        for name in found {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    Ok(names)
}

/// Parses `3` or `3-5`.
fn range(word: &str) -> Option<(usize, usize)> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered() -> Vec<OfferedSkill> {
        let skill = |name: &str, repository: Option<&str>| OfferedSkill {
            name: name.to_owned(),
            title: None,
            description: "Reads and writes files of every kind. ".repeat(9),
            folder: String::new(),
            plugin: repository.is_none().then(|| "kit".to_owned()),
            repository: repository.map(str::to_owned),
            version: None,
        };
        vec![skill("a", None), skill("b-2", None), skill("c", Some("github:x/y"))]
    }

    #[test]
    fn answers_choose_by_number_and_name() {
        let chosen = |answer: &str| chosen(answer, &offered()).map(|names| names.join(" "));
        for (answer, names) in
            [("", ""), ("1", "a"), ("2-3,1", "b-2 c a"), ("b-2 c", "b-2 c"), ("all", "a b-2"), ("1 a", "a")]
        {
            assert_eq!(chosen(answer), Ok(names.to_owned()), "{answer}");
        }
        for bad in ["0", "4", "2-9", "3-1", "x", "0-1", "18446744073709551615"] {
            assert_eq!(chosen(bad), Err(bad.to_owned()));
        }
    }

    #[test]
    fn numbers_choose_one_of_equal_names() {
        let mut skills = offered();
        for (skill, folder) in skills.iter_mut().zip(["skills/a", "kits/a"]) {
            (skill.name, skill.folder) = ("a".to_owned(), folder.to_owned());
        }
        let chosen = |answer: &str| chosen(answer, &skills).map(|names| names.join(" "));
        for (answer, names) in [("2", "kits/a"), ("1-2", "skills/a kits/a"), ("a", "a"), ("all", "a"), ("3", "c")] {
            assert_eq!(chosen(answer), Ok(names.to_owned()), "{answer}");
        }
        assert!(lines(&skills, 2)[1].contains("in kits/a: "));
    }

    #[test]
    fn lines_fit_eighty_columns() {
        for line in lines(&offered(), 2) {
            let shown = anstream::adapter::strip_str(&line).to_string();
            assert!(shown.width() <= COLUMNS - 2 && shown.contains("Reads"), "{shown}");
        }
        let mut long = offered();
        long[1].name = "n".repeat(NAME_COLUMNS + 1);
        let lines = lines(&long, 2);
        let shown = anstream::adapter::strip_str(&lines[1]).to_string();
        let (_, text) = shown.split_once('\n').unwrap();
        assert_eq!(text.find("Reads"), Some(2 + NAME_COLUMNS + 2), "{shown}");
        assert_eq!(plugin_lines(&offered()), ["Plugins, for all of their skills at once: kit (2)"]);
    }
}
