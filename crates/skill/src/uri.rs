//! Parts and references of URIs, and their percent-encoding, as RFC 3986 has them.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, utf8_percent_encode};

/// Everything but the unreserved characters of section 2.3.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The same without the slash.
const PATH: &AsciiSet = &COMPONENT.remove(b'/');

/// A text as one segment of a path, or as a value in a query.
pub fn component(text: &str) -> String {
    utf8_percent_encode(text, COMPONENT).to_string()
}

/// A path with its slashes.
pub fn path(text: &str) -> String {
    utf8_percent_encode(text, PATH).to_string()
}

/// The bytes with each `%` and two hexadecimal digits made one; any other `%` stays.
pub fn decoded(bytes: &[u8]) -> Cow<'_, [u8]> {
    percent_decode(bytes).into()
}

/// The part before `://`; empty without one.
pub fn scheme(url: &str) -> &str {
    url.split_once("://").map_or("", |(scheme, _)| scheme)
}

/// The part between the scheme and the path, with a user and a port. A text without `://` begins with it.
pub fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

/// The URL with `…` in place of a user name and a password.
pub fn without_user(url: &str) -> String {
    match (url.split_once("://"), authority(url).rsplit_once('@')) {
        (Some((scheme, rest)), Some((user, _))) => {
            format!("{scheme}://…{}", rest.get(user.len()..).unwrap_or_default())
        }
        _ => url.to_owned(),
    }
}

/// Resolves a reference against a URL, without its fragment; `None` if it is neither a path nor a URL.
pub fn join(url: &str, to: &str) -> Option<String> {
    let to = to.split('#').next().unwrap_or_default();
    let origin = format!("{}://{}", scheme(url), authority(url));
    if to.is_empty() || to.starts_with('?') {
        return None;
    }
    if to.contains("://") && !to.starts_with('/') {
        return Some(to.to_owned());
    }
    if to.starts_with("//") {
        return Some(format!("{}:{to}", scheme(url)));
    }
    if to.starts_with('/') {
        return Some(format!("{origin}{to}"));
    }
    let path = url.split(['?', '#']).next()?.get(origin.len()..).unwrap_or_default();
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    (!to.contains(':')).then(|| format!("{origin}{folder}/{to}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_encoded_and_decoded() {
        assert_eq!(component("a b/图&#?%~.md"), "a%20b%2F%E5%9B%BE%26%23%3F%25~.md");
        assert_eq!(path("a b/é"), "a%20b/%C3%A9");
        assert_eq!(decoded(b"a%20b/%e4%B8%ad"), "a b/中".as_bytes());
        assert_eq!(decoded(b"100%, %4, %zz"), &b"100%, %4, %zz"[..]);
    }
    #[test]
    fn urls_have_a_scheme_and_an_authority() {
        for (url, parts) in [
            ("https://u:p@h:8/a?b#c", ("https", "u:p@h:8")),
            ("http://h?b", ("http", "h")),
            ("ssh://h#c", ("ssh", "h")),
            ("git@h:a/b", ("", "git@h:a")),
            ("", ("", "")),
        ] {
            assert_eq!((scheme(url), authority(url)), parts, "{url}");
        }
    }

    #[test]
    fn users_are_left_out_of_urls() {
        assert_eq!(without_user("https://u:p@x@h/a@b"), "https://…@h/a@b");
        for url in ["https://h/a@b", "git@h:a/b"] {
            assert_eq!(without_user(url), url);
        }
    }

    #[test]
    fn references_resolve_as_in_browsers() {
        let at = |to: &str| join("http://h:8/a/b?c#d", to);
        for (to, url) in [
            ("http://o/x", "http://o/x"),
            ("//o/x", "http://o/x"),
            ("/x?y#z", "http://h:8/x?y"),
            ("x", "http://h:8/a/x"),
        ] {
            assert_eq!(at(to).as_deref(), Some(url), "{to}");
        }
        assert_eq!(join("http://h", "x").as_deref(), Some("http://h/x"));
        assert_eq!((at("mailto:x"), at("")), (None, None));
    }
}
