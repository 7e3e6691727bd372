//! [`Crowd`]: concurrent writers, readers and optionally an editor, until all operations are done.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Instant,
};

use serde_json::{Value, json};

use super::{
    check,
    editor::{Editor, Save},
    walker,
    writer::Writer,
};
use crate::support::Sandbox;

/// Number of concurrent writers.
const WRITERS: usize = 16;

/// Default number of operations per writer.
const OPERATIONS: usize = 8;

/// Configuration of the concurrent workers.
pub struct Crowd {
    skills: usize,
    operations: usize,
    editor: Option<Save>,
}

impl Crowd {
    /// Creates writers that share this many skills.
    pub fn on_skills(skills: usize) -> Self {
        let asked = std::env::var("SKILLHUB_CROWD_OPERATIONS").ok().map(|text| text.parse().unwrap());
        Self { skills, operations: asked.unwrap_or(OPERATIONS), editor: None }
    }

    /// Adds an editor that keeps saving SKILL.md of the first skill by hand.
    pub fn with_editor(self, save: Save) -> Self {
        Self { editor: Some(save), ..self }
    }

    fn writer<'a>(&self, sandbox: &'a Sandbox, at: usize, skill: &str) -> Writer<'a> {
        Writer::new(sandbox, at, skill.to_owned(), self.editor.is_none())
    }

    /// Runs all members, then checks the library against their acknowledgements.
    pub fn run(self, what: &str) {
        let sandbox = Sandbox::new();
        let body: String = (0..WRITERS).map(|at| format!("Writer {at} has done nothing.\n\n")).collect();
        let names: Vec<String> = (0..self.skills).map(|at| format!("skill-{at}")).collect();
        names.iter().for_each(|name| drop(sandbox.create(name, &body)));
        let (done, began) = (AtomicBool::new(false), Instant::now());
        let mut writers: Vec<Writer<'_>> =
            (0..WRITERS).map(|at| self.writer(&sandbox, at, &names[at % self.skills])).collect();
        let editor = self.editor.map(|save| Editor::new(&sandbox, &names[0], save));
        let (saved, walks) = thread::scope(|scope| {
            let editor = editor.map(|editor| scope.spawn(|| editor.work(&done)));
            let walker = scope.spawn(|| walker::walk(&sandbox, &names[0], &done));
            let work = |writer: &mut Writer<'_>| (0..self.operations).for_each(|step| writer.work(step));
            let all: Vec<_> = writers.iter_mut().map(|writer| scope.spawn(move || work(writer))).collect();
            let ended: Vec<_> = all.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
            done.store(true, Ordering::Relaxed);
            ended.into_iter().for_each(|result| result.unwrap());
            (editor.map(|editor| editor.join().unwrap()).unwrap_or_default(), walker.join().unwrap())
        });
        let mut refused = BTreeMap::<String, usize>::new();
        let codes = writers.iter().flat_map(|writer| &writer.refused);
        codes.for_each(|code| *refused.entry(code.clone()).or_default() += 1);
        let acknowledged: Vec<_> = writers.into_iter().map(|writer| writer.acknowledged).collect();
        println!(
            "{what}: {} operations in {:.1} s, {} acknowledged, refused {refused:?}, {} saved by hand; {walks}",
            WRITERS * self.operations,
            began.elapsed().as_secs_f64(),
            acknowledged.iter().map(Vec::len).sum::<usize>(),
            saved.len(),
        );
        assert!(walks.cut == 0 || self.editor == Some(Save::InPlace), "nobody but an editor leaves half a file");
        if self.editor.is_some() {
            sandbox.request(&last_word(&names[0]));
        }
        names.iter().for_each(|name| check::history(&sandbox, name, &acknowledged));
        check::nothing_left_over(&sandbox, &names);
        if self.editor.is_some() {
            check::saved(&sandbox, &names[0], &saved);
        } else {
            names.iter().for_each(|name| check::only_acknowledged(&sandbox, name, &acknowledged));
        }
    }
}

/// Returns a final operation, which records the editor's last save.
fn last_word(name: &str) -> Value {
    json!({"action": "write_file", "name": name, "path": "references/last.md", "content": "The last word.\n"})
}
