//! The sign-in page ([`sign_in`]). The gateway's token opens a session, and a reviewer's token proves a person.

use std::time::Instant;

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use maud::{Markup, html};
use serde::Deserialize;
use web::{
    ApiError,
    pages::{is_local, proof, session::LIBRARY},
};

use super::visitor::{Form, Visitor};
use crate::gateway::{RequestCredentials, Shared, Surface, run_blocking};

/// The fields of the sign-in form.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Tokens {
    token: String,
    reviewer: String,
    next: String,
}

/// The sign-out form, which has no fields beside the proof.
#[derive(Deserialize)]
pub struct EmptyForm {}

/// Renders the sign-in page.
pub async fn form(visitor: Visitor) -> Response {
    shown(&visitor, StatusCode::OK, "/", None)
}

/// Answers a request that requires signing in: with the sign-in page, or with an error for programs.
pub fn wanted(visitor: &Visitor) -> Response {
    if visitor.reads_pages {
        return shown(visitor, StatusCode::UNAUTHORIZED, &visitor.at, None);
    }
    ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "sign-in required")
        .hint("sign in at /-/sign-in; in programs, use /api/skills with `Authorization: Bearer …`")
        .into_response()
}

fn shown(visitor: &Visitor, status: StatusCode, next: &str, wrong: Option<&str>) -> Response {
    let title = if visitor.session.is_some() { visitor.texts.library.as_person } else { visitor.texts.sign_in };
    let body = tokens(visitor, title, next, wrong);
    visitor.page(status, &visitor.frame(), title, &body)
}

/// Renders the sign-in form. A reader who is already signed in is only asked for the reviewer's token.
fn tokens(visitor: &Visitor, title: &str, next: &str, wrong: Option<&str>) -> Markup {
    let (texts, words) = (visitor.texts, &visitor.texts.library);
    let is_known = visitor.session.is_some();
    html! {
        section.narrow {
            h1 { (title) }
            @if let Some(wrong) = wrong { p.note.bad role="alert" id="wrong" { (wrong) } }
            form method="post" action="/-/sign-in" {
                (proof(visitor))
                input type="hidden" name="next" value=(next);
                @if !is_known {
                    label for="token" { (texts.token) }
                    input #token type="password" name="token" required maxlength="500" autocomplete="current-password"
                        autofocus aria-describedby=[wrong.map(|_| "wrong")] spellcheck="false";
                }
                label for="reviewer" { (words.reviewer_token) @if !is_known { " " span.quiet { (words.optional) } } }
                input #reviewer type="password" name="reviewer" required[is_known] maxlength="500" autocomplete="off"
                    autofocus[is_known] spellcheck="false";
                button { (texts.sign_in) }
            }
            @if !is_known { p.quiet { (words.token_from) } }
            p.quiet { (words.reviewer_token_from) }
            pre tabindex="0" { code { "skillhub reviewer new" } }
        }
    }
}

/// Signs in, or adds a reviewer's token for a reader who is already signed in.
pub async fn sign_in(State(gateway): State<Shared>, Form { visitor, fields }: Form<Tokens>) -> Response {
    let words = &visitor.texts.library;
    let next = if is_local(&fields.next) { fields.next.as_str() } else { "/" };
    if visitor.session.is_none() && !gateway.gate.token.is(&fields.token) {
        return shown(&visitor, StatusCode::UNAUTHORIZED, next, Some(words.token_unknown));
    }
    let reviewer = Some(fields.reviewer.trim().to_owned()).filter(|token| !token.is_empty());
    if reviewer.is_some() {
        let asker = RequestCredentials {
            surface: Surface::Pages,
            reads: false,
            is_safe: false,
            reviewer_token: reviewer.clone(),
        };
        // The next page shows the person's name; here it only matters that the token is valid.
        match run_blocking(&gateway, asker, |_| Ok(())).await {
            Ok(()) => {}
            Err(error) if error.status.is_server_error() => return visitor.refused(&visitor.frame(), error, None),
            Err(_) => return shown(&visitor, StatusCode::UNAUTHORIZED, next, Some(words.reviewer_unknown)),
        }
    }
    // Each sign-in opens a new session, which prevents session fixation.
    end(&gateway, &visitor);
    match gateway.sessions.begin(reviewer, Instant::now()) {
        Some(name) => visitor.to_with_session(next, LIBRARY, &name),
        None => {
            let error =
                ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "io", "cannot get random bytes from the system");
            visitor.refused(&visitor.frame(), error, None)
        }
    }
}

/// Ends the session, on the server and in the browser. The tokens remain valid.
pub async fn sign_out(State(gateway): State<Shared>, Form { visitor, .. }: Form<EmptyForm>) -> Response {
    end(&gateway, &visitor);
    visitor.to_with_session("/", LIBRARY, "")
}

fn end(gateway: &Shared, visitor: &Visitor) {
    if let Some(name) = &visitor.cookies.secret {
        gateway.sessions.end(name);
    }
}
