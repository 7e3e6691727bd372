//! [`Config`]: `config.json`, the file that makes a git repository an index.

use serde::Deserialize;
use skill::Digest;
use thiserror::Error;

/// What `config.json` says. Unknown fields are for later formats and are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Config {
    /// The format of the index; this crate reads and writes [`Config::FORMAT`] alone.
    pub format: u32,
    /// Where archives are: a path in the tree, or an `https://` or `http://` URL, with `{hex}` for the 64
    /// digits of the skill's digest and `{hex:A:B}` for its digits from A up to, not including, B.
    pub bundles: String,
}

/// Where the archive of one digest is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BundlePlace {
    /// A path in the tree of the index.
    Tree(String),
    /// Somewhere else; this crate has no network and only names it.
    Url(String),
}

/// Why a text is no [`Config`] that can be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// No JSON object with the two fields.
    #[error("config.json is not readable: {0}")]
    Json(#[from] serde_json::Error),
    /// A format of a later version.
    #[error("config.json has format {found}, this version reads format {}", Config::FORMAT)]
    Format {
        /// The format found.
        found: u32,
    },
    /// The template lacks the digest, or has a placeholder that nobody knows.
    #[error("config.json has an unusable template for bundles: {0:?}")]
    Template(String),
}

impl Config {
    /// The format that this crate reads and writes.
    pub const FORMAT: u32 = 1;
    /// Where archives are in an index made by [`crate::Index::init`].
    pub const BUNDLES: &'static str = "bundles/{hex:0:2}/{hex:2:4}/{hex}.skill";

    /// Reads `config.json`.
    ///
    /// # Errors
    /// [`ConfigError`] when it is no config, or one of another format.
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

    /// The text that [`crate::Index::init`] writes, with a line end.
    #[must_use]
    pub fn fresh() -> String {
        format!("{{\"format\":{},\"bundles\":\"{}\"}}\n", Self::FORMAT, Self::BUNDLES)
    }

    /// Where the archive of a skill's digest is.
    #[must_use]
    pub fn place_of(&self, digest: &Digest) -> BundlePlace {
        let text = expand(&self.bundles, &digest.hex()).unwrap_or_default();
        match text.starts_with("https://") || text.starts_with("http://") {
            true => BundlePlace::Url(text),
            false => BundlePlace::Tree(text),
        }
    }
}

/// `None` when a brace is left open or holds something unknown.
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
    fn the_template_places_bundles_by_digest() {
        let config = Config::parse(Config::fresh().as_bytes()).unwrap();
        let hex = Digest::of_bytes(b"").hex();
        let path = format!("bundles/{}/{}/{hex}.skill", &hex[..2], &hex[2..4]);
        assert_eq!(config.place_of(&Digest::of_bytes(b"")), BundlePlace::Tree(path));
    }

    #[test]
    fn a_url_is_named_and_not_taken_for_a_path() {
        let config = Config::parse(br#"{"format":1,"bundles":"https://example.org/b/{hex}","later":true}"#).unwrap();
        assert!(matches!(config.place_of(&Digest::of_bytes(b"")), BundlePlace::Url(url) if url.ends_with("52b855")));
    }

    #[test]
    fn other_formats_and_templates_are_refused() {
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
