//! A signed-in reader of the library's pages ([`SignedIn`]), and the response that they get ([`answer`]).

use std::{ops::Deref, sync::Arc, time::Instant};

use axum::{
    extract::{FromRequest, FromRequestParts, Request},
    http::{Method, StatusCode, request::Parts},
    response::Response,
};
use maud::html;
use serde::de::DeserializeOwned;
use skill_manage::documents::waiting;
use web::{
    ApiError,
    pages::{Content, Frame, Reader, search_field, session::LIBRARY},
};

use super::{
    sign_in,
    visitor::{Form, Visitor},
};
use crate::gateway::{RequestCredentials, Shared, Surface, Work, into_api_error, run_blocking};

/// A reader who has signed in.
#[derive(Debug, Clone)]
pub struct SignedIn {
    visitor: Visitor,
    reviewer_token: Option<String>,
}

impl Deref for SignedIn {
    type Target = Visitor;

    fn deref(&self) -> &Visitor {
        &self.visitor
    }
}

impl FromRequestParts<Shared> for SignedIn {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, gateway: &Shared) -> Result<Self, Response> {
        let Ok(visitor) = Visitor::from_request_parts(parts, gateway).await;
        Self::of(visitor)
    }
}

impl SignedIn {
    #[expect(clippy::result_large_err, reason = "the page that an extractor answers with")]
    fn of(visitor: Visitor) -> Result<Self, Response> {
        match visitor.session.clone() {
            Some(reviewer_token) => Ok(Self { visitor, reviewer_token }),
            None => Err(sign_in::wanted(&visitor)),
        }
    }

    fn asker(&self, reads: bool) -> RequestCredentials {
        RequestCredentials {
            surface: Surface::Pages,
            reads,
            is_safe: reads,
            reviewer_token: self.reviewer_token.clone(),
        }
    }

    /// Builds the frame with the number of items in the inbox and the name of the person who can decide them.
    fn known(&self, work: &Work<'_>, has_search: bool) -> Result<Frame, ApiError> {
        let (texts, words) = (self.texts, &self.texts.library);
        let (libraries, is_seen) = (work.place.libraries()?, work.seen()?);
        let proposals: usize = waiting(&libraries, work.place.now)
            .map_err(into_api_error)?
            .into_iter()
            .filter_map(|(name, waits)| is_seen(&name).then_some(waits))
            .sum();
        let waits = proposals + work.place.changed_since_review(&libraries)?.len();
        let person = work.reviewer.as_ref().map(|person| person.actor().id.clone());
        let nav = html! {
            a href="/review" {
                (words.review)
                @if waits > 0 { " " span.badge.fair { (waits) span.unseen-title { " " (words.waiting) } } }
            }
            @if person.is_none() { a href="/-/sign-in" rel="nofollow" { (words.as_person) } }
            (self.sign_out(person.as_deref()))
        };
        let search = match has_search {
            true => html! {},
            false => search_field(texts, "/", texts.search_label, words.search_hint, "", false),
        };
        Ok(Frame { search, nav, foot: html! { span { (work.place.library()?.path().display()) } } })
    }

    /// Makes a change. It fails if the reviewer's token has expired.
    pub async fn change<T: Send + 'static>(
        &self,
        gateway: &Shared,
        work: impl FnOnce(&Work<'_>) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        run_blocking(gateway, self.asker(false), work).await
    }

    /// Renders an error page; `back` is the page at which the reader can look again.
    pub fn refuse(&self, error: ApiError, back: Option<&str>) -> Response {
        self.refused(&self.frame(), error, back)
    }
}

/// Renders a page or an error, on a thread for blocking work.
pub async fn answer(
    gateway: &Shared,
    guest: SignedIn,
    work: impl FnOnce(&Work<'_>, &SignedIn) -> Result<Content, ApiError> + Send + 'static,
) -> Response {
    let guest = Arc::new(guest);
    let made = {
        let guest = Arc::clone(&guest);
        run_blocking(gateway, guest.asker(true), move |at| {
            let content = work(at, &guest);
            let has_search = content.as_ref().is_ok_and(|content| content.has_search);
            Ok((guest.known(at, has_search)?, content))
        })
    };
    match made.await {
        Ok((frame, Ok(content))) => guest.page(StatusCode::OK, &frame, &content.title, &content.body),
        Ok((frame, Err(error))) => guest.refused(&frame, error, None),
        Err(error) => guest.refuse(error, None),
    }
}

/// Renders the error page of a request that does not reach its handler.
pub async fn refused(parts: &mut Parts, gateway: &Shared, error: ApiError) -> Response {
    match SignedIn::from_request_parts(parts, gateway).await {
        // Renders like the error of a handler that finds nothing.
        Ok(guest) if parts.method == Method::GET => answer(gateway, guest, |_, _| Err(error)).await,
        Ok(guest) => guest.refuse(error, None),
        Err(wanted) => wanted,
    }
}

/// Returns the reviewer's token of the signed-in reader.
pub fn reviewer_token_of(parts: &Parts, gateway: &Shared) -> Option<String> {
    let name = Reader::seen(parts, LIBRARY).cookies.secret?;
    gateway.sessions.find(&name, Instant::now()).flatten()
}

/// Renders the error page for an address without a page.
pub async fn nothing(visitor: Visitor) -> Response {
    let error = ApiError::not_found("no page has this address").hint(
        "see / for the skills, or /api/skills for \
                                                                      programs",
    );
    visitor.refused(&visitor.frame(), error, None)
}

/// A form of one of these pages, from a reader who has signed in.
pub struct SignedInForm<T> {
    /// Sender of the form.
    pub guest: SignedIn,
    /// Values of the form's fields.
    pub fields: T,
}

impl<T: DeserializeOwned> FromRequest<Shared> for SignedInForm<T> {
    type Rejection = Response;

    async fn from_request(request: Request, gateway: &Shared) -> Result<Self, Response> {
        let Form { visitor, fields } = Form::from_request(request, gateway).await?;
        Ok(Self { guest: SignedIn::of(visitor)?, fields })
    }
}
