//! `skillhub status`: the folders against the history.

use clap::Args;
use jiff::{SignedDuration, Timestamp};
use library::{Closeness, FolderState, Glance, HandEditFault, Library, RevisionId, Standing};
use scan::{Finding, Verdict};
use serde_json::{Value, json};
use skill::{Bundle, SkillName, diff};

use crate::{
    catalogue::{exit_with, problem},
    commands::{doctor::relocate::command, review, show::no_skill},
    context::{Context, skill_name},
    exit::{CliError, Exit},
    print::{BAD, FAINT, GOOD, STRONG, WARN, finding_lines, problem_line, stored_time, visible},
};

/// Flags of `status`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub status
  skillhub status my-skill --json

States: clean; modified (edited by hand, recorded by the next change); missing (no folder);
blocked (edited into something that is not taken over: mend it, or `skillhub rollback NAME head`).

What the scanner warned of when a skill's newest revision was let pass is shown with it, as the rules
of today see it, and what a person accepted, with who, why and until when; so are waivers that ended,
or end within two weeks.")]
pub struct StatusArgs {
    /// The skill; all of them otherwise
    name: Option<String>,
}

struct SkillStatus {
    name: SkillName,
    managed: bool,
    state: &'static str,
    files: Vec<Value>,
    lines: Vec<String>,
    /// What the scanner says of a head that was let pass with a warning.
    findings: Vec<Finding>,
}

/// Days before its end from which on a waiver is named.
const SOON_DAYS: i64 = 14;

/// Compares them.
pub fn run(context: &Context, args: &StatusArgs) -> Result<Exit, CliError> {
    let library = context.library()?;
    let named = args.name.as_deref().map(skill_name).transpose()?;
    let named = named.as_ref();
    let mut damaged = Vec::new();
    let skills = match named {
        Some(name) => vec![look(&library, name)?.ok_or_else(|| no_skill(name.clone()))?],
        None => look_at_all(&library, &mut damaged)?,
    };
    let waivers = ending_waivers(&library, named, context.now)?;
    let waiting = review::waiting(&library, context.now)?;
    let waits = |name: &SkillName| waiting.get(name).copied().unwrap_or(0);
    let moved_from = library.moved_from(&context.home)?;
    let of_skill = |skill: &SkillStatus| document(skill, waits(&skill.name));
    let problems: Vec<Value> = damaged.iter().map(|(name, why)| problem(context.out, name, why)).collect();
    let document = json!({
        "ok": problems.is_empty(),
        "problems": problems,
        "skills": skills.iter().map(of_skill).collect::<Vec<_>>(),
        "proposals": waiting.values().sum::<usize>(),
        "moved_from": moved_from,
        "waivers": waivers,
    });
    context.out.answer(&document, |out| {
        for skill in &skills {
            let style = match skill.state {
                "clean" => GOOD,
                "blocked" => BAD,
                _ => WARN,
            };
            let managed = if skill.managed { "" } else { "  (no history yet: the next change takes it over)" };
            writeln!(
                out,
                "{style}{:<8}{style:#} {STRONG}{}{STRONG:#}{FAINT}{managed}{FAINT:#}",
                skill.state, skill.name
            )?;
            let findings = skill.findings.iter().flat_map(finding_lines);
            for line in skill.lines.iter().cloned().chain(findings) {
                writeln!(out, "  {line}")?;
            }
        }
        for waiver in &waivers {
            let word = |key: &str| visible(waiver[key].as_str().unwrap_or_default());
            let ends = if waiver["active"] == true { "ends" } else { "ended" };
            let (id, rule, path, name, until) = (word("id"), word("rule"), word("path"), word("name"), word("until"));
            writeln!(out, "{WARN}a waiver {ends}{WARN:#} {until}: {id}, {rule} in {path} of {name}")?;
        }
        for (name, count) in waiting.iter().filter(|(name, _)| named.is_none_or(|named| named == *name)) {
            let wait = if *count == 1 { "proposal waits" } else { "proposals wait" };
            writeln!(out, "{WARN}{count} {wait}{WARN:#} for {name}: skillhub review list --skill {name}")?;
        }
        if skills.is_empty() {
            writeln!(out, "There are no skills in {}", library.path().display())?;
        }
        for old in &moved_from {
            writeln!(
                out,
                "{WARN}Was this library moved{WARN:#} from {}? Then bring its history along:",
                old.display()
            )?;
            writeln!(out, "  {}", command(old, library.path()))?;
        }
        Ok(())
    })?;
    Ok(exit_with(&problems))
}

fn document(skill: &SkillStatus, proposals: usize) -> Value {
    json!({"proposals": proposals, "name": skill.name.as_str(), "state": skill.state, "managed": skill.managed, "files": skill.files, "findings": skill.findings})
}

/// Every folder is read; one that is not as it was found good is looked at for what differs. Those with a
/// history that is damaged are told apart, since nothing can be said of their folders.
fn look_at_all(library: &Library, damaged: &mut Vec<(SkillName, String)>) -> Result<Vec<SkillStatus>, CliError> {
    let mut skills = Vec::new();
    for glance in library.glances(Closeness::Contents)? {
        let Glance { name, head, standing, paths, .. } = glance;
        let managed = head.is_some();
        let findings = match &head {
            Some(head) => told_of(library, &name, &head.id, head.verdict)?,
            None => Vec::new(),
        };
        match standing {
            Standing::Damaged(why) => {
                let lines = vec![format!("its history is damaged: {why}; run `skillhub doctor`")];
                damaged.push((name.clone(), format!("its history is damaged: {why}")));
                skills.push(SkillStatus { name, managed: true, state: "blocked", files: Vec::new(), lines, findings });
            }
            Standing::Clean => {
                skills.push(SkillStatus {
                    name,
                    managed,
                    state: "clean",
                    files: Vec::new(),
                    lines: Vec::new(),
                    findings,
                });
            }
            Standing::Modified if !paths.is_empty() => {
                let files = paths.iter().map(|path| json!({"path": path.as_str(), "change": "added"})).collect();
                let lines = paths.iter().map(|path| format!("added {path}")).collect();
                skills.push(SkillStatus { name, managed, state: "modified", files, lines, findings });
            }
            _ => skills.extend(look(library, &name)?),
        }
    }
    Ok(skills)
}

fn look(library: &Library, name: &SkillName) -> Result<Option<SkillStatus>, CliError> {
    let head = library.head(name)?.filter(|head| !head.tombstone);
    let committed = match &head {
        Some(head) => library.bundle(&head.id)?,
        None => Bundle::default(),
    };
    let (state, found, lines) = match library.folder_state(name)? {
        FolderState::Absent => return Ok(None),
        FolderState::Clean => ("clean", None, Vec::new()),
        FolderState::Missing => {
            ("missing", None, vec![format!("`skillhub rollback {name} head` brings the folder back")])
        }
        FolderState::Modified(cleared) => ("modified", Some(cleared.bundle().clone()), Vec::new()),
        FolderState::Blocked(fault) => ("blocked", fault.bundle().cloned(), fault_lines(&fault)),
    };
    let files = found.map_or_else(Vec::new, |found| {
        let changes = diff::diff(&committed, &found).files;
        changes.iter().map(|change| json!({"path": change.path.as_str(), "change": change.change})).collect()
    });
    let changed =
        files.iter().map(|f| format!("{} {}", f["change"].as_str().unwrap_or(""), f["path"].as_str().unwrap_or("")));
    let lines = changed.chain(lines).collect();
    let findings = match &head {
        Some(head) => told_of(library, name, &head.id, head.verdict)?,
        None => Vec::new(),
    };
    Ok(Some(SkillStatus { name: name.clone(), managed: head.is_some(), state, files, lines, findings }))
}

/// What the rules of today find in a head that was let pass with a warning, or because somebody accepted
/// a finding, and which of it is waived.
fn told_of(library: &Library, name: &SkillName, head: &RevisionId, verdict: Verdict) -> Result<Vec<Finding>, CliError> {
    let waivers = library.waivers(name)?;
    if verdict != Verdict::Warn && waivers.is_empty() {
        return Ok(Vec::new());
    }
    let files = library.bundle(head)?;
    let mut report = scan::scan(&files);
    report.waive(&files, &waivers);
    Ok(report.findings)
}

/// The waivers that ended or end soon, of one skill or of all.
fn ending_waivers(library: &Library, named: Option<&SkillName>, now: Timestamp) -> Result<Vec<Value>, CliError> {
    let soon = now.saturating_add(SignedDuration::from_hours(24 * SOON_DAYS)).unwrap_or(now);
    let mut ending = Vec::new();
    for (name, state) in library.state()?.skills().filter(|(name, _)| named.is_none_or(|n| n.as_str() == *name)) {
        let ends = state.waivers.iter().filter(|waiver| waiver.at(soon).is_none());
        ending.extend(ends.map(|waiver| {
            json!({
                "id": waiver.id, "name": name, "rule": waiver.rule, "path": waiver.path,
                "until": stored_time(&waiver.until), "active": waiver.at(now).is_some(),
            })
        }));
    }
    Ok(ending)
}

fn fault_lines(fault: &HandEditFault) -> Vec<String> {
    match fault {
        HandEditFault::Unreadable(error) => vec![error.to_string()],
        HandEditFault::Invalid { problems, .. } => problems.iter().map(problem_line).collect(),
        HandEditFault::Hostile(blocked) => blocked.report().findings.iter().flat_map(finding_lines).collect(),
    }
}
