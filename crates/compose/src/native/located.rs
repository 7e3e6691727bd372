//! Path given to a file tool, split into an allowed folder and the path below it ([`Located`]).

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::host::ToolFault;

/// Schema keyword that lists the folders for absolute paths, so that the compiler can check literal paths.
pub(crate) const KEYWORD: &str = "x-folders";

/// A path and the folder to which it belongs. Links are not checked here but when it is opened.
#[derive(Debug)]
pub(crate) struct Located<'a> {
    /// Configured folder; `None` for the working folder.
    pub folder: Option<&'a Path>,
    /// Path below the folder; empty for the folder itself.
    pub below: &'a str,
}

impl<'a> Located<'a> {
    /// Finds the folder of a path: the working folder for a relative path, the innermost of `folders` for an absolute
    /// one.
    ///
    /// # Errors
    /// An absolute path is in none of them.
    pub fn of(text: &'a str, folders: &'a [PathBuf]) -> Result<Self, ToolFault> {
        let path = Path::new(text);
        if !path.is_absolute() {
            return Ok(Self { folder: None, below: text.strip_prefix("./").unwrap_or(text) });
        }
        let below = |folder: &'a PathBuf| Some((folder.as_path(), path.strip_prefix(folder).ok()?.to_str()?));
        let found = folders.iter().filter_map(below).min_by_key(|(_, below)| below.len());
        let (folder, below) = found.ok_or_else(|| outside(text, path.parent().unwrap_or(path), folders))?;
        Ok(Self { folder: Some(folder), below })
    }

    /// Returns the fault of a literal path, or of a literal prefix that is outside whatever follows.
    pub fn fault(literal: &str, is_whole: bool, folders: &[PathBuf]) -> Option<ToolFault> {
        let known = if is_whole { literal } else { literal.rsplit_once('/').map_or("", |(parent, _)| parent) };
        let may_follow = !is_whole && folders.iter().any(|folder| folder.starts_with(Path::new(known)));
        match Located::of(known, folders) {
            Ok(located) if located.below.split('/').any(|part| part == "..") => {
                let message = format!("{literal:?} leads outside its folder");
                Some(ToolFault::permanent("not_allowed", message).hint("write the path without `..`"))
            }
            Ok(_) => None,
            Err(_) if may_follow => None,
            Err(fault) if is_whole => Some(fault),
            Err(_) => Some(outside(literal, Path::new(known), folders)),
        }
    }
}

/// Creates the fault of a path outside, with the hint to allow `folder` as well.
fn outside(text: &str, folder: &Path, folders: &[PathBuf]) -> ToolFault {
    let wanted: Vec<&Path> = folders.iter().map(PathBuf::as_path).chain([folder]).collect();
    let message = format!("{text:?} is outside the folders that tools may use");
    ToolFault::permanent("not_allowed", message).hint(format!(
        "ask a person to set `folders = {}` under [tools] in config.toml (`skillhub where` shows its path), or use a \
         path relative to the working folder",
        json!(wanted)
    ))
}
