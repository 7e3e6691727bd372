//! Text output of `setup`, the survey in one screen.

use std::path::{Path, PathBuf};

use anstyle::Style;
use client::{AdoptStatus, Adopted};
use scan::{Finding, Report};
use skill::{counted, failure::Fails};

use super::{Survey, found::FoundLibrary, hosts::InUse};
use crate::print::{
    BAD, FAINT, GOOD, STRONG, Table, WARN, page_columns, severity_style, shell_word, visible, wrapped, wrapped_message,
};

/// Maximum number of lines about single skills. The remainder is counted.
const MOST_REMARKS: usize = 15;

/// Width of a skill's name, in columns.
const NAME: usize = 24;

/// Formats the skills by folder, the scanner's remarks, and the agents.
pub fn survey_lines(survey: &Survey) -> Vec<String> {
    let skills: usize = survey.places.iter().map(|place| place.skills.len()).sum();
    let managed: usize = survey.places.iter().map(|place| place.managed).sum();
    let mut lines = Vec::new();
    if managed > 0 {
        lines.push(format!("skillhub manages {} here.", counted(managed, "skill")));
    }
    if skills > 0 {
        let in_places = counted(folders(survey).count(), "folder");
        lines.push(format!(
            "Found {} in {in_places}:",
            counted(skills, if managed > 0 { "more skill" } else { "skill" })
        ));
    }
    let mut left = MOST_REMARKS;
    for (place, folder) in folders(survey) {
        lines.extend(folder_lines(survey, place, &folder, &mut left));
    }
    lines.extend(passed_over(survey));
    lines.extend(duplicates(survey));
    let agents: Vec<String> = survey.agents.iter().map(|agent| agent.agent.name.to_owned()).collect();
    if !agents.is_empty() {
        lines.extend(wrapped(&format!("Agents: {}", agents.join(", ")), page_columns()));
    }
    lines
}

/// Formats the links that are not followed, with the commands that adopt them.
fn passed_over(survey: &Survey) -> impl Iterator<Item = String> {
    survey.places.iter().flat_map(|place| &place.passed_over).flat_map(|link| {
        let command = format!("skillhub adopt --link {}", shell_word(&survey.shown(link)));
        let mut lines = styled(WARN, "Skipped", " a link in the project. To manage it, run:");
        lines.push(format!("  {}", visible(&command)));
        lines
    })
}

/// Formats the folders and links that show a managed skill a second time, with the commands that move them away.
fn duplicates(survey: &Survey) -> impl Iterator<Item = String> {
    let duplicates = survey.places.iter().flat_map(|place| &place.duplicates);
    duplicates.filter_map(|skill| Some((skill, skill.name.as_ref()?))).flat_map(|(skill, name)| {
        let text = format!("{} has the files of the managed skill {name}.", visible(&survey.shown(&skill.source)));
        let mut lines = styled(WARN, "Left", &format!(" {text} To show it once, run:"));
        lines.push(format!("  {}", visible(&ops::move_aside(&skill.source, name))));
        lines
    })
}

/// Returns each folder with skills once.
fn folders(survey: &Survey) -> impl Iterator<Item = (&FoundLibrary, PathBuf)> {
    survey.places.iter().flat_map(|place| {
        let mut folders: Vec<PathBuf> =
            place.skills.iter().filter_map(|skill| skill.source.parent().map(Path::to_owned)).collect();
        folders.dedup();
        folders.into_iter().map(move |folder| (place, folder))
    })
}

fn folder_lines(survey: &Survey, place: &FoundLibrary, folder: &Path, left: &mut usize) -> Vec<String> {
    let skills: Vec<&Adopted> = place.skills.iter().filter(|skill| skill.source.parent() == Some(folder)).collect();
    let known = [place.context.agent_folders(), place.context.user_agent_folders()];
    let reads = |agent: &&InUse| known.iter().any(|folders| folders.reads(agent.agent.id, folder));
    let readers: Vec<&str> = survey.agents.iter().filter(reads).map(|agent| agent.agent.name).collect();
    let readers = if readers.is_empty() { "no agents in use".to_owned() } else { readers.join(", ") };
    let shown = place.context.shown(folder);
    let mut lines = styled(STRONG, &shown, &format!(": {}, read by {readers}", counted(skills.len(), "skill")));
    let (plain, remarked): (Vec<&Adopted>, Vec<&Adopted>) =
        skills.into_iter().partition(|skill| finding_summary(skill).is_none());
    let names: Vec<String> = plain.iter().map(|skill| visible(&name_of(skill))).collect();
    if !names.is_empty() {
        lines.extend(
            wrapped(&names.join(", "), page_columns().saturating_sub(2)).into_iter().map(|line| format!("  {line}")),
        );
    }
    let fits = remarked.len().min(*left);
    *left -= fits;
    lines.extend(remarked.iter().take(fits).filter_map(|skill| finding_summary(skill)));
    if remarked.len() > fits {
        let more = counted(remarked.len() - fits, "more skill");
        lines.push(format!("  {FAINT}{more} with findings: skillhub scan {shown}{FAINT:#}"));
    }
    lines
}

/// Returns the name of a skill, or that of its folder.
pub fn name_of(skill: &Adopted) -> String {
    let folder = || skill.source.file_name().unwrap_or_default().to_string_lossy().into_owned();
    skill.name.as_ref().map_or_else(folder, ToString::to_string)
}

/// Formats, in one line, the most severe finding of the scanner, or the error that prevents the skill from being
/// managed.
pub fn finding_summary(skill: &Adopted) -> Option<String> {
    let name = Table::cut(&visible(&name_of(skill)), NAME);
    let line = match (&skill.error, &skill.report) {
        (Some(error), None) => {
            let code = error.failure().code;
            format!("  {BAD}{:<7}{BAD:#} {name}  {} [{code}]", "problem", visible(&short(skill, &error.to_string())))
        }
        (_, Some(report)) => {
            let (worst, more) = worst(report)?;
            let style = severity_style(worst.severity);
            let severity = worst.severity.to_string();
            let place = format!("{}:{}", visible(&worst.path), worst.line);
            format!("  {style}{severity:<8}{style:#}{name}  {} in {place}{more}", worst.rule)
        }
        (None, None) => return None,
    };
    Some(Table::cut(&line, page_columns()))
}

/// Removes the skill's path from a message whose line already names the skill.
fn short(skill: &Adopted, message: &str) -> String {
    message.replace(&skill.source.display().to_string(), "the folder")
}

/// Returns the most severe finding of medium severity or above that is not waived, and the number of further ones.
fn worst(report: &Report) -> Option<(&Finding, String)> {
    let grave =
        || report.findings.iter().filter(|finding| finding.severity >= scan::Severity::Medium && !finding.waived);
    let worst = grave().max_by_key(|finding| finding.severity)?;
    let more = grave().count() - 1;
    Some((worst, if more == 0 { String::new() } else { format!(" (and {more} more)") }))
}

/// Formats the results of the adoption, with the reason for each skill that is not managed.
pub fn result_lines(survey: &Survey, adopted: &[(&FoundLibrary, Vec<Adopted>)]) -> Vec<String> {
    let mut lines = Vec::new();
    for (place, skills) in adopted {
        let done = |skill: &&Adopted| matches!(skill.status, AdoptStatus::Adopted | AdoptStatus::Unchanged);
        let count = skills.iter().filter(done).count();
        if count > 0 {
            let library = place.context.shown(place.context.library_path());
            lines.extend(styled(GOOD, "Managed", &format!(" {} in {library}", counted(count, "skill"))));
        }
        lines.extend(skills.iter().filter(|skill| !done(skill)).flat_map(|skill| {
            let why = skill.error.as_ref().map(|error| short(skill, &error.to_string())).unwrap_or_default();
            styled(BAD, "Not managed", &format!(" {}: {}", visible(&name_of(skill)), visible(&why)))
        }));
    }
    lines.extend(passed_over(survey));
    lines.extend(survey.agents.iter().flat_map(|agent| agent_lines(survey, agent)));
    lines
}

/// Formats the changes of an agent's configuration.
fn agent_lines(survey: &Survey, agent: &InUse) -> Vec<String> {
    let (mut lines, name) = (Vec::new(), agent.agent.name);
    match &agent.connection {
        Some(Ok(connection)) if connection.is_new => {
            let file = survey.shown(&connection.file.path);
            lines.extend(styled(GOOD, "Connected", &format!(" {name} over MCP: {file}")));
        }
        Some(Err(error)) => {
            lines.extend(styled(BAD, "Not connected", &format!(" {name}: {}", visible(&error.message))));
        }
        _ => {}
    }
    match &agent.hook {
        Some(Ok(hook)) if hook.is_new => {
            let file = survey.shown(&hook.file.path);
            lines.extend(styled(GOOD, "Recording", &format!(" the skills that {name} uses: {file}")));
        }
        Some(Err(error)) => {
            lines.extend(styled(BAD, "Not recording", &format!(" {name}: {}", visible(&error.message))));
            // A hint of several lines is a snippet, which `mcp install` prints.
            let hint = error.hint.iter().filter(|hint| !hint.contains('\n'));
            lines.extend(hint.flat_map(|hint| wrapped_message(&visible(hint), page_columns())));
        }
        _ => {}
    }
    lines
}

fn styled(style: Style, head: &str, rest: &str) -> Vec<String> {
    wrapped_message(&format!("{style}{head}{style:#}{rest}"), page_columns())
}
