//! The preview of a rollback ([`preview`]), and the rollback itself ([`roll_back`]).

use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::Response,
};
use library::{FindError, FolderState, Library, Revision};
use maud::{Markup, html};
use serde::Deserialize;
use skill::{Bundle, Limits, SkillName};
use skill_manage::{ManageError, Notes, Rollback, documents, roll_back as do_roll_back};
use web::{
    ApiError,
    pages::{CompareOptions, Compared, Content, Judgements, encoded, number, proof, visible},
};

use super::{
    pieces::{Comparison, heading, line, verdict_of},
    signed_in::{SignedIn, SignedInForm, answer},
};
use crate::{
    custom::change,
    gateway::{Shared, Work, into_api_error},
};

/// Default reason of a rollback.
const REASON: &str = "rolled back in the browser";

/// The effect of a rollback.
struct Preview {
    head: Revision,
    target: Revision,
    /// Current files of the folder, including a hand edit.
    now: Bundle,
    then: Bundle,
    /// True if the folder was edited by hand since the head.
    by_hand: bool,
    is_like_that: bool,
}

/// Renders the preview of a rollback.
pub async fn preview(
    State(gateway): State<Shared>,
    guest: SignedIn,
    Path(name): Path<String>,
    comparison: Comparison,
) -> Response {
    let Comparison { asked, wanted, judgements } = comparison;
    answer(&gateway, guest, move |work, guest| {
        let name = work.skill_called(&name)?;
        let to = if asked.to.is_empty() { "head~1" } else { &asked.to };
        let preview = foreseen(work, &name, to)?;
        let body = preview.page(guest, &name, &wanted, &judgements);
        Ok(Content::new(format!("{} · {name}", guest.texts.library.roll_back), body))
    })
    .await
}

/// Runs everything but the commit, so that a rollback which would be refused is already refused here.
fn foreseen(work: &Work<'_>, name: &SkillName, to: &str) -> Result<Preview, ApiError> {
    let library = work.place.library_of(name)?;
    let head =
        library.head(name).map_err(into_api_error)?.ok_or_else(|| into_api_error(FindError::NoSkill(name.clone())))?;
    let (target, then) = documents::at(&library, name, to).map_err(into_api_error)?;
    let (now, by_hand) = as_it_is(&library, name, &head)?;
    let rollback = Rollback {
        skill: name.clone(),
        to: Some(target.id.to_string()),
        expected_revision: None,
        notes: Notes::default(),
        dry_run: true,
    };
    let report =
        change(work, work.place.library_of(name)?, |library, context| do_roll_back(library, &rollback, context))?;
    Ok(Preview { head, target, now, then, by_hand, is_like_that: report["status"] == "unchanged" })
}

/// Returns the files that a rollback would replace, and whether they are an unrecorded hand edit.
fn as_it_is(library: &Library, name: &SkillName, head: &Revision) -> Result<(Bundle, bool), ApiError> {
    let by_hand = match library.folder_state(name).map_err(into_api_error)? {
        FolderState::Modified(cleared) | FolderState::Earlier { cleared, .. } => Some(cleared.bundle().clone()),
        FolderState::Blocked(fault) => fault.bundle().cloned(),
        FolderState::Absent | FolderState::Clean | FolderState::Missing => None,
    };
    match by_hand {
        Some(bundle) => Ok((bundle, true)),
        None => Ok((library.bundle(&head.id).map_err(into_api_error)?, false)),
    }
}

impl Preview {
    fn page(&self, guest: &SignedIn, name: &SkillName, wanted: &CompareOptions, judgements: &Judgements) -> Markup {
        let (texts, words) = (guest.texts, &guest.texts.library);
        let (was, is) = (judgements.of(self.now.digest(), &self.now), judgements.of(self.then.digest(), &self.then));
        let page = format!("/skills/{name}/rollback?to={}", self.target.number);
        let files = format!("/skills/{name}/files/{}/", self.target.number);
        let compared = Compared::new(texts, &page, Some(&files), wanted);
        html! {
            header.title { (heading(name.as_str(), &(words.roll_back_to)(&number(self.target.number)), guest, "/rollback")) }
            p.facts {
                b { ((words.revision)(self.target.number)) } (line(guest, &self.target)) (verdict_of(&self.target, texts))
                @if let Some(reason) = &self.target.stamp.reason { span { (visible(reason)) } }
            }
            @if self.by_hand { p.note { (words.hand_edit_is_kept) } }
            @if self.is_like_that {
                p.note.good { (words.is_like_that) }
            } @else {
                (self.form(guest, name))
            }
            h2 { (words.would_change) }
            (compared.views(&html! {}))
            (compared.shown(&self.now, &self.then, &was, &is))
        }
    }

    /// Renders the confirmation form. It names the revision that was shown, so that nothing newer is replaced.
    /// A hand edit only becomes a revision during the rollback, so in that case the form has the digest of the folder.
    fn form(&self, guest: &SignedIn, name: &SkillName) -> Markup {
        let (texts, words) = (guest.texts, &guest.texts.library);
        html! {
            section.install {
                form method="post" action={ "/skills/" (name) "/rollback" } {
                    (proof(guest))
                    input type="hidden" name="to" value=(self.target.id);
                    @if self.by_hand { input type="hidden" name="folder" value=(self.now.digest()); }
                    @else { input type="hidden" name="expected" value=(self.head.id); }
                    p { ((words.roll_back_means)(&number(self.target.number), &number(self.head.number))) }
                    label { (texts.reason) " " span.quiet { (words.optional) } textarea name="reason" maxlength="4000" rows="2" {} }
                    div.actions {
                        button.main { ((words.roll_back_to)(&number(self.target.number))) }
                        a.button href={ "/skills/" (name) "/history" } { (words.cancel) }
                    }
                }
            }
        }
    }
}

/// The fields of the confirmation form.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Confirmed {
    to: String,
    expected: String,
    folder: String,
    reason: String,
}

/// Fails if the folder has changed since the preview was shown.
fn check_folder(work: &Work<'_>, name: &SkillName, seen: &str) -> Result<(), ApiError> {
    let library = work.place.library_of(name)?;
    let head =
        library.head(name).map_err(into_api_error)?.ok_or_else(|| into_api_error(FindError::NoSkill(name.clone())))?;
    let (now, _) = as_it_is(&library, name, &head)?;
    match now.digest().to_string() == seen {
        true => Ok(()),
        false => {
            let message = format!("the folder of {name} has changed since you viewed it");
            Err(ApiError::new(StatusCode::CONFLICT, "stale_revision", message))
        }
    }
}

/// Restores a revision, as a new revision.
pub async fn roll_back(
    State(gateway): State<Shared>,
    Path(name): Path<String>,
    SignedInForm { guest, fields }: SignedInForm<Confirmed>,
) -> Response {
    let back = format!("/skills/{}/history", encoded(&name));
    let done = guest.change(&gateway, move |work| {
        let name = work.skill_called(&name)?;
        if fields.to.is_empty() {
            return Err(ApiError::bad_request("the form has no revision"));
        }
        if !fields.folder.is_empty() {
            check_folder(work, &name, &fields.folder)?;
        }
        let rollback = Rollback {
            skill: name.clone(),
            to: Some(fields.to),
            expected_revision: Some(fields.expected).filter(|expected| !expected.is_empty()),
            notes: notes(fields.reason, REASON)?,
            dry_run: false,
        };
        let report =
            change(work, work.place.library_of(&name)?, |library, context| do_roll_back(library, &rollback, context))?;
        let done = if report["status"] == "unchanged" { "unchanged" } else { "rolled-back" };
        Ok(format!("/skills/{}/history?done={done}", encoded(name.as_str())))
    });
    match done.await {
        Ok(place) => guest.to(&place),
        Err(error) => guest.refuse(error, Some(&back)),
    }
}

/// Returns the notes for a change, with a default reason.
pub fn notes(reason: String, otherwise: &str) -> Result<Notes, ApiError> {
    // Browsers send CRLF line breaks, as the HTML standard requires.
    let reason = reason.replace("\r\n", "\n");
    let said = Notes { reason: Some(reason), ..Notes::default() };
    let said = said.checked(&Limits::default()).map_err(|error| into_api_error(ManageError::from(error)))?;
    Ok(Notes { reason: said.reason.or_else(|| Some(otherwise.to_owned())), ..said })
}
