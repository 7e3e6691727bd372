//! The reader of a page, according to their browser ([`Reader`]), and the [`fields`] of their forms.

use axum::{
    extract::{Form, FromRequest, Request},
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
};
use jiff::Timestamp;
use serde::de::DeserializeOwned;

use super::{
    session::{self, Cookies},
    texts::{Texts, chosen},
};
use crate::{error::ApiError, proxies::Client, random::random};

/// The reader of a page.
#[derive(Debug, Clone)]
pub struct Reader {
    /// Texts in the reader's language.
    pub texts: &'static Texts,
    /// Cookies of the browser. The form value is always set: one is created if the browser sent none.
    pub cookies: Cookies,
    /// Base address of this server as the browser used it, without a trailing slash.
    pub base: String,
    /// Path and query of the page.
    pub at: String,
    /// Time of the request.
    pub now: Timestamp,
    /// True if the connection is encrypted, at least up to the proxy.
    pub is_secure: bool,
    /// True if the client prefers HTML to JSON.
    pub reads_pages: bool,
    /// Cookies to set with the response.
    pub(crate) new_cookies: Vec<HeaderValue>,
}

/// Returns the last value of a query parameter, without decoding it.
pub fn asked<'a>(parts: &'a Parts, name: &str) -> Option<&'a str> {
    let pairs = parts.uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(key, _)| *key == name).map(|(_, value)| value).next_back()
}

impl Reader {
    /// Reads the reader from a request; `session` is the name of the session cookie.
    pub fn seen(parts: &Parts, session: &str) -> Self {
        let text = |name: header::HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let mut cookies = Cookies::of(&parts.headers, session);
        let is_secure = Client::of(parts).is_https;
        let mut new_cookies = Vec::new();
        if cookies.form.is_none() {
            cookies.form = random::<16>().ok();
            new_cookies.extend(cookies.form.as_deref().and_then(|value| session::of_form(value, is_secure)));
        }
        let (texts, tag) = chosen(asked(parts, "lang"), cookies.language.as_deref(), text(header::ACCEPT_LANGUAGE));
        new_cookies.extend(tag.and_then(|tag| session::of_language(tag, is_secure)));
        // A path such as `//host` would lead to another site if a link repeated it.
        let at = parts.uri.path_and_query().map_or("/", |at| at.as_str());
        let at = Some(at).filter(|at| is_local(at)).unwrap_or("/").to_owned();
        let host = text(header::HOST).or(parts.uri.host()).unwrap_or("localhost");
        Self {
            texts,
            base: format!("http{}://{host}", if is_secure { "s" } else { "" }),
            at,
            now: Timestamp::now(),
            cookies,
            is_secure,
            reads_pages: prefers_pages(&parts.headers),
            new_cookies,
        }
    }

    /// Sets a cookie with the response.
    pub fn set(&mut self, cookie: Option<HeaderValue>) {
        self.new_cookies.extend(cookie);
    }
}

/// Returns whether a client prefers HTML to JSON (RFC 9110, 12.5.1). Browsers list HTML first.
pub(crate) fn prefers_pages(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::ACCEPT).iter().filter_map(|line| line.to_str().ok());
    let (mut html, mut json) = (0.0_f32, 0.0_f32);
    for range in lines.flat_map(|line| line.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
        let weight = parts.find_map(|part| part.strip_prefix("q=").map(|q| q.parse().unwrap_or(0.0))).unwrap_or(1.0);
        match kind.as_str() {
            "text/html" => html = weight,
            "application/json" => json = weight,
            _ => {}
        }
    }
    html > 0.0 && html >= json
}

/// The proof of a form, and its other fields.
#[derive(serde::Deserialize)]
struct Proven<T> {
    #[serde(default)]
    proof: String,
    #[serde(flatten)]
    fields: T,
}

/// Reads the fields of a form that one of our pages made for this browser.
/// `sent` are the cookies that the browser sent, without a form value that was created for this request.
///
/// # Errors
/// The form cannot be read, or its proof is missing or wrong.
pub async fn fields<T: DeserializeOwned>(request: Request, sent: &Cookies, texts: &Texts) -> Result<T, ApiError> {
    let form = Form::<Proven<T>>::from_request(request, &()).await;
    let unreadable = |error: axum::extract::rejection::FormRejection| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => ApiError::new(error.status(), "too_large", error.body_text()),
        _ => ApiError::bad_request(error.body_text()).hint(texts.back_and_again),
    };
    let Form(Proven { proof, fields }) = form.map_err(unreadable)?;
    match sent.are_of(&proof) {
        true => Ok(fields),
        false => {
            Err(ApiError::new(StatusCode::FORBIDDEN, "form_expired", texts.form_is_old).hint(texts.back_and_again))
        }
    }
}

/// Returns whether an address stays on this server in every browser.
pub fn is_local(place: &str) -> bool {
    place.starts_with('/')
        && !place.starts_with("//")
        && place.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_never_repeat_another_host() {
        for (at, kept) in [("//evil.example", "/"), ("//evil.example/x?y", "/"), ("/acme?lang=en", "/acme?lang=en")] {
            let (parts, ()) = axum::http::Request::get(at.to_owned()).body(()).unwrap().into_parts();
            assert_eq!(Reader::seen(&parts, session::MARKET).at, kept, "{at}");
        }
    }

    #[test]
    fn browsers_prefer_pages() {
        for (accept, pages) in [
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true),
            ("text/html", true),
            ("application/json", false),
            ("*/*", false),
            ("application/json, text/html;q=0.5", false),
            ("text/html;q=0", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(prefers_pages(&headers), pages, "{accept}");
        }
    }

    #[test]
    fn foreign_addresses_are_not_local() {
        for good in ["/", "/acme/notes?version=1.0.0", "/-/moderation#report-3"] {
            assert!(is_local(good), "{good}");
        }
        for bad in
            ["", "//evil.example", "/\\evil.example", "https://evil.example", "javascript:alert(1)", "/a\r\nb: c"]
        {
            assert!(!is_local(bad), "{bad}");
        }
    }
}
