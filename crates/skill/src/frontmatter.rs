//! [`Frontmatter`]: the YAML between the two `---` lines of a `SKILL.md`.
//!
//! This is the only module that uses the YAML parser. Reading has two steps: [`split`] finds the block, and [`read`]
//! parses its fields. If a block is invalid only because of unquoted colons, it is parsed again with such values
//! quoted, and the reading records this.

mod cost;
mod fields;
mod lenient;
mod needs;

use std::sync::{Arc, OnceLock};

use thiserror::Error;

pub use fields::{FaultKind, FieldFault, Frontmatter, split_tools};
pub use needs::Needs;

use crate::Limits;

/// `SKILL.md` split into frontmatter and body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split<'a> {
    /// YAML text between the `---` lines. Its first line is line 2 of the file.
    pub yaml: &'a str,
    /// Text after the closing line.
    pub body: &'a str,
    /// Line of the file on which the body starts, counted from 1.
    pub body_line: usize,
}

/// Result of [`read`] for a `SKILL.md`.
#[derive(Debug, Clone)]
pub struct Reading<'a> {
    /// Fields parsed from the YAML block.
    pub frontmatter: Arc<Frontmatter>,
    /// Instructions after the frontmatter.
    pub body: &'a str,
    /// Line of the file on which the body starts, counted from 1.
    pub body_line: usize,
}

/// Result of parsing a YAML block, once somebody asked for it.
pub(crate) type Parsed = OnceLock<Result<Arc<Frontmatter>, FrontmatterError>>;

/// Reason why the frontmatter of a `SKILL.md` cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FrontmatterError {
    /// The first line is not `---`.
    #[error("SKILL.md must begin with a line that is exactly `---`, then YAML, then another `---` line")]
    Missing,
    /// There is no second `---` line.
    #[error("the frontmatter has no end: no later line is exactly `---`")]
    Unclosed,
    /// The block exceeds the size limit of the parser.
    #[error("the frontmatter has {bytes} bytes, but the limit is {limit}")]
    TooLarge {
        /// Size found, in bytes.
        bytes: usize,
        /// Size allowed, in bytes.
        limit: usize,
    },
    /// The YAML parser rejected the block.
    #[error("the frontmatter is not valid YAML: {message}")]
    Yaml {
        /// Message of the parser, without its position.
        message: String,
        /// Line of the file, counted from 1.
        line: Option<usize>,
    },
    /// The block is valid YAML, but not a map of keys to values.
    #[error("the frontmatter must be a mapping of keys to values")]
    NotAMap,
}

impl FrontmatterError {
    /// Returns the stable name of the rule, in `snake_case`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing => "frontmatter_missing",
            Self::Unclosed => "frontmatter_unclosed",
            Self::TooLarge { .. } => "frontmatter_too_large",
            Self::Yaml { .. } => "yaml_syntax",
            Self::NotAMap => "frontmatter_not_a_map",
        }
    }

    /// Returns the line of the file, from 1, if it is known.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Yaml { line, .. } => *line,
            _ => Some(1),
        }
    }
}

/// Splits a `SKILL.md` at its first two lines that are exactly `---`. A `---` inside a value does not count. A byte
/// order mark before the first line is skipped.
///
/// # Errors
/// [`FrontmatterError::Missing`] or [`FrontmatterError::Unclosed`].
pub fn split(text: &str) -> Result<Split<'_>, FrontmatterError> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let opening = lines.next().filter(|line| is_fence(line)).ok_or(FrontmatterError::Missing)?;
    let mut end = opening.len();
    for (number, line) in lines.enumerate() {
        if is_fence(line) {
            let yaml = &text[opening.len()..end];
            return Ok(Split { yaml, body: &text[end + line.len()..], body_line: number + 3 });
        }
        end += line.len();
    }
    Err(FrontmatterError::Unclosed)
}

fn is_fence(line: &str) -> bool {
    line.trim_end_matches(['\n', '\r']) == "---"
}

/// Reads the frontmatter of a `SKILL.md`.
///
/// # Errors
/// [`FrontmatterError`] if it is missing, too large, or not valid YAML even after quoting.
pub fn read<'a>(text: &'a str, limits: &Limits) -> Result<Reading<'a>, FrontmatterError> {
    read_once(text, limits, &Parsed::new())
}

/// Reads like [`read`], but takes the fields from `parsed` if a text with the same block was read with it before.
pub(crate) fn read_once<'a>(text: &'a str, limits: &Limits, parsed: &Parsed) -> Result<Reading<'a>, FrontmatterError> {
    let Split { yaml, body, body_line } = split(text)?;
    if yaml.len() > limits.frontmatter_bytes {
        return Err(FrontmatterError::TooLarge { bytes: yaml.len(), limit: limits.frontmatter_bytes });
    }
    let frontmatter = parsed.get_or_init(|| parse(yaml).map(Arc::new)).clone()?;
    Ok(Reading { frontmatter, body, body_line })
}

fn parse(yaml: &str) -> Result<Frontmatter, FrontmatterError> {
    match Frontmatter::from_yaml(yaml) {
        Err(error @ FrontmatterError::Yaml { .. }) => {
            let (quoted, first) = lenient::quote_values(yaml).ok_or_else(|| error.clone())?;
            let mut frontmatter = Frontmatter::from_yaml(&quoted).map_err(|_| error)?;
            frontmatter.quoted_line = Some(first + 1);
            Ok(frontmatter)
        }
        done => done,
    }
}

/// Returns every field that the author wrote, as JSON. Values without a JSON form, such as keys that are not text, are
/// errors.
///
/// # Errors
/// [`FrontmatterError`], as for [`read`].
pub fn as_json(text: &str, limits: &Limits) -> Result<serde_json::Map<String, serde_json::Value>, FrontmatterError> {
    let reading = read(text, limits)?;
    let yaml = split(text)?.yaml;
    match reading.frontmatter.quoted_line.and_then(|_| lenient::quote_values(yaml)) {
        Some((quoted, _)) => fields::as_json(&quoted),
        None => fields::as_json(yaml),
    }
}

/// Formats a text as a YAML scalar that parses back to the same text after `key: `. It is quoted if a parser would read
/// it differently (`no`, `1.10`, `a: b`).
pub fn scalar(text: &str) -> String {
    let as_old_boolean = matches!(text.to_ascii_lowercase().as_str(), "y" | "n" | "yes" | "no" | "on" | "off");
    let line = format!("key: {text}\n");
    let reads_back = || {
        let read = serde_yaml::from_str::<serde_yaml::Mapping>(&line);
        read.is_ok_and(|read| read.len() == 1 && read.values().all(|value| value.as_str() == Some(text)))
    };
    match !as_old_boolean && text.chars().all(is_plain) && cost::check(&line).is_ok() && reads_back() {
        true => text.to_owned(),
        false => quoted(text),
    }
}

/// Puts a text in double quotes and escapes the characters that YAML treats as line ends or rejects.
fn quoted(text: &str) -> String {
    let mut scalar = String::with_capacity(text.len() + 2);
    for c in serde_json::Value::from(text).to_string().chars() {
        if is_plain(c) { scalar.push(c) } else { scalar.push_str(&format!("\\u{:04x}", u32::from(c))) }
    }
    scalar
}

/// Returns whether a YAML parser accepts a character unescaped and not as a line end.
fn is_plain(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{A0}' | '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(yaml: &str) -> Arc<Frontmatter> {
        read(&format!("---\n{yaml}\n---\nbody"), &Limits::default()).unwrap().frontmatter
    }

    #[test]
    fn dashes_inside_value_keep_block_open() {
        let text = "---\nname: a\ndescription: |\n  x\n  ---\n  y --- z\n---\nbody\n---\nrest";
        let split = split(text).unwrap();
        assert_eq!((split.body, split.body_line), ("body\n---\nrest", 8));
        let read = read(text, &Limits::default()).unwrap();
        assert_eq!(read.frontmatter.description.as_deref(), Some("x\n---\ny --- z\n"));
    }

    #[test]
    fn crlf_and_bom_are_accepted() {
        let reading = read("\u{FEFF}---\r\nname: a\r\n---\r\nbody\r\n", &Limits::default()).unwrap();
        assert_eq!((reading.frontmatter.name.as_deref(), reading.body), (Some("a"), "body\r\n"));
    }

    #[test]
    fn unquoted_colon_is_read_and_reported() {
        let text = "---\nname: a\ndescription: Use when: it's \"late\" # really\n---\n";
        let reading = read(text, &Limits::default()).unwrap();
        assert_eq!(reading.frontmatter.description.as_deref(), Some("Use when: it's \"late\" # really"));
        assert_eq!(reading.frontmatter.quoted_line, Some(3));
    }

    #[test]
    fn broken_yaml_names_its_line() {
        let error = read("---\nname: a\ndescription: [x\n---\n", &Limits::default()).unwrap_err();
        assert!(matches!(&error, FrontmatterError::Yaml { line: Some(line), .. } if *line >= 3), "{error:?}");
        assert!(!error.to_string().contains(" at line "), "{error}");
        let returns = read("---\nname: a\rb\r\r\u{2028}\u{85}\r[\r\n---\n", &Limits::default()).unwrap_err();
        assert!(matches!(&returns, FrontmatterError::Yaml { line: Some(2 | 3), .. }), "{returns:?}");
        assert!(matches!(read("---\na: 1\na: 2\n---\n", &Limits::default()), Err(FrontmatterError::Yaml { .. })));
        assert_eq!(read("---\n- a\n---\n", &Limits::default()).unwrap_err(), FrontmatterError::NotAMap);
        assert_eq!(read("name: a", &Limits::default()).unwrap_err(), FrontmatterError::Missing);
        assert_eq!(read("---\nname: a\n--- \n", &Limits::default()).unwrap_err(), FrontmatterError::Unclosed);
    }

    #[test]
    fn nesting_and_alias_bombs_are_refused() {
        let deep = format!("---\nname: {}\n---\n", "[".repeat(60_000));
        assert!(read(&deep, &Limits::default()).is_err());
        let bomb: String = (1..12).map(|i| format!("a{i}: &a{i} [{}]\n", format!("*a{},", i - 1).repeat(9))).collect();
        assert!(read(&format!("---\na0: &a0 x\n{bomb}---\n"), &Limits::default()).is_err());
        let long = format!("---\nname: {}\n---\n", "x".repeat(70_000));
        assert!(matches!(read(&long, &Limits::default()), Err(FrontmatterError::TooLarge { .. })));
    }

    #[test]
    fn versions_are_read_as_text() {
        assert_eq!(fields("version: 1.10").version().as_deref(), Some("1.10"));
        assert_eq!(fields("metadata:\n  version: 1.10").version().as_deref(), Some("1.10"));
        assert_eq!(
            fields("metadata:\n  version: 1.10\n  tags: [a]").version().as_deref(),
            Some("1.1"),
            "nested: as parsed"
        );
        assert_eq!(fields("name: 007").name.as_deref(), Some("007"));
    }

    #[test]
    fn tools_are_read_in_every_spelling() {
        let expected = ["Bash(git add:*)", "Read"].map(str::to_owned).to_vec();
        for yaml in [
            "allowed-tools: Bash(git add:*) Read",
            "allowed-tools: [\"Bash(git add:*)\", Read]",
            "allowed_tools: Bash(git add:*), Read",
            "allowedTools:\n- Bash(git add:*)\n- Read",
        ] {
            assert_eq!(fields(yaml).allowed_tools.as_ref(), Some(&expected), "{yaml}");
        }
        assert_eq!(fields("allowed-tools: []").allowed_tools, Some(vec![]));
    }

    #[test]
    fn values_are_compared_across_key_spellings() {
        let of = |yaml: &str| {
            let text = format!("---\nname: a\n{yaml}\n---\n");
            read(&text, &Limits::default()).unwrap().frontmatter.values_of(|key| key == "allowedtools")
        };
        assert!(of("license: MIT").is_empty());
        for key in ["allowed-tools", "Allowed-Tools", "allowed_tools", "ALLOWEDTOOLS", "\"allowed\\x2dtools\"", "<<"] {
            assert_ne!(of(&format!("{key}: [a]")), of(&format!("{key}: [b]")), "{key}");
        }
        assert_ne!(of("x: &x [a]\nallowed-tools: *x"), of("x: &x [b]\nallowed-tools: *x"), "an alias");
        assert_eq!(of("allowed-tools: [a]\nlicense: MIT"), of("license: ISC\nallowed-tools: [a]"));
    }

    #[test]
    fn costly_scalar_is_quoted_unread() {
        let flood = "[".repeat(1 << 20);
        assert_eq!(scalar(&flood), format!("\"{flood}\""));
    }

    #[test]
    fn scalars_read_back_as_text() {
        let lines =
            ["x\ny", "yes:]\u{2028}no", "yes: \u{2028}no \u{85}\u{2029} \u{a0}\u{7f}\u{feff}\u{ffff} \t\u{10ffff}\\"];
        for text in ["plain words", "no", "On", "1.10", "a: b", "#x", "", "- a", "技能", "it's", "null", "~"]
            .into_iter()
            .chain(lines)
        {
            let yaml = format!("name: {}", scalar(text));
            assert_eq!(fields(&yaml).name.as_deref(), Some(text), "{yaml}");
        }
    }
}
