//! One file of a skill, with an anchor for every line ([`listing`]).

use std::collections::HashSet;

use maud::{Markup, PreEscaped, html};
use scan::{Finding, causes};
use skill::{File, SkillPath};

use super::{
    code::{Language, lines},
    findings::cause,
    pieces,
    texts::Texts,
    visible::visible,
};

/// Maximum number of lines that are shown.
const LINES: usize = 5000;
/// Maximum number of bytes that are shown.
const BYTES: usize = 600_000;
/// Maximum number of findings that are shown.
const FINDINGS: usize = 50;

/// Renders a file with its name and size, its findings, and its text.
/// `files` is the base address of the skill's files; `above` and `beside` are placed above and beside the name.
pub fn listing(
    path: &SkillPath,
    file: &File,
    found: &[Finding],
    files: &str,
    above: &Markup,
    beside: &Markup,
    texts: &Texts,
) -> Markup {
    let here: Vec<_> = found.iter().filter(|one| one.path == path.as_str()).collect();
    let lines: HashSet<usize> = here.iter().map(|one| one.line).collect();
    html! {
        header.title {
            p { (above) }
            h1.path { (visible(path.as_str())) }
            p.facts {
                span { (pieces::size(file.bytes.len() as u64)) }
                @if file.executable { span.badge { (texts.executable) } }
                (beside)
            }
        }
        @if !here.is_empty() {
            section { h2 { (texts.what_was_found) } ul.findings { @for one in causes(here.iter().copied()).iter().take(FINDINGS) { (cause(one, Some(files), texts)) } } }
        }
        @match file.text() {
            None => p.note { (texts.is_binary) },
            Some(text) => (numbered(texts, text, path, &lines)),
        }
    }
}

fn numbered(texts: &Texts, text: &str, path: &SkillPath, found: &HashSet<usize>) -> Markup {
    let head = text.get(..text.floor_char_boundary(BYTES)).unwrap_or(text);
    let all = lines(head, Language::named(path.as_str()));
    let is_cut = head.len() < text.len() || all.len() > LINES;
    html! {
        pre.numbered tabindex="0" {
            @for (at, line) in all.iter().take(LINES).enumerate() {
                @let number = at + 1;
                span.line.found[found.contains(&number)] id={ "L" (number) } {
                    a href={ "#L" (number) } data-n=(number) aria-label=(number) {} span { (PreEscaped(line)) "\n" }
                }
            }
        }
        @if is_cut { p.note { (texts.text_is_cut) } }
    }
}
