//! [`read_state`] and others: what a library keeps in the home, as it is found there.

use std::fs;

use library::Library;

use super::super::place::Place;

/// A library whose file of this name in the home is the text.
fn library(file: &str, text: &str) -> (Place, Library) {
    let place = Place::new();
    let library = place.open();
    let path = library.own_path().join(file);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder is made");
    fs::write(path, text).expect("a file is written");
    (place, library)
}

pub(super) fn read_state(text: &str) {
    for text in [text, &format!("format = 1\n{text}")] {
        let (_place, library) = library("state.toml", text);
        let _either_way = library.state();
    }
}

pub(super) fn read_events(text: &str) {
    let (_place, library) = library("events.jsonl", text);
    assert!(library.events().expect("the log reads").0.len() <= text.len());
}

/// The rows of a table of uses and of outcomes.
pub(super) fn read_uses(text: &str) {
    let (_place, library) = library("uses.jsonl", text);
    assert!(library.uses().expect("the log reads").len() <= text.len());
}

pub(super) fn read_proposal(text: &str) {
    let (_place, library) = library("proposals/p1.json", text);
    assert!(library.open_proposals().expect("the queue reads").len() <= 1);
}

/// The lines that a commit left for the lock file.
pub(super) fn read_lock_lines(text: &str) {
    let (_place, library) = library("lock-lines.json", text);
    let _either_way = client::write_pending_lines(&library);
}

pub(super) fn read_journal(text: &str) {
    let (place, library) = library("journal", text);
    let _either_way = (library.journal_state(), place.reopen());
}
