//! [`capabilities`]: what a skill would touch, in plain words; and [`added`], what of it is new, also in short.

use maud::{Markup, html};
use scan::{Capabilities, Capability, CapabilityDelta, Use};

use super::{texts::Texts, visible::visible};

/// Number of names of a list that are visible before it is expanded.
const SHOWN: usize = 8;

/// Number of new names that are shown for each kind.
const ADDED: usize = 20;

/// Returns the lists of capabilities that are not empty, each with its label.
fn lists<'a>(found: &'a Capabilities, texts: &Texts) -> Vec<(&'static str, &'a [Use])> {
    let all = [
        (texts.talks_to, &found.hosts),
        (texts.runs, &found.commands),
        (texts.writes, &found.writes),
        (texts.reads, &found.reads),
        (texts.reads_variables, &found.environment),
        (texts.stays, &found.persistence),
    ];
    all.into_iter().filter(|(_, uses)| !uses.is_empty()).map(|(word, uses)| (word, uses.as_slice())).collect()
}

/// Renders the capabilities of a skill.
pub fn capabilities(found: &Capabilities, texts: &Texts) -> Markup {
    let lists = lists(found, texts);
    html! {
        @if lists.is_empty() && found.complete { p { (texts.touches_nothing) } }
        @else {
            dl.touches {
                @for (word, uses) in &lists {
                    dt { (word) }
                    dd { (names(uses, texts)) }
                }
                @if let Some(tools) = &found.allowed_tools {
                    dt { (texts.may_use) }
                    dd {
                        @for tool in tools.iter().take(SHOWN * 2) { code { (visible(tool)) } " " }
                        @if tools.len() > SHOWN * 2 { ((texts.and_more)(tools.len() - SHOWN * 2)) }
                    }
                }
            }
        }
        @if !found.undeclared.is_empty() {
            details {
                summary { ((texts.undeclared)(found.undeclared.len())) }
                ul {
                    @for one in found.undeclared.iter().take(SHOWN * 4) {
                        li { code { (visible(&one.what)) } " " span.quiet { (visible(&one.place.path)) ":" (one.place.line) } }
                    }
                }
            }
        }
        @if !found.complete { p.note { (texts.touches_unknown) } }
    }
}

/// Renders the capabilities that a change adds, then `more`. Renders nothing if none were added.
pub fn added(delta: &CapabilityDelta, more: &Markup, texts: &Texts) -> Markup {
    html! {
        @if !delta.added.is_empty() || !delta.complete {
            section.weighs {
                h2 { (texts.touches_more) }
                dl.touches {
                    @for kind in delta.added.chunk_by(|one, next| one.kind == next.kind) {
                        @for first in kind.iter().take(1) { dt { (word_of(first, texts)) } }
                        dd {
                            @for one in kind.iter().take(ADDED) {
                                code { (visible(&one.what)) } " " @if one.in_text { span.quiet { (texts.in_text) } " " }
                            }
                            @if kind.len() > ADDED { ((texts.and_more)(kind.len() - ADDED)) }
                        }
                    }
                }
                @if !delta.complete { p.note { (texts.touches_unknown) } }
                (more)
            }
        }
    }
}

/// The same in one line, for a list.
pub fn added_in_short(delta: &CapabilityDelta, texts: &Texts) -> Markup {
    html! {
        @if !delta.added.is_empty() || !delta.complete {
            p.quiet {
                (texts.touches_more) ": "
                @for kind in delta.added.get(..delta.added.len().min(SHOWN)).unwrap_or_default().chunk_by(|one, next| one.kind == next.kind) {
                    @for first in kind.iter().take(1) { (word_of(first, texts)) " " }
                    @for one in kind { code { (visible(&one.what)) } " " }
                }
                @if delta.added.len() > SHOWN { ((texts.and_more)(delta.added.len() - SHOWN)) " " }
                @if !delta.complete { (texts.touches_unknown) }
            }
        }
    }
}

fn word_of(one: &Capability, texts: &Texts) -> &'static str {
    match one.kind {
        "network" => texts.talks_to,
        "runs" => texts.runs,
        "writes" => texts.writes,
        "reads" => texts.reads,
        "variable" => texts.reads_variables,
        "lasting" => texts.stays,
        "tool" => texts.may_use,
        _ => texts.powers,
    }
}

fn names(uses: &[Use], texts: &Texts) -> Markup {
    let (first, rest) = uses.split_at(uses.len().min(SHOWN));
    html! {
        @for one in first { (name(one, texts)) " " }
        @if !rest.is_empty() {
            details.more {
                summary { ((texts.and_more)(rest.len())) }
                @for one in rest { (name(one, texts)) " " }
            }
        }
    }
}

fn name(one: &Use, texts: &Texts) -> Markup {
    let places: Vec<String> = one.places.iter().map(|place| format!("{}:{}", place.path, place.line)).collect();
    html! {
        code title=(places.join(", ")) { (visible(&one.what)) }
        @if one.outside == Some(true) { " " span.badge.fair { (texts.outside) } }
    }
}
