//! [`Editor`]: someone who opens a skill's SKILL.md, adds a line and saves, over and over.

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use crate::support::Sandbox;

/// Pause of the editor between looks.
const PAUSE: Duration = Duration::from_millis(2);

/// Saving strategy of an editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Save {
    /// Written beside and renamed over.
    Rename,
    /// The file itself is cut and written.
    InPlace,
}

/// Saves a text and, once someone else changed the file, the next one: what its own author saves over
/// is nobody's to keep.
pub struct Editor {
    file: PathBuf,
    save: Save,
}

impl Editor {
    pub fn new(sandbox: &Sandbox, skill: &str, save: Save) -> Self {
        Self { file: sandbox.user_skill(skill).join("SKILL.md"), save }
    }

    /// Works until `done` is set; returns the texts that were saved.
    pub fn work(self, done: &AtomicBool) -> Vec<String> {
        let mut saved: Vec<String> = Vec::new();
        while !done.load(Ordering::Relaxed) {
            let text = fs::read_to_string(&self.file).unwrap_or_default();
            if text.is_empty() || saved.last() == Some(&text) {
                thread::sleep(PAUSE);
                continue;
            }
            let text =
                format!("{}\nThe editor was here, {}.\n", text.split("\nThe editor").next().unwrap(), saved.len());
            if self.save(&text).is_ok() {
                saved.push(text);
            }
        }
        saved
    }

    fn save(&self, text: &str) -> std::io::Result<()> {
        if self.save == Save::InPlace {
            return fs::write(&self.file, text);
        }
        let beside = self.file.with_file_name("SKILL.md~");
        fs::write(&beside, text)?;
        fs::rename(&beside, &self.file)
    }
}
