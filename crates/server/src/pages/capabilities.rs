//! [`capabilities`]: what a skill would touch, in plain words.

use maud::{Markup, html};
use scan::{Capabilities, Use};

use super::{texts::Texts, visible::visible};

/// Names of a list that are shown at once.
const SHOWN: usize = 8;

/// The lists of what a skill would touch, each with its word.
pub fn lists<'a>(found: &'a Capabilities, texts: &Texts) -> Vec<(&'static str, &'a [Use])> {
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

/// What a skill would touch.
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
