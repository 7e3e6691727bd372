//! `skillhub manage` changes a skill, by flags or by the JSON request of `skill_manage` on stdin.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use clap::Args;
use library::{Action, Evidence};
use ops::Refusal;
use serde_json::json;
use skill::{Edit, Limits, SkillPath, diff::Change, edit::Patch, failure::NextStep};
use skill_manage::{ChangeRequest, ManageError, Notes, Report, RequestError, Ruling, Status, fields_of, manage};

use crate::{
    access::check_request,
    context::Context,
    exit::{CliError, Exit, io_at},
    hints,
    print::{Output, STRONG, action_word, coloured_diff, delta_lines, findings_lines},
};

/// Flags of `manage`.
#[derive(Debug, Args)]
#[command(after_help = "Actions: create, edit, patch, delete, write_file, remove_file

Examples:
  skillhub manage create pdf-forms --content SKILL.md
  skillhub manage patch pdf-forms --find \"--old\" --replace \"--new\" --reason \"renamed in 2.0\"
  skillhub manage patch pdf-forms --path scripts/fill.py --find-file old.txt --replace-file new.txt
  skillhub manage write_file pdf-forms --path scripts/fill.py --content fill.py --executable
  skillhub manage delete pdf-forms
  echo '{\"action\":\"patch\",\"name\":\"pdf\",\"find\":\"a\",\"replace\":\"b\"}' | skillhub manage --request -

Each change is scanned, checked against the policy, and recorded as a revision. If the policy holds it for a
person, it becomes a proposal instead: see `skillhub review`.")]
pub struct ManageArgs {
    /// Action: create, edit, patch, delete, write_file or remove_file
    #[arg(required_unless_present = "request")]
    action: Option<String>,
    /// Skill
    #[arg(required_unless_present = "request")]
    name: Option<String>,
    /// Read the request as JSON from a file, `-` for stdin, instead of other flags
    #[arg(long, value_name = "FILE", conflicts_with_all = ["action", "name"])]
    request: Option<PathBuf>,
    /// File with the new content, `-` for stdin
    #[arg(long, value_name = "FILE")]
    content: Option<PathBuf>,
    /// Path inside the skill [default for patch: SKILL.md]
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Text to replace
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "find_file")]
    find: Option<String>,
    /// File with the text to replace
    #[arg(long, value_name = "FILE")]
    find_file: Option<PathBuf>,
    /// Replacement text
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "replace_file")]
    replace: Option<String>,
    /// File with the replacement text
    #[arg(long, value_name = "FILE")]
    replace_file: Option<PathBuf>,
    /// Replace all matches, and fail unless there are exactly N [default: 1]
    #[arg(long, value_name = "N")]
    expected_count: Option<usize>,
    /// Replace all matches
    #[arg(long)]
    replace_all: bool,
    /// Fail if the skill's newest revision is not this one
    #[arg(long, value_name = "REV")]
    expected_revision: Option<String>,
    /// Make the file executable
    #[arg(long)]
    executable: bool,
    /// Evidence for the person who decides: text, a link, eval:ID or outcomes:ID; repeatable
    #[arg(long, value_name = "TEXT")]
    evidence: Vec<String>,
    #[command(flatten)]
    notes: NoteArgs,
}

/// What a caller says about a change.
#[derive(Debug, Args)]
pub struct NoteArgs {
    /// Reason, for the history
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Id of the run, for the history
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Id of the conversation, for the history
    #[arg(long, alias = "thread-id", value_name = "ID")]
    thread: Option<String>,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl NoteArgs {
    /// Converts the flags to the notes of a request.
    pub fn notes(&self) -> Notes {
        let (reason, run, thread) = (self.reason.clone(), self.run.clone(), self.thread.clone());
        Notes { reason, run, thread, evidence: Vec::new() }
    }
}

/// Maximum number of diff lines printed after a change. A longer diff is reduced to file names.
const DIFF_LINES: usize = 60;

/// Executes the request and prints its report.
pub fn run(context: &Context, args: &ManageArgs) -> Result<Exit, CliError> {
    let request = match &args.request {
        Some(file) => {
            let json = read_input(context, file, Limits::default().request_bytes)?;
            context.change_request(&json)?
        }
        None => of_flags(context, args)?,
    };
    if args.request.is_some() {
        let creates = request.edits.iter().any(|edit| matches!(edit, Edit::Create { .. }));
        check_request(context, "manage", &request.skill, creates)?;
    }
    let mut library = context.library_to_change(&request)?;
    let done = context.change(&mut library, |library, acting| manage(library, &request, acting));
    let report = done.map_err(|error| if args.request.is_some() { of_request(error) } else { error.into() })?;
    context.note_behind(&library);
    print(context.out, &report)
}

/// Converts the error of a JSON request, whose hint names fields in place of flags.
fn of_request(error: Refusal) -> CliError {
    let named =
        |step: &NextStep| if let NextStep::SetField(field) = step { (*field).to_owned() } else { step.command() };
    let hint = error.failure.hint.as_ref().map(|hint| hint.with(named));
    CliError { hint, ..error.into() }
}

/// Prints the report of a change.
pub fn print(out: Output, report: &Report) -> Result<Exit, CliError> {
    out.answer(&json!(report), |to| {
        let what = match report.status {
            Status::Applied => "Applied",
            Status::Unchanged => "Unchanged",
            Status::DryRun if report.decision.is_none() => "Would undo",
            Status::DryRun if report.decision == Some(Ruling::Hold) => "Would be held",
            Status::DryRun => "Would apply",
            Status::Proposed => "Proposed",
        };
        let revision = match (report.number, &report.revision) {
            _ if report.status == Status::Proposed => {
                report.proposal.as_ref().map(|id| format!(" as {STRONG}{id}{STRONG:#}")).unwrap_or_default()
            }
            (Some(number), Some(id)) => format!(", revision {number} ({})", id.short()),
            _ => String::new(),
        };
        writeln!(to, "{what}: {} {STRONG}{}{STRONG:#}{revision}", action_word(report.action.as_str()), report.name)?;
        if !report.message.is_empty() {
            writeln!(to, "  {}", hints::for_user(&report.message))?;
        }
        if report.diff.lines().count() <= DIFF_LINES {
            write!(to, "{}", coloured_diff(&report.diff))?;
        } else {
            for file in &report.files {
                writeln!(to, "  {} {} +{} -{}", word_of(file.change), file.path, file.added, file.removed)?;
            }
        }
        for line in report.delta.iter().flat_map(delta_lines) {
            writeln!(to, "  {line}")?;
        }
        for line in findings_lines(report.verdict.findings.iter().filter(|finding| finding.new)) {
            writeln!(to, "  {line}")?;
        }
        match (report.status, report.action) {
            (Status::Applied, Action::Rollback) => {
                to.message(format_args!("See all revisions: skillhub history {}", report.name))
            }
            (Status::Applied, Action::Create) => to.message(format_args!("Undo it: skillhub undo")),
            (Status::Applied, _) => to.message(format_args!("Undo it: skillhub rollback {}", report.name)),
            _ => Ok(()),
        }
    })?;
    Ok(Exit::Done)
}

fn word_of(change: Change) -> &'static str {
    match change {
        Change::Added => "added",
        Change::Modified => "modified",
        Change::Removed => "removed",
    }
}

/// Returns the edit flags that were given. Each action takes a subset of them.
fn given(args: &ManageArgs) -> impl Iterator<Item = &'static str> {
    [
        ("--content", args.content.is_some()),
        ("--path", args.path.is_some()),
        ("--find", args.find.is_some()),
        ("--find-file", args.find_file.is_some()),
        ("--replace", args.replace.is_some()),
        ("--replace-file", args.replace_file.is_some()),
        ("--expected-count", args.expected_count.is_some()),
        ("--replace-all", args.replace_all),
        ("--executable", args.executable),
    ]
    .into_iter()
    .filter_map(|(flag, given)| given.then_some(flag))
}

/// Rejects a flag that the action would ignore.
fn check_flags(action: &str, args: &ManageArgs) -> Result<(), CliError> {
    let takes = fields_of(action).unwrap_or_default();
    let is_taken = |flag: &str| {
        let field = flag.trim_start_matches('-').replace('-', "_");
        takes.contains(&field.strip_suffix("_file").unwrap_or(&field))
    };
    match given(args).find(|flag| !is_taken(flag)) {
        Some(flag) if fields_of(action).is_some() => {
            Err(CliError::new("invalid_request", Exit::Usage, format!("{action} does not accept {flag}"))
                .hint("see the examples: skillhub manage --help"))
        }
        _ => Ok(()),
    }
}

fn of_flags(context: &Context, args: &ManageArgs) -> Result<ChangeRequest, CliError> {
    let action = args.action.as_deref().unwrap_or_default();
    check_flags(action, args)?;
    let edit = match action {
        "create" => Edit::Create { content: content_text(context, args)? },
        "edit" => Edit::Edit { content: content_text(context, args)? },
        "patch" => Edit::Patch(patch(context, args)?),
        "write_file" => Edit::WriteFile {
            path: path(args)?,
            bytes: content(context, args)?,
            executable: args.executable.then_some(true),
        },
        "remove_file" => Edit::RemoveFile { path: path(args)? },
        "delete" => Edit::Delete,
        other => {
            return Err(CliError::new("invalid_request", Exit::Usage, format!("unknown action {other:?}"))
                .hint("use create, edit, patch, delete, write_file or remove_file"));
        }
    };
    let evidence = Evidence::all(&args.evidence).map_err(|error| ManageError::from(RequestError::from(error)))?;
    let name = args.name.as_deref().unwrap_or_default();
    let named =
        if matches!(edit, Edit::Create { .. }) { name.to_owned() } else { context.skill_called(name)?.to_string() };
    let request = ChangeRequest::of_edit(&named, edit).map_err(ManageError::from)?;
    Ok(ChangeRequest {
        expected_revision: args.expected_revision.clone(),
        notes: Notes { evidence, ..args.notes.notes() },
        dry_run: args.notes.dry_run,
        ..request
    })
}

fn patch(context: &Context, args: &ManageArgs) -> Result<Patch, CliError> {
    Ok(Patch {
        path: args.path.as_deref().map_or_else(|| Ok(SkillPath::skill_md()), parse_path)?,
        find: text_or_file(context, args.find.as_ref(), args.find_file.as_deref(), "--find")?,
        replace: text_or_file(context, args.replace.as_ref(), args.replace_file.as_deref(), "--replace")?,
        expected_count: args.expected_count,
        replace_all: args.replace_all,
    })
}

fn missing(flag: &str) -> CliError {
    CliError::new("invalid_request", Exit::Usage, format!("{flag} is missing"))
        .hint("see the examples: skillhub manage --help")
}

fn path(args: &ManageArgs) -> Result<SkillPath, CliError> {
    parse_path(args.path.as_deref().ok_or_else(|| missing("--path"))?)
}

/// Parses a path inside a skill.
pub fn parse_path(text: &str) -> Result<SkillPath, CliError> {
    let path = SkillPath::parse(text.strip_prefix("./").unwrap_or(text));
    Ok(path.map_err(|error| ManageError::from(RequestError::from(error)))?)
}

fn content(context: &Context, args: &ManageArgs) -> Result<Vec<u8>, CliError> {
    let file = args.content.as_deref().ok_or_else(|| missing("--content"))?;
    read_input(context, file, Limits::default().skill_bytes)
}

fn content_text(context: &Context, args: &ManageArgs) -> Result<String, CliError> {
    utf8(content(context, args)?, "the content")
}

fn text_or_file(context: &Context, text: Option<&String>, file: Option<&Path>, flag: &str) -> Result<String, CliError> {
    match (text, file) {
        (Some(text), _) => Ok(text.clone()),
        (None, Some(file)) => {
            utf8(read_input(context, file, Limits::default().skill_bytes)?, &file.display().to_string())
        }
        (None, None) => Err(missing(flag)),
    }
}

fn utf8(bytes: Vec<u8>, what: &str) -> Result<String, CliError> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CliError::new("invalid_skill", Exit::Invalid, format!("{what} is not UTF-8 (byte {at})"))
            .hint("save it as UTF-8, or add a binary file with `manage write_file`")
    })
}

/// Reads a file, or stdin for `-`, of at most `limit` bytes.
pub fn read_input(context: &Context, file: &Path, limit: u64) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        std::io::stdin().lock().take(limit + 1).read_to_end(&mut bytes)?;
    } else {
        let path = context.absolute(file);
        let open = std::fs::File::open(&path).map_err(io_at(&path))?;
        open.take(limit + 1).read_to_end(&mut bytes).map_err(io_at(&path))?;
    }
    if bytes.len() as u64 > limit {
        let message = format!("the input is larger than {limit} bytes");
        return Err(CliError::new("too_large", Exit::Invalid, message).hint("split it into smaller files"));
    }
    Ok(bytes)
}
