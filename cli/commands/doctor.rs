//! `skillhub doctor`: what is wrong with the library.

use clap::Args;
use library::{Checkout, FolderState, Library, TemporaryKind};
use serde_json::json;

use crate::{
    context::Context,
    exit::{CliError, Exit},
    print::{GOOD, WARN},
};

/// Flags of `doctor`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub doctor
  skillhub doctor --fix                          brings missing folders back, removes temporary ones")]
pub struct DoctorArgs {
    /// Mend what can be mended without losing anything
    #[arg(long)]
    fix: bool,
}

/// Something that is not as it should be.
struct Complaint {
    code: &'static str,
    subject: String,
    message: String,
    fixed: bool,
}

impl Complaint {
    /// One that was mended, or where that was tried, why not.
    fn mended(code: &'static str, subject: String, message: String, tried: Option<Result<(), String>>) -> Self {
        let fixed = matches!(tried, Some(Ok(())));
        let message = match tried {
            Some(Err(why)) => format!("{message}; not mended: {why}"),
            _ => message,
        };
        Self { code, subject, message, fixed }
    }
}

/// Looks, and mends when asked to.
pub fn run(context: &Context, args: &DoctorArgs) -> Result<Exit, CliError> {
    let mut library = context.library()?;
    let mut complaints = environment();
    complaints.extend(pending(&mut library)?);
    let damage = history(&library);
    if damage.is_empty() {
        complaints.extend(temporary(&mut library, args.fix)?);
        complaints.extend(folders(context, &mut library, args.fix)?);
    }
    complaints.extend(damage);
    complaints.extend(event_log(&library)?);
    let open = complaints.iter().filter(|complaint| !complaint.fixed).count();
    let list: Vec<_> = complaints
        .iter()
        .map(|c| json!({"code": c.code, "subject": c.subject, "message": c.message, "fixed": c.fixed}))
        .collect();
    context.out.answer(&json!({"ok": open == 0, "library": library.path(), "problems": list}), |out| {
        for complaint in &complaints {
            let (style, word) = if complaint.fixed { (GOOD, "mended") } else { (WARN, "found") };
            writeln!(
                out,
                "{style}{word:<7}{style:#} {}: {} [{}]",
                complaint.subject, complaint.message, complaint.code
            )?;
        }
        match open {
            0 => writeln!(out, "{GOOD}All is well{GOOD:#} with {}", library.path().display()),
            1 => writeln!(out, "1 thing needs a look"),
            count => writeln!(out, "{count} things need a look"),
        }
    })?;
    Ok(if open == 0 { Exit::Done } else { Exit::Failed })
}

fn environment() -> Vec<Complaint> {
    let git = std::process::Command::new("git").arg("--version").output();
    match git {
        Ok(output) if output.status.success() => Vec::new(),
        _ => vec![Complaint {
            code: "git_missing",
            subject: "git".to_owned(),
            message: "the command is not there; installing from git repositories needs it".to_owned(),
            fixed: false,
        }],
    }
}

/// Reads every revision of every skill.
fn history(library: &Library) -> Vec<Complaint> {
    let complain = |subject: String, error: &dyn std::error::Error| Complaint {
        code: "history_damaged",
        subject,
        message: format!("{error}; restore the history from a backup, the skills' folders are untouched"),
        fixed: false,
    };
    let skills = match library.skills() {
        Ok(skills) => skills,
        Err(error) => return vec![complain(library.history_path().display().to_string(), &error)],
    };
    let mut complaints = Vec::new();
    for (name, _) in skills {
        let read = library
            .revisions(&name, usize::MAX)
            .and_then(|revisions| revisions.iter().try_for_each(|revision| library.bundle(&revision.id).map(drop)));
        complaints.extend(read.err().map(|error| complain(name.to_string(), &error)));
    }
    complaints
}

/// What opening the library could not apply, tried once more to say why.
fn pending(library: &mut Library) -> Result<Vec<Complaint>, CliError> {
    if !library.has_pending_operations()? {
        return Ok(Vec::new());
    }
    let place = library.own_path().display().to_string();
    let complain =
        |subject: String, message: String| Complaint { code: "pending_operations", subject, message, fixed: false };
    Ok(match library.settle() {
        Ok(recovery) => {
            let skills = recovery.pending.into_iter().map(|name| (name.to_string(), "its folder cannot be exchanged"));
            let folders =
                recovery.folders.into_iter().map(|name| (name, "it may hold a hand edit, and cannot be read"));
            let tell = |(subject, why): (String, &str)| {
                complain(subject, format!("{why}; an operation waits for that, and every command tries again"))
            };
            skills.chain(folders).map(tell).collect()
        }
        Err(error) => vec![complain(place, format!("operations wait to be applied: {error}"))],
    })
}

fn temporary(library: &mut Library, fix: bool) -> Result<Vec<Complaint>, CliError> {
    let mut complaints = Vec::new();
    for name in library.temporary_names()? {
        let Some(kind) = library.temporary_kind(&name)?.filter(|kind| *kind != TemporaryKind::InUse) else { continue };
        let tried = (fix && kind == TemporaryKind::Leftover).then(|| match library.remove_leftover(&name) {
            Ok(true) => Ok(()),
            Ok(false) => Err("an operation that was stopped still waits for it".to_owned()),
            Err(error) => Err(error.to_string()),
        });
        complaints.push(Complaint::mended("temporary_folder", name, describe(kind).to_owned(), tried));
    }
    Ok(complaints)
}

fn describe(kind: TemporaryKind) -> &'static str {
    match kind {
        TemporaryKind::InUse => "a temporary folder of a process at work",
        TemporaryKind::Leftover => "a temporary folder of a process that was stopped",
        TemporaryKind::Kept => "holds files that no revision has; look at it and remove it by hand",
        TemporaryKind::Foreign => {
            "is named like a temporary folder of ours and is none; look at it and remove it by hand"
        }
    }
}

fn folders(context: &Context, library: &mut Library, fix: bool) -> Result<Vec<Complaint>, CliError> {
    let mut complaints = Vec::new();
    for (name, _) in library.skills()? {
        let (code, message) = match library.folder_state(&name)? {
            FolderState::Absent | FolderState::Clean => continue,
            FolderState::Missing => ("folder_missing", "its folder is gone".to_owned()),
            FolderState::Modified(_) => ("hand_edit", "edited by hand; the next change records it".to_owned()),
            FolderState::Blocked(fault) => ("hand_edit_blocked", format!("edited by hand and not taken over: {fault}")),
        };
        let tried = (fix && code == "folder_missing").then(|| restore(context, library, &name));
        complaints.push(Complaint::mended(code, name.to_string(), message, tried));
    }
    Ok(complaints)
}

fn restore(context: &Context, library: &mut Library, name: &skill::SkillName) -> Result<(), String> {
    let rollback = skill_manage::Rollback {
        skill: name.clone(),
        to: Some("head".to_owned()),
        expected_revision: None,
        notes: skill_manage::Notes { reason: Some("doctor: its folder was gone".to_owned()), ..Default::default() },
        dry_run: false,
    };
    let actor = context.manage(&[]).map_err(|error| error.message)?;
    let report = skill_manage::roll_back(library, &rollback, &actor).map_err(|error| error.to_string())?;
    match report.checkout {
        Checkout::Pending(why) => Err(why),
        Checkout::Done | Checkout::HandEditKept(_) => Ok(()),
    }
}

fn event_log(library: &Library) -> Result<Vec<Complaint>, CliError> {
    let (_, unreadable) = library.events()?;
    let complaint = || Complaint {
        code: "events_unreadable",
        subject: library.own_path().join("events.jsonl").display().to_string(),
        message: format!("{unreadable} lines cannot be read"),
        fixed: false,
    };
    Ok((unreadable > 0).then(complaint).into_iter().collect())
}
