//! [`sign_in`]: a token becomes a cookie, which is gone when the browser is closed.

use axum::{
    extract::State,
    http::{StatusCode, header},
    response::Response,
};
use jiff::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;

use super::visitor::{Sent, Visitor, refused};
use crate::{
    api::{HubState, run},
    pages::{
        layout::Content,
        pieces::proof,
        session::{self, MARKET},
    },
};

/// Bytes of the longest token that is looked up.
const TOKEN_BYTES: usize = 200;

/// What the form sends.
#[derive(Deserialize)]
pub struct Token {
    token: String,
}

/// What the form for signing out sends beside the proof.
#[derive(Deserialize)]
pub struct Nothing {}

/// The page for signing in; it opens for everybody, whoever may read the index.
pub async fn form(visitor: Visitor) -> Response {
    let content = Content::new(visitor.texts.sign_in, shown(&visitor, None));
    visitor.show(StatusCode::OK, &content)
}

fn shown(visitor: &Visitor, wrong: Option<&str>) -> Markup {
    let texts = visitor.texts;
    html! {
        section.narrow {
            h1 { (texts.sign_in) }
            @if let Some(wrong) = wrong { p.note.bad role="alert" id="wrong" { (wrong) } }
            form method="post" action="/-/sign-in" {
                (proof(visitor))
                label for="token" { (texts.token) }
                input #token type="password" name="token" required maxlength="200" autocomplete="current-password" autofocus
                    aria-describedby=[wrong.map(|_| "wrong")] spellcheck="false";
                button { (texts.sign_in) }
            }
            p.quiet { (texts.token_from) }
            pre tabindex="0" { code { "skillhub serve admin-token --data DIR" } }
        }
    }
}

/// Signs in.
pub async fn sign_in(State(hub): HubState, Sent { visitor, fields }: Sent<Token>) -> Response {
    let token = fields.token.trim().to_owned();
    let known = token.len() <= TOKEN_BYTES && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let found = match known {
        true => {
            let token = token.clone();
            run(&hub, move |hub| Ok(hub.accounts.caller(&token, Timestamp::now())?)).await
        }
        false => Ok(None),
    };
    match found {
        Err(error) => refused(&visitor, error),
        Ok(None) => {
            let content = Content::new(visitor.texts.sign_in, shown(&visitor, Some(visitor.texts.token_unknown)));
            visitor.show(StatusCode::UNAUTHORIZED, &content)
        }
        Ok(Some(_)) => with_session(&visitor, &token),
    }
}

/// Signs out: the cookie goes, the token stays good.
pub async fn sign_out(Sent { visitor, .. }: Sent<Nothing>) -> Response {
    with_session(&visitor, "")
}

fn with_session(visitor: &Visitor, secret: &str) -> Response {
    let mut response = visitor.to("/");
    if let Some(cookie) = session::of_session(MARKET, secret, visitor.is_secure) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}
