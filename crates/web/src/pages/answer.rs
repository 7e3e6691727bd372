//! What a [`Reader`] gets: a page, or why there is none; for programs the latter is a document. [`Refusal`] is for requests that no
//! page sees.

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
    /// Adds the cookies and what keeps a page from being taken for another reader's.
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

    /// A page as an answer.
    pub fn page(&self, status: StatusCode, frame: &Frame, title: &str, body: &Markup) -> Response {
        let page = layout::page(self, frame, title, body).into_string();
        self.finish((status, Html(page)).into_response())
    }

    /// The page that says what went wrong and what to do; for programs it is the document that an API answers with.
    /// `back` is where it can be looked at again.
    pub fn refused(&self, frame: &Frame, error: ApiError, back: Option<&str>) -> Response {
        if !self.reads_pages {
            return error.into_response();
        }
        let (title, body) = layout::failure(self.texts, &error, back);
        let page = layout::page(self, frame, title, &body);
        let mut response = error.into_response();
        // Status, waiting time and what the log says stay; what is read is a page.
        response.headers_mut().remove(header::CONTENT_LENGTH);
        response.headers_mut().remove(header::WWW_AUTHENTICATE);
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        *response.body_mut() = axum::body::Body::from(page.into_string());
        self.finish(response)
    }

    /// The same with the cookie that signs in: `session` is its name, and without a `secret` it signs out.
    pub fn to_with_session(&self, place: &str, session: &str, secret: &str) -> Response {
        let mut response = self.to(place);
        let cookie = of_session(session, secret, self.is_secure);
        response.headers_mut().extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
        response
    }

    /// To another page of ours, after a form.
    pub fn to(&self, place: &str) -> Response {
        let place = if is_local(place) { place } else { "/" };
        self.finish(Redirect::to(place).into_response())
    }
}

/// The answer to a request that is refused before any page sees it: a page for a browser, else a document.
pub struct Refusal {
    parts: Option<Parts>,
    session: &'static str,
}

impl Refusal {
    /// Notes of a request what a page would need; `session` is the cookie by which its pages know who has signed in.
    #[must_use]
    pub fn split(request: Request, session: &'static str) -> (Request, Self) {
        let (parts, body) = request.into_parts();
        let kept = prefers_pages(&parts.headers).then(|| parts.clone());
        (Request::from_parts(parts, body), Self { parts: kept, session })
    }

    /// The answer.
    #[must_use]
    pub fn of(&self, error: ApiError) -> Response {
        let Some(parts) = &self.parts else { return error.into_response() };
        let frame = Frame { search: html! {}, nav: html! {}, foot: html! {} };
        Reader::seen(parts, self.session).refused(&frame, error, None)
    }
}
