//! `skillhub serve schema`, `serve check` and `serve move`, for operators of servers over PostgreSQL.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;
use server::Moved;
use skill::counted;

use super::{
    engines, file,
    results::{CheckOrder, CheckReport, MoveOrder, SchemaState},
    storage::{ServedIndex, invalid},
};
use crate::{
    context::Context,
    exit::{CliError, Exit},
    print::{BAD, GOOD, STRONG, shell_word},
};

/// Flags of `serve schema`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  skillhub serve schema --config serve.toml          what the database has, and what this build needs
  skillhub serve schema apply --config serve.toml    bring it up to date; servers that run go on")]
pub struct SchemaArgs {
    #[command(subcommand)]
    command: Option<SchemaCommand>,
    /// Configuration file of the server, with the table `storage`
    #[arg(long, value_name = "FILE", env = "SKILLHUB_SERVE_CONFIG")]
    config: Option<PathBuf>,
}

/// Subcommands of `serve schema`.
#[derive(Debug, Subcommand)]
enum SchemaCommand {
    /// Apply the migrations that the database lacks
    Apply(ConfigArgs),
}

/// The flag that names the configuration file of a server.
#[derive(Debug, Args)]
struct ConfigArgs {
    /// Configuration file of the server, with the table `storage`
    #[arg(long, value_name = "FILE", env = "SKILLHUB_SERVE_CONFIG")]
    config: PathBuf,
}

/// Flags of `serve check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub serve check --config serve.toml            database, archives and git repository agree
  skillhub serve check --adopt --config serve.toml    after a failover that lost releases: take them from git
  skillhub serve check --repair --config serve.toml   correct what git proves, then check
  skillhub serve check --repair --archives s3://backup/hub --config serve.toml

Reads everything and changes nothing, except with --adopt and --repair. Servers may run meanwhile.")]
pub struct CheckArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Take over releases that the git repository has and the database lost
    #[arg(long)]
    adopt: bool,
    /// Correct rows, and store missing archives again, where another place proves what is right
    #[arg(long)]
    repair: bool,
    /// Look for missing archives in this folder or bucket too, such as a backup
    #[arg(long, value_name = "PLACE", requires = "repair")]
    archives: Option<String>,
}

/// Flags of `serve move`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub serve move --from /srv/skillhub --to serve.toml      from a data folder into PostgreSQL
  skillhub serve move --from serve.toml --to /srv/skillhub      and back

Copies archives, releases, accounts, counts and the audit log, then compares both sides. Run it again after an
interruption. Stop the servers of the source before the last run.")]
pub struct MoveArgs {
    /// Data folder, or configuration file with the table `storage`, to copy from
    #[arg(long, value_name = "PLACE")]
    from: PathBuf,
    /// Data folder, or configuration file with the table `storage`, to copy to
    #[arg(long, value_name = "PLACE")]
    to: PathBuf,
}

/// Shows the schema of a database, or applies what it lacks.
pub fn schema(context: &Context, args: &SchemaArgs) -> Result<Exit, CliError> {
    let (config, apply) = match (&args.command, &args.config) {
        (Some(SchemaCommand::Apply(args)), _) => (&args.config, true),
        (None, Some(config)) => (config, false),
        (None, None) => return Err(CliError::usage("the configuration file is missing").hint("add --config FILE")),
    };
    let SchemaState { applied, missing } = engines::schema(&in_cluster(context, config)?, apply)?;
    let document = json!({"ok": true, "applied": applied, "missing": missing});
    context.out.answer(&document, |out| {
        for name in &applied {
            writeln!(out, "{GOOD}applied{GOOD:#} {name}")?;
        }
        for name in &missing {
            writeln!(out, "{BAD}missing{BAD:#} {name}")?;
        }
        match missing.is_empty() {
            true => writeln!(out, "The database has the schema of this build"),
            false => writeln!(out, "Apply them: skillhub serve schema apply --config {}", config.display()),
        }
    })
}

/// Compares database, archives and git repository.
pub fn check(context: &Context, args: &CheckArgs) -> Result<Exit, CliError> {
    let working = context.out.working("checking");
    // A folder may be relative; a bucket is a URL.
    let place = |place: &String| match place.contains("://") {
        true => place.clone(),
        false => context.absolute(Path::new(place)).display().to_string(),
    };
    let order = CheckOrder { adopt: args.adopt, repair: args.repair, archives: args.archives.as_ref().map(place) };
    let report = engines::check(&in_cluster(context, &args.config.config)?, &order)?;
    drop(working);
    let CheckReport { releases, archives, files, adopted, repaired_archives, repaired_skills, faults } = &report;
    let is_sound = faults.is_empty();
    let document = json!({
        "ok": is_sound, "releases": releases, "archives": archives, "files": files, "adopted": adopted,
        "repaired_archives": repaired_archives, "repaired_skills": repaired_skills, "faults": faults,
    });
    context.out.answer(&document, |out| {
        for fault in faults {
            writeln!(out, "{BAD}fault{BAD:#} {fault}")?;
        }
        if *adopted > 0 {
            writeln!(out, "Took over {adopted} from the git repository")?;
        }
        if args.repair {
            let (archives, skills) = (counted(repaired_archives, "archive"), counted(repaired_skills, "skill"));
            writeln!(out, "Repaired {archives} and the rows of {skills}")?;
        }
        let files =
            files.map_or(String::new(), |files| format!(", and {} with the git repository", counted(files, "file")));
        let (releases, archives) = (counted(releases, "release"), counted(archives, "archive"));
        writeln!(out, "Checked {STRONG}{releases}{STRONG:#} with {archives}{files}")?;
        match (is_sound, args.repair) {
            (true, _) => Ok(()),
            (false, false) => {
                let config = shell_word(&args.config.config.display().to_string());
                writeln!(out, "Correct what can be: skillhub serve check --repair --config {config}")
            }
            (false, true) => writeln!(out, "For what is left, see \"Repair\" in docs/guides/growing-up.md"),
        }
    })?;
    Ok(if is_sound { Exit::Done } else { Exit::Integrity })
}

/// Copies an index from a data folder into engines, or back, and compares both.
pub fn move_index(context: &Context, args: &MoveArgs) -> Result<Exit, CliError> {
    let (from, to) = (context.absolute(&args.from), context.absolute(&args.to));
    let source = from.clone();
    let boxed = |config: &Path| in_cluster(context, config).map(Box::new);
    let order = match (from.is_file(), to.is_file()) {
        (false, true) if from.is_dir() => MoveOrder::Into { folder: from, cluster: boxed(&to)? },
        (true, false) => MoveOrder::OutOf { cluster: boxed(&from)?, folder: to },
        _ => {
            return Err(CliError::usage(
                "one of --from and --to must be a data folder, the other a configuration file",
            )
            .hint("read `skillhub serve move --help`"));
        }
    };
    let working = context.out.working("moving");
    let at = |what: &'static str, done: u64, all: u64| working.at(what, count(done), count(all.max(done)));
    let moved = engines::move_index(&order, &at)?;
    drop(working);
    let Moved { releases, archives, rows, digest, is_served } = &moved;
    let document = json!({
        "ok": true, "releases": releases, "archives": archives, "rows": rows, "digest": digest, "served": is_served,
    });
    context.out.answer(&document, |out| {
        let (releases, archives) = (counted(releases, "release"), counted(archives, "archive"));
        let rows = counted(rows, "other row");
        writeln!(out, "Moved {STRONG}{releases}{STRONG:#}, {archives} and {rows}")?;
        writeln!(out, "Both sides have the same lines: {digest}")?;
        match is_served {
            true => writeln!(out, "A server runs on {}: stop it and run this again", source.display()),
            false => Ok(()),
        }
    })
}

fn in_cluster(context: &Context, config: &Path) -> Result<ServedIndex, CliError> {
    let index = file::first_of(context, config)?;
    match index.storage.is_cluster() {
        true => Ok(index),
        false => Err(invalid(format!("{} has no [storage] with kind = \"cluster\"", config.display()))
            .hint("see docs/guides/growing-up.md")),
    }
}

fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
