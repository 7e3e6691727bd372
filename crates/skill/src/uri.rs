//! Percent-encoding of URIs, as RFC 3986 has it.

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
}
