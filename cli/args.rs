//! [`Cli`]: the command line with all subcommands.

use clap::{Parser, Subcommand};

use crate::{commands, global::Global};

/// Publish, find, install and safely evolve Agent Skills.
#[derive(Debug, Parser)]
#[command(name = "skillhub", bin_name = "skillhub", version, max_term_width = 100, arg_required_else_help = true)]
#[command(disable_help_subcommand = true)]
pub struct Cli {
    /// Flags that every command takes.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What skillhub does.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find your agents and skills, and connect them to skillhub
    Setup(commands::setup::SetupArgs),
    /// Start a skill in a folder
    #[command(alias = "init")]
    New(commands::new::NewArgs),
    /// Check skills against the Agent Skills standard
    Validate(commands::validate::ValidateArgs),
    /// Look for dangerous content in any skill or folder
    Scan(commands::scan::ScanArgs),
    /// Pack a skill into a .skill file
    Pack(commands::pack::PackArgs),
    /// Unpack a .skill file into a folder
    Unpack(commands::pack::UnpackArgs),
    /// Publish skills to a registry
    Publish(commands::publish::PublishArgs),
    /// Search registries and other sources for skills
    #[command(alias = "find")]
    Search(commands::search::SearchArgs),
    /// Manage the sources that a search covers
    #[command(subcommand)]
    Source(commands::source::SourceCommand),
    /// Show the releases of a skill
    Info(commands::info::InfoArgs),
    /// Hide a release from new installs
    Yank(commands::yank::YankArgs),
    /// Store the token for a registry on a server
    Login(commands::login::LoginArgs),
    /// Remove the token for a registry on a server
    Logout(commands::login::LogoutArgs),
    /// Manage the keys that sign an owner's releases
    #[command(subcommand)]
    Key(commands::key::KeyCommand),
    /// Install skills from a registry, folder, archive or git URL
    #[command(alias = "add")]
    Install(commands::install::InstallArgs),
    /// Put existing skill folders under skillhub's care
    Adopt(commands::adopt::AdoptArgs),
    /// Manage what `npx skills` or ClawHub installed
    Import(commands::import::ImportArgs),
    /// Preview or install newer releases, keeping your changes
    #[command(alias = "upgrade")]
    Update(commands::update::UpdateArgs),
    /// List installed skills that have newer releases
    Outdated(commands::outdated::OutdatedArgs),
    /// Remove installed skills
    #[command(aliases = ["remove", "rm"])]
    Uninstall(commands::uninstall::UninstallArgs),
    /// Reverse the last operation
    Undo(commands::undo::UndoArgs),
    /// Check whether installed files differ from the lock file
    Verify(commands::verify::VerifyArgs),
    /// List skills
    #[command(alias = "ls")]
    List(commands::list::ListArgs),
    /// Create, edit or delete a skill, and record the change
    Manage(commands::manage::ManageArgs),
    /// Record hand edits of skill folders as revisions
    Commit(commands::commit::CommitArgs),
    /// List the revisions of a skill
    History(commands::history::HistoryArgs),
    /// Show the files of a revision, or print one of them
    Show(commands::show::ShowArgs),
    /// Show what changed between two revisions
    Diff(commands::diff::DiffArgs),
    /// Show author, revision and date of each line of a file
    Blame(commands::blame::BlameArgs),
    /// Show which skills a skill derives from or was merged into
    Lineage(commands::lineage::LineageArgs),
    /// Restore an earlier revision of a skill
    Rollback(commands::rollback::RollbackArgs),
    /// Show which skill folders differ from the history
    Status(commands::status::StatusArgs),
    /// Keep agents from changing a skill
    Pin(commands::pin::PinArgs),
    /// Let agents change a skill again (people only)
    Unpin(commands::pin::UnpinArgs),
    /// Accept a scanner finding in one file (people only)
    Waive(commands::waive::WaiveArgs),
    /// Show what changed since you last looked, and decide on it
    Review(commands::review::ReviewArgs),
    /// Try a revision in some runs; improve a skill by a program
    #[command(subcommand)]
    Evolve(commands::evolve::EvolveCommand),
    /// Run a skill on its test cases and compare revisions
    #[command(subcommand)]
    Eval(commands::eval::EvalCommand),
    /// Show the rules for changes, and the files that set them
    Policy(commands::policy::PolicyArgs),
    /// Manage tokens for decisions without a terminal
    #[command(subcommand)]
    Reviewer(commands::reviewer::ReviewerCommand),
    /// Record the outcome of a run that used a skill
    Record(commands::record::RecordArgs),
    /// Show how the revisions of a skill performed
    Stats(commands::stats::StatsArgs),
    /// List all operations, including refused ones
    Log(commands::log::LogArgs),
    /// Print the list of skills for an agent's prompt
    Prompt(commands::prompt::PromptArgs),
    /// Print <available_skills>, like the standard's skills-ref
    #[command(hide = true)]
    ToPrompt(commands::skills_ref::ToPromptArgs),
    /// Print frontmatter as JSON, like the standard's skills-ref
    #[command(hide = true)]
    ReadProperties(commands::skills_ref::ReadPropertiesArgs),
    /// Print a skill's instructions as an agent reads them
    Read(commands::read::ReadArgs),
    /// Explain which skills an agent sees, and why not others
    Debug(commands::debug::DebugArgs),
    /// Compile skills to tools, and call and trace them
    #[command(subcommand)]
    Tools(commands::tools::ToolsCommand),
    /// Show a skill to one agent, or to all, again
    Enable(commands::enable::EnableArgs),
    /// Hide a skill from one agent, or from all
    Disable(commands::enable::EnableArgs),
    /// Connect agents over the Model Context Protocol (MCP)
    Mcp(commands::mcp::McpArgs),
    /// Serve a registry or a library over HTTP
    Serve(commands::serve::ServeArgs),
    /// Create, check or export a registry's index
    #[command(subcommand)]
    Index(commands::index::IndexCommand),
    /// Print where skillhub stores everything
    Where(commands::place::WhereArgs),
    /// Check the configuration, and show the settings in force
    #[command(subcommand)]
    Config(commands::config::ConfigCommand),
    /// Find and repair problems, also in what agents see
    Doctor(commands::doctor::DoctorArgs),
    /// Find unused and duplicate skills, and archive unused ones
    #[command(subcommand)]
    Curate(commands::curate::CurateCommand),
    /// Exchange the library with your other machines
    Sync(commands::sync::SyncArgs),
    /// Compact the stored history
    Gc(commands::gc::GcArgs),
    /// Print shell completions
    Completions(commands::completions::CompletionsArgs),
    /// Show the main workflow in a temporary folder
    Tour(commands::tour::TourArgs),
    /// Show help for a command, or list commands or options
    Help(commands::help::HelpArgs),
}
