//! What the command line tells of a [`Catalogue`].

use std::path::PathBuf;

use agent::{Builtin, Catalogue};
use client::{LOCK_FILE, LockFile};
use library::{
    Library,
    folder::{self, ToolFiles},
};
use serde_json::{Value, json};
use skill::{Limits, SkillName, counted};

use crate::{context::Context, exit::Exit, print::Output};

/// The folder in the home with the files of skills that are read only, for agents that read by paths. What is not as it
/// has to be is written again.
pub fn public_folder(context: &Context, skills: &[Builtin]) -> Option<PathBuf> {
    context.home.ensure().ok()?;
    let place = context.home.path().join("builtin");
    let dir = folder::create_at(&place).ok()?;
    for Builtin { name, files, .. } in skills {
        let is_current = || {
            folder::read(&dir, name.as_str(), ToolFiles::Skip, &Limits::default())
                .is_ok_and(|found| folder::has_content(&found, files))
        };
        if !is_current() {
            let fresh = format!(".skillhub-{name}-{:x}", library::random_process_id());
            folder::write(&dir, &fresh, files).ok()?;
            let _absent = dir.remove_dir_all(name.as_str());
            if dir.rename(&fresh, &dir, name.as_str()).is_err() {
                // Another process was first.
                dir.remove_dir_all(&fresh).ok()?;
                is_current().then_some(())?;
            }
        }
    }
    Some(place)
}

/// Returns the next step if the lock file lists skills that the library never had, as in a new clone.
pub fn next_of_clone(context: &Context, library: &Library) -> Option<String> {
    let lock = LockFile::read(&context.lock_path(library)).ok()?;
    let is_new = |name: &SkillName| library.head(name).is_ok_and(|head| head.is_none());
    let count = lock.skills().filter(|locked| is_new(locked.bare_name())).count();
    (count > 0).then(|| format!("`skillhub install` installs {} of {LOCK_FILE}", counted(count, "skill")))
}

/// What is damaged of single skills, which the others do not suffer from: told to people, and as a part
/// of the document.
pub fn problems(catalogue: &Catalogue, out: Output) -> Vec<Value> {
    let damaged = catalogue.skills.iter().filter(|listed| listed.damaged);
    damaged.map(|listed| problem(out, &listed.name, listed.fault.as_deref().unwrap_or_default())).collect()
}

/// Tells people of one skill that is damaged; gives what the document says of it.
pub fn problem(out: Output, name: &SkillName, why: &str) -> Value {
    out.note(&format!("{name}: {why}; run `skillhub doctor`"));
    json!({"skill": name.as_str(), "code": "damaged_history", "message": why})
}

/// The exit code of an answer that goes on without damaged skills.
pub fn exit_with(problems: &[Value]) -> Exit {
    if problems.is_empty() { Exit::Done } else { Exit::Integrity }
}
