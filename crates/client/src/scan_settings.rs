//! [`scanner`]: builds the scanner from settings and rule files.

use std::{
    io,
    path::{Path, PathBuf},
};

use cap_std::{ambient_authority, fs::Dir};
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use library::folder::read_file;
use scan::{RuleText, Scanner, Settings, SettingsError};

use crate::{config::ConfigError, paths};

/// Maximum number of rule files in all folders.
const FILES: usize = 64;

/// Maximum size of a rule file in bytes.
const FILE_BYTES: u64 = 256 << 10;

/// Prepares the scanner settings of a file: makes the folders and the judge's path absolute, and drops expired
/// acceptances.
///
/// # Errors
/// [`ConfigError::Scan`] if an expiry is not a date, or the judge's settings are invalid.
pub fn of_file(mut settings: Settings, file: &Path, user_home: &Path, now: Timestamp) -> Result<Settings, ConfigError> {
    let folder = file.parent().unwrap_or(file);
    for rules in &mut settings.rules {
        *rules = folder.join(paths::expanded(rules, Some(user_home))).display().to_string();
    }
    if let Some(judge) = &mut settings.judge {
        judge.check()?;
        judge.folder = folder.display().to_string();
        // A name without a slash is looked up on the search path.
        for program in judge.command.iter_mut().take(1).filter(|program| program.contains('/')) {
            *program = folder.join(paths::expanded(program, Some(user_home))).display().to_string();
        }
    }
    let today = now.to_zoned(TimeZone::UTC).date();
    let mut accepted = Vec::new();
    for one in settings.accepted {
        let end = one.until.as_ref().map(|until| until.parse::<Date>()).transpose();
        let end = end.map_err(|_| SettingsError::Value {
            key: format!("accepted ({})", one.rule),
            message: "`until` is not a date such as \"2027-01-31\"".to_owned(),
        })?;
        if end.is_none_or(|end| today < end) {
            accepted.push(one);
        }
    }
    Ok(Settings { accepted, ..settings })
}

/// Builds the scanner with additional settings, whose folders are absolute.
///
/// # Errors
/// [`ConfigError::Scan`] with the file and the rule, or the key.
pub fn scanner(settings: &Settings) -> Result<Scanner, ConfigError> {
    let mut files = Vec::new();
    for folder in &settings.rules {
        let wrong = |message: String| SettingsError::File { file: folder.clone(), message };
        let found = texts(&PathBuf::from(folder)).map_err(|error| wrong(error.to_string()))?;
        files.extend(found);
        if files.len() > FILES {
            return Err(wrong(format!("it has more than {FILES} rule files")).into());
        }
    }
    Ok(Scanner::new(settings, &files)?)
}

/// Reads the rule files in a folder, sorted by name.
fn texts(folder: &Path) -> io::Result<Vec<RuleText>> {
    let dir = Dir::open_ambient_dir(folder, ambient_authority())?;
    let mut names = Vec::new();
    for entry in dir.entries()? {
        names.extend(entry?.file_name().into_string().ok().filter(|name| name.ends_with(".toml")));
    }
    names.sort();
    let text = |name: String| {
        let bad = |why: String| io::Error::new(io::ErrorKind::InvalidData, format!("{name} {why}"));
        let bytes = read_file(&dir, &name, FILE_BYTES)?
            .ok_or_else(|| bad(format!("is not a regular file of at most {FILE_BYTES} bytes")))?;
        let text = String::from_utf8(bytes).map_err(|_| bad("is not UTF-8".to_owned()))?;
        Ok(RuleText { name: folder.join(&name).display().to_string(), text })
    };
    names.into_iter().take(FILES + 1).map(text).collect()
}
