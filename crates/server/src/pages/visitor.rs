//! [`Visitor`]: who looks at a page, and [`answer`], which gives it to them.

use std::{convert::Infallible, sync::Arc};

use axum::{
    extract::{Form, FromRequest, FromRequestParts, Request},
    http::{HeaderValue, StatusCode, header, request::Parts},
    response::{Html, IntoResponse, Redirect, Response},
};
use jiff::Timestamp;
use library::{Agent, agents};
use maud::Markup;
use serde::de::DeserializeOwned;

use super::{
    layout,
    session::{self, Cookies},
    texts::{Texts, chosen},
};
use crate::{
    access::{Action, Caller},
    api::{Shared, run},
    error::ApiError,
    hub::Hub,
};

/// The agent that is proposed to who has chosen none.
const FIRST_AGENT: &str = "claude-code";

/// Who looks at a page.
#[derive(Debug, Clone)]
pub struct Visitor {
    /// Who asks; nobody where what they show is over.
    pub caller: Caller,
    /// In which language.
    pub texts: &'static Texts,
    /// What the browser sent, with a value for forms whether it had one or not.
    pub cookies: Cookies,
    /// The agent whose line is shown.
    pub agent: Option<&'static Agent>,
    /// The address of this server as the visitor calls it, without a slash at the end.
    pub base: String,
    /// The path and what follows it.
    pub at: String,
    /// When.
    pub now: Timestamp,
    /// Whether the connection is encrypted up to the proxy in front.
    pub is_secure: bool,
    /// Whether the visitor reads HTML, not only JSON.
    pub reads_pages: bool,
    /// Cookies that go with the answer.
    new_cookies: Vec<HeaderValue>,
}

/// What a page shows.
pub struct Content {
    /// Its title.
    pub title: String,
    /// What stands between head and foot.
    pub body: Markup,
    /// Whether the page brings a search field of its own.
    pub has_search: bool,
}

impl Content {
    /// A page with the search field in its head.
    pub fn new(title: impl Into<String>, body: Markup) -> Self {
        Self { title: title.into(), body, has_search: false }
    }
}

impl FromRequestParts<Shared> for Visitor {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, hub: &Shared) -> Result<Self, Infallible> {
        let mut visitor = Self::seen(parts);
        // What is over or unknown reads as nobody: the page for signing in has to open.
        visitor.caller = Caller::from_request_parts(parts, hub).await.unwrap_or(Caller::Anonymous);
        Ok(visitor)
    }
}

impl Visitor {
    /// What a request tells without asking the database.
    fn seen(parts: &Parts) -> Self {
        let text = |name: header::HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let query = |name: &str| {
            let pairs = parts.uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
            pairs.filter(|(key, _)| *key == name).map(|(_, value)| value).next_back()
        };
        let mut cookies = Cookies::of(&parts.headers);
        let is_secure = parts.headers.get("x-forwarded-proto").is_some_and(|proto| proto == "https");
        let mut new_cookies = Vec::new();
        if cookies.form.is_none() {
            cookies.form = session::random();
            new_cookies.extend(cookies.form.as_deref().and_then(|value| session::of_form(value, is_secure)));
        }
        let (texts, tag) = chosen(query("lang"), cookies.language.as_deref(), text(header::ACCEPT_LANGUAGE));
        new_cookies.extend(tag.and_then(|tag| session::of_language(tag, is_secure)));
        let agent_of = |id: &str| agents().iter().find(|agent| agent.id == id);
        let picked = query("agent").and_then(agent_of);
        new_cookies.extend(picked.and_then(|agent| session::of_agent(agent.id, is_secure)));
        let kept = cookies.agent.as_deref().and_then(agent_of);
        let host = text(header::HOST).or(parts.uri.host()).unwrap_or("localhost");
        Self {
            caller: Caller::Anonymous,
            texts,
            agent: picked.or(kept).or_else(|| agent_of(FIRST_AGENT)),
            base: format!("http{}://{host}", if is_secure { "s" } else { "" }),
            at: parts.uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string),
            now: Timestamp::now(),
            cookies,
            is_secure,
            reads_pages: text(header::ACCEPT).is_some_and(|kinds| kinds.contains("text/html")),
            new_cookies,
        }
    }

    /// Whether the visitor decides over this server's releases.
    #[must_use]
    pub fn is_admin(&self) -> bool {
        matches!(self.caller, Caller::Account { is_admin: true, .. })
    }

    /// Adds the cookies and what keeps a page from being taken for another visitor's.
    pub fn finish(&self, mut response: Response) -> Response {
        let headers = response.headers_mut();
        for cookie in &self.new_cookies {
            headers.append(header::SET_COOKIE, cookie.clone());
        }
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        headers.insert(header::VARY, HeaderValue::from_static("accept, accept-language, cookie"));
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(layout::POLICY));
        response
    }
}

/// Makes a page on a thread that may wait, and says why there is none.
pub async fn answer(
    hub: &Shared,
    visitor: Visitor,
    work: impl FnOnce(&Hub, &Visitor) -> Result<Content, ApiError> + Send + 'static,
) -> Response {
    let visitor = Arc::new(visitor);
    let made = {
        let visitor = Arc::clone(&visitor);
        run(hub, move |hub| {
            hub.check(&visitor.caller, Action::Read)?;
            work(hub, &visitor)
        })
    };
    match made.await {
        Ok(content) => visitor.finish(Html(layout::page(&visitor, &content).into_string()).into_response()),
        Err(error) => refused(&visitor, error),
    }
}

/// The page that says what went wrong and what to do; for programs it is the document that the API answers with.
pub fn refused(visitor: &Visitor, error: ApiError) -> Response {
    if !visitor.reads_pages {
        return error.into_response();
    }
    let page = layout::failure(visitor, &error);
    let mut response = error.into_response();
    // Status, waiting time and what the log says stay; what is read is a page.
    response.headers_mut().remove(header::CONTENT_LENGTH);
    response.headers_mut().remove(header::WWW_AUTHENTICATE);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    *response.body_mut() = axum::body::Body::from(page.into_string());
    visitor.finish(response)
}

/// What stands where nothing does.
pub async fn nothing(visitor: Visitor) -> Response {
    refused(&visitor, ApiError::not_found("there is nothing here").hint("the API is described at /v1/openapi.json"))
}

/// A form of one of these pages, with who sent it.
pub struct Sent<T> {
    /// Who sent it, by their cookie.
    pub visitor: Visitor,
    /// What they filled in.
    pub fields: T,
}

/// A form's fields beside the proof.
#[derive(serde::Deserialize)]
struct Proven<T> {
    #[serde(default)]
    proof: String,
    #[serde(flatten)]
    fields: T,
}

impl<T: DeserializeOwned + Send> FromRequest<Shared> for Sent<T> {
    type Rejection = Response;

    async fn from_request(request: Request, hub: &Shared) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let Ok(mut visitor) = Visitor::from_request_parts(&mut parts, hub).await;
        // The value for forms has to be the browser's own, not the one that was just made for it.
        let sent = Cookies::of(&parts.headers);
        let form = Form::<Proven<T>>::from_request(Request::from_parts(parts, body), hub).await;
        let Form(Proven { proof, fields }) = form.map_err(|error| {
            refused(&visitor, ApiError::bad_request(error.body_text()).hint(visitor.texts.back_and_again))
        })?;
        if !sent.are_of(&proof) {
            let error = ApiError::new(StatusCode::FORBIDDEN, "form_expired", visitor.texts.form_is_old);
            return Err(refused(&visitor, error.hint(visitor.texts.back_and_again)));
        }
        if let (Caller::Anonymous, Some(secret)) = (&visitor.caller, sent.secret) {
            let found = run(hub, move |hub| Ok(hub.accounts.caller(&secret, Timestamp::now())?)).await;
            visitor.caller = found.map_err(|error| refused(&visitor, error))?.unwrap_or(Caller::Anonymous);
        }
        Ok(Self { visitor, fields })
    }
}

/// To another page of ours, after a form.
pub fn to(visitor: &Visitor, place: &str) -> Response {
    let place = if is_local(place) { place } else { "/" };
    visitor.finish(Redirect::to(place).into_response())
}

/// Whether a text leads to a page of this server, whatever browser reads it.
fn is_local(place: &str) -> bool {
    place.starts_with('/')
        && !place.starts_with("//")
        && place.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_led_away() {
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
