//! The pages: what people read and decide, as HTML that needs no script.
//!
//! The market and the gateway have pages of their own. What both are made of stands here:
//!
//! - [`Reader`] is who reads a page: in which language, by which cookies. It turns a page, or why there is
//!   none, into a response, with the policy that keeps foreign content from doing anything ([`POLICY`]).
//! - A skill's text is hostile. `prose` builds HTML from a closed list of elements, and what is no Markdown is shown as
//!   the text that it is; no text of a skill becomes markup, an address that is loaded, or a character that nobody sees.
//! - Every text stands in [`Texts`], once for each language.
//! - A form is taken only with the proof that one of these pages made it ([`session`]).

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
pub use capabilities::{added, capabilities};
pub use compared::{Compared, Wanted};
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

/// How many bytes of HTML the pages make of a file of a skill and of what it became: of its text as Markdown, of the
/// file as it stands, and of how the two differ in both views.
#[must_use]
pub fn shown_bytes(path: &SkillPath, old: &Bundle, new: &Bundle) -> [usize; 4] {
    let (texts, place) = (&ENGLISH, prose::Place { files: String::new(), folder: "", has: &|_| true });
    let file = old.get(path);
    let text = file.and_then(File::text).unwrap_or_default();
    let differs = |view: &str| {
        let wanted = Wanted { view: view.to_owned(), ..Wanted::default() };
        Compared::new(texts, "", None, &wanted).files((old, new)).0.len()
    };
    let nothing = html! {};
    let listed = file.map(|file| listing((path, file), &[], "", (&nothing, &nothing), texts).0.len());
    [prose::prose(text, &place, texts).0.len(), listed.unwrap_or(0), differs("split"), differs("unified")]
}
