//! The first page ([`home`]), which lists the skills and their latest changes.

use std::collections::BTreeMap;

use agent::{Catalogue, ListedSkill};
use axum::{
    extract::{Query as Parameters, State, rejection::QueryRejection},
    response::Response,
};
use library::{Library, Revision, State as Settings};
use maud::{Markup, html};
use skill::SkillName;
use skill_manage::documents::waiting;
use web::{
    ApiError,
    pages::{Content, Texts, encoded, number, search_field, visible},
};

use super::{
    pieces::{PageQuery, line},
    signed_in::{SignedIn, answer},
};
use crate::{
    gateway::{Shared, Work, into_api_error},
    skills::is_custom,
};

/// Number of skills on a page.
const SHOWN: usize = 50;
/// Number of skills up to which the list is ordered by their last change, which has to be read for each of them.
const ORDERED: usize = 500;

/// A skill in the list.
struct Row {
    name: SkillName,
    title: Option<String>,
    description: String,
    /// Release that the skill was installed from.
    release: Option<String>,
    standing: ListStatus,
    number: Option<u64>,
    /// True if the skill belongs to this library.
    is_own: bool,
    last: Option<Revision>,
}

/// Summary of a skill's state.
#[derive(Default)]
pub struct ListStatus {
    /// Reason why agents do not see the skill although it is enabled.
    pub fault: Option<String>,
    /// True if the reason is a missing folder.
    pub missing: bool,
    /// True if the reason is a damaged history.
    pub damaged: bool,
    /// True if agents may see the skill.
    pub enabled: bool,
    /// True if only people can change the skill.
    pub pinned: bool,
    /// True if the skill differs from its installed or committed content.
    pub modified: bool,
    /// True if the skill has a history.
    pub managed: bool,
    /// True if the skill belongs to this library.
    pub is_own: bool,
    /// Number of pending proposals.
    pub waits: usize,
}

impl ListStatus {
    /// Summarises a skill of the catalogue.
    pub fn of(catalogue: &Catalogue, listed: &ListedSkill, library: &Library, state: &Settings, waits: usize) -> Self {
        let own = catalogue.library_of(listed).filter(|_| is_custom(catalogue, listed, library.path()));
        let is_pinned = |own: &Library| match own.path() == library.path() {
            true => state.of(&listed.name).pinned,
            false => own.state().is_ok_and(|state| state.of(&listed.name).pinned),
        };
        Self {
            fault: listed.fault.clone(),
            missing: listed.missing,
            damaged: listed.damaged,
            enabled: listed.enabled,
            pinned: own.is_some_and(is_pinned),
            modified: listed.modified,
            managed: listed.head.is_some() || listed.damaged,
            is_own: own.is_some(),
            waits,
        }
    }

    /// Renders the summary as badges, each with a word.
    pub fn badges(&self, texts: &Texts) -> Markup {
        let words = &texts.library;
        let fault = match (self.missing, self.damaged) {
            (true, _) => words.missing,
            (_, true) => words.damaged,
            _ => words.blocked,
        };
        let is_active = self.fault.is_none() && self.enabled;
        html! {
            @if self.fault.is_some() { span.badge.bad { (fault) } " " }
            @if !self.enabled { span.badge { (words.disabled) } " " }
            @else if is_active { span.badge.good { (words.active) } " " }
            @if self.modified { span.badge.fair { (words.modified) } " " }
            @if self.pinned { span.badge { (words.pinned) } " " }
            @if self.is_own && !self.managed { span.badge { (words.no_history) } " " }
            @if !self.is_own { span.badge { (words.elsewhere) } " " }
        }
    }
}

/// Renders the first page.
pub async fn home(
    State(gateway): State<Shared>,
    guest: SignedIn,
    asked: Result<Parameters<PageQuery>, QueryRejection>,
) -> Response {
    let asked = PageQuery::of(asked);
    answer(&gateway, guest, move |work, guest| {
        let library = work.place.library()?;
        let waiting = waiting(&work.place.libraries()?, work.place.now).map_err(into_api_error)?;
        let mut rows = rows(work, &library, &waiting)?;
        let counts = counts(&rows);
        rows.retain(|row| is_asked_for(row, &asked));
        arrange(&mut rows, &library, asked.start());
        let list = List { guest, asked: &asked, counts, rows: &rows };
        Ok(Content { title: "skillhub".to_owned(), body: list.page(), has_search: true })
    })
    .await
}

fn rows(work: &Work<'_>, library: &Library, waiting: &BTreeMap<SkillName, usize>) -> Result<Vec<Row>, ApiError> {
    let (state, settings) = (library.state().map_err(into_api_error)?, work.place.settings()?);
    let rows = work.live.with(|catalogue| {
        let row = |listed: &ListedSkill| {
            let waits = waiting.get(&listed.name).copied().unwrap_or(0);
            let standing = ListStatus::of(catalogue, listed, library, &state, waits);
            let group = catalogue.library_of(listed).filter(|own| standing.is_own && own.path() != library.path());
            Row {
                name: listed.name.clone(),
                title: listed.title.clone(),
                description: listed.description.clone(),
                release: listed.head.as_ref().and_then(|head| Some(head.origin.as_ref()?.release())),
                number: listed.head.as_ref().map(|head| head.number),
                is_own: standing.is_own,
                standing,
                last: group.and_then(|group| group.head(&listed.name).ok().flatten()),
            }
        };
        catalogue.skills.iter().filter(|listed| work.sees_listed(&settings, listed)).map(row).collect()
    });
    rows.map_err(into_api_error)
}

/// Returns the filters of the list, with the number of skills that each selects.
fn counts(rows: &[Row]) -> Vec<(&'static str, usize)> {
    let count = |only: &str| rows.iter().filter(|row| is_among(row, only)).count();
    ["", "waiting", "modified", "disabled", "blocked", "elsewhere"].map(|only| (only, count(only))).into()
}

fn is_among(row: &Row, only: &str) -> bool {
    match only {
        "waiting" => row.standing.waits > 0,
        "modified" => row.standing.modified && row.is_own,
        "disabled" => !row.standing.enabled,
        "blocked" => row.standing.fault.is_some(),
        "elsewhere" => !row.is_own,
        _ => row.is_own,
    }
}

/// Returns whether a row matches the query. A search covers all skills, whichever filter is selected.
fn is_asked_for(row: &Row, asked: &PageQuery) -> bool {
    let texts = [Some(&row.description), row.title.as_ref()];
    let has = |word: &str| {
        row.name.as_str().contains(word) || texts.iter().flatten().any(|text| text.to_lowercase().contains(word))
    };
    let words = asked.q.to_lowercase();
    match words.trim() {
        "" => is_among(row, &asked.only),
        words => words.split_whitespace().all(has),
    }
}

/// Sorts by the last change, newest first. Longer lists than [`ORDERED`] stay in the order of their names.
fn arrange(rows: &mut [Row], library: &Library, start: usize) {
    rows.sort_by(|a, b| (!a.is_own, a.name.as_str()).cmp(&(!b.is_own, b.name.as_str())));
    if rows.len() <= ORDERED {
        rows.iter_mut().for_each(|row| row.read_last(library));
        rows.sort_by_key(|row| (!row.is_own, row.last.as_ref().map(|last| std::cmp::Reverse(last.stamp.time))));
        // Skills without a history come after those with one.
        rows.sort_by_key(|row| (!row.is_own, row.last.is_none()));
    } else {
        rows.iter_mut().skip(start).take(SHOWN).for_each(|row| row.read_last(library));
    }
}

impl Row {
    fn read_last(&mut self, library: &Library) {
        if self.is_own && self.number.is_some() && self.last.is_none() {
            // A damaged skill is reported in its state; the list continues without its last change.
            self.last = library.head(&self.name).ok().flatten();
        }
    }
}

/// The data of the list.
struct List<'a> {
    guest: &'a SignedIn,
    asked: &'a PageQuery,
    counts: Vec<(&'static str, usize)>,
    rows: &'a [Row],
}

impl List<'_> {
    fn page(&self) -> Markup {
        let (texts, words) = (self.guest.texts, &self.guest.texts.library);
        let start = self.asked.start().min(self.rows.len());
        let shown = self.rows.iter().skip(start).take(SHOWN);
        html! {
            h1.unseen-title { (words.skills) }
            (search_field(texts, "/", texts.search_label, words.search_hint, &self.asked.q, false))
            (self.ways())
            @if self.rows.is_empty() { (self.nothing()) }
            @else {
                ol.skills.standing { @for row in shown { (self.row(row)) } }
                nav.pager aria-label=(texts.pages) {
                    @if start > 0 { a.button rel="prev" href=(self.at(&self.asked.only, start.saturating_sub(SHOWN))) { (texts.previous) } }
                    span.quiet { (number(start as u64 + 1)) "–" (number((start + SHOWN).min(self.rows.len()) as u64)) " / " (number(self.rows.len() as u64)) }
                    @if start + SHOWN < self.rows.len() { a.button rel="next" href=(self.at(&self.asked.only, start + SHOWN)) { (texts.next) } }
                }
            }
        }
    }

    fn at(&self, only: &str, start: usize) -> String {
        format!("/?q={}&only={}&start={start}", encoded(&self.asked.q), encoded(only))
    }

    fn ways(&self) -> Markup {
        let words = &self.guest.texts.library;
        let word = |only: &str| match only {
            "waiting" => words.waiting,
            "modified" => words.modified,
            "disabled" => words.disabled,
            "blocked" => words.blocked,
            "elsewhere" => words.elsewhere,
            _ => words.in_this_library,
        };
        let is_here = |only: &str| self.asked.q.trim().is_empty() && self.asked.only == only;
        html! {
            nav.views aria-label=(words.skills) {
                @for (only, count) in &self.counts {
                    @if *count > 0 || only.is_empty() {
                        a href=(if only.is_empty() { "/".to_owned() } else { format!("/?only={only}") }) aria-current=[is_here(only).then_some("true")] {
                            (word(only)) " " span.quiet { (number(*count as u64)) }
                        }
                    }
                }
            }
        }
    }

    fn nothing(&self) -> Markup {
        let (texts, words) = (self.guest.texts, &self.guest.texts.library);
        let is_all = self.asked.q.trim().is_empty() && self.asked.only.is_empty();
        html! {
            section.empty {
                @if is_all {
                    h2 { (words.no_skills) }
                    p { (words.no_skills_next) }
                    pre tabindex="0" { code { "skillhub install owner/name\nskillhub new my-skill" } }
                } @else {
                    h2 { (texts.nothing_found) }
                    p { a href="/" { (texts.all_skills) } }
                }
            }
        }
    }

    fn row(&self, row: &Row) -> Markup {
        let (reader, words) = (self.guest, &self.guest.texts.library);
        html! {
            li {
                div {
                    h2 { a href={ "/skills/" (row.name) } { (row.name) } " " (row.standing.badges(reader.texts)) }
                    @if let Some(title) = &row.title { p.line { strong { (visible(title)) } } }
                    p.line { (visible(&row.description)) }
                    @if row.standing.waits > 0 || row.release.is_some() {
                        p.facts {
                            @if row.standing.waits > 0 {
                                a href={ "/review?q=" (row.name) } { ((words.wait_for_review)(row.standing.waits)) }
                            }
                            @if let Some(release) = &row.release { span { (visible(release)) } }
                        }
                    }
                }
                @if let Some(last) = &row.last {
                    div.last {
                        p.facts { a href={ "/skills/" (row.name) "/history" } { ((words.revision)(last.number)) } (line(reader, last)) }
                        @if let Some(reason) = &last.stamp.reason { p.line { (visible(reason)) } }
                    }
                }
            }
        }
    }
}
