//! The common layout of all pages, with header, footer and security policy ([`page`]).

use axum::http::StatusCode;
use maud::{DOCTYPE, Markup, html};
use scan::Finding;

use super::{
    assets::{SCRIPT, STYLE},
    findings::list,
    reader::Reader,
    texts::{LANGUAGES, Texts},
    visible::visible,
};
use crate::error::ApiError;

/// The content security policy of all pages. It permits only this server's own stylesheet, script and forms, and images
/// from this server or inside the page.
pub const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
     form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// The parts around a page's content that differ between servers.
pub struct Frame {
    /// Search field in the header.
    pub search: Markup,
    /// Navigation links and the name of the signed-in user.
    pub nav: Markup,
    /// Contents of the footer, beside the language links.
    pub foot: Markup,
}

/// The content of a page.
pub struct Content {
    /// Title for the browser's window.
    pub title: String,
    /// Markup between header and footer.
    pub body: Markup,
    /// True if the page has a search field of its own, which replaces the one in the header.
    pub has_search: bool,
}

impl Content {
    /// Creates a page with the search field in its header.
    pub fn new(title: impl Into<String>, body: Markup) -> Self {
        Self { title: title.into(), body, has_search: false }
    }
}

/// Renders a complete HTML document.
pub fn page(reader: &Reader, frame: &Frame, title: &str, body: &Markup) -> Markup {
    let texts = reader.texts;
    html! {
        (DOCTYPE)
        html lang=(texts.tag) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) @if title != "skillhub" { " · skillhub" } }
                link rel="stylesheet" href=(STYLE.path());
                link rel="icon" href="data:,";
                script src=(SCRIPT.path()) defer {}
            }
            body {
                a.skip href="#main" { (texts.skip) }
                header.top {
                    a.brand href="/" { "skillhub" }
                    (frame.search)
                    nav aria-label=(texts.account) { (frame.nav) }
                }
                main id="main" { (body) }
                (foot(reader, frame))
            }
        }
    }
}

/// Renders a search form. The large form is for pages about searching.
pub fn search_field(texts: &Texts, action: &str, label: &str, hint: &str, words: &str, is_large: bool) -> Markup {
    html! {
        form.search.large[is_large] action=(action) role="search" {
            input type="search" name="q" value=(words) maxlength="500" aria-label=(label)
                placeholder=(hint) autocomplete="off" autofocus[is_large && words.is_empty()] data-search;
            button { (texts.search) }
        }
    }
}

fn foot(reader: &Reader, frame: &Frame) -> Markup {
    let texts = reader.texts;
    html! {
        footer {
            nav aria-label=(texts.language) {
                @for other in LANGUAGES {
                    @if other.tag == texts.tag {
                        span aria-current="true" lang=(other.tag) { (other.name) }
                    } @else {
                        a href=(in_language(&reader.at, other.tag)) lang=(other.tag) hreflang=(other.tag) rel="nofollow" { (other.name) }
                    }
                }
            }
            (frame.foot)
            span { (texts.keys) }
        }
    }
}

/// Returns the address of the same page in another language.
fn in_language(at: &str, tag: &str) -> String {
    let (path, query) = at.split_once('?').unwrap_or((at, ""));
    let kept = query.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("lang="));
    let pairs: Vec<String> = kept.map(str::to_owned).chain([format!("lang={tag}")]).collect();
    format!("{path}?{}", pairs.join("&"))
}

/// Returns the title and the content of an error page.
/// `back` is the page at which the reader can look again.
pub fn failure(texts: &Texts, error: &ApiError, back: Option<&str>) -> (&'static str, Markup) {
    let (title, next) = match error.status {
        StatusCode::NOT_FOUND => (texts.not_found, texts.not_found_next),
        StatusCode::UNAUTHORIZED => (texts.needs_sign_in, texts.needs_sign_in_next),
        StatusCode::FORBIDDEN => (texts.forbidden, texts.forbidden_next),
        StatusCode::CONFLICT => (texts.conflict, texts.conflict_next),
        StatusCode::GONE => (texts.gone, texts.gone_next),
        StatusCode::UNPROCESSABLE_ENTITY if error.code.ends_with("blocked") => (texts.blocked, texts.blocked_next),
        StatusCode::TOO_MANY_REQUESTS => (texts.too_many, texts.too_many_next),
        StatusCode::MISDIRECTED_REQUEST => (texts.wrong_host, texts.wrong_host_next),
        StatusCode::PAYLOAD_TOO_LARGE => (texts.too_large, texts.too_large_next),
        StatusCode::REQUEST_TIMEOUT => (texts.too_slow, texts.too_slow_next),
        status if status.is_server_error() => (texts.broken, texts.broken_next),
        _ => (texts.bad_request, texts.bad_request_next),
    };
    let findings = error.details.get("findings").cloned().unwrap_or_default();
    let findings: Vec<Finding> = serde_json::from_value(findings).unwrap_or_default();
    let body = html! {
        section.failure {
            h1 { (title) }
            p { (visible(&error.message)) }
            // A request of a program does not help a reader.
            @if let Some(hint) = error.hint.as_ref().filter(|hint| !hint.contains(" /api/")) { p { (visible(hint)) } }
            p { (next) }
            p {
                @if error.status == StatusCode::UNAUTHORIZED { a.button href="/-/sign-in" rel="nofollow" { (texts.sign_in) } " " }
                @if let Some(back) = back { a.button href=(back) { (texts.look_again) } " " }
                a href="/" { (texts.to_home) }
            }
        }
        @if !findings.is_empty() { section { h2 { (texts.what_was_found) } (list(&findings, None, texts)) } }
    };
    (title, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_link_keeps_the_query() {
        assert_eq!(in_language("/a/b?version=1.0.0&lang=en", "zh"), "/a/b?version=1.0.0&lang=zh");
        assert_eq!(in_language("/", "zh"), "/?lang=zh");
    }
}
