//! Flags and subcommands of the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::commands;

/// skillhub: publish, find, install and safely evolve Agent Skills.
#[derive(Debug, Parser)]
#[command(name = "skillhub", version, max_term_width = 100, arg_required_else_help = true)]
#[command(disable_help_subcommand = true)]
pub struct Cli {
    /// Flags that every command takes.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Flags that every command takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Run in this folder instead of the current one
    #[arg(short = 'C', global = true, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Work on the skills in this folder [env: SKILLHUB_LIBRARY]
    #[arg(long, global = true, value_name = "DIR", conflicts_with_all = ["project", "global"])]
    pub library: Option<PathBuf>,
    /// Work on the project's skills: .agents/skills in the git root
    #[arg(long, global = true, conflicts_with = "global")]
    pub project: bool,
    /// Work on the user's skills: ~/.agents/skills
    #[arg(long, short, global = true)]
    pub global: bool,
    /// Registry to use: a name from the configuration, a server, a git URL, or a folder
    #[arg(long, global = true, value_name = "NAME_URL_OR_DIR", env = "SKILLHUB_REGISTRY")]
    pub registry: Option<String>,
    /// Trust the CA certificates in this PEM file in place of the system's [env: SSL_CERT_FILE]
    #[arg(long, global = true, value_name = "FILE", hide = true)]
    pub ca_file: Option<PathBuf>,
    /// Send tokens also over plain HTTP to other machines
    #[arg(long, global = true, hide = true)]
    pub insecure: bool,
    /// Go on with a registry whose history was replaced, or that is older than it was
    #[arg(long, global = true)]
    pub accept_rewrite: bool,
    /// Print one JSON document
    #[arg(long, global = true)]
    pub json: bool,
    /// Answer yes to questions; accepts no findings
    #[arg(long, short, global = true)]
    pub yes: bool,
    /// Print only answers and errors: no notes, next steps or progress
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    /// Who acts, for the history: agent:ID, person:ID or optimizer:ID; gives no rights
    #[arg(long, global = true, value_name = "KIND:ID")]
    pub actor: Option<String>,
}

/// When output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal without `NO_COLOR`.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What skillhub does.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find skills and agents on this machine, and connect them
    Setup(commands::setup::SetupArgs),
    /// Start a skill in a folder
    #[command(alias = "init")]
    New(commands::new::NewArgs),
    /// Check skills against the Agent Skills standard
    Validate(commands::validate::ValidateArgs),
    /// Look for dangerous content in skills
    Scan(commands::scan::ScanArgs),
    /// Pack a skill into a .skill file
    Pack(commands::pack::PackArgs),
    /// Unpack a .skill file into a folder
    Unpack(commands::pack::UnpackArgs),
    /// Publish a skill to a registry
    Publish(commands::publish::PublishArgs),
    /// Find skills in a registry
    #[command(alias = "find")]
    Search(commands::search::SearchArgs),
    /// Show the releases of a skill
    Info(commands::info::InfoArgs),
    /// Keep new installs from choosing a release
    Yank(commands::yank::YankArgs),
    /// Store the token for a registry on a server
    Login(commands::login::LoginArgs),
    /// Remove the token for a registry on a server
    Logout(commands::login::LogoutArgs),
    /// List, add or retire the keys that sign an owner's releases
    #[command(subcommand)]
    Key(commands::key::KeyCommand),
    /// Install skills from a registry, folder, archive or git repository
    #[command(alias = "add")]
    Install(commands::install::InstallArgs),
    /// Manage existing skill folders
    Adopt(commands::adopt::AdoptArgs),
    /// Manage what `npx skills` or ClawHub installed
    Import(commands::import::ImportArgs),
    /// Merge newer releases of skills with local changes
    #[command(alias = "upgrade")]
    Update(commands::update::UpdateArgs),
    /// List installed skills that have newer releases
    Outdated(commands::outdated::OutdatedArgs),
    /// Remove installed skills
    #[command(aliases = ["remove", "rm"])]
    Uninstall(commands::uninstall::UninstallArgs),
    /// Reverse the last operation
    Undo(commands::undo::UndoArgs),
    /// Check installed files against the lock file
    Verify(commands::verify::VerifyArgs),
    /// List skills
    #[command(alias = "ls")]
    List(commands::list::ListArgs),
    /// Change a skill: create, edit, patch, delete, write_file, remove_file
    Manage(commands::manage::ManageArgs),
    /// Record hand edits of skill folders as revisions
    Commit(commands::commit::CommitArgs),
    /// List the revisions of a skill
    History(commands::history::HistoryArgs),
    /// Show a revision's files, or one of them
    Show(commands::show::ShowArgs),
    /// Show what changed between two revisions
    Diff(commands::diff::DiffArgs),
    /// Show the author and revision of each line of a file
    Blame(commands::blame::BlameArgs),
    /// Show which skills a skill was made from or became part of
    Lineage(commands::lineage::LineageArgs),
    /// Restore an earlier revision of a skill
    Rollback(commands::rollback::RollbackArgs),
    /// Compare the skill folders with the history
    Status(commands::status::StatusArgs),
    /// Keep agents from changing a skill
    Pin(commands::pin::PinArgs),
    /// Let agents change a skill again (people only)
    Unpin(commands::pin::UnpinArgs),
    /// Accept a scanner finding in one file (people only)
    Waive(commands::waive::WaiveArgs),
    /// Show changes that wait for a decision; accept or reject them
    #[command(subcommand)]
    Review(commands::review::ReviewCommand),
    /// Try a revision on a share of the runs; show what the gate decides
    #[command(subcommand)]
    Evolve(commands::evolve::EvolveCommand),
    /// Run a skill on its test cases and compare revisions
    #[command(subcommand)]
    Eval(commands::eval::EvalCommand),
    /// Show who may change what, and which file says so
    Policy(commands::policy::PolicyArgs),
    /// Manage the tokens with which a person decides without a terminal
    #[command(subcommand)]
    Reviewer(commands::reviewer::ReviewerCommand),
    /// Record how a run with a skill went
    Record(commands::record::RecordArgs),
    /// Show how the revisions of a skill performed
    Stats(commands::stats::StatsArgs),
    /// List everything that was done or refused
    Log(commands::log::LogArgs),
    /// Print the list of skills for an agent's prompt
    Prompt(commands::prompt::PromptArgs),
    /// Print <available_skills> of skill folders, as the standard's reference tool does
    #[command(hide = true)]
    ToPrompt(commands::skills_ref::ToPromptArgs),
    /// Print a skill's frontmatter as JSON, as the standard's reference tool does
    #[command(hide = true)]
    ReadProperties(commands::skills_ref::ReadPropertiesArgs),
    /// Print a skill's instructions as an agent reads them
    Read(commands::read::ReadArgs),
    /// Show what an agent sees, what is hidden from it, and why
    Debug(commands::debug::DebugArgs),
    /// Compile skills to tools, call and trace them
    #[command(subcommand)]
    Tools(commands::tools::ToolsCommand),
    /// Show a skill to agents again
    Enable(commands::enable::EnableArgs),
    /// Hide a skill from agents
    Disable(commands::enable::EnableArgs),
    /// Serve skills to agents over the Model Context Protocol
    Mcp(commands::mcp::McpArgs),
    /// Serve a registry or a library over HTTP
    Serve(commands::serve::ServeArgs),
    /// Create, check or export a registry's index
    #[command(subcommand)]
    Index(commands::index::IndexCommand),
    /// Print where skillhub stores everything
    Where(commands::place::WhereArgs),
    /// Find and repair damage
    Doctor(commands::doctor::DoctorArgs),
    /// Find upkeep work; archive skills that nobody uses
    #[command(subcommand)]
    Curate(commands::curate::CurateCommand),
    /// Compact the stored history
    Gc(commands::gc::GcArgs),
    /// Print completions for a shell
    Completions(commands::completions::CompletionsArgs),
    /// Show the main workflow in a temporary folder
    Tour(commands::tour::TourArgs),
    /// Show the commands, the options or the page of a command
    Help(commands::help::HelpArgs),
}
