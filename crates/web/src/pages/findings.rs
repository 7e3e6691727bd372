//! The findings of the scanner, most severe first ([`findings`]).

use maud::{Markup, html};
use scan::{Acceptance, Finding, Report, Severity};

use super::{
    pieces::{encoded, verdict},
    texts::Texts,
    visible::visible,
};

/// Numbers of findings that are shown expanded, and in total.
const SHOWN: usize = 5;
const MOST: usize = 200;

/// Renders the verdict and its findings; `files` is the base address of the files, if they can be viewed.
pub fn findings(report: &Report, files: Option<&str>, texts: &Texts) -> Markup {
    html! {
        p { (verdict(texts, report.verdict())) " " ((texts.findings)(report.findings.len())) }
        (list(&report.findings, files, texts))
    }
}

/// Renders a list of findings, with the first ones expanded.
pub fn list(all: &[Finding], files: Option<&str>, texts: &Texts) -> Markup {
    let found = all.get(..all.len().min(MOST)).unwrap_or_default();
    let (first, rest) = found.split_at(found.len().min(SHOWN));
    html! {
        @if !first.is_empty() { ul.findings { @for one in first { (finding(one, files, texts)) } } }
        @if !rest.is_empty() {
            details {
                summary { ((texts.and_more)(all.len() - SHOWN)) }
                ul.findings { @for one in rest { (finding(one, files, texts)) } }
            }
        }
    }
}

/// Renders one finding, with a link to its line if the files can be viewed.
pub fn finding(one: &Finding, files: Option<&str>, texts: &Texts) -> Markup {
    let (class, word) = match one.severity {
        Severity::Critical => ("bad", texts.critical),
        Severity::High => ("bad", texts.high),
        Severity::Medium => ("fair", texts.medium),
        Severity::Low => ("", texts.low),
        Severity::Info => ("", texts.info),
    };
    let [before, matched, after] = one.excerpt_parts();
    html! {
        li {
            p {
                span class={ "badge " (class) } { (word) } " "
                (visible(&one.message)) " "
                @match files {
                    Some(files) => a href={ (files) (encoded(&one.path)) "#L" (one.line) } { (visible(&one.path)) ":" (one.line) },
                    None => code { (visible(&one.path)) ":" (one.line) },
                }
                @if one.waived { " " span.badge { (texts.waived) } }
            }
            @if !one.excerpt.is_empty() { pre tabindex="0" { code { (visible(before)) @if !matched.is_empty() { mark { (visible(matched)) } } (visible(after)) } } }
            p.quiet { (visible(&one.remedy)) " " code { (one.rule) } }
            @if let Some(Acceptance { by, reason, until, .. }) = &one.waiver {
                p.quiet { (texts.waived) " · " (visible(by)) " · " time { (visible(until)) } " · " (visible(reason)) }
            }
        }
    }
}
