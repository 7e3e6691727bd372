//! The outcomes of runs with each revision of a skill, as a curve and a table ([`runs`]).

use evolve::{GateDecision, RevisionStats, Stats};
use library::Library;
use maud::{Markup, html};
use skill::SkillName;
use web::{
    ApiError,
    pages::{time_of, visible},
};

use super::signed_in::SignedIn;
use crate::gateway::{Work, into_api_error};

/// Number of revisions in the table.
const SHOWN: usize = 6;

/// Number of the gate's decisions that are listed, the newest ones.
const DECISIONS: usize = 5;

/// Number of revisions in the curve, the newest ones with a known rate.
const POINTS: usize = 40;

/// Width and height of the curve, in pixels at full size.
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 120.0;

/// Space above and below the curve for its dots, in pixels.
const MARGIN: f64 = 6.0;

/// Renders the section of a skill's page. It is empty if no outcome was recorded and no trial is running.
pub fn runs(library: &Library, name: &SkillName, work: &Work<'_>, guest: &SignedIn) -> Result<Markup, ApiError> {
    let words = &guest.texts.library;
    let trial = library.state().map_err(into_api_error)?.of(name).trial;
    let stats = Stats::of(library, name, work.place.now).map_err(into_api_error)?;
    if stats.revisions.is_empty() && trial.is_none() {
        return Ok(html! {});
    }
    let checkpoint = library.review_checkpoint(name).map_err(into_api_error)?.map(|kept| kept.number);
    let decisions = GateDecision::all_of(library, name).map_err(into_api_error)?;
    Ok(html! {
        section #runs {
            h2 { (words.runs_with_it) }
            @if let Some(trial) = &trial { p.note { ((words.on_trial)(trial.terms.share / 100)) } }
            @if !stats.revisions.is_empty() {
                (curve(&stats, checkpoint, guest))
                div.wide {
                    table.list {
                        thead { tr { @for title in words.runs_head { th { (title) } } } }
                        tbody { @for revision in stats.revisions.iter().take(SHOWN) { (row(revision)) } }
                    }
                }
                p.quiet { (words.runs_note) @if stats.lacks_success() { " " (words.no_success) } }
            }
            @if !decisions.is_empty() {
                h3 { (words.gate_decisions) }
                ul {
                    @for decision in decisions.iter().rev().take(DECISIONS) {
                        li { (time_of(guest, &decision.time)) " · " (decision.word()) ": " (visible(&decision.why)) }
                    }
                }
            }
        }
    })
}

/// Renders the success rate of each revision with its interval, oldest first, and a line at the review checkpoint.
/// Empty if fewer than two revisions have a known rate.
fn curve(stats: &Stats, checkpoint: Option<u64>, guest: &SignedIn) -> Markup {
    let words = &guest.texts.library;
    let mut points: Vec<(&RevisionStats, f64)> =
        stats.revisions.iter().filter_map(|one| Some((one, one.rate()?))).take(POINTS).collect();
    points.reverse();
    let step = WIDTH / points.len().max(1) as f64;
    let x = |place: usize| format!("{:.1}", (place as f64 + 0.5) * step);
    let y = |rate: f64| format!("{:.1}", MARGIN + (1.0 - rate) * (HEIGHT - 2.0 * MARGIN));
    let line: Vec<String> =
        points.iter().enumerate().map(|(at, (_, rate))| format!("{},{}", x(at), y(*rate))).collect();
    let kept = checkpoint.and_then(|kept| points.iter().rposition(|(one, _)| one.revision.number <= kept));
    html! {
        @if points.len() > 1 {
            figure.chart {
                svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } width=(WIDTH) height=(HEIGHT) role="img" aria-label=(words.rate_by_revision) {
                    @if let Some(kept) = kept { line.kept x1=(x(kept)) x2=(x(kept)) y1="0" y2=(HEIGHT) {} }
                    @for (at, (one, _)) in points.iter().enumerate() {
                        @let (low, high) = one.interval();
                        line x1=(x(at)) x2=(x(at)) y1=(y(low)) y2=(y(high)) {}
                    }
                    polyline points=(line.join(" ")) {}
                    @for (at, (one, rate)) in points.iter().enumerate() {
                        circle cx=(x(at)) cy=(y(*rate)) r="4" {
                            title { ((words.revision)(one.revision.number)) ": " (percent(*rate)) ", " (one.count.known()) }
                        }
                    }
                }
                figcaption { (words.rate_by_revision) }
            }
        }
    }
}

fn percent(rate: f64) -> String {
    format!("{:.0} %", rate * 100.0)
}

fn row(stats: &RevisionStats) -> Markup {
    let (low, high) = stats.interval();
    let number = |number: Option<u64>| number.map_or_else(|| "–".to_owned(), |number| number.to_string());
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
            td { (number(stats.latency_ms)) }
            td { (number(stats.tokens_in)) " / " (number(stats.tokens_out)) }
        }
    }
}
