//! [`imitated`]: package names that resemble popular ones (typosquatting).

use crate::local::is_own_package;

/// Popular Python and JavaScript packages and owners of actions, which are targets of typosquatting. All are in lower
/// case.
const KNOWN: &[&str] = &[
    "requests", "beautifulsoup4", "pandas", "numpy", "lxml", "python-dateutil", "colorama", "urllib3", "setuptools",
    "scikit-learn", "matplotlib", "tensorflow", "pytorch", "pillow", "selenium", "scrapy", "django", "fastapi",
    "sqlalchemy", "cryptography", "pyyaml", "boto3", "botocore", "openai", "anthropic", "langchain", "transformers",
    "playwright", "pydantic", "uvicorn", "aiohttp", "jinja2", "openpyxl", "opencv-python", "psycopg2", "pymongo",
    "paramiko", "tabulate", "streamlit", "tiktoken", "huggingface-hub", "python-dotenv", "typescript", "express",
    "lodash", "chalk", "commander", "axios", "webpack", "eslint", "prettier", "mongoose", "dotenv", "puppeteer",
    "cheerio", "nodemon", "jsonwebtoken", "socket.io", "tailwindcss", "cross-env", "node-fetch", "body-parser",
    "electron", "minimist", "actions", "hashicorp", "google-github-actions", "aws-actions", "codecov", "softprops",
    "microsoft",
];

/// Genuine packages whose names resemble popular ones.
const REAL: &[&str] =
    &["request", "requests2", "preact", "expressx", "lodash-es", "colorlog", "axois-mock", "action", "pandoc", "numba"];

/// Length of the shortest name that is compared. Shorter names resemble each other by chance.
const SHORT: usize = 5;

/// Maximum difference in length, hyphens included, between a name and its imitation.
const SLIP: usize = 2;

/// A package name and the popular one that it resembles.
pub(crate) type Imitation<'n> = (&'n str, &'static str);

/// Returns the popular package from whose name another one is a typing error away, unless that is a known or own
/// package itself.
pub(crate) fn imitated(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase().replace('_', "-");
    let is_known = KNOWN.contains(&name.as_str()) || REAL.contains(&name.as_str());
    if name.len() < SHORT || is_known || is_own_package(&name) {
        return None;
    }
    let mut long = KNOWN.iter().filter(|known| known.len() >= SHORT);
    long.find(|known| known.len().abs_diff(name.len()) <= SLIP && is_near(&name, known)).copied()
}

/// Returns the first of some package names that resembles a popular one.
pub(crate) fn first_imitation<'n>(mut names: impl Iterator<Item = &'n str>) -> Option<Imitation<'n>> {
    names.find_map(|name| Some((name, imitated(name)?)))
}

/// Returns the message and the remedy for a name and the one that it resembles.
pub(crate) fn described((name, known): Imitation<'_>) -> (String, String) {
    let message = format!("installs “{name}”, a name almost like that of the well-known “{known}” (typosquatting)");
    (message, format!("write “{known}” if you mean that package"))
}

/// Returns the package names in a list, as written in a command or a requirements file.
pub(crate) fn names(list: &str) -> impl Iterator<Item = &str> {
    let words =
        list.split(|c: char| c.is_whitespace() || matches!(c, ',' | '"' | '\'' | ';' | '|' | '&' | '(' | ')' | '`'));
    let words = words.filter(|word| !word.starts_with('-') && !word.contains(['/', '\\', ':', '$']));
    words
        .map(|word| word.split(['=', '<', '>', '~', '!', '[', ']', '@']).next().unwrap_or(""))
        .filter(|name| !name.is_empty())
}

/// Returns whether two names differ by a single typing error ([`is_slip`]) or only in hyphens and dots.
fn is_near(name: &str, known: &str) -> bool {
    if letters(name).eq(letters(known)) {
        return true;
    }
    if name.is_ascii() {
        return is_slip(name.as_bytes(), known.as_bytes());
    }
    is_slip(&name.chars().collect::<Vec<_>>(), &known.chars().collect::<Vec<_>>())
}

/// Returns the bytes of a name without hyphens and dots.
fn letters(name: &str) -> impl Iterator<Item = u8> {
    name.bytes().filter(|byte| !matches!(byte, b'-' | b'.'))
}

/// Returns whether two names differ by one insertion, deletion or substitution, or by one transposition of neighbours.
fn is_slip<T: PartialEq>(name: &[T], known: &[T]) -> bool {
    let start = name.iter().zip(known).take_while(|(a, b)| a == b).count();
    let end = name.iter().rev().zip(known.iter().rev()).take_while(|(a, b)| a == b).count();
    let left =
        |word: &[T]| word.len().saturating_sub(start + end.min(word.len().min(name.len().min(known.len()) - start)));
    match (left(name), left(known)) {
        (0 | 1, 0 | 1) => true,
        (2, 2) => name.get(start) == known.get(start + 1) && name.get(start + 1) == known.get(start),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typo_differs_from_separate_name() {
        for name in [
            "reqeusts", "reqests", "beautifulsoop4", "beautifulsoup-4", "pandsa", "lodahs", "expresss", "colourama",
            "actlons", "numpyy",
        ] {
            assert!(imitated(name).is_some(), "{name}");
        }
        for name in [
            "requests", "request", "react", "pandera", "lodash-es", "numba", "python_dotenv", "fastapi-users", "vite",
            "boto",
        ] {
            assert!(imitated(name).is_none(), "{name}");
        }
    }

    #[test]
    fn names_are_read_from_commands_and_files() {
        let list = "-q reqeusts==2.31.0 'pandas[excel]>=2' git+https://a.invalid/x ./local";
        assert_eq!(names(list).collect::<Vec<_>>(), ["reqeusts", "pandas"]);
    }
}
