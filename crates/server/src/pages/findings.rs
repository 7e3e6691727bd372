//! [`findings`]: what the scanner found in a release, the gravest first.

use maud::{Markup, html};
use scan::{Finding, Report, Severity};

use super::{pieces::verdict, texts::Texts, visible::visible};

/// Findings that are shown at once, and at all.
const SHOWN: usize = 5;
const MOST: usize = 200;

/// The verdict and why. `files` is where the files of the release are.
pub fn findings(report: &Report, files: &str, texts: &Texts) -> Markup {
    let found = report.findings.get(..report.findings.len().min(MOST)).unwrap_or_default();
    let (first, rest) = found.split_at(found.len().min(SHOWN));
    html! {
        p { (verdict(texts, report.verdict())) " " ((texts.findings)(report.findings.len())) }
        @if !first.is_empty() { ul.findings { @for one in first { (finding(one, files, texts)) } } }
        @if !rest.is_empty() {
            details {
                summary { ((texts.and_more)(report.findings.len() - SHOWN)) }
                ul.findings { @for one in rest { (finding(one, files, texts)) } }
            }
        }
    }
}

/// One finding.
pub fn finding(one: &Finding, files: &str, texts: &Texts) -> Markup {
    let (class, word) = match one.severity {
        Severity::Critical => ("bad", texts.critical),
        Severity::High => ("bad", texts.high),
        Severity::Medium => ("fair", texts.medium),
        Severity::Low => ("", texts.low),
        Severity::Info => ("", texts.info),
    };
    html! {
        li {
            p {
                span class={ "badge " (class) } { (word) } " "
                (visible(&one.message)) " "
                a href={ (files) (one.path) "#L" (one.line) } { (visible(&one.path)) ":" (one.line) }
            }
            @if !one.excerpt.is_empty() { pre tabindex="0" { code { (visible(&one.excerpt)) } } }
            p.quiet { (visible(&one.remedy)) " " code { (one.rule) } }
        }
    }
}
