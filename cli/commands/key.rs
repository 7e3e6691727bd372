//! `skillhub key` manages the keys with which an owner signs releases.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use client::{Keys, SigningKey};
use serde_json::{Value, json};
use skill::Owner;

use crate::{
    commands::publish::signing_key,
    context::Context,
    exit::{CliError, Exit, failed},
    print::{FAINT, GOOD, STRONG, WARN},
};

/// The keys of an owner in a registry.
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  skillhub key list acme                         list the keys of acme
  skillhub key add acme ~/.ssh/new.pub           add a key, signed with the current one
  skillhub key retire acme SHA256:…              reject new signatures; past ones stay valid

The first signed release of an owner adds its first key: skillhub publish DIR --sign")]
pub enum KeyCommand {
    /// List the keys of an owner
    List(ListArgs),
    /// Add a key for an owner
    Add(AddArgs),
    /// Retire a key, so that it signs no new releases
    Retire(RetireArgs),
}

/// Whose keys.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub key list acme
  skillhub key list acme --json")]
pub struct ListArgs {
    /// The owner
    owner: String,
}

/// A key to be added.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub key add acme ~/.ssh/new.pub
  skillhub key add acme ~/.ssh/new.pub --sign=~/.ssh/old
  skillhub key add acme ~/.ssh/new.pub --registry git@host:team/skills.git")]
pub struct AddArgs {
    /// The owner
    owner: String,
    /// File with the ssh-ed25519 key; of a private key, only the public half is read
    file: PathBuf,
    /// Sign the new key with this key, which the owner already has in the registry [default: the configured key]
    #[arg(long, value_name = "FILE")]
    sign: Option<PathBuf>,
}

/// A key to be retired.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub key retire acme SHA256:jTXm3bgVfjb8U1rGxLp3zDVmGqUl3sOMc4QF9WJXJbk")]
pub struct RetireArgs {
    /// The owner
    owner: String,
    /// Fingerprint of the key, as `key list` shows it
    key: String,
}

/// Lists or changes the keys of an owner.
pub fn run(context: &Context, command: &KeyCommand) -> Result<Exit, CliError> {
    let registries = context.registries();
    let keys = match command {
        KeyCommand::List(args) => client::keys(&registries, &owner(&args.owner)?),
        KeyCommand::Add(args) => {
            let key = client::read_public_key(&context.absolute(&args.file)).map_err(failed)?;
            let owner = owner(&args.owner)?;
            let voucher = voucher(context, args, &client::keys(&registries, &owner).map_err(failed)?)?;
            client::add_key(&registries, &owner, key, voucher.as_ref(), context.now)
        }
        KeyCommand::Retire(args) => client::retire_key(&registries, &owner(&args.owner)?, &args.key, context.now),
    };
    let keys = keys.map_err(failed)?;
    context.out.answer(&document(&keys), |out| {
        if keys.keys.is_empty() {
            return writeln!(out, "{} has no signing keys in {}", keys.owner, keys.location);
        }
        writeln!(out, "{STRONG}{}{STRONG:#}  {FAINT}{}{FAINT:#}", keys.owner, keys.location)?;
        for key in &keys.keys {
            let added = key.added_at.map(|at| format!(" since {at}")).unwrap_or_default();
            match key.retired_at {
                None => writeln!(out, "  {GOOD}active{GOOD:#}   {}{added}", key.key.fingerprint())?,
                Some(at) => writeln!(out, "  {WARN}retired{WARN:#}  {}{added}, until {at}", key.key.fingerprint())?,
            }
        }
        Ok(())
    })
}

/// Returns the key that vouches for a new one: the named key, else the user's own if the owner already signs with it.
fn voucher(context: &Context, args: &AddArgs, keys: &Keys) -> Result<Option<SigningKey>, CliError> {
    let signs =
        |key: &SigningKey| keys.keys.iter().any(|known| known.key == key.public() && known.retired_at.is_none());
    if args.sign.is_some() {
        return signing_key(context, args.sign.as_ref()).map(Some);
    }
    let own = signing_key(context, None).ok().filter(signs);
    if own.is_none() && keys.keys.iter().any(|key| key.retired_at.is_none()) {
        context.out.note(&format!(
            "no key of {} vouches for the new one, so its users have to accept it; to vouch for it, run the command \
             with --sign=FILE",
            keys.owner
        ));
    }
    Ok(own)
}

/// Parses the name of an owner.
///
/// # Errors
/// The text is not a valid name.
pub fn owner(text: &str) -> Result<Owner, CliError> {
    Owner::parse(text).map_err(|error| CliError::usage(error.to_string()).hint("name an owner, such as acme"))
}

fn document(keys: &Keys) -> Value {
    let key = |key: &registry_index::OwnerKey| {
        json!({
            "key": key.key.to_string(), "fingerprint": key.key.fingerprint(),
            "vouched_by": key.vouched_by, "added_at": key.added_at.map(|at| at.to_string()), "retired_at": key.retired_at.map(|at| at.to_string()),
        })
    };
    json!({
        "ok": true, "owner": keys.owner.as_str(), "registry": keys.location,
        "keys": keys.keys.iter().map(key).collect::<Vec<_>>(),
    })
}
