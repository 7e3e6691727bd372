//! [`install()`] and [`read`]: archives that clients of the gateway upload, or leave in a folder.

use std::{
    io::ErrorKind,
    path::Path,
    sync::{Mutex, PoisonError},
};

use client::{InstallRequest, Spec, read_below, upload_name};
use gateway::Upload;
use library::{ensure_private_dir, read_bounded, write_private};
use serde_json::Value;
use skill::{Limits, SkillName};

use crate::{
    commands::{install, update},
    context::Context,
    exit::{CliError, Exit, failed},
};

/// The folder of a library's own files with the archives that were uploaded to it, one for each skill.
const FOLDER: &str = "uploads";

/// Held from the moment that an archive is kept until it is installed.
static INSTALLING: Mutex<()> = Mutex::new(());

/// Installs an archive. It is kept under the skill's name: a later upload is an update from the same place.
///
/// # Errors
/// It cannot be read, it is blocked, or something is in its way. What was kept before is kept then.
pub fn install(context: &Context, archive: &[u8], upload: &Upload) -> Result<Value, CliError> {
    let _one_at_a_time = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(thread) = &upload.thread {
        // A context is that of one request.
        let _set_once = context.thread.set(thread.clone());
    }
    let library = context.library()?;
    let name = upload_name(archive, &upload.file).map_err(failed)?;
    let installed = library.head(&name)?.filter(|head| !head.tombstone);
    if upload.is_new && installed.is_some() && context.seen()?(name.as_str()) {
        return Err(exists(&name));
    }
    let path = library.own_path().join(FOLDER);
    let (folder, file) = (ensure_private_dir(&path).map_err(failed)?, format!("{name}.skill"));
    let before = read_bounded(&folder, &file, Limits::default().archive_bytes)?;
    write_private(&folder, &file, archive)?;
    let source = library::resolve(&path.join(&file))?.display().to_string();
    let is_ours = installed.and_then(|head| head.origin).is_some_and(|origin| origin.source == source);
    let done = match is_ours {
        true => update::without_flags(context, &name),
        false => {
            let specs = vec![Spec::Archive(source)];
            install::without_flags(context, &InstallRequest { specs, ..InstallRequest::default() })
        }
    };
    // A proposal holds the new archive's files, and may be accepted.
    if done.as_ref().is_err_and(|error| error.code != "merge_conflict") {
        match before {
            Some(before) => write_private(&folder, &file, &before)?,
            None => folder.remove_file(&file)?,
        }
    }
    done
}

fn exists(name: &SkillName) -> CliError {
    CliError::new("exists", Exit::Conflict, format!("{name} is installed already"))
        .hint("send \"update\": true as well to bring it to this archive")
}

/// Reads an archive below the folder that the configuration names.
///
/// # Errors
/// No folder is named, the file is not there, or its path leads out of the folder.
pub fn read(context: &Context, path: &str) -> Result<Vec<u8>, CliError> {
    let folder = context.config.skills.uploads(&context.user_home).ok_or_else(no_folder)?;
    read_below(&folder, Path::new(path)).map_err(|error| match error.kind() {
        ErrorKind::NotFound => CliError::new("not_found", Exit::NotFound, format!("there is no file {path}")),
        ErrorKind::PermissionDenied => {
            CliError::new("policy_denied", Exit::Refused, format!("{path} may not be read, or leads out of its folder"))
        }
        ErrorKind::InvalidInput | ErrorKind::NotADirectory => {
            CliError::new("invalid_path", Exit::Invalid, format!("{path} is not a file"))
        }
        _ => error.into(),
    })
}

fn no_folder() -> CliError {
    CliError::new("invalid_request", Exit::Usage, "this gateway has no folder of uploads")
        .hint("name one in config.toml, `[skills] uploads = \"/srv/threads\"`, or send the archive's bytes")
}
