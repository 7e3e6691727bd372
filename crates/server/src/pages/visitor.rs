//! The reader of a marketplace page ([`Visitor`]), and the response that they get ([`answer`]).

use std::{convert::Infallible, ops::Deref, sync::Arc};

use axum::{
    extract::{FromRequest, FromRequestParts, Request},
    http::{StatusCode, request::Parts},
    response::Response,
};
use jiff::Timestamp;
use library::{Agent, agents};
use maud::html;
use serde::de::DeserializeOwned;
use web::pages::{
    Content, Frame, Reader, asked, fields, proof,
    session::{self, Cookies, MARKET},
};

use super::search_field;
use crate::{
    access::{Action, Caller},
    api::{Shared, run},
    error::ApiError,
    hub::Hub,
};

/// Agent that is preselected for a visitor who has not chosen one.
const FIRST_AGENT: &str = "claude-code";

/// A reader of the marketplace's pages, with their account and agent.
#[derive(Debug, Clone)]
pub struct Visitor {
    reader: Reader,
    /// Account of the visitor; anonymous if their session has ended.
    pub caller: Caller,
    /// Agent for which the install command is shown.
    pub agent: Option<&'static Agent>,
}

impl Deref for Visitor {
    type Target = Reader;

    fn deref(&self) -> &Reader {
        &self.reader
    }
}

impl FromRequestParts<Shared> for Visitor {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, hub: &Shared) -> Result<Self, Infallible> {
        let mut reader = Reader::seen(parts, MARKET);
        let agent_of = |id: &str| agents().iter().find(|agent| agent.id == id);
        let picked = asked(parts, "agent").and_then(agent_of);
        let is_secure = reader.is_secure;
        reader.set(picked.and_then(|agent| session::of_agent(agent.id, is_secure)));
        let kept = reader.cookies.agent.as_deref().and_then(agent_of);
        // An ended or unknown session counts as anonymous, so that the sign-in page still opens.
        let caller = Caller::from_request_parts(parts, hub).await.unwrap_or(Caller::Anonymous);
        Ok(Self { reader, caller, agent: picked.or(kept).or_else(|| agent_of(FIRST_AGENT)) })
    }
}

impl Visitor {
    /// Returns whether the visitor is an admin of this server.
    pub fn is_admin(&self) -> bool {
        matches!(self.caller, Caller::Account { is_admin: true, .. })
    }

    /// Renders a page for the visitor.
    pub fn show(&self, status: StatusCode, content: &Content) -> Response {
        self.page(status, &self.frame(content.has_search), &content.title, &content.body)
    }

    fn frame(&self, has_search: bool) -> Frame {
        let texts = self.texts;
        let nav = html! {
            @if self.is_admin() { a href="/-/moderation" { (texts.moderation) } }
            @if let Some(account) = self.caller.account() {
                form method="post" action="/-/sign-out" {
                    (proof(self))
                    span.who { (account) }
                    button.plain { (texts.sign_out) }
                }
            } @else {
                a href="/-/sign-in" rel="nofollow" { (texts.sign_in) }
            }
        };
        let search = if has_search {
            html! {}
        } else {
            search_field(self, "", false)
        };
        Frame { search, nav, foot: html! { a href="/v1/openapi.json" { (texts.api) } } }
    }
}

/// Renders a page or an error, on a thread for blocking work.
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
        Ok(content) => visitor.show(StatusCode::OK, &content),
        Err(error) => refused(&visitor, error),
    }
}

/// Renders an error page for the visitor.
pub fn refused(visitor: &Visitor, error: ApiError) -> Response {
    visitor.refused(&visitor.frame(false), error, None)
}

/// Renders the error page for an address without a page.
pub async fn nothing(visitor: Visitor) -> Response {
    refused(&visitor, ApiError::not_found("no page has this address").hint("see /v1/openapi.json for the API"))
}

/// A form of one of these pages, with its sender.
pub struct Sent<T> {
    /// Sender of the form, according to their cookie.
    pub visitor: Visitor,
    /// Values of the form's fields.
    pub fields: T,
}

impl<T: DeserializeOwned + Send> FromRequest<Shared> for Sent<T> {
    type Rejection = Response;

    async fn from_request(request: Request, hub: &Shared) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let Ok(mut visitor) = Visitor::from_request_parts(&mut parts, hub).await;
        let sent = Cookies::of(&parts.headers, MARKET);
        let fields = fields(Request::from_parts(parts, body), &sent, visitor.texts).await;
        let fields = fields.map_err(|error| refused(&visitor, error))?;
        if let (Caller::Anonymous, Some(secret)) = (&visitor.caller, sent.secret) {
            let found = run(hub, move |hub| Ok(hub.stores.sessions.caller(&secret, Timestamp::now())?)).await;
            visitor.caller = found.map_err(|error| refused(&visitor, error))?.unwrap_or(Caller::Anonymous);
        }
        Ok(Self { visitor, fields })
    }
}
