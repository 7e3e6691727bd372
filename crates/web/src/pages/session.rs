//! [`Cookies`]: what a browser keeps for us, and the proof that a form is one of ours.

use axum::http::{HeaderMap, HeaderValue, header};
use sha2::{Digest, Sha256};
use skill::hex;

/// The cookie with the session of who has signed in to the market. In older builds it held the token: such a cookie
/// names no session.
pub const MARKET: &str = "skillhub_session";
/// The cookie with the session of who has signed in to a library. It has a name of its own: browsers send cookies to all
/// ports of a host.
pub const LIBRARY: &str = "skillhub_library";
/// The cookie with a random value, from which proofs for forms are made.
const FORM: &str = "skillhub_form";
/// The cookie with the language that was chosen.
const LANGUAGE: &str = "skillhub_lang";
/// The cookie with the agent that was chosen.
pub const AGENT: &str = "skillhub_agent";

/// Seconds for which a choice is remembered: a year.
const REMEMBERED_SECONDS: u32 = 31_536_000;

/// What a browser sent along.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cookies {
    /// The name of a session.
    pub secret: Option<String>,
    /// What proofs are made from.
    pub form: Option<String>,
    /// A language.
    pub language: Option<String>,
    /// An agent.
    pub agent: Option<String>,
}

impl Cookies {
    /// Those of a request; `session` is the one that signs in.
    #[must_use]
    pub fn of(headers: &HeaderMap, session: &str) -> Self {
        let mut cookies = Self::default();
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        for (name, value) in lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('=')) {
            let place = match name {
                name if name == session => &mut cookies.secret,
                FORM => &mut cookies.form,
                LANGUAGE => &mut cookies.language,
                AGENT => &mut cookies.agent,
                _ => continue,
            };
            // Of two of a name the first counts: it is the one of the narrower path.
            if place.is_none() && !value.is_empty() {
                *place = Some(value.to_owned());
            }
        }
        cookies
    }

    /// The proof that goes into a form: nobody who does not read these cookies can make it.
    #[must_use]
    pub fn proof(&self) -> Option<String> {
        let form = self.form.as_deref()?;
        let secret = self.secret.as_deref().unwrap_or_default();
        Some(hex(&Sha256::digest(format!("skillhub-form-v1\n{form}\n{secret}"))))
    }

    /// Whether a form brings the proof.
    #[must_use]
    pub fn are_of(&self, given: &str) -> bool {
        // Both are hashed again, so that what a comparison takes tells nothing.
        let again = |text: &str| Sha256::digest(text);
        self.proof().is_some_and(|proof| again(&proof) == again(given))
    }
}

/// The cookie that signs in; with an empty token the one that signs out.
pub fn of_session(session: &str, secret: &str, is_secure: bool) -> Option<HeaderValue> {
    let ends = if secret.is_empty() { "; Max-Age=0" } else { "" };
    cookie(&format!("{session}={secret}; Path=/; HttpOnly; SameSite=Strict{ends}"), is_secure)
}

/// The cookie from which proofs are made.
pub fn of_form(value: &str, is_secure: bool) -> Option<HeaderValue> {
    cookie(&format!("{FORM}={value}; Path=/; HttpOnly; SameSite=Strict"), is_secure)
}

/// The cookie that remembers a language.
pub fn of_language(tag: &str, is_secure: bool) -> Option<HeaderValue> {
    cookie(&format!("{LANGUAGE}={tag}; Path=/; SameSite=Lax; Max-Age={REMEMBERED_SECONDS}"), is_secure)
}

/// The cookie that remembers an agent; the script of the pages sets it as well.
pub fn of_agent(id: &str, is_secure: bool) -> Option<HeaderValue> {
    cookie(&format!("{AGENT}={id}; Path=/; SameSite=Lax; Max-Age={REMEMBERED_SECONDS}"), is_secure)
}

fn cookie(text: &str, is_secure: bool) -> Option<HeaderValue> {
    let text = if is_secure { format!("{text}; Secure") } else { text.to_owned() };
    HeaderValue::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cookies(line: &str) -> Cookies {
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, HeaderValue::from_str(line).unwrap());
        Cookies::of(&headers, MARKET)
    }

    #[test]
    fn a_proof_is_good_for_its_cookies_only() {
        let ours = cookies("a=b; skillhub_form=1234; skillhub_session=skh_x; skillhub_form=9");
        let proof = ours.proof().unwrap();
        assert!(ours.are_of(&proof) && !ours.are_of("") && !ours.are_of(&proof[1..]));
        for other in ["skillhub_form=1234", "skillhub_form=1235; skillhub_session=skh_x", "skillhub_session=skh_x", ""]
        {
            assert!(!cookies(other).are_of(&proof), "{other}");
        }
        assert!(!cookies("skillhub_session=skh_x").are_of(""), "without a random value nothing is proven");
    }
}
