//! `skillhub lineage` shows the origins and forks of a skill.

use std::io::{self, Write};

use clap::Args;
use client::{LockFile, Registries};
use evolve::lineage::{Lineage, Link, Node, Relation, Release, lineage};

use crate::{
    context::Context,
    exit::{CliError, Exit},
    print::{FAINT, STRONG, visible},
};

/// Flags of `lineage`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub lineage my-skill                      its origins, and the skills merged into it
  skillhub lineage my-skill --json
  skillhub lineage my-skill --dot | dot -Tsvg > lineage.svg")]
pub struct LineageArgs {
    /// Skill
    name: String,
    /// Print a graph in Graphviz's DOT language
    #[arg(long, conflicts_with = "json")]
    dot: bool,
}

/// Prints the lineage as text or as a graph.
pub fn run(context: &Context, args: &LineageArgs) -> Result<Exit, CliError> {
    let name = context.skill_called(&args.name)?;
    let mut found = lineage(&context.library_with_past(&name)?, &name)?;
    add_forks(&context.registries().offline(), &mut found);
    context.out.answer(&found, |out| if args.dot { out.write_all(found.dot().as_bytes()) } else { text(&found, out) })
}

/// Adds forks known from locally available registry data. An unreadable registry is skipped.
fn add_forks(registries: &Registries, found: &mut Lineage) {
    for release in found.releases() {
        let Ok(spec) = release.name.parse() else { continue };
        let Ok(info) = client::info(registries, &spec, &LockFile::default()) else { continue };
        let entry = info.releases.iter().find(|entry| entry.digest.to_string() == release.digest);
        if let Some(from) = entry.and_then(|entry| entry.forked_from.clone()) {
            let source = Release {
                registry: from.source,
                name: from.name,
                version: from.version.or(from.commit),
                digest: from.digest,
            };
            found.forked_from(release, source);
        }
    }
}

fn text(found: &Lineage, out: &mut dyn Write) -> io::Result<()> {
    let deleted = if found.deleted { ", deleted" } else { "" };
    writeln!(out, "{STRONG}{}{STRONG:#}  {FAINT}revision {}{deleted}{FAINT:#}", found.name, found.number)?;
    if found.links.is_empty() {
        return writeln!(out, "  written here; no origins");
    }
    found.links.iter().try_for_each(|link| line(found, link, out))
}

fn line(found: &Lineage, link: &Link, out: &mut dyn Write) -> io::Result<()> {
    let own = Node::Skill(found.name.clone());
    let relation = match link.relation {
        Relation::DerivedFrom => "derived from",
        Relation::MergedFrom => "merged from",
        Relation::AbsorbedInto => "absorbed into",
        Relation::ForkedFrom => "forked from",
    };
    let subject = if link.from == own { String::new() } else { format!("{} ", title(&link.from)) };
    let place = match &link.to {
        Node::Release(Release { registry: Some(registry), .. }) => format!(" in {registry}"),
        _ => String::new(),
    };
    let when = match (&link.number, &link.time, &link.actor) {
        (Some(number), Some(time), Some(actor)) => format!("  {FAINT}revision {number}, {time}, {actor}{FAINT:#}"),
        _ => String::new(),
    };
    writeln!(out, "  {}{when}", visible(&format!("{subject}{relation} {}{place}", title(&link.to))))
}

fn title(node: &Node) -> String {
    match node {
        Node::Skill(name) => name.clone(),
        Node::Release(release) => release.title(),
    }
}
