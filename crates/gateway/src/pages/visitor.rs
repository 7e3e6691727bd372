//! The reader of a library's page, signed in or not ([`Visitor`]), and the [`Form`] that they send.

use std::{convert::Infallible, ops::Deref, time::Instant};

use axum::{
    extract::{FromRequest, FromRequestParts, Request},
    http::request::Parts,
    response::Response,
};
use maud::{Markup, html};
use serde::de::DeserializeOwned;
use web::pages::{
    Frame, Reader, fields, proof,
    session::{Cookies, LIBRARY},
    visible,
};

use crate::gateway::Shared;

/// A reader, with the session that they have if they are signed in.
#[derive(Debug, Clone)]
pub struct Visitor {
    reader: Reader,
    /// Session of a reader who is signed in, with its reviewer's token if it has one.
    pub session: Option<Option<String>>,
}

impl Deref for Visitor {
    type Target = Reader;

    fn deref(&self) -> &Reader {
        &self.reader
    }
}

impl FromRequestParts<Shared> for Visitor {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, gateway: &Shared) -> Result<Self, Infallible> {
        let reader = Reader::seen(parts, LIBRARY);
        let find = |name: &String| gateway.sessions.find(name, Instant::now());
        let session = reader.cookies.secret.as_ref().and_then(find);
        Ok(Self { reader, session })
    }
}

impl Visitor {
    /// Returns the frame of a page for a reader who is not signed in, or about whom nothing more is known.
    pub fn frame(&self) -> Frame {
        let nav = html! { @if self.session.is_some() { (self.sign_out(None)) } };
        Frame { search: html! {}, nav, foot: html! {} }
    }

    /// Renders the sign-out form, with the name of the signed-in person if it is known.
    pub fn sign_out(&self, person: Option<&str>) -> Markup {
        let texts = self.texts;
        html! {
            form method="post" action="/-/sign-out" {
                (proof(self))
                @if let Some(person) = person { span.who { (visible(person)) } }
                button.plain { (texts.sign_out) }
            }
        }
    }
}

/// A form of one of these pages, from any reader.
pub struct Form<T> {
    /// Sender of the form.
    pub visitor: Visitor,
    /// Values of the form's fields.
    pub fields: T,
}

impl<T: DeserializeOwned> FromRequest<Shared> for Form<T> {
    type Rejection = Response;

    async fn from_request(request: Request, gateway: &Shared) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let Ok(visitor) = Visitor::from_request_parts(&mut parts, gateway).await;
        let sent = Cookies::of(&parts.headers, LIBRARY);
        match fields(Request::from_parts(parts, body), &sent, visitor.texts).await {
            Ok(fields) => Ok(Self { visitor, fields }),
            Err(error) => Err(visitor.refused(&visitor.frame(), error, None)),
        }
    }
}
