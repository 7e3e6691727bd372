//! Responses for a [`Reader`]: a page, or an error as a page or as JSON. [`Refusal`] is for requests that no page
//! handles.

use axum::{
    extract::Request,
    http::{HeaderValue, StatusCode, header, request::Parts},
    response::{Html, IntoResponse, Redirect, Response},
};
use maud::{Markup, html};

use super::{
    layout::{self, Frame},
    reader::{Reader, is_local, prefers_pages},
    session::of_session,
};
use crate::error::ApiError;

impl Reader {
    /// Adds the cookies, the security policy, and headers that keep caches from serving the page to another reader.
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

    /// Renders a page as a response.
    pub fn page(&self, status: StatusCode, frame: &Frame, title: &str, body: &Markup) -> Response {
        let page = layout::page(self, frame, title, body).into_string();
        self.finish((status, Html(page)).into_response())
    }

    /// Renders an error as a page, or as a JSON document for clients that do not prefer HTML.
    /// `back` is the page at which the reader can look again.
    pub fn refused(&self, frame: &Frame, error: ApiError, back: Option<&str>) -> Response {
        if !self.reads_pages {
            return error.into_response();
        }
        let (title, body) = layout::failure(self.texts, &error, back);
        let page = layout::page(self, frame, title, &body);
        let mut response = error.into_response();
        // The error's other headers and its log entry stay; only the body becomes a page.
        response.headers_mut().remove(header::CONTENT_LENGTH);
        response.headers_mut().remove(header::WWW_AUTHENTICATE);
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        *response.body_mut() = axum::body::Body::from(page.into_string());
        self.finish(response)
    }

    /// Redirects like [`to`](Self::to) and sets the cookie named `session`. An empty `secret` removes it.
    pub fn to_with_session(&self, place: &str, session: &str, secret: &str) -> Response {
        let mut response = self.to(place);
        let cookie = of_session(session, secret, self.is_secure);
        response.headers_mut().extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
        response
    }

    /// Redirects to another page of this server, after a form. Foreign addresses are replaced by `/`.
    pub fn to(&self, place: &str) -> Response {
        let place = if is_local(place) { place } else { "/" };
        self.finish(Redirect::to(place).into_response())
    }
}

/// Builds the response to a request that is refused before a page handles it: HTML for browsers, else JSON.
pub struct Refusal {
    parts: Option<Parts>,
    session: &'static str,
}

impl Refusal {
    /// Copies the parts of a request that an error page would need; `session` is the name of the session cookie.
    #[must_use]
    pub fn split(request: Request, session: &'static str) -> (Request, Self) {
        let (parts, body) = request.into_parts();
        let kept = prefers_pages(&parts.headers).then(|| parts.clone());
        (Request::from_parts(parts, body), Self { parts: kept, session })
    }

    /// Renders the error as a response.
    #[must_use]
    pub fn of(&self, error: ApiError) -> Response {
        let Some(parts) = &self.parts else { return error.into_response() };
        let frame = Frame { search: html! {}, nav: html! {}, foot: html! {} };
        Reader::seen(parts, self.session).refused(&frame, error, None)
    }
}
