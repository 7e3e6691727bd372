//! The command line's flags and commands.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::{commands, print::Color};

/// skillhub: publish, find, install and safely evolve Agent Skills.
#[derive(Debug, Parser)]
#[command(name = "skillhub", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Examples:
  skillhub setup                                 manage the skills that your agents already have
  skillhub tour                                  see the main job done, leaving nothing behind
  skillhub search pdf                            find a skill
  skillhub install skillhub/skillhub-writing-skills
  skillhub manage patch my-skill --find old --replace new --reason \"the flag was renamed\"
  skillhub diff my-skill                         what the last change did
  skillhub rollback my-skill                     take it back

`skillhub <command> --help` has examples for each command.")]
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

/// What skillhub does.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find the skills and agents here, manage the skills, connect the agents
    Setup(commands::setup::SetupArgs),
    /// Start a new skill in a folder
    New(commands::new::NewArgs),
    /// Check skills against the Agent Skills standard
    Validate(commands::validate::ValidateArgs),
    /// Look for what is dangerous in skills
    Scan(commands::scan::ScanArgs),
    /// Pack a skill into a .skill file: same files, same bytes
    Pack(commands::pack::PackArgs),
    /// Unpack a .skill file into a folder
    Unpack(commands::pack::UnpackArgs),
    /// Publish a skill to a registry
    Publish(commands::publish::PublishArgs),
    /// Find skills in a registry
    Search(commands::search::SearchArgs),
    /// Show the releases of a skill
    Info(commands::info::InfoArgs),
    /// Keep a release from being chosen by new installs
    Yank(commands::yank::YankArgs),
    /// Keep a token for a registry on a server
    Login(commands::login::LoginArgs),
    /// Forget the token for a registry on a server
    Logout(commands::login::LogoutArgs),
    /// Show, add or retire the keys with which an owner signs
    #[command(subcommand)]
    Key(commands::key::KeyCommand),
    /// Install skills from a registry, folder, .skill file or git repository
    Install(commands::install::InstallArgs),
    /// Take over skill folders as they are
    Adopt(commands::adopt::AdoptArgs),
    /// Take over what `npx skills` or ClawHub installed, with where it came from
    Import(commands::import::ImportArgs),
    /// Bring installed skills to newer releases, keeping what was changed here
    Update(commands::update::UpdateArgs),
    /// List installed skills that have newer releases
    Outdated(commands::outdated::OutdatedArgs),
    /// Remove installed skills
    Uninstall(commands::uninstall::UninstallArgs),
    /// Take back the last install, update, uninstall, adopt, import, edit or disable
    Undo(commands::undo::UndoArgs),
    /// Hold every installed file to the lock file
    Verify(commands::verify::VerifyArgs),
    /// List skills
    List(commands::list::ListArgs),
    /// Change a skill: create, edit, patch, delete, write_file, remove_file
    Manage(commands::manage::ManageArgs),
    /// Record edits of skills' folders as revisions
    Commit(commands::commit::CommitArgs),
    /// List the revisions of a skill
    History(commands::history::HistoryArgs),
    /// Show a revision's files, or one of them
    Show(commands::show::ShowArgs),
    /// Show what changed between two revisions
    Diff(commands::diff::DiffArgs),
    /// Show who wrote each line of a file, in which revision
    Blame(commands::blame::BlameArgs),
    /// Show what a skill was made from, took in, and became part of
    Lineage(commands::lineage::LineageArgs),
    /// Bring back an earlier revision of a whole skill
    Rollback(commands::rollback::RollbackArgs),
    /// Compare the folders with the history
    Status(commands::status::StatusArgs),
    /// Keep agents from changing a skill
    Pin(commands::pin::PinArgs),
    /// Let agents change a skill again; for people
    Unpin(commands::pin::UnpinArgs),
    /// Accept what the scanner finds in a file; for people
    Waive(commands::waive::WaiveArgs),
    /// Look at held changes, and accept or reject them
    #[command(subcommand)]
    Review(commands::review::ReviewCommand),
    /// See and steer how skills get better
    #[command(subcommand)]
    Evolve(commands::evolve::EvolveCommand),
    /// Try skills on their cases, and changes against what there is
    #[command(subcommand)]
    Eval(commands::eval::EvalCommand),
    /// Show who may change what here, and which file says so
    Policy(commands::policy::PolicyArgs),
    /// Make, list or revoke tokens by which a person decides without a terminal
    #[command(subcommand)]
    Reviewer(commands::reviewer::ReviewerCommand),
    /// Tell how a run with a skill went
    Record(commands::record::RecordArgs),
    /// Show how the revisions of a skill did
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
    /// Show what an agent sees here, what is hidden from it, and why
    Debug(commands::debug::DebugArgs),
    /// Compile skills to tools, run these, and show which tools skills leave to an agent
    #[command(subcommand)]
    Tools(commands::tools::ToolsCommand),
    /// Let agents see a skill again
    Enable(commands::enable::EnableArgs),
    /// Hide a skill from agents; nothing is deleted
    Disable(commands::enable::EnableArgs),
    /// Serve skills to agents over the Model Context Protocol
    Mcp(commands::mcp::McpArgs),
    /// Serve a registry over HTTP: a marketplace for a team or the public
    Serve(commands::serve::ServeArgs),
    /// Create, check or export a registry's index
    #[command(subcommand)]
    Index(commands::index::IndexCommand),
    /// Print where everything is
    Where(commands::place::WhereArgs),
    /// Look for what is wrong with the library, and mend it
    Doctor(commands::doctor::DoctorArgs),
    /// Say what upkeep the skills need, and archive those that nobody uses
    #[command(subcommand)]
    Curate(commands::curate::CurateCommand),
    /// Make what the library keeps small, losing nothing
    Gc(commands::gc::GcArgs),
    /// Print completions for a shell
    Completions(commands::completions::CompletionsArgs),
    /// See the main job done in a temporary place
    Tour(commands::tour::TourArgs),
}
