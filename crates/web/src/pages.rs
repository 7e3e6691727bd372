//! Server-rendered HTML pages, which work without scripts.
//!
//! The marketplace and the gateway have pages of their own. This module has their common parts:
//!
//! - [`Reader`] is the reader of a page, with their language and cookies. It renders a page or an error as a response,
//!   with the content security policy that confines foreign content ([`POLICY`]).
//! - A skill's text is hostile. `prose` builds HTML from an allow list of elements and shows everything else as literal
//!   text. No text of a skill becomes markup, an address that is loaded, or an invisible character.
//! - [`Texts`] has every text, once for each language.
//! - A form is accepted only with a proof that one of these pages made it ([`session`]).

mod about;
mod answer;
pub mod assets;
mod capabilities;
mod code;
mod compared;
mod diff_rows;
mod findings;
mod judgements;
mod layout;
mod listing;
mod pieces;
mod prose;
mod reader;
pub mod session;
mod texts;
mod visible;

pub use about::{file_list, lead, readme};
pub use answer::Refusal;
pub use capabilities::{added, added_in_short, capabilities};
pub use compared::{CompareOptions, Compared};
pub use findings::findings;
pub use judgements::{Judgement, Judgements};
pub use layout::{Content, Frame, POLICY, search_field};
pub use listing::listing;
pub use pieces::{Piece, encoded, number, proof, reason_field, size, time, time_of, verdict};
pub use reader::{Reader, asked, fields, is_local};
pub use texts::{ENGLISH, LibraryTexts, Texts};
pub use visible::visible;

use maud::html;
use skill::{Bundle, File, SkillPath};

/// Returns the sizes, in bytes, of the HTML that pages make of a skill's file.
/// In order: its text as Markdown, its listing, and its diff in the split and the unified view.
#[must_use]
pub fn shown_bytes(path: &SkillPath, old: &Bundle, new: &Bundle) -> [usize; 4] {
    let (texts, place) = (&ENGLISH, prose::LinkResolver { files: String::new(), folder: "", has: &|_| true });
    let file = old.get(path);
    let text = file.and_then(File::text).unwrap_or_default();
    let differs = |view: &str| {
        let wanted = CompareOptions { view: view.to_owned(), ..CompareOptions::default() };
        Compared::new(texts, "", None, &wanted).files(old, new).0.len()
    };
    let nothing = html! {};
    let listed = file.map(|file| listing(path, file, &[], "", &nothing, &nothing, texts).0.len());
    [prose::prose(text, &place, texts).0.len(), listed.unwrap_or(0), differs("split"), differs("unified")]
}
