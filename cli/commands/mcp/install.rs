//! `skillhub mcp install` adds the server to the configuration of an agent's host.

use std::{
    fs,
    io::{ErrorKind, Read, Write},
    path::{Path, PathBuf},
};

use clap::Args;
use library::real_path;
use mcp::hosts::{Host, HostError, ServerEntry};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::{
    context::Context,
    exit::{CliError, Exit, failed, io_at},
    global::Global,
    print::{FAINT, GOOD, Page, STRONG, WARN, visible},
    reading::text_at,
};

/// Maximum size, in bytes, of a host's configuration. Most have a few kilobytes. Claude Code's may have megabytes,
/// because earlier versions kept the typed prompts in it, and 15 MB have been reported.
pub const CONFIG_BYTES: u64 = 16 << 20;

/// Flags of `mcp install`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub mcp install --agent claude-code       in .mcp.json of the project
  skillhub --global mcp install --agent codex    in ~/.codex/config.toml
  skillhub mcp install --agent vscode --print    show the configuration, and write nothing

A hook is added that records which skills the sessions of Claude Code, Codex, Gemini CLI and OpenCode used
(skillhub record --hook), on this machine only; `use_log = false` in the table [agent] of config.toml leaves
it out. In a project, only Claude Code has a file for it that is not shared.

Agents: claude-code, claude-desktop, codex, cursor, gemini-cli, github-copilot (vscode), opencode.
Comments, order and other settings in the file are kept. If that is not possible, the file stays
unchanged and the command prints the lines to add.")]
pub struct InstallArgs {
    /// Agent to configure
    #[arg(long, value_name = "ID")]
    agent: String,
    /// Let the server list all tools from the start
    #[arg(long)]
    all_tools: bool,
    /// Print the file's path and new content, and write nothing
    #[arg(long)]
    print: bool,
}

/// A planned change of a host's configuration.
#[derive(Debug)]
pub struct Planned {
    /// Path of the file, with links resolved.
    pub target: PathBuf,
    /// Current text, `None` if the file does not exist.
    pub before: Option<String>,
    /// New text, equal to the current one if the entry is there already.
    pub after: String,
}

impl Planned {
    /// Returns whether the file has to be written.
    pub fn is_new(&self) -> bool {
        self.before.as_deref() != Some(&self.after)
    }
}

/// Plans the entry in the user's configuration of a host.
///
/// # Errors
/// The host has no such file, or the file cannot be read or changed.
pub fn plan_for_user(context: &Context, host: &'static Host) -> Result<Planned, CliError> {
    let files = user_files(context, host);
    let file = files.iter().find(|file| file.exists()).or(files.first());
    let file = file.ok_or_else(|| CliError::usage(format!("{} has no configuration file here", host.title)))?;
    let entry = ServerEntry { command: program_on_path(), args: arguments(host) };
    let target = real_place(file, None)?;
    let before = read(host, &target, &entry)?;
    let after = host.written(file, before.as_deref().unwrap_or_default(), &entry).map_err(failed)?;
    Ok(Planned { target, before, after })
}

/// Returns the candidate configuration files of the user.
pub fn user_files(context: &Context, host: &Host) -> Vec<PathBuf> {
    host.user_files(&context.user_home, folder_in_environment)
}

/// Plans the hook that records the outcomes of a host's sessions, in the project or the user's home. `connection` is
/// the planned entry of the server, which may be in the same file and is written first. `None` if the host has no hooks
/// there, or the usage log is disabled.
///
/// # Errors
/// The file cannot be read or changed.
pub fn plan_hook(
    context: &Context,
    host: &'static Host,
    root: Option<&Path>,
    flags: &[String],
    connection: Option<&Planned>,
) -> Result<Option<Planned>, CliError> {
    let Some(file) =
        hook_file(context, host, root).filter(|_| context.settings().is_ok_and(|settings| settings.use_log))
    else {
        return Ok(None);
    };
    let target = real_place(&file, root)?;
    let program: Vec<String> = std::iter::once(program_on_path()).chain(flags.iter().cloned()).collect();
    let before = match connection.filter(|planned| planned.target == target) {
        Some(planned) => Some(planned.after.clone()),
        None => current_text(&target)?,
    };
    let after = host.with_hook(&file, before.as_deref().unwrap_or_default(), &program).map_err(failed)?;
    Ok(Some(Planned { target, before, after }))
}

/// Returns the file of a host's hook, in the project or the user's home. `None` if the host has no hooks there.
pub fn hook_file(context: &Context, host: &Host, root: Option<&Path>) -> Option<PathBuf> {
    match root {
        Some(root) => host.project_hook_file(root),
        None => host.user_hook_file(&context.user_home, folder_in_environment),
    }
}

/// Returns the text of a configuration file, `None` if it does not exist.
///
/// # Errors
/// The file cannot be read, is too large or is not UTF-8.
pub fn current_text(file: &Path) -> Result<Option<String>, CliError> {
    match text_at(file, CONFIG_BYTES) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        text => text.map(Some).map_err(io_at(file)),
    }
}

fn folder_in_environment(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns `skillhub` if the search path leads to this program, else the program's path.
fn program_on_path() -> String {
    let Some(own) = std::env::current_exe().and_then(|path| real_path(&path)).ok() else {
        return "skillhub".to_owned();
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let file = format!("skillhub{}", std::env::consts::EXE_SUFFIX);
    let mut found = std::env::split_paths(&path).filter_map(|folder| real_path(&folder.join(&file)).ok());
    if found.next().is_some_and(|found| found == own) { "skillhub".to_owned() } else { own.display().to_string() }
}

fn arguments(host: &Host) -> Vec<String> {
    let mut args = ["mcp", "--agent", host.id].map(str::to_owned).to_vec();
    if host.lists_skills {
        args.push("--no-catalogue".to_owned());
    }
    args
}

/// Returns the root of the project that the flags select, `None` for the user, and the host's candidate files there.
///
/// # Errors
/// `--project` outside of a project, or a host without configuration in projects.
pub fn files_of(context: &Context, global: &Global, host: &Host) -> Result<(Option<PathBuf>, Vec<PathBuf>), CliError> {
    let root = context.project_root().filter(|_| !global.global);
    let files = match &root {
        Some(root) => host.project_files(root).map_err(failed)?,
        None if global.project => {
            return Err(CliError::usage("no project found: neither this folder nor one above it has a .git")
                .hint("run `git init`, or leave --project out"));
        }
        None => user_files(context, host),
    };
    Ok((root, files))
}

/// Writes the entry, or prints it with `--print`.
pub fn run(context: &Context, global: &Global, args: &InstallArgs) -> Result<Exit, CliError> {
    let host = Host::find(&args.agent).map_err(failed)?;
    let (root, files) = files_of(context, global, host)?;
    let file = files
        .iter()
        .find(|file| file.exists())
        .or(files.first())
        .ok_or_else(|| CliError::usage(format!("{} has no configuration file here", host.title)))?;
    let target = real_place(file, root.as_deref())?;
    let mut entry = entry(context, global, host);
    if args.all_tools {
        entry.args.push("--all-tools".to_owned());
    }
    let before = read(host, &target, &entry)?;
    let after = host.written(file, before.as_deref().unwrap_or_default(), &entry).map_err(failed)?;
    let planned = Planned { target, before, after };
    let hook = plan_hook(context, host, root.as_deref(), &library_flags(context, global), Some(&planned));
    let hook = written(hook, &planned, args.print)?;
    let status = status(&planned, args.print);
    let content = hook.content_of(&planned);
    let document = json!({
        "ok": true, "agent": host.id, "file": file, "status": status,
        "command": entry.command, "args": entry.args, "catalogue": !host.lists_skills, "content": content,
        "hook": hook.document(args.print),
    });
    context.out.answer(&document, |out| {
        match status {
            "dry_run" => write!(out, "{FAINT}{}{FAINT:#}\n{content}", file.display())?,
            "unchanged" => writeln!(out, "{} already starts skillhub: {}", host.title, file.display())?,
            _ => {
                let file = file.display();
                writeln!(out, "{GOOD}Written{GOOD:#}: {file}; {STRONG}{}{STRONG:#} now starts skillhub", host.title)?;
                out.message(format_args!("Restart it to see the tools. Those for histories, reviews and installs join once a skill or an answer needs them."))?;
            }
        }
        hook.write(out, context, host, &planned, args.print)
    })
}

fn status(planned: &Planned, is_trial: bool) -> &'static str {
    match (planned.is_new(), is_trial) {
        (false, _) => "unchanged",
        (true, true) => "dry_run",
        (true, false) => "written",
    }
}

/// Writes the entry, then the hook, which may be in the same file. A hook that cannot be written is not an error: the
/// server works without it.
fn written(
    hook: Result<Option<Planned>, CliError>,
    planned: &Planned,
    is_trial: bool,
) -> Result<InstalledHook, CliError> {
    if planned.is_new() && !is_trial {
        write(&planned.target, planned.before.as_deref(), &planned.after)?;
    }
    Ok(match hook {
        Ok(None) => InstalledHook::Absent,
        Ok(Some(hook)) if hook.is_new() && !is_trial => {
            match write(&hook.target, hook.before.as_deref(), &hook.after) {
                Ok(()) => InstalledHook::Planned(hook),
                Err(error) => InstalledHook::Failed(error),
            }
        }
        Ok(Some(hook)) => InstalledHook::Planned(hook),
        Err(error) => InstalledHook::Failed(error),
    })
}

/// Result for the hook of a host.
enum InstalledHook {
    /// The host has no hooks here, or the usage log is disabled.
    Absent,
    /// The change, written unless it is a trial.
    Planned(Planned),
    /// The file was not changed.
    Failed(CliError),
}

impl InstalledHook {
    /// Returns the final text of the file with the server's entry.
    fn content_of<'p>(&'p self, planned: &'p Planned) -> &'p str {
        match self {
            Self::Planned(hook) if hook.target == planned.target => &hook.after,
            _ => &planned.after,
        }
    }

    fn document(&self, is_trial: bool) -> Value {
        match self {
            Self::Absent => json!({"status": "none"}),
            Self::Planned(hook) => json!({"status": status(hook, is_trial), "file": hook.target}),
            Self::Failed(error) => json!({"status": "failed", "error": error.message, "hint": error.hint}),
        }
    }

    fn write(
        &self,
        out: &mut Page,
        context: &Context,
        host: &Host,
        planned: &Planned,
        is_trial: bool,
    ) -> std::io::Result<()> {
        match self {
            Self::Absent => Ok(()),
            Self::Planned(hook) if is_trial && hook.target == planned.target => Ok(()),
            Self::Planned(hook) if is_trial => {
                write!(out, "{FAINT}{}{FAINT:#}\n{}", hook.target.display(), hook.after)
            }
            Self::Planned(hook) if hook.is_new() => {
                let file = context.shown(&hook.target);
                out.message(format_args!("The skills that its sessions use are recorded on this machine: {file}"))
            }
            Self::Planned(_) => Ok(()),
            Self::Failed(error) => {
                let (title, message) = (host.title, visible(&error.message));
                out.message(format_args!("{WARN}note{WARN:#}: sessions of {title} are not recorded: {message}"))?;
                error.hint.iter().try_for_each(|hint| out.message(format_args!("{hint}")))
            }
        }
    }
}

/// Returns the entry that starts the server for this agent, with the library chosen on the command line.
fn entry(context: &Context, global: &Global, host: &Host) -> ServerEntry {
    let args = library_flags(context, global).into_iter().chain(arguments(host)).collect();
    ServerEntry { command: "skillhub".to_owned(), args }
}

/// Returns the flags for the library chosen on the command line, if one is.
fn library_flags(context: &Context, global: &Global) -> Vec<String> {
    let named =
        global.library.is_some().then(|| ["--library".to_owned(), context.library_path().display().to_string()]);
    named.into_iter().flatten().collect()
}

/// Resolves the links of a configuration file, which people may use to share settings. Links in a project may come with
/// a clone, so they must not lead out of it.
///
/// # Errors
/// A link leads out of the project, or cannot be resolved.
pub fn real_place(file: &Path, project: Option<&Path>) -> Result<PathBuf, CliError> {
    let there = file.ancestors().find(|path| path.symlink_metadata().is_ok()).unwrap_or(file);
    let real = real_path(there).map_err(io_at(there))?;
    let root = project.and_then(|root| real_path(root).ok());
    if root.is_some_and(|root| !real.starts_with(root)) {
        let message = format!("{} is a link that leads out of the project, to {}", there.display(), real.display());
        return Err(CliError::new("policy_denied", Exit::Refused, message).hint("remove the link"));
    }
    Ok(match file.strip_prefix(there) {
        Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
        _ => real,
    })
}

fn read(host: &Host, file: &Path, entry: &ServerEntry) -> Result<Option<String>, CliError> {
    let open = match fs::File::open(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        open => open.map_err(io_at(file))?,
    };
    let mut bytes = Vec::new();
    open.take(CONFIG_BYTES + 1).read_to_end(&mut bytes).map_err(io_at(file))?;
    let why = match String::from_utf8(bytes) {
        Ok(text) if text.len() as u64 <= CONFIG_BYTES => return Ok(Some(text)),
        Ok(_) => format!("it is larger than {CONFIG_BYTES} bytes"),
        Err(_) => "it is not UTF-8".to_owned(),
    };
    Err(failed(HostError::Unsafe { file: file.display().to_string(), why, snippet: host.snippet(entry) }))
}

/// Replaces the file atomically and preserves its mode, unless it was changed meanwhile.
///
/// # Errors
/// The file cannot be written, or its text is no longer `before`.
pub fn write(file: &Path, before: Option<&str>, after: &str) -> Result<(), CliError> {
    let folder = file.parent().unwrap_or(file);
    fs::create_dir_all(folder).map_err(io_at(folder))?;
    let mut aside = new_file(folder).map_err(io_at(folder))?;
    aside.write_all(after.as_bytes()).map_err(io_at(file))?;
    let changed = || {
        CliError::new("conflict", Exit::Conflict, format!("{} was changed by another program", file.display()))
            .hint("run the command again")
    };
    match before {
        None => {
            aside.as_file().sync_all().map_err(io_at(file))?;
            aside.persist_noclobber(file).map_err(|_| changed())?;
        }
        Some(before) => {
            let mode = fs::metadata(file).map_err(io_at(file))?.permissions();
            aside.as_file().set_permissions(mode).map_err(io_at(file))?;
            aside.as_file().sync_all().map_err(io_at(file))?;
            if text_at(file, CONFIG_BYTES).map_err(io_at(file))? != before {
                return Err(changed());
            }
            aside.persist(file).map_err(|error| io_at(file)(error.error))?;
        }
    }
    Ok(())
}

/// Creates a temporary file in the folder, with the default mode of new files.
fn new_file(folder: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".skillhub-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}
