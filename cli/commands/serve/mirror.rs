//! `skillhub serve mirror` adds releases of another registry to a server's index.

use std::path::PathBuf;

use clap::Args;
use client::{Spec, SpecError, VerifiedRelease, fetch_verified};
use registry_index::Appended;
use serde_json::{Value, json};
use server::mirror;

use super::data_folder;
use crate::{
    context::Context,
    exit::{CliError, Exit, failed},
    print::STRONG,
};

/// Flags of `serve mirror`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub serve mirror acme/pdf --registry https://skills.example.org --data /srv/skillhub
  skillhub serve mirror acme/pdf@1.4.0 acme/notes@^2 --registry git@host:team/skills.git

Fetches each release, checks it against its index and its owner's keys, scans it, and adds it with its name,
version and signature. Refuses a namespace that has members on this server.")]
pub struct MirrorArgs {
    /// Releases of the registry of --registry, as owner/name, owner/name@version or owner/name@range
    #[arg(value_name = "SPEC", required = true)]
    specs: Vec<String>,
    /// Data folder of the server [default: below the home]
    #[arg(long, value_name = "DIR", env = "SKILLHUB_SERVE_DATA")]
    data: Option<PathBuf>,
}

/// Checks all releases first, then adds them.
pub fn run(context: &Context, args: &MirrorArgs) -> Result<Exit, CliError> {
    let specs: Vec<Spec> =
        args.specs.iter().map(|spec| spec.parse()).collect::<Result<_, SpecError>>().map_err(failed)?;
    let registries = context.registries().requiring_signatures(context.required_signers()?);
    let working = context.out.working("mirroring");
    let mut releases: Vec<VerifiedRelease> = Vec::new();
    for spec in &specs {
        working.at("checking", releases.len(), specs.len());
        releases.push(fetch_verified(&registries, spec, context.home.scanner()).map_err(failed)?);
    }
    let data = data_folder(context, args.data.as_deref());
    let mut done = Vec::new();
    for release in &releases {
        done.push(mirror(&data, release, context.now).map_err(failed)?);
    }
    drop(working);
    let told = || releases.iter().zip(&done);
    let document = json!({
        "ok": true, "data": data.display().to_string(),
        "releases": told().map(|(release, done)| document_of(release, done)).collect::<Vec<_>>(),
    });
    context.out.answer(&document, |out| {
        told().try_for_each(|(release, done)| {
            let word = if is_new(done) { "Mirrored" } else { "Already here:" };
            let signed = release.signer.as_ref().map_or("not signed".to_owned(), |key| format!("signed with {key}"));
            let entry = done.entry();
            writeln!(
                out,
                "{word} {STRONG}{} {}{STRONG:#} from {}, {signed}",
                entry.name, entry.version, release.registry
            )
        })
    })
}

fn is_new(done: &Appended) -> bool {
    matches!(done, Appended::Published(_))
}

fn document_of(release: &VerifiedRelease, done: &Appended) -> Value {
    let entry = done.entry();
    json!({
        "name": entry.name.to_string(), "version": entry.version, "digest": entry.digest.to_string(),
        "verdict": entry.verdict, "signer": release.signer, "from": release.registry, "new": is_new(done),
    })
}
