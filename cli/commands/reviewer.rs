//! `skillhub reviewer` manages the tokens with which a person decides without a terminal.

use clap::Subcommand;
use jiff::{Timestamp, ToSpan};
use library::{Reviewers, StoredReviewer};
use serde_json::{Value, json};
use skill_manage::{Reviewer, ReviewerError, is_valid_at};

use crate::{
    context::{Context, user},
    exit::{CliError, Exit},
    print::{STRONG, Table, stored_past_time, stored_time, visible},
};

/// Maximum lifetime, in days, of a token that expires.
const MOST_DAYS: u32 = 3650;

/// What to do with tokens.
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  skillhub reviewer new --name ann --days 30     only at a terminal; prints the token once
  SKILLHUB_REVIEWER_TOKEN=… skillhub unpin my-skill
  skillhub reviewer list
  skillhub reviewer revoke 1a2b3c4d

Only people can waive findings, unpin skills, accept proposals and create tokens. Commands at a terminal
count as yours; a script needs a token. Never give a token to an agent: whoever has it decides in your
name. Only its hash is stored, in reviewers.toml.")]
pub enum ReviewerCommand {
    /// Create a token and print it once
    New {
        /// Reviewer's name, for the history [default: your user name]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Expire after N days [default: never]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_DAYS)))]
        days: Option<u32>,
    },
    /// List tokens, without their secrets
    List,
    /// Revoke a token
    Revoke {
        /// Id of the token, as `reviewer list` shows it
        id: String,
    },
}

/// Runs the subcommand.
pub fn run(context: &Context, command: &ReviewerCommand) -> Result<Exit, CliError> {
    match command {
        ReviewerCommand::New { name, days } => new(context, name.as_deref(), *days),
        ReviewerCommand::List => list(context),
        ReviewerCommand::Revoke { id } => revoke(context, id),
    }
}

fn new(context: &Context, name: Option<&str>, days: Option<u32>) -> Result<Exit, CliError> {
    let name = name.map_or_else(user, str::to_owned);
    // In a container, the user may have no name.
    let name = if name.is_empty() { "reviewer".to_owned() } else { name };
    let at_terminal = Reviewer::at_terminal(&name).map_err(|_| ReviewerError::TokenNeedsTerminal)?;
    context.reviewer("create a reviewer's token")?;
    let made = at_terminal.new_token(&context.home, &name, context.now, end(context.now, days)?)?;
    let stored = &made.stored;
    let mut document = entry(stored, context.now);
    document["ok"] = json!(true);
    document["token"] = json!(made.token);
    context.out.answer(&document, |out| writeln!(out, "{}", made.token))?;
    let until =
        stored.expires.as_ref().map_or("until it is revoked".to_owned(), |end| format!("until {}", stored_time(end)));
    context.out.note(&format!(
        "Whoever has this token can decide as {}, {until}. It is not shown again. Set it as \
         SKILLHUB_REVIEWER_TOKEN where you decide, and never give it to an agent. Its id is {}.",
        stored.name, stored.id
    ));
    Ok(Exit::Done)
}

fn end(now: Timestamp, days: Option<u32>) -> Result<Option<Timestamp>, CliError> {
    let Some(days) = days else { return Ok(None) };
    let end = now.checked_add((i64::from(days) * 24).hours());
    end.map(Some).map_err(|error| CliError::usage(format!("--days {days}: {error}")))
}

fn list(context: &Context) -> Result<Exit, CliError> {
    let known = Reviewers::read(&context.home).map_err(ReviewerError::from)?.reviewers;
    let entries: Vec<Value> = known.iter().map(|stored| entry(stored, context.now)).collect();
    context.out.answer(&json!({"ok": true, "reviewers": entries}), |out| {
        if known.is_empty() {
            return writeln!(out, "No tokens; create one at a terminal with `skillhub reviewer new`");
        }
        let mut table = Table::new(&["id", "name", "created", "expires"]);
        for stored in &known {
            let ends = match &stored.expires {
                Some(end) if is_valid_at(stored, context.now) => stored_time(end),
                Some(_) => "expired".to_owned(),
                None => "never".to_owned(),
            };
            table.row(&[visible(&stored.id), visible(&stored.name), stored_past_time(&stored.created), ends]);
        }
        table.write(out)
    })
}

fn revoke(context: &Context, id: &str) -> Result<Exit, CliError> {
    let reviewer = context.reviewer("revoke a reviewer's token")?;
    let gone = reviewer.revoke(&context.home, id)?;
    let document = json!({"ok": true, "id": gone.id, "name": gone.name});
    context.out.answer(&document, |out| {
        writeln!(out, "Revoked the token {STRONG}{}{STRONG:#} of {}", gone.id, visible(&gone.name))
    })
}

fn entry(stored: &StoredReviewer, now: Timestamp) -> Value {
    json!({
        "id": stored.id, "name": stored.name, "created": stored_time(&stored.created), "expires": stored.expires.as_deref().map(stored_time),
        "valid": is_valid_at(stored, now),
    })
}
