//! [`Visitor`]: who looks at a page of the market, and [`answer`], which gives it to them.

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

/// The agent that is proposed to who has chosen none.
const FIRST_AGENT: &str = "claude-code";

/// Who looks at a page of the market: a reader, and what the server knows of them.
#[derive(Debug, Clone)]
pub struct Visitor {
    reader: Reader,
    /// Who asks; nobody where what they show is over.
    pub caller: Caller,
    /// The agent whose line is shown.
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
        // What is over or unknown reads as nobody: the page for signing in has to open.
        let caller = Caller::from_request_parts(parts, hub).await.unwrap_or(Caller::Anonymous);
        Ok(Self { reader, caller, agent: picked.or(kept).or_else(|| agent_of(FIRST_AGENT)) })
    }
}

impl Visitor {
    /// Whether the visitor decides over this server's releases.
    #[must_use]
    pub fn is_admin(&self) -> bool {
        matches!(self.caller, Caller::Account { is_admin: true, .. })
    }

    /// Gives a page to the visitor.
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
        Ok(content) => visitor.show(StatusCode::OK, &content),
        Err(error) => refused(&visitor, error),
    }
}

/// The page that says what went wrong.
pub fn refused(visitor: &Visitor, error: ApiError) -> Response {
    visitor.refused(&visitor.frame(false), error, None)
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
