//! `skillhub status` compares the skills' folders with the history.

use std::path::PathBuf;

use clap::Args;
use library::{HandEditFault, Library};
use ops::AgentViews;
use skill::counted;
use skill_manage::documents::{Overview, SkillStatus};

use crate::{
    catalogue::{next_of_clone, problem},
    commands::{doctor::relocate::command, review::inbox},
    context::Context,
    exit::{CliError, Exit},
    print::{BAD, FAINT, GOOD, STRONG, WARN, findings_lines, problem_line, shell_word, visible},
    views::write_picture,
};

/// Flags of `status`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub status
  skillhub status my-skill --json

States:
  clean       matches the newest revision, or an earlier one
  modified    edited by hand; `skillhub commit` records it
  new         has no history yet
  missing     its folder is gone
  absent      has no folder, as in this git branch
  blocked     the edit is blocked by the scan or invalid

Also lists scanner warnings, accepted findings (by whom, why, until when), and waivers that expired or
expire within two weeks. New scanner rules hide an unchanged skill only on hard evidence; other new
findings are listed with the command that accepts them.

Exit code 8: an agent's folder shows a blocked skill, a disabled one, or other content than `skillhub
read` prints. Each comes with the command that repairs it.")]
pub struct StatusArgs {
    /// Skill to show [default: all]
    name: Option<String>,
}

/// Prints the state of each folder.
pub fn run(context: &Context, args: &StatusArgs) -> Result<Exit, CliError> {
    let named = args.name.as_deref().map(|name| context.skill_called(name)).transpose()?;
    let named = named.as_ref();
    let library = named.map_or_else(|| context.library(), |name| context.library_for(name))?;
    let catalogue = context.catalogue(&context.places(false), Vec::new(), None)?;
    let is_below = |group: &&Library| group.path() != library.path() && group.path().starts_with(library.path());
    let groups = catalogue.libraries().iter().filter(|group| named.is_none() && is_below(group));
    let libraries: Vec<&Library> = [&library].into_iter().chain(groups).collect();
    let paths: Vec<PathBuf> = catalogue.skills.iter().filter_map(|listed| listed.path.clone()).collect();
    let mut overview = context.overview(&libraries, &paths, named)?;
    overview.retain(context.seen()?);
    let Overview { skills, waiting, waivers, moved_from } = &overview;
    for (name, why) in overview.damaged() {
        problem(context.out, name, &format!("its history is damaged: {why}"));
    }
    let agents = AgentViews::of(context, &catalogue, named)?;
    let (changed, news) = inbox::news(context, &catalogue)?;
    let hosts = agents.document();
    let is_sound = overview.damaged().next().is_none() && hosts.problems.is_empty();
    let document = overview.document_with(hosts, &changed);
    context.out.answer(&document, |out| {
        for skill in skills {
            let style = match skill.state {
                "clean" | "absent" => GOOD,
                "blocked" => BAD,
                _ => WARN,
            };
            let managed = if skill.managed { "" } else { "  (no history yet; the next change starts it)" };
            let state = match &skill.at {
                Some((at, newest)) if at != newest => {
                    format!("{}, revision {} of {}", skill.state, at.number, newest.number)
                }
                _ => skill.state.to_owned(),
            };
            writeln!(out, "{style}{state:<8}{style:#} {STRONG}{}{STRONG:#}{FAINT}{managed}{FAINT:#}", skill.name)?;
            let findings = if is_head_blocked(skill) { Vec::new() } else { findings_lines(&skill.findings) };
            for line in lines(skill).into_iter().chain(findings) {
                writeln!(out, "  {line}")?;
            }
        }
        for waiver in waivers {
            let word = |key: &str| visible(waiver[key].as_str().unwrap_or_default());
            let ends = if waiver["active"] == true { "expires" } else { "expired" };
            let (id, rule, path, name, until) = (word("id"), word("rule"), word("path"), word("name"), word("until"));
            writeln!(out, "{WARN}a waiver {ends}{WARN:#} {until}: {id}, {rule} in {path} of {name}")?;
        }
        for (name, count) in waiting.iter().filter(|(name, _)| named.is_none_or(|named| named == *name)) {
            let pending = counted(count, "pending proposal");
            out.message(format_args!("{WARN}{pending}{WARN:#} for {name}: skillhub review list --skill {name}"))?;
        }
        news.iter().filter(|_| named.is_none()).try_for_each(|line| out.message(format_args!("{line}")))?;
        write_picture(&agents, out)?;
        if skills.is_empty() {
            writeln!(out, "No skills in {}", context.short(library.path()))?;
            next_of_clone(context, &library).iter().try_for_each(|next| out.message(format_args!("Next: {next}")))?;
        }
        for old in moved_from {
            writeln!(out, "{WARN}Was this library moved{WARN:#} from {}? If so, move its history too:", old.display())?;
            writeln!(out, "  {}", command(old, library.path()))?;
        }
        Ok(())
    })?;
    Ok(if is_sound { Exit::Done } else { Exit::Integrity })
}

/// Formats the lines about a skill's folder that follow its name.
fn lines(skill: &SkillStatus) -> Vec<String> {
    let mut lines: Vec<String> = skill.files.iter().map(|file| visible(&file.describe())).collect();
    if let Some(why) = &skill.damaged {
        lines.push(format!("its history is damaged: {why}; run `skillhub doctor`"));
    }
    if let Some(why) = &skill.held {
        lines.push(format!(
            "agents see the newest revision until a person records the edit (`skillhub commit {} --reason WHY`): {}",
            skill.name,
            visible(why)
        ));
    }
    if skill.state == "missing" {
        lines.push(format!("restore the folder: skillhub rollback {} head", skill.name));
    }
    lines.extend(skill.fault.as_ref().map(fault_lines).unwrap_or_default());
    lines.extend(undecided_lines(skill));
    if skill.managed && skill.fault.as_ref().is_some_and(|fault| fault.bundle().is_some()) && !is_head_blocked(skill) {
        let name = &skill.name;
        lines.push(format!("restore the skill, keeping the edit in the history: skillhub rollback {name} head"));
    }
    lines
}

/// Returns whether the skill's head itself is blocked by the scanner. The fault then lists the findings already.
fn is_head_blocked(skill: &SkillStatus) -> bool {
    matches!(skill.fault, Some(HandEditFault::Hostile(_))) && skill.managed && skill.files.is_empty()
}

/// Formats a line for each rule and file with new findings under the current rules, with the command that accepts them.
fn undecided_lines(skill: &SkillStatus) -> Vec<String> {
    let hidden = if skill.fault.is_some() { ", and the skill is hidden from agents until then" } else { "" };
    let line = |(rule, path): (&str, &str)| {
        let (name, path) = (&skill.name, shell_word(path));
        format!(
            "new findings under the current rules; a person decides{hidden}: `skillhub waive {name} {rule} --path {path} \
             --reason 'why it is acceptable'`"
        )
    };
    skill.undecided().into_iter().map(line).collect()
}

fn fault_lines(fault: &HandEditFault) -> Vec<String> {
    match fault {
        HandEditFault::Unreadable(error) => vec![error.to_string()],
        HandEditFault::Invalid { problems, .. } => problems.iter().map(problem_line).collect(),
        HandEditFault::Hostile(blocked) => findings_lines(&blocked.report().findings),
    }
}
