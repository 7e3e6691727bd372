//! The changes of a skill since its review checkpoint ([`changes`]), and the form that keeps them ([`keep`]).

use axum::{
    extract::{Path, State},
    response::Response,
};
use evolve::GateDecision;
use library::FindError;
use maud::{Markup, html};
use ops::{InboxSkill, REASONS};
use serde::Deserialize;
use skill::SkillName;
use skill_manage::{
    documents,
    review::{self, ChangedSkill},
};
use web::{
    ApiError,
    pages::{CompareOptions, Compared, Content, Judgements, encoded, number, proof, visible},
};

use super::{
    compare::render_revision,
    pieces::{Comparison, done, heading},
    signed_in::{SignedIn, SignedInForm, answer},
};
use crate::gateway::{Shared, Work, into_api_error};

/// Renders the changes, then the form that decides on them.
pub async fn changes(
    State(gateway): State<Shared>,
    guest: SignedIn,
    Path(name): Path<String>,
    comparison: Comparison,
) -> Response {
    let Comparison { asked, wanted, judgements } = comparison;
    answer(&gateway, guest, move |work, guest| {
        let (name, words) = (work.skill_called(&name)?, &guest.texts.library);
        let library = work.place.library_of(&name)?;
        library.head(&name).map_err(into_api_error)?.ok_or_else(|| into_api_error(FindError::NoSkill(name.clone())))?;
        let alarm = evolve::alarms(&library).map_err(into_api_error)?.remove(&name);
        let found = InboxSkill::of(&library, &name, alarm, work.place.now)?;
        let body = match &found {
            Some(skill) => page(work, guest, skill, &wanted, &judgements),
            None => html! {
                header.title { (heading(name.as_str(), words.since_you_looked, guest, "")) }
                section.empty { h2 { (words.nothing_waits) } }
            },
        };
        let body = html! { (done(&asked, words)) (body) };
        Ok(Content::new(format!("{} · {name}", words.since_you_looked), body))
    })
    .await
}

fn page(
    work: &Work<'_>,
    guest: &SignedIn,
    skill: &InboxSkill,
    wanted: &CompareOptions,
    judgements: &Judgements,
) -> Markup {
    let (texts, words) = (guest.texts, &guest.texts.library);
    let ChangedSkill { skill: name, revisions, edited, before, after, .. } = &skill.change;
    let (was, is) = (judgements.of(before.digest(), before), judgements.of(after.digest(), after));
    let page = format!("/skills/{name}/changes");
    let compared = Compared::new(texts, &page, None, wanted);
    html! {
        header.title {
            (heading(name.as_str(), words.since_you_looked, guest, ""))
            (facts(guest, skill))
            @if *edited { p.note { (words.edited_in_folder) " " code { "skillhub commit " (name) } } }
            (compared.views(&html! {}))
        }
        (compared.shown(before, after, &was, &is))
        details open[revisions.len() <= 3] {
            summary { (words.revisions) " · " (number(revisions.len() as u64)) }
            ol { @for one in revisions.iter().take(REASONS) { li { (render_revision(guest, one)) } } }
        }
        (form(work, guest, &skill.change))
    }
}

/// Renders the checkpoint of a changed skill and its outcomes before and since.
pub fn facts(guest: &SignedIn, skill: &InboxSkill) -> Markup {
    let words = &guest.texts.library;
    let ChangedSkill { checkpoint, revisions, after, .. } = &skill.change;
    html! {
        p.facts {
            @match checkpoint {
                Some(kept) => b { ((words.changes_since)(revisions.len(), kept.number)) },
                None => b { (words.new_to_you) },
            }
            @if after.is_empty() { span.badge.bad { (words.deleted) } }
            @if skill.before.known() + skill.since.known() > 0 {
                span {
                    @match skill.is_rated() {
                        true => ((words.runs_around)([skill.before.successes, skill.before.known(), skill.since.successes, skill.since.known()])),
                        false => ((words.failures_around)([skill.before.failures, skill.before.runs, skill.since.failures, skill.since.runs])),
                    }
                }
            }
        }
        @if let Some(alarm) = &skill.alarm { (alarm_note(guest, alarm)) }
    }
}

/// Renders an open alarm of the gate.
pub fn alarm_note(guest: &SignedIn, alarm: &GateDecision) -> Markup {
    html! { div.note.bad { p { b { (guest.texts.library.alarm) } " " (visible(&alarm.why)) } } }
}

/// Renders the form that keeps exactly what is shown, and the link that rolls it back.
fn form(work: &Work<'_>, guest: &SignedIn, change: &ChangedSkill) -> Markup {
    let words = &guest.texts.library;
    let Some(head) = change.head().filter(|_| !change.edited) else { return html! {} };
    let back_to = change.checkpoint.as_ref().filter(|kept| !kept.tombstone);
    html! {
        @if work.reviewer.is_some() {
            section.install aria-label=(words.decision) {
                form method="post" action={ "/skills/" (change.skill) "/keep" } {
                    (proof(guest))
                    input type="hidden" name="revision" value=(head.id);
                    p { (words.keep_means) }
                    div.actions {
                        button.main { (words.keep) }
                        @if let Some(kept) = back_to {
                            a.button href={ "/skills/" (change.skill) "/rollback?to=" (kept.number) } {
                                ((words.roll_back_to)(&number(kept.number)))
                            }
                        }
                    }
                }
            }
        } @else {
            p.note { (words.takes_a_person) " " a href="/-/sign-in" rel="nofollow" { (words.as_person) } }
        }
    }
}

/// The field of the form.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Kept {
    revision: String,
}

/// Moves the review checkpoint to the revision that was shown.
pub async fn keep(
    State(gateway): State<Shared>,
    Path(name): Path<String>,
    SignedInForm { guest, fields }: SignedInForm<Kept>,
) -> Response {
    let back = format!("/skills/{}/changes", encoded(&name));
    let done = guest.change(&gateway, move |work| {
        let name = work.skill_called(&name)?;
        kept(work, &name, &fields.revision)?;
        Ok("/review?done=kept".to_owned())
    });
    match done.await {
        Ok(place) => guest.to(&place),
        Err(error) => guest.refuse(error, Some(&back)),
    }
}

/// Keeps a revision of a skill.
///
/// # Errors
/// The caller has not proven to be a person, or the skill has no such revision.
fn kept(work: &Work<'_>, name: &SkillName, revision: &str) -> Result<(), ApiError> {
    let reviewer = crate::proposals::reviewer(work, "keep a change")?;
    let library = work.place.library_of(name)?;
    let (revision, _) = documents::at(&library, name, revision).map_err(into_api_error)?;
    review::keep(&library, name, &revision, reviewer, work.place.now).map_err(into_api_error)
}
