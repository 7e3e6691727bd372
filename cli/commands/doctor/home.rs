//! Checks of the home: permissions, owners, leftovers, the cache, mirrors and the lock.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use library::{FolderPermissions, Home, Library, PathAccessError};
use skill::counted;

use super::{Findings, State};
use crate::{
    commands::setup,
    context::Context,
    exit::{CliError, failed},
    print::shell_word,
};

/// Maximum number of foreign-owned files that are reported one by one.
const NAMED: usize = 10;

/// Timeout for git to print its version.
const GIT_LIMIT: Duration = Duration::from_secs(60);

/// Runs all checks of the home.
pub fn check(context: &Context, library: &Library, findings: &mut Findings) -> Result<(), CliError> {
    check_git(context, findings);
    let home = context.home.path();
    let places = library::look_at_places(&[home, library.path()])?;
    check_owners(context, &places, findings);
    check_read_only(home, &places, findings);
    check_modes(context, library, &places, findings);
    check_lock(library, findings)?;
    for path in client::leftover_files(&context.home, library.own_path(), &setup::written_folders(context)) {
        let what = "left incomplete by a process that was stopped";
        findings.mendable("unfinished", "unfinished", path.display(), what, || {
            client::remove_leftover_files(&path).map(|()| String::new()).map_err(|error| error.to_string())
        });
    }
    findings.close("unfinished", home, "no incomplete files");
    check_mirrors(context, library, findings)?;
    check_cache(context, findings)
}

/// Checks the mirrors of git registries.
fn check_mirrors(context: &Context, library: &Library, findings: &mut Findings) -> Result<(), CliError> {
    let registries = context.registries();
    let lock = client::LockFile::read(&context.lock_path(library)).unwrap_or_default();
    let mirrors = registries.mirrors(&lock).map_err(crate::exit::failed)?;
    let bytes: u64 = mirrors.iter().map(|mirror| mirror.bytes).sum();
    for mirror in &mirrors {
        let Some(fault) = &mirror.fault else { continue };
        let of = mirror.url.as_ref().map(|url| format!(" of {url}")).unwrap_or_default();
        let message = format!("the mirror{of} is damaged: {fault}");
        findings.mendable("registries", "mirror_broken", mirror.path.display(), message, || {
            let dropped = registries.drop_mirror(&mirror.path).map_err(|error| error.to_string());
            dropped.map(|()| "removed; it is fetched again when needed".to_owned())
        });
    }
    let message = format!("{} intact, {}", counted(mirrors.len(), "mirror"), counted(bytes, "byte"));
    findings.close("registries", &context.home.mirrors(), message);
    Ok(())
}

fn check_git(context: &Context, findings: &mut Findings) {
    let mut version = process::child::command("git");
    version.arg("--version");
    match process::run(process::BoundedCommand::new(version, GIT_LIMIT), library::interrupt::is_raised) {
        Ok(done) if done.exit == Some(0) => findings.ok("git", context.home.path(), "git is installed"),
        _ => findings.cannot(
            "git",
            "git_missing",
            "git",
            "git is not installed; it is needed to install from git repositories",
        ),
    }
}

fn check_owners(context: &Context, places: &FolderPermissions, findings: &mut Findings) {
    for (path, owner) in places.foreign.iter().take(NAMED) {
        let message = format!("belongs to another user (id {owner}), who can change it; take ownership with chown");
        findings.cannot("owners", "foreign_file", path.display(), message);
    }
    if places.foreign.len() > NAMED {
        let message = format!("owned by other users: {} more", counted(places.foreign.len() - NAMED, "file"));
        findings.cannot("owners", "foreign_file", context.home.path().display(), message);
    }
    findings.close("owners", context.home.path(), format!("{}, all your own", counted(places.looked_at, "file")));
}

/// Checks that the user can write in the home.
fn check_read_only(home: &Path, places: &FolderPermissions, findings: &mut Findings) {
    let in_home = |path: &&PathBuf| path.starts_with(home) || home.starts_with(path);
    let read_only: Vec<&PathBuf> = places.read_only.iter().filter(in_home).collect();
    let Some(first) = read_only.first() else { return };
    let (more, command, place) = match read_only.len() {
        1 => (String::new(), "chmod u+w", first.as_path()),
        count => (format!(", nor to {} in it", counted(count - 1, "more folder")), "chmod -R u+w", home),
    };
    let place = shell_word(&place.display().to_string());
    let message = format!("you cannot write to it{more}, so commands that store something fail: {command} {place}");
    findings.cannot("modes", "read_only", first.display(), message);
}

/// Checks for files that other users can write. Permissions inside a home that nobody else can enter do not matter. The
/// permissions of the library's contents are up to its user.
fn check_modes(context: &Context, library: &Library, places: &FolderPermissions, findings: &mut Findings) {
    let home = context.home.path();
    if places.writable.iter().any(|path| path == library.path()) {
        let word = shell_word(&library.path().display().to_string());
        let message = format!("other users can write to it, so other commands refuse to use it: chmod go-w {word}");
        findings.cannot("modes", "writable_by_others", library.path().display(), message);
    }
    let writable: Vec<_> = places.writable.iter().filter(|path| path.starts_with(home)).cloned().collect();
    if let Some(first) = writable.first().filter(|_| !places.is_private) {
        let message = match writable.len() {
            1 => "other users can write to it".to_owned(),
            count => format!("other users can write to it, and to {} more in the home", counted(count - 1, "file")),
        };
        findings.mendable("modes", "writable_by_others", first.display(), message, || {
            let closed = library::make_private(home, &writable).map_err(|error| error.to_string());
            closed.map(|()| "only you can access the home now (mode 0700)".to_owned())
        });
    }
    // Causes outside of the home: a folder above it, or the file to which `config.toml` links.
    let is_told = findings.list.iter().any(|finding| finding.check == "modes" && finding.state == State::Found);
    if let Err(error) = Home::at(home).map_err(failed)
        && !is_told
    {
        let message = format!("{}; {}", error.message, error.hint.unwrap_or_default());
        findings.cannot("modes", "writable_by_others", home.display(), message);
    }
    findings.close("modes", home, "only you can write here");
}

/// Reports a home that belongs to another user and is therefore not examined.
pub fn refuse(context: &Context, error: &PathAccessError, findings: &mut Findings) {
    let home = context.home.path().display();
    let message = format!("{error}; other commands refuse to use it, and nothing in it was checked");
    findings.cannot("owners", "foreign_file", &home, message);
    findings.cannot("home", "not_looked_at", &home, "take ownership with sudo chown, or set SKILLHUB_HOME");
}

/// Reports the holder of the lock. The lock itself ends with its process, and the file's contents are informational.
fn check_lock(library: &Library, findings: &mut Findings) -> Result<(), CliError> {
    let path = library.own_path().join("lock");
    let message = match library.lock_holder()? {
        None => "never used".to_owned(),
        Some((holder, true)) => format!("held by {holder}"),
        Some((holder, false)) => format!("free; last held by {holder}"),
    };
    findings.ok("lock", &path, message);
    Ok(())
}

fn check_cache(context: &Context, findings: &mut Findings) -> Result<(), CliError> {
    let path = context.home.cache();
    let found = client::Cache::of(&context.home).check().map_err(crate::exit::failed)?;
    for wrong in &found.wrong {
        findings.mendable("cache", "cache_damaged", wrong.display(), "its content does not match its name", || {
            let removed = client::remove_leftover_files(wrong).map_err(|error| error.to_string());
            removed.map(|()| "removed; it is fetched again when needed".to_owned())
        });
    }
    findings.close("cache", &path, format!("{} intact", counted(found.archives, "archive")));
    Ok(())
}
