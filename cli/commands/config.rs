//! `skillhub config` checks the configuration files, and shows the settings in force.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use ops::{ConfigFault, ConfigFile, ConfigKind, SettingInForce, SettingOrigin};
use serde_json::json;
use skill::{counted, failure::FailureKind};

use crate::{
    context::Context,
    exit::{CliError, Exit},
    print::{BAD, FAINT, GOOD, Table, visible},
};

/// Maximum width of a value, in columns.
const VALUE: usize = 60;

/// Note for everyone who is not a person at a terminal.
const LEFT_OUT: &str = "[agents], [[permissions]] and [tools.groups] are left out here, because agents must not learn \
                        from them which skills are hidden; a person sees them at a terminal";

/// The configuration.
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  skillhub config check                          check config.toml and the policy files
  skillhub config check serve.toml               check the settings of a server before it reads them
  skillhub config check skillhub.lock            check a lock file, or a file of rules for the scanner
  skillhub config show                           the settings in force, with their origins
  skillhub config path                           the files, existing or not
  skillhub config show --json | jq '.settings[] | select(.origin == \"file\")'")]
pub enum ConfigCommand {
    /// Report each fault of the configuration with its line, and the key that may be meant
    Check(CheckArgs),
    /// Print the settings in force and where each comes from; secrets are hidden
    Show(ShowArgs),
    /// Print the files that settings are read from
    Path(PathArgs),
}

/// Files to check.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub config check
  skillhub config check deploy/policy.toml
  skillhub config check skillhub.lock
  skillhub config check rules/company-rules.toml
  skillhub config check settings.toml --kind serve

Exit code 0: no faults. Exit code 2: faults.")]
pub struct CheckArgs {
    /// File to check [default: config.toml and the policy files in use]
    file: Option<PathBuf>,
    /// Kind of the file [default: from its name]; for `serve`, only keys and types are checked
    #[arg(long, requires = "file")]
    kind: Option<Kind>,
}

/// Flags of `config show`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub config show
  skillhub config show --json

Environment variables, arguments of commands, and users and queries of addresses print as ….
For an agent, tables that may name skills hidden from it are left out.")]
pub struct ShowArgs {}

/// Flags of `config path`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub config path
  skillhub config path --json")]
pub struct PathArgs {}

/// Kinds of configuration files.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    /// config.toml of a home
    Config,
    /// Policy file
    Policy,
    /// File of `serve --config`
    Serve,
    /// skillhub.lock of a project
    Lock,
    /// Rules for the scanner
    Rules,
}

impl From<Kind> for ConfigKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Config => Self::Config,
            Kind::Policy => Self::Policy,
            Kind::Serve => Self::Serve,
            Kind::Lock => Self::Lock,
            Kind::Rules => Self::Rules,
        }
    }
}

/// Checks or shows the configuration. A damaged one is not an error of the context.
pub fn run(context: &Context, command: &ConfigCommand) -> Result<Exit, CliError> {
    match command {
        ConfigCommand::Check(args) => check(context, args),
        ConfigCommand::Show(_) => show(context),
        ConfigCommand::Path(_) => path(context),
    }
}

/// Faults of a file; `None` if it does not exist.
type Checked = (ConfigFile, Option<Vec<ConfigFault>>);

fn check(context: &Context, args: &CheckArgs) -> Result<Exit, CliError> {
    let checked = match &args.file {
        Some(file) => {
            let path = context.absolute(file);
            let file = ConfigFile { kind: args.kind.map_or_else(|| ConfigKind::of(&path), ConfigKind::from), path };
            let faults = context.check_config(&file)?;
            vec![(file, Some(faults))]
        }
        None => check_all(context)?,
    };
    let count: usize = checked.iter().filter_map(|(_, faults)| faults.as_ref()).map(Vec::len).sum();
    let files: Vec<_> = checked
        .iter()
        .map(|(file, faults)| {
            json!({
                "kind": file.kind, "path": file.path.display().to_string(), "exists": faults.is_some(),
                "faults": faults.as_deref().unwrap_or_default(),
            })
        })
        .collect();
    context.out.answer(&json!({"ok": count == 0, "files": files}), |out| {
        for (file, faults) in &checked {
            let path = visible(&context.short(&file.path));
            match faults.as_deref() {
                None => writeln!(out, "{path}: {FAINT}not there{FAINT:#}")?,
                Some([]) => writeln!(out, "{path}: {GOOD}valid{GOOD:#}")?,
                Some(faults) => faults.iter().try_for_each(|fault| writeln!(out, "{path}:{}", describe(fault)))?,
            }
        }
        match count {
            0 => Ok(()),
            count => writeln!(out, "{BAD}{}{BAD:#}", counted(count, "fault")),
        }
    })?;
    Ok(if count == 0 { Exit::Done } else { Exit::Usage })
}

/// Checks the files in use. An error of the code that uses them, without a place in a file, is an error here.
fn check_all(context: &Context) -> Result<Vec<Checked>, CliError> {
    if let Some(fault) = &context.home_fault {
        return Err(fault.clone().into());
    }
    let mut checked = Vec::new();
    for file in context.config_files() {
        let faults = match context.check_config(&file) {
            Err(error) if error.failure.kind == FailureKind::NotFound => None,
            faults => Some(faults?),
        };
        checked.push((file, faults));
    }
    if checked.iter().all(|(_, faults)| faults.as_ref().is_none_or(Vec::is_empty)) {
        if let Some(fault) = &context.config_fault {
            return Err(fault.clone().into());
        }
        context.policy()?;
    }
    Ok(checked)
}

/// Formats a fault as `LINE:COLUMN: message`.
fn describe(fault: &ConfigFault) -> String {
    let ConfigFault { line, column, key, message, nearest } = fault;
    let named = if message.contains(key) { String::new() } else { format!("`{key}`: ") };
    let nearest = nearest.as_ref().map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default();
    format!("{line}:{column}: {}{nearest}", visible(&format!("{named}{message}")))
}

fn show(context: &Context) -> Result<Exit, CliError> {
    let settings = context.settings_in_force()?;
    context.out.answer(&json!({"ok": true, "settings": settings}), |out| {
        let mut table = Table::new(&["setting", "value", "from"]);
        for setting in settings.iter().filter(|setting| !setting.value.is_null()) {
            let value = Table::cut(&visible(&setting.value.to_string()), VALUE);
            table.row(&[visible(&setting.key), value, origin(context, setting)]);
        }
        table.write(out)?;
        if !context.is_person() {
            out.message(format_args!("{LEFT_OUT}"))?;
        }
        Ok(())
    })?;
    Ok(Exit::Done)
}

/// Describes where a setting comes from.
fn origin(context: &Context, setting: &SettingInForce) -> String {
    let file = setting.file.as_ref().map(|file| visible(&context.short(Path::new(file)))).unwrap_or_default();
    match setting.origin {
        SettingOrigin::File | SettingOrigin::Policy => format!("{file}:{}", setting.line.unwrap_or_default()),
        SettingOrigin::Environment => "environment".to_owned(),
        SettingOrigin::Default => "default".to_owned(),
    }
}

fn path(context: &Context) -> Result<Exit, CliError> {
    let files: Vec<_> = context.config_files().into_iter().map(|file| (file.path.exists(), file)).collect();
    let listed = files
        .iter()
        .map(|(exists, file)| json!({"kind": file.kind, "path": file.path.display().to_string(), "exists": exists}));
    context.out.answer(&json!({"ok": true, "files": listed.collect::<Vec<_>>()}), |out| {
        for (exists, file) in &files {
            let missing = if *exists { String::new() } else { format!("  {FAINT}not there{FAINT:#}") };
            writeln!(out, "{}{missing}", visible(&file.path.display().to_string()))?;
        }
        Ok(())
    })?;
    Ok(Exit::Done)
}
