//! [`page`]: what all pages have in common: head, foot, and the policy under which a browser shows them.

use axum::http::StatusCode;
use maud::{DOCTYPE, Markup, html};

use super::{
    assets::{SCRIPT, STYLE},
    pieces::proof,
    texts::LANGUAGES,
    visible::visible,
    visitor::{Content, Visitor},
};
use crate::error::ApiError;

/// What a page may load and do: our own stylesheet and script, pictures of ours, forms to us.
pub const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
     form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// A page as it is sent.
pub fn page(visitor: &Visitor, content: &Content) -> Markup {
    let texts = visitor.texts;
    html! {
        (DOCTYPE)
        html lang=(texts.tag) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (content.title) @if content.title != "skillhub" { " · skillhub" } }
                link rel="stylesheet" href=(STYLE.path());
                link rel="icon" href="data:,";
                script src=(SCRIPT.path()) defer {}
            }
            body {
                a.skip href="#main" { (texts.skip) }
                (head(visitor, content.has_search))
                main id="main" { (content.body) }
                (foot(visitor))
            }
        }
    }
}

fn head(visitor: &Visitor, has_search: bool) -> Markup {
    let texts = visitor.texts;
    html! {
        header.top {
            a.brand href="/" { "skillhub" }
            @if !has_search { (search_field(visitor, "", false)) }
            nav aria-label=(texts.account) {
                @if visitor.is_admin() { a href="/-/moderation" { (texts.moderation) } }
                @if let Some(account) = visitor.caller.account() {
                    form method="post" action="/-/sign-out" {
                        (proof(visitor))
                        span.who { (account) }
                        button.plain { (texts.sign_out) }
                    }
                } @else {
                    a href="/-/sign-in" rel="nofollow" { (texts.sign_in) }
                }
            }
        }
    }
}

/// The field for searching, large on the pages that are about it.
pub fn search_field(visitor: &Visitor, words: &str, is_large: bool) -> Markup {
    let texts = visitor.texts;
    html! {
        form.search.large[is_large] action="/-/search" role="search" {
            input type="search" name="q" value=(words) maxlength="500" aria-label=(texts.search_label)
                placeholder=(texts.search_hint) autocomplete="off" autofocus[is_large && words.is_empty()] data-search;
            button { (texts.search) }
        }
    }
}

fn foot(visitor: &Visitor) -> Markup {
    html! {
        footer {
            nav aria-label=(visitor.texts.language) {
                @for texts in LANGUAGES {
                    @if texts.tag == visitor.texts.tag {
                        span aria-current="true" lang=(texts.tag) { (texts.name) }
                    } @else {
                        a href=(in_language(&visitor.at, texts.tag)) lang=(texts.tag) hreflang=(texts.tag) rel="nofollow" { (texts.name) }
                    }
                }
            }
            a href="/v1/openapi.json" { (visitor.texts.api) }
            span { (visitor.texts.keys) }
        }
    }
}

/// The same page in another language.
fn in_language(at: &str, tag: &str) -> String {
    let (path, query) = at.split_once('?').unwrap_or((at, ""));
    let kept = query.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("lang="));
    let pairs: Vec<String> = kept.map(str::to_owned).chain([format!("lang={tag}")]).collect();
    format!("{path}?{}", pairs.join("&"))
}

/// The page that says why another is not there.
pub fn failure(visitor: &Visitor, error: &ApiError) -> Markup {
    let texts = visitor.texts;
    let (title, next) = match error.status {
        StatusCode::NOT_FOUND => (texts.not_found, texts.not_found_next),
        StatusCode::UNAUTHORIZED => (texts.needs_sign_in, texts.needs_sign_in_next),
        StatusCode::FORBIDDEN => (texts.forbidden, texts.forbidden_next),
        StatusCode::GONE => (texts.gone, texts.gone_next),
        StatusCode::TOO_MANY_REQUESTS => (texts.too_many, texts.too_many_next),
        status if status.is_server_error() => (texts.broken, texts.broken_next),
        _ => (texts.bad_request, texts.bad_request_next),
    };
    let body = html! {
        section.failure {
            h1 { (title) }
            p { (visible(&error.message)) }
            @if let Some(hint) = &error.hint { p { (visible(hint)) } }
            p { (next) }
            p {
                @if error.status == StatusCode::UNAUTHORIZED { a.button href="/-/sign-in" rel="nofollow" { (texts.sign_in) } " " }
                a href="/" { (texts.to_home) }
            }
        }
    };
    page(visitor, &Content::new(title, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_page_is_told_in_another_language() {
        assert_eq!(in_language("/a/b?version=1.0.0&lang=en", "zh"), "/a/b?version=1.0.0&lang=zh");
        assert_eq!(in_language("/", "zh"), "/?lang=zh");
    }
}
