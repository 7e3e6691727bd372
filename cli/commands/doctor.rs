//! `skillhub doctor`: what is wrong with the library.

use clap::Args;
use library::{FolderState, Library};
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

/// Looks, and mends when asked to.
pub fn run(context: &Context, args: &DoctorArgs) -> Result<Exit, CliError> {
    let mut library = context.library()?;
    let mut complaints = environment();
    if library.has_pending_operations()? {
        complaints.push(Complaint {
            code: "pending_operations",
            subject: library.own_path().display().to_string(),
            message: "operations wait to be applied because another process holds the lock".to_owned(),
            fixed: false,
        });
    }
    let damage = history(&library);
    if damage.is_empty() {
        complaints.extend(temporary(&library, args.fix)?);
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

fn temporary(library: &Library, fix: bool) -> Result<Vec<Complaint>, CliError> {
    let complain = |name: String| -> Result<Complaint, CliError> {
        let fixed = fix && library.remove_temporary(&name)?;
        let message = "a temporary folder of a process that was stopped".to_owned();
        Ok(Complaint { code: "temporary_folder", subject: name, message, fixed })
    };
    library.temporary_names()?.into_iter().map(complain).collect()
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
        let fixed = fix && code == "folder_missing" && restore(context, library, &name)?;
        complaints.push(Complaint { code, subject: name.to_string(), message, fixed });
    }
    Ok(complaints)
}

fn restore(context: &Context, library: &mut Library, name: &skill::SkillName) -> Result<bool, CliError> {
    let rollback = skill_manage::Rollback {
        skill: name.clone(),
        to: Some("head".to_owned()),
        expected_revision: None,
        notes: skill_manage::Notes { reason: Some("doctor: its folder was gone".to_owned()), ..Default::default() },
        dry_run: false,
    };
    skill_manage::roll_back(library, &rollback, &context.manage(&[])?)?;
    Ok(true)
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
