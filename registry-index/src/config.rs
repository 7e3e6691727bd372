//! [`Config`]: `config.json`, the file that makes a git repository an index.

use serde::Deserialize;
use skill::Digest;
use thiserror::Error;

/// Content of `config.json`. Unknown fields belong to later formats and are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Config {
    /// Format of the index. This crate reads and writes only [`Config::FORMAT`].
    pub format: u32,
    /// Template for the location of archives: a path in the tree, or an `https://` or `http://` URL. `{hex}` stands for
    /// the 64 digits of the skill's digest, and `{hex:A:B}` for the digits from A up to, but not including, B.
    pub bundles: String,
}

/// Location of the archive for one digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArchiveLocation {
    /// Path in the tree of the index.
    Tree(String),
    /// URL outside the index. This crate does not access the network and only returns it.
    Url(String),
}

/// Reasons why a text is not a usable [`Config`].
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The text is not a JSON object with the two fields.
    #[error("cannot read config.json: {0}")]
    Json(#[from] serde_json::Error),
    /// The index has the format of a later version.
    #[error("config.json has format {found}, but this version of skillhub reads only format {}", Config::FORMAT)]
    Format {
        /// Format number in the file.
        found: u32,
    },
    /// The template does not contain the digest, or has an unknown placeholder.
    #[error("config.json has an invalid template for bundles: {0:?}")]
    Template(String),
}

impl Config {
    /// Format number that this crate reads and writes.
    pub const FORMAT: u32 = 1;
    /// Template for the archives in an index created by [`crate::Index::init`].
    pub const BUNDLES: &'static str = "bundles/{hex:0:2}/{hex:2:4}/{hex}.skill";

    /// Parses the content of `config.json`.
    ///
    /// # Errors
    /// [`ConfigError`] if it is not a configuration, or has another format.
    pub fn parse(bytes: &[u8]) -> Result<Self, ConfigError> {
        let value: serde_json::Value = serde_json::from_slice(bytes)?;
        if let Some(found) = value.get("format").and_then(serde_json::Value::as_u64).filter(|f| *f != 1) {
            return Err(ConfigError::Format { found: u32::try_from(found).unwrap_or(u32::MAX) });
        }
        let config: Self = serde_json::from_value(value)?;
        let example = Digest::of_bytes(b"");
        match expand(&config.bundles, &example.hex()) {
            Some(text) if text.contains(&example.hex()) => Ok(config),
            _ => Err(ConfigError::Template(config.bundles)),
        }
    }

    /// Returns the text that [`crate::Index::init`] writes, with a line feed.
    pub fn fresh() -> String {
        format!("{{\"format\":{},\"bundles\":\"{}\"}}\n", Self::FORMAT, Self::BUNDLES)
    }

    /// Returns the location of the archive for a skill's digest.
    pub fn archive_location(&self, digest: &Digest) -> ArchiveLocation {
        let text = expand(&self.bundles, &digest.hex()).unwrap_or_default();
        match text.starts_with("https://") || text.starts_with("http://") {
            true => ArchiveLocation::Url(text),
            false => ArchiveLocation::Tree(text),
        }
    }
}

/// Expands a template; `None` if a brace is not closed or a placeholder is unknown.
fn expand(template: &str, hex: &str) -> Option<String> {
    let mut pieces = template.split('{');
    let mut out = pieces.next()?.to_owned();
    for piece in pieces {
        let (placeholder, rest) = piece.split_once('}')?;
        out.push_str(digits(placeholder, hex)?);
        out.push_str(rest);
    }
    (!out.contains('}')).then_some(out)
}

fn digits<'a>(placeholder: &str, hex: &'a str) -> Option<&'a str> {
    match placeholder.strip_prefix("hex")? {
        "" => Some(hex),
        range => {
            let (from, to) = range.strip_prefix(':')?.split_once(':')?;
            hex.get(from.parse().ok()?..to.parse().ok()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_places_bundles_by_digest() {
        let config = Config::parse(Config::fresh().as_bytes()).unwrap();
        let hex = Digest::of_bytes(b"").hex();
        let path = format!("bundles/{}/{}/{hex}.skill", &hex[..2], &hex[2..4]);
        assert_eq!(config.archive_location(&Digest::of_bytes(b"")), ArchiveLocation::Tree(path));
    }

    #[test]
    fn url_template_gives_a_url() {
        let config = Config::parse(br#"{"format":1,"bundles":"https://example.org/b/{hex}","later":true}"#).unwrap();
        assert!(
            matches!(config.archive_location(&Digest::of_bytes(b"")), ArchiveLocation::Url(url) if url.ends_with("52b855"))
        );
    }

    #[test]
    fn invalid_formats_and_templates_are_refused() {
        assert!(matches!(Config::parse(br#"{"format":2}"#), Err(ConfigError::Format { found: 2 })));
        for bad in ["bundles", "b/{hex", "b/{hexa}", "b/{hex:0}", "b/{hex:0:99}", "{hex}}", "{hex:0:2}"] {
            let text = format!(r#"{{"format":1,"bundles":"{bad}"}}"#);
            assert!(matches!(Config::parse(text.as_bytes()), Err(ConfigError::Template(_))), "{bad}");
        }
        for bad in ["", "[]", "{}", r#"{"format":"1","bundles":"{hex}"}"#] {
            assert!(matches!(Config::parse(bad.as_bytes()), Err(ConfigError::Json(_))), "{bad}");
        }
    }
}
