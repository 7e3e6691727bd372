//! Archives that clients of the gateway upload, or leave in a folder.

use std::{
    io::ErrorKind,
    path::Path,
    sync::{Mutex, PoisonError},
};

use client::{InstallRequest, Spec, read_below, upload_name};
use library::{ensure_private_dir, read_bounded, write_private};
use serde_json::Value;
use skill::{
    Limits, SkillName,
    failure::{FailureKind, Hint, NextStep},
};

use crate::{next_step::request, refusal::Refusal, workspace::Workspace};

/// Folder, among a library's own files, with the latest upload of each skill.
const FOLDER: &str = "uploads";

/// Lock held from storing an archive until its install has finished.
static INSTALLING: Mutex<()> = Mutex::new(());

/// Metadata of an uploaded archive.
#[derive(Debug, Clone, Default)]
pub struct Upload {
    /// File name without extension, used for a skill that does not name itself.
    pub file: String,
    /// Id of the conversation that it came from.
    pub thread: Option<String>,
    /// True if the upload must fail when a skill of that name exists.
    pub is_new: bool,
}

impl Workspace {
    /// Installs an archive. It is stored under the skill's name, so that a later upload is an update from the same
    /// source.
    ///
    /// # Errors
    /// The archive cannot be read, is blocked, or conflicts with the current state. The previously stored archive is
    /// restored then.
    pub fn install_upload(&self, archive: &[u8], upload: &Upload) -> Result<Value, Refusal> {
        let _one_at_a_time = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = &upload.thread {
            // A workplace serves one request, so the value is set once.
            let _set_once = self.thread.set(thread.clone());
        }
        let library = self.library()?;
        let name = upload_name(archive, &upload.file)?;
        let installed = library.head(&name)?.filter(|head| !head.tombstone);
        let is_taken = installed.is_some();
        if upload.is_new && installed.is_some() && self.seen()?(name.as_str()) {
            return Err(exists(&name));
        }
        let path = library.own_path().join(FOLDER);
        let (folder, file) = (ensure_private_dir(&path)?, format!("{name}.skill"));
        let before = read_bounded(&folder, &file, Limits::default().archive_bytes).map_err(Refusal::io)?;
        write_private(&folder, &file, archive).map_err(Refusal::io)?;
        let source = library::resolve(&path.join(&file)).map_err(Refusal::io)?.display().to_string();
        let is_ours = installed.and_then(|head| head.origin).is_some_and(|origin| origin.location() == source);
        let done = match is_ours {
            true => self.update_for_client(&name, &request),
            false => {
                let specs = vec![Spec::Archive(source.clone())];
                self.install_for_client(&InstallRequest { specs, ..InstallRequest::default() }, &request)
            }
        };
        // On a conflict, the proposal refers to the new archive's files and may still be accepted.
        if done.as_ref().is_err_and(|error| error.failure.code != "merge_conflict") {
            match before {
                Some(before) => write_private(&folder, &file, &before),
                None => folder.remove_file(&file),
            }
            .map_err(Refusal::io)?;
        }
        done.map_err(|refusal| match refusal.failure.code {
            "exists" if is_taken => {
                taken(&name, &refusal.message.replace(&format!("the archive {source}"), "the upload"))
            }
            _ => refusal,
        })
    }

    /// Reads an archive below the configured upload folder.
    ///
    /// # Errors
    /// No folder is configured, the file does not exist, or its path leads out of the folder.
    pub fn upload(&self, path: &str) -> Result<Vec<u8>, Refusal> {
        let folder = self.config.skills.uploads(&self.user_home).ok_or_else(no_folder)?;
        read_below(&folder, Path::new(path)).map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                Refusal::new(FailureKind::NotFound, "not_found", format!("the upload folder has no file {path}"))
            }
            ErrorKind::PermissionDenied => Refusal::new(
                FailureKind::Refused,
                "policy_denied",
                format!("{path} cannot be read, or leads out of the upload folder"),
            ),
            ErrorKind::InvalidInput | ErrorKind::NotADirectory => {
                Refusal::new(FailureKind::Invalid, "invalid_path", format!("{path} is not a file"))
            }
            _ => Refusal::io(error),
        })
    }
}

fn exists(name: &SkillName) -> Refusal {
    Refusal::new(FailureKind::Conflict, "exists", format!("{name} is already installed"))
        .hint("send \"update\": true to update it to this archive")
}

/// Returns the refusal of an upload whose name another skill has. The stored archive, which it would name, is gone.
fn taken(name: &SkillName, message: &str) -> Refusal {
    Refusal::new(FailureKind::Conflict, "exists", message).hint(
        Hint::from("give the skill another name in its SKILL.md, or delete the one that has it: ")
            .step(NextStep::Delete(name.to_string())),
    )
}

fn no_folder() -> Refusal {
    Refusal::request("this gateway has no upload folder")
        .hint("set one in config.toml, `[skills] uploads = \"/srv/threads\"`, or send the archive's bytes")
}
