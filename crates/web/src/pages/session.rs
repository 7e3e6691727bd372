//! The cookies of the pages ([`Cookies`]), and the proof that one of our pages made a form.

use axum::http::{HeaderMap, HeaderValue, header};
use sha2::{Digest, Sha256};
use skill::hex;

/// Session cookie of the marketplace. Older builds stored the token in it; such a value matches no session.
pub const MARKET: &str = "skillhub_session";
/// Session cookie of a library. Its name differs from the marketplace's, because browsers send cookies to all ports of
/// a host.
pub const LIBRARY: &str = "skillhub_library";
/// Cookie with a random value, from which the proofs of forms are derived.
const FORM: &str = "skillhub_form";
/// Cookie with the chosen language.
const LANGUAGE: &str = "skillhub_lang";
/// Cookie with the chosen agent.
pub const AGENT: &str = "skillhub_agent";

/// Lifetime of a remembered choice, in seconds: one year.
const REMEMBERED_SECONDS: u32 = 31_536_000;

/// The cookies of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cookies {
    /// Name of the session, unguessable.
    pub secret: Option<String>,
    /// Random value from which proofs are derived.
    pub form: Option<String>,
    /// Tag of the chosen language.
    pub language: Option<String>,
    /// Id of the chosen agent.
    pub agent: Option<String>,
}

impl Cookies {
    /// Reads the cookies of a request; `session` is the name of the session cookie.
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
            // The first of two cookies with the same name has the narrower path (RFC 6265, 5.4).
            if place.is_none() && !value.is_empty() {
                *place = Some(value.to_owned());
            }
        }
        cookies
    }

    /// Returns the proof for a form. Only a program that can read these cookies can compute it.
    #[must_use]
    pub fn proof(&self) -> Option<String> {
        let form = self.form.as_deref()?;
        let secret = self.secret.as_deref().unwrap_or_default();
        Some(hex(&Sha256::digest(format!("skillhub-form-v1\n{form}\n{secret}"))))
    }

    /// Returns whether a form has the right proof.
    #[must_use]
    pub fn are_of(&self, given: &str) -> bool {
        // Hashing both again keeps the comparison's duration from revealing anything.
        let again = |text: &str| Sha256::digest(text);
        self.proof().is_some_and(|proof| again(&proof) == again(given))
    }
}

/// Returns the session cookie, or one that deletes it if `secret` is empty.
pub fn of_session(session: &str, secret: &str, is_secure: bool) -> Option<HeaderValue> {
    let ends = if secret.is_empty() { "; Max-Age=0" } else { "" };
    cookie(&format!("{session}={secret}; Path=/; HttpOnly; SameSite=Strict{ends}"), is_secure)
}

/// Returns the cookie from which proofs are derived.
pub fn of_form(value: &str, is_secure: bool) -> Option<HeaderValue> {
    cookie(&format!("{FORM}={value}; Path=/; HttpOnly; SameSite=Strict"), is_secure)
}

/// Returns the cookie that remembers a language.
pub fn of_language(tag: &str, is_secure: bool) -> Option<HeaderValue> {
    cookie(&format!("{LANGUAGE}={tag}; Path=/; SameSite=Lax; Max-Age={REMEMBERED_SECONDS}"), is_secure)
}

/// Returns the cookie that remembers an agent. The script of the pages sets it as well.
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
    fn proof_fits_only_its_cookies() {
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
