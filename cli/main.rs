//! The `skillhub` command, which parses the arguments, runs one command and returns its exit code.

mod accepting;
mod access;
mod args;
mod catalogue;
mod commands;
mod composing;
mod context;
mod exit;
mod global;
mod hints;
mod interrupt;
mod needs;
mod print;
mod process;
mod reading;
mod views;

use std::{mem::ManuallyDrop, process::ExitCode};

use clap::{
    CommandFactory, FromArgMatches,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::{
    access::RequestedOperation,
    args::{Cli, Command},
    context::Context,
    exit::{CliError, Exit},
    global::{Color, Global},
    print::Output,
};

/// Maximum number of commands suggested for a misspelt one.
const SUGGESTIONS: usize = 3;

fn main() -> ExitCode {
    // Freeing the descriptions of all commands would take a sixth of the start.
    let mut described = ManuallyDrop::new(Cli::command());
    let parsed = described.try_get_matches_from_mut(std::env::args_os());
    let parsed = parsed.and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, RequestedOperation::of(&matches))));
    let (cli, asked) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return greet(&error).unwrap_or_else(|| usage(&help_fitted(error))),
    };
    if let Some(directory) = &cli.global.directory
        && let Err(error) = std::env::set_current_dir(directory)
    {
        let out = Output::new(&cli.global);
        return out.fail(&exit::io_at(directory)(error)).into();
    }
    if let Command::Record(args) = &cli.command
        && let Some(words) = args.hook()
    {
        return commands::record::run_hook(&cli.global, words).into();
    }
    let out = Output::new(&cli.global);
    hints::note_flags(&cli.global);
    context::transport(&cli.global).choose();
    // Servers and running tools handle signals themselves.
    if !matches!(cli.command, Command::Serve(_) | Command::Mcp(_) | Command::Tools(_)) {
        interrupt::watch(out);
    }
    let result = match &cli.command {
        // These need no home and change nothing.
        Command::Completions(args) => commands::completions::run(&cli.global, args, Cli::command()),
        Command::Help(args) => commands::help::run(args, Cli::command()),
        command => run_asked(&cli.global, command, asked.as_ref()),
    };
    ops::stop_tools();
    if library::interrupt::is_raised() {
        interrupt::finish(out, &result);
    }
    match result {
        Ok(exit) => exit.into(),
        Err(error) => out.fail(&error).into(),
    }
}

/// Runs a command that the decision table allows, and logs a refusal. A command without a row does not run.
fn run_asked(global: &Global, command: &Command, asked: Option<&RequestedOperation>) -> Result<Exit, CliError> {
    let missing = || CliError::new("internal", Exit::Failed, "the decision table has no row for this command");
    let asked = asked.ok_or_else(missing)?;
    let open: fn(&Global) -> Result<Context, CliError> = match command {
        Command::Doctor(_) | Command::Config(_) => Context::to_inspect,
        Command::Where(_) => Context::to_locate,
        _ => Context::new,
    };
    let context = open(global).inspect_err(|error| asked.note_unproven(global, error))?;
    let done = asked.check(&context).and_then(|()| run(&context, global, command));
    done.map_err(|error| asked.with_nearest(&context, error)).inspect_err(|error| asked.note(&context, error))
}

fn run(context: &Context, global: &Global, command: &Command) -> Result<Exit, CliError> {
    match command {
        Command::Setup(args) => commands::setup::run(context, global, args),
        Command::New(args) => commands::new::run(context, args),
        Command::Validate(args) => commands::validate::run(context, args),
        Command::Scan(args) => commands::scan::run(context, args),
        Command::Pack(args) => commands::pack::pack(context, args),
        Command::Unpack(args) => commands::pack::unpack(context, args),
        Command::Publish(args) => commands::publish::run(context, args),
        Command::Search(args) => commands::search::run(context, args),
        Command::Source(command) => commands::source::run(context, command),
        Command::Info(args) => commands::info::run(context, args),
        Command::Yank(args) => commands::yank::run(context, args),
        Command::Key(command) => commands::key::run(context, command),
        Command::Install(args) => commands::install::run(context, global, args),
        Command::Adopt(args) => commands::adopt::run(context, args),
        Command::Import(args) => commands::import::run(context, args),
        Command::Update(args) => commands::update::run(context, args),
        Command::Outdated(args) => commands::outdated::run(context, args),
        Command::Uninstall(args) => commands::uninstall::run(context, args),
        Command::Undo(args) => commands::undo::run(context, global, args),
        Command::Verify(args) => commands::verify::run(context, args),
        Command::List(args) => commands::list::run(context, args),
        Command::Manage(args) => commands::manage::run(context, args),
        Command::Commit(args) => commands::commit::run(context, args),
        Command::History(args) => commands::history::run(context, args),
        Command::Show(args) => commands::show::run(context, args),
        Command::Diff(args) => commands::diff::run(context, args),
        Command::Blame(args) => commands::blame::run(context, args),
        Command::Lineage(args) => commands::lineage::run(context, args),
        Command::Rollback(args) => commands::rollback::run(context, args),
        Command::Status(args) => commands::status::run(context, args),
        Command::Pin(args) => commands::pin::pin(context, args),
        Command::Unpin(args) => commands::pin::unpin(context, args),
        Command::Waive(args) => commands::waive::run(context, args),
        Command::Evolve(command) => commands::evolve::run(context, command),
        Command::Eval(command) => commands::eval::run(context, command),
        Command::Review(args) => commands::review::run(context, args),
        Command::Policy(args) => commands::policy::run(context, args),
        Command::Reviewer(command) => commands::reviewer::run(context, command),
        Command::Record(args) => commands::record::run(context, args),
        Command::Stats(args) => commands::stats::run(context, args),
        Command::Log(args) => commands::log::run(context, args),
        Command::Prompt(args) => commands::prompt::run(context, args),
        Command::ToPrompt(args) => commands::skills_ref::to_prompt(context, args),
        Command::ReadProperties(args) => commands::skills_ref::read_properties(context, args),
        Command::Read(args) => commands::read::run(context, args),
        Command::Debug(args) => commands::debug::run(context, args),
        Command::Tools(command) => commands::tools::run(context, command),
        Command::Enable(args) => commands::enable::run(context, args, true),
        Command::Disable(args) => commands::enable::run(context, args, false),
        Command::Index(command) => commands::index::run(context, command),
        Command::Where(args) => commands::place::run(context, args),
        Command::Config(command) => commands::config::run(context, command),
        Command::Curate(command) => commands::curate::run(context, command),
        Command::Sync(args) => commands::sync::run(context, args),
        Command::Gc(args) => commands::gc::run(context, args),
        Command::Doctor(args) => commands::doctor::run(context, args),
        Command::Completions(args) => commands::completions::run(global, args, Cli::command()),
        Command::Help(args) => commands::help::run(args, Cli::command()),
        Command::Mcp(args) => commands::mcp::run(context, global, args),
        Command::Login(args) => commands::login::login(context, global, args),
        Command::Logout(args) => commands::login::logout(context, global, args),
        Command::Serve(args) => commands::serve::run(context, global, args),
        Command::Tour(args) => commands::tour::run(context, args),
    }
}

/// Prints a short greeting instead of the help when there is no command and nothing was set up yet. The exit code is
/// the same as for that help.
fn greet(error: &clap::Error) -> Option<ExitCode> {
    if std::env::args_os().len() > 1 || error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return None;
    }
    let lines = commands::setup::greeting(&context::skillhub_home()?)?;
    let out = Output { json: false, quiet: false, color: Color::Auto };
    out.note(lines.trim_end());
    Some(Exit::Usage.into())
}

/// Returns a help text laid out for the terminal, and the error for an unknown command with its nearest suggestions
/// first.
fn help_fitted(error: clap::Error) -> clap::Error {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            commands::help::fitted(Cli::command()).try_get_matches().err().unwrap_or(error)
        }
        ErrorKind::InvalidSubcommand => nearest_first(error),
        _ => error,
    }
}

/// Reduces the suggested commands to the nearest ones, best match first. clap lists the best match last.
fn nearest_first(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::Strings(names)) = error.remove(ContextKind::SuggestedSubcommand) {
        let nearest = names.into_iter().rev().take(SUGGESTIONS).collect();
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(nearest));
    }
    error
}

/// Prints the help or a usage error, as JSON if requested.
fn usage(error: &clap::Error) -> ExitCode {
    let wants_json = std::env::args_os().any(|arg| arg == "--json");
    if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        && let Some(command) = commands::help::command_for(word)
    {
        let out = Output { json: wants_json, quiet: false, color: Color::Auto };
        return out.fail(&commands::help::unknown(word, Some(command))).into();
    }
    if wants_json && error.use_stderr() {
        let text = error.render().to_string();
        let paragraph: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
        let message = match error.kind() {
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "a subcommand is missing".to_owned(),
            _ => paragraph.join(" ").trim_start_matches("error: ").to_owned(),
        };
        let out = Output { json: true, quiet: false, color: Color::Never };
        let error = CliError::usage(message).hint("see the commands and options: skillhub --help");
        return out.fail(&error).into();
    }
    let _closed = error.print();
    if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() }
}
