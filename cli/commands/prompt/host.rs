//! `skillhub prompt --host` prints the list of skills as a host makes it.

use agent::{BudgetUnit, ListingBudget};
use serde_json::{Value, json};

use crate::{
    context::Context,
    exit::{CliError, Exit},
};

/// Prints the lines of the host's prompt, and notes what it cuts.
pub fn run(context: &Context, id: &str) -> Result<Exit, CliError> {
    let host = context.host(id).ok_or_else(|| {
        CliError::new("unknown_agent", Exit::Usage, format!("unknown agent {id:?}"))
            .hint("list all agents: skillhub list --agents")
    })?;
    let mut listing = context.host_listing(&host)?;
    let is_known = context.seen()?;
    listing.entries.retain(|entry| is_known(&entry.name));
    let budget = ListingBudget::of(host.id);
    match budget {
        Some(budget) => listing.warning(host.name, budget, |_| true).iter().for_each(|note| context.out.note(note)),
        None => context.out.note(&format!("{} documents no limit for its list of skills", host.name)),
    }
    let skills: Vec<Value> = listing
        .entries
        .iter()
        .map(|entry| json!({"name": entry.name, "listed": entry.listed.as_str(), "line": entry.line}))
        .collect();
    let limit = budget.map(|budget| {
        let unit = match budget.unit {
            BudgetUnit::Characters => "characters",
            BudgetUnit::Tokens => "tokens",
        };
        json!({"limit": budget.limit, "unit": unit, "description_chars": budget.description_chars})
    });
    let document = json!({"ok": true, "host": host.id, "budget": limit, "roots": listing.roots, "skills": skills});
    context.out.answer(&document, |out| out.write_all(listing.text().as_bytes()))
}
