//! Common parts of the pages about a skill: [`lead`], [`readme`], [`file_list`].

use maud::{Markup, html};
use skill::{Bundle, SkillPath, frontmatter};

use super::{
    pieces::{self, encoded},
    prose::{LinkResolver, prose},
    texts::Texts,
    visible::visible,
};

/// Characters of a description that are visible before it is expanded.
const LEAD_CHARS: usize = 280;

/// Renders a skill's description. A long one is collapsed, so that the following parts fit on the first screen.
pub fn lead(description: &str) -> Markup {
    let end = description.char_indices().nth(LEAD_CHARS).map_or(description.len(), |(at, _)| at);
    let (head, rest) = description.split_at(end);
    html! {
        @if rest.chars().count() < LEAD_CHARS / 4 { p.lead { (visible(description)) } }
        @else { details.lead { summary { (visible(head)) "…" } p { "…" (visible(rest)) } } }
    }
}

/// Renders the body of `SKILL.md`; `files` is the base address of the skill's files.
pub fn readme(bundle: &Bundle, files: &str, texts: &Texts) -> Markup {
    let text = bundle.skill_md().unwrap_or_default();
    let body = frontmatter::split(text).map_or(text, |split| split.body);
    let has = |path: &str| SkillPath::parse(path).is_ok_and(|path| bundle.get(&path).is_some());
    let place = LinkResolver { files: files.to_owned(), folder: "", has: &has };
    html! {
        section #readme {
            h2 { "SKILL.md" }
            div.prose { (prose(body, &place, texts)) }
        }
    }
}

/// Renders the list of files with their sizes; `files` is their base address.
pub fn file_list(bundle: &Bundle, files: &str, texts: &Texts) -> Markup {
    html! {
        section #files {
            h2 { (texts.files) " " span.quiet { (pieces::number(bundle.len() as u64)) } }
            div.wide {
                table.list {
                    @for (path, file) in bundle.files() {
                        tr {
                            td { a href={ (files) (encoded(path.as_str())) } { (visible(path.as_str())) } }
                            td { @if file.executable { span.badge { (texts.executable) } } }
                            td.right { (pieces::size(file.bytes.len() as u64)) }
                        }
                    }
                }
            }
        }
    }
}
