//! The search page ([`search`]), which helps to decide which skill to trust.

use axum::{
    extract::{Query as Parameters, State, rejection::QueryRejection},
    response::Response,
};
use maud::{Markup, html};
use serde::Deserialize;
use skill::Owner;
use web::pages::{Content, encoded, number};

use super::{
    search_field,
    skills::skills,
    visitor::{Visitor, answer},
};
use crate::{
    api::HubState,
    error::ApiError,
    store::catalogue::{DEEPEST, Filter, Order, Page, Query},
};

/// Number of skills on a page.
const SHOWN: usize = 20;
/// Length limit of a query, in characters.
const MOST_CHARS: usize = 500;

/// The fields of the search form. All are text: an empty one was not filled in.
#[derive(Debug, Default, Clone, Deserialize)]
pub struct Search {
    #[serde(default)]
    q: String,
    #[serde(default)]
    owner: String,
    #[serde(default)]
    verdict: String,
    #[serde(default)]
    signed: String,
    #[serde(default)]
    sort: String,
    #[serde(default)]
    from: String,
}

/// Renders the results of a search.
pub async fn search(
    State(hub): HubState,
    visitor: Visitor,
    asked: Result<Parameters<Search>, QueryRejection>,
) -> Response {
    let asked = asked.map(|Parameters(asked)| asked);
    let permit = hub.contents.lanes.search().await;
    answer(&hub, visitor, move |hub, visitor| {
        let _held = permit;
        let asked = asked.map_err(|error| ApiError::bad_request(error.body_text()))?;
        let query = asked.query()?;
        let page = hub.stores.catalogue.find(&query)?;
        let title = match asked.q.trim() {
            "" => visitor.texts.all_skills.to_owned(),
            words => format!("{} · {words}", visitor.texts.search),
        };
        Ok(Content { title, body: shown(visitor, &asked, &query, &page), has_search: true })
    })
    .await
}

impl Search {
    fn query(&self) -> Result<Query, ApiError> {
        if self.q.chars().count() > MOST_CHARS {
            return Err(ApiError::bad_request(format!("the search must have at most {MOST_CHARS} characters")));
        }
        let owner = match self.owner.trim() {
            "" => None,
            owner => Some(Owner::parse(owner).map_err(|error| ApiError::bad_request(error.to_string()))?),
        };
        let order = match self.sort.as_str() {
            "downloads" => Some(Order::Downloads),
            "name" => Some(Order::Name),
            "updated" => Some(Order::Updated),
            _ => None,
        };
        let verdict = Some("allow".to_owned()).filter(|allow| self.verdict == *allow);
        let filter = Filter { verdict, signed_only: !self.signed.is_empty(), ..Filter::default() };
        let offset = self.from.parse().unwrap_or(0).min(DEEPEST);
        Ok(Query { words: self.q.clone(), owner, order, filter, offset, limit: SHOWN })
    }

    /// Returns the address of the results page that begins at another offset.
    fn page(&self, from: usize) -> String {
        let pairs = [
            ("q", self.q.as_str()),
            ("owner", &self.owner),
            ("verdict", &self.verdict),
            ("signed", &self.signed),
            ("sort", &self.sort),
        ];
        let mut address = String::from("/-/search?");
        for (name, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
            address.push_str(name);
            address.push('=');
            address.push_str(&encoded(value));
            address.push('&');
        }
        address.push_str(&format!("from={from}"));
        address
    }
}

fn shown(visitor: &Visitor, asked: &Search, query: &Query, page: &Page) -> Markup {
    let texts = visitor.texts;
    html! {
        h1.unseen-title { (texts.search) }
        (search_field(visitor, &asked.q, true))
        div.beside {
            (filters(visitor, asked, query))
            section aria-live="polite" {
                @if page.skills.is_empty() {
                    div.empty {
                        h2 { (texts.nothing_found) }
                        p { (texts.nothing_found_next) }
                        p { a href="/-/search" { (texts.all_skills) } }
                    }
                } @else {
                    (skills(visitor, &page.skills, &asked.q))
                    nav.pager aria-label=(texts.pages) {
                        @if query.offset > 0 {
                            a.button rel="prev" href=(asked.page(query.offset.saturating_sub(SHOWN))) { (texts.previous) }
                        }
                        span.quiet {
                            (number(query.offset as u64 + 1)) "–" (number((query.offset + page.skills.len()) as u64))
                            @if let Some(total) = page.total { " / " (number(total as u64)) }
                        }
                        @if page.has_more && query.offset + SHOWN <= DEEPEST {
                            a.button rel="next" href=(asked.page(query.offset + SHOWN)) { (texts.next) }
                        }
                    }
                }
            }
        }
    }
}

fn filters(visitor: &Visitor, asked: &Search, query: &Query) -> Markup {
    let texts = visitor.texts;
    let is_list = asked.q.trim().is_empty();
    let best = ("", None, texts.best_matches);
    let others = [
        ("updated", Some(Order::Updated), texts.lately_updated),
        ("downloads", Some(Order::Downloads), texts.most_installed),
        ("name", Some(Order::Name), texts.by_name),
    ];
    let orders = Some(best).filter(|_| !is_list).into_iter().chain(others);
    html! {
        form.filters action="/-/search" aria-label=(texts.filters) {
            input type="hidden" name="q" value=(asked.q);
            label.check { input type="checkbox" name="verdict" value="allow" checked[query.filter.verdict.is_some()]; (texts.only_allowed) }
            label.check { input type="checkbox" name="signed" value="1" checked[query.filter.signed_only]; (texts.only_signed) }
            label { (texts.owner) input name="owner" value=(asked.owner) maxlength="39" autocomplete="off"; }
            label {
                (texts.order)
                select name="sort" {
                    @for (value, order, word) in orders { option value=(value) selected[order == query.order] { (word) } }
                }
            }
            button { (texts.apply) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_page_keeps_the_query() {
        let asked = Search { q: "a&b 图".to_owned(), signed: "1".to_owned(), ..Search::default() };
        assert_eq!(asked.page(20), "/-/search?q=a%26b%20%E5%9B%BE&signed=1&from=20");
        assert!(Search { owner: "A B".to_owned(), ..Search::default() }.query().is_err());
        assert_eq!(Search { from: "-3".to_owned(), ..Search::default() }.query().unwrap().offset, 0);
    }
}
