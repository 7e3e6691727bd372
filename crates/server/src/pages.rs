//! The pages: what people read and decide, as HTML that needs no script.
//!
//! [`market`] has the pages of an index, [`library`] those of one library. What both are made of stands here:
//!
//! - [`reader::Reader`] is who reads a page: in which language, by which cookies; it turns a page, or why there is none,
//!   into a response, with the policy that keeps foreign content from doing anything ([`layout::POLICY`]).
//! - A skill's text is hostile. [`prose`] builds HTML from a closed list of elements, and what is no Markdown is shown as
//!   the text that it is; no text of a skill becomes markup, an address that is loaded, or a character that nobody sees.
//! - Every text stands in [`texts::Texts`], once for each language.
//! - A form is taken only with the proof that one of these pages made it ([`session`]).

mod about;
mod assets;
mod capabilities;
mod code;
mod compared;
mod diff_rows;
mod findings;
pub mod judgements;
mod layout;
pub mod library;
mod listing;
pub mod market;
mod pieces;
mod prose;
pub mod reader;
pub mod session;
mod texts;
mod visible;

use maud::html;
use skill::{Bundle, SkillPath};

/// What the pages make of a file of a skill and of what it became: its text as Markdown and as it stands, and how the
/// two differ, in both views.
#[must_use]
pub fn shown(path: &SkillPath, old: &Bundle, new: &Bundle) -> String {
    let (texts, place) = (&texts::ENGLISH, prose::Place { files: String::new(), folder: "", has: &|_| true });
    let differs = ["split", "unified"].map(|view| {
        let wanted = compared::Wanted { view: view.to_owned(), ..compared::Wanted::default() };
        compared::Compared::new(texts, "", None, &wanted).files((old, new))
    });
    html! {
        @if let Some(file) = old.get(path) {
            (prose::prose(file.text().unwrap_or_default(), &place, texts))
            (listing::listing((path, file), &[], "", (&html! {}, &html! {}), texts))
        }
        @for view in differs { (view) }
    }
    .0
}
