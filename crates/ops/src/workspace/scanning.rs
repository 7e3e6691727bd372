//! Configuration of the scanner, from `[scan]` of the user and of the system.

use std::path::Path;

use client::PolicyFile;
use jiff::Timestamp;
use library::Home;
use scan::{JudgeSettings, Scanner, Settings};

use super::{Workspace, acting::SYSTEM_POLICY};
use crate::{refusal::Refusal, setup::Setup};

impl Workspace {
    /// Returns the scanner with an additional folder of rules.
    ///
    /// # Errors
    /// The rules are invalid.
    pub fn scanner_with(&self, folder: &Path) -> Result<Scanner, Refusal> {
        let rules = vec![self.absolute(folder).display().to_string()];
        let settings = settings(&self.config, &self.home, &self.user_home, self.now)?;
        Ok(client::scanner(&Settings { rules, ..Settings::default() }.and(settings))?)
    }
}

/// Returns the home with its scanner and judge. Settings or rules that cannot be read or parsed are a fault, unless
/// there is an earlier one.
pub(super) fn with_scanner(
    home: Home,
    fault: Option<Refusal>,
    config: &client::Config,
    setup: &Setup,
    now: Timestamp,
) -> (Home, Option<Refusal>) {
    let judged = |scanner, judge: &JudgeSettings| {
        let note = setup.note.clone();
        library::judged(scanner, judge, &home, move |why| note(why))
    };
    let scanner = settings(config, &home, &setup.user_home, now).and_then(|all| {
        let scanner = client::scanner(&all)?;
        Ok(all.judge.as_ref().map_or(scanner, |judge| judged(scanner, judge)))
    });
    match scanner {
        Ok(scanner) => (home.scanned_by(scanner), fault),
        Err(error) => (home, fault.or(Some(error))),
    }
}

fn settings(config: &client::Config, home: &Home, user_home: &Path, now: Timestamp) -> Result<Settings, Refusal> {
    let of_file = |settings: &Settings, file: &Path| client::scan_settings(settings.clone(), file, user_home, now);
    let own = of_file(&config.scan, &home.config())?;
    match PolicyFile::read(Path::new(SYSTEM_POLICY))? {
        Some(system) => Ok(own.and(of_file(&system.scan, &system.path)?)),
        None => Ok(own),
    }
}
