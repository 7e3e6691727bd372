//! [`Editor`]: repeatedly opens a skill's SKILL.md, adds a line and saves.

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
    /// Written to a temporary file and renamed over the original.
    Rename,
    /// Truncated and written in place.
    InPlace,
}

/// Saves a text and, if another program changed the file meanwhile, the next one: a text that its own author overwrites
/// need not be preserved.
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
