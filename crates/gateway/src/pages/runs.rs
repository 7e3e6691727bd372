//! The outcomes of runs with each revision of a skill, as a table with bars ([`runs`]).

use evolve::{RevisionStats, Stats};
use jiff::Timestamp;
use library::Library;
use maud::{Markup, html};
use skill::SkillName;
use web::{ApiError, pages::LibraryTexts};

use crate::gateway::into_api_error;

/// Number of revisions that are shown.
const SHOWN: usize = 6;

/// Renders the section of a skill's page. It is empty if no outcome was recorded and no trial is running.
pub fn runs(library: &Library, name: &SkillName, now: Timestamp, words: &LibraryTexts) -> Result<Markup, ApiError> {
    let trial = library.state().map_err(into_api_error)?.of(name).trial;
    let stats = Stats::of(library, name, now).map_err(into_api_error)?;
    if stats.revisions.is_empty() && trial.is_none() {
        return Ok(html! {});
    }
    Ok(html! {
        section #runs {
            h2 { (words.runs_with_it) }
            @if let Some(trial) = &trial { p.note { ((words.on_trial)(trial.terms.share / 100)) } }
            @if !stats.revisions.is_empty() {
                div.wide {
                    table.list {
                        thead { tr { @for title in words.runs_head { th { (title) } } } }
                        tbody { @for revision in stats.revisions.iter().take(SHOWN) { (row(revision)) } }
                    }
                }
                p.quiet { (words.runs_note) }
            }
        }
    })
}

fn row(stats: &RevisionStats) -> Markup {
    let (low, high) = stats.interval();
    let percent = |rate: f64| format!("{:.0} %", rate * 100.0);
    html! {
        tr {
            td { (stats.revision.number) }
            td { (stats.count.successes) }
            td { (stats.count.failures) }
            td { (stats.count.unknown) }
            td {
                @match stats.rate() {
                    Some(rate) => {
                        meter min="0" max="1" value=(format!("{rate:.3}")) { (percent(rate)) }
                        " " (percent(rate)) " (" (percent(low)) " – " (percent(high)) ")"
                    }
                    None => "–",
                }
            }
        }
    }
}
