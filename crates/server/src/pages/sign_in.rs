//! The sign-in page ([`sign_in`]). A token opens a session, whose name the browser keeps until it is closed.

use axum::{extract::State, http::StatusCode, response::Response};
use jiff::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use web::{
    Client,
    pages::{Content, proof, session::MARKET},
};

use super::visitor::{Sent, Visitor, refused};
use crate::api::{HubState, run};

/// Length limit of a token that is looked up, in bytes.
const TOKEN_BYTES: usize = 200;

/// The fields of the sign-in form.
#[derive(Deserialize)]
pub struct Token {
    token: String,
}

/// The sign-out form, which has no fields beside the proof.
#[derive(Deserialize)]
pub struct EmptyForm {}

/// Renders the sign-in page, which is public even if the index is not.
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

/// Signs in. Each sign-in opens a new session, which prevents session fixation.
pub async fn sign_in(State(hub): HubState, client: Client, Sent { visitor, fields }: Sent<Token>) -> Response {
    let (token, before) = (fields.token.trim().to_owned(), visitor.cookies.secret.clone());
    let found = run(&hub, move |hub| {
        let known =
            token.len() <= TOKEN_BYTES && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let session = if known { hub.stores.sessions.begin(&token, Timestamp::now())? } else { None };
        match (&session, before) {
            (Some(_), Some(before)) => hub.stores.sessions.end(&before)?,
            (Some(_), None) => {}
            (None, _) => hub.note_failed_sign_in(client, "pages")?,
        }
        Ok(session)
    });
    match found.await {
        Err(error) => refused(&visitor, error),
        Ok(None) => {
            let content = Content::new(visitor.texts.sign_in, shown(&visitor, Some(visitor.texts.token_unknown)));
            visitor.show(StatusCode::UNAUTHORIZED, &content)
        }
        Ok(Some(session)) => visitor.to_with_session("/", MARKET, &session),
    }
}

/// Ends the session, on the server and in the browser. The token remains valid.
pub async fn sign_out(State(hub): HubState, Sent { visitor, .. }: Sent<EmptyForm>) -> Response {
    if let Some(session) = visitor.cookies.secret.clone() {
        let ended = run(&hub, move |hub| Ok(hub.stores.sessions.end(&session)?)).await;
        if let Err(error) = ended {
            return refused(&visitor, error);
        }
    }
    visitor.to_with_session("/", MARKET, "")
}
