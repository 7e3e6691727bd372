//! [`read_request`] and others: the files and messages that machines write.

use std::path::Path;

use client::{Config, LockFile};
use evolve::{
    Host, Transcripts,
    evals::{self, EvalLimits},
};
use registry_index::{Entry, OwnerFile};
use skill::{Limits, archive};
use skill_manage::ChangeRequest;

use super::skill;

/// Members of an archive that a record can count.
const MEMBERS: usize = 65_535;

/// An archive with the text's lines as the names of empty members.
pub(super) fn unpack(text: &str) {
    let (mut archive, mut directory, mut count) = (Vec::new(), Vec::new(), 0_u16);
    for name in text.lines().filter(|name| name.len() < MEMBERS).take(MEMBERS) {
        let offset = (archive.len() as u32).to_le_bytes();
        // Version, flags for UTF-8, stored, a time and a date, then no checksum and no sizes.
        let mut shared = vec![20, 0, 0, 8, 0, 0, 0, 0, 0x21, 0];
        shared.extend([0; 12]);
        shared.extend((name.len() as u16).to_le_bytes());
        shared.extend([0; 2]);
        archive.extend([b"PK\x03\x04", &*shared, name.as_bytes()].concat());
        // No comment, the first disk and no attributes.
        directory.extend([b"PK\x01\x02\x14\x03", &*shared, &[0; 12], &offset, name.as_bytes()].concat());
        count += 1;
    }
    let (start, count) = ((archive.len() as u32).to_le_bytes(), count.to_le_bytes());
    let size = (directory.len() as u32).to_le_bytes();
    archive.extend([&*directory, b"PK\x05\x06\0\0\0\0", &count, &count, &size, &start, &[0; 2]].concat());
    let _either_way = archive::unpack(&archive, &Limits::default());
    let _either_way = archive::unpack(text.as_bytes(), &Limits::default());
}

pub(super) fn read_evals(text: &str) {
    if let Some(skill) = skill(&[("evals/evals.json", text)]) {
        let _either_way = evals::read(&skill, &EvalLimits::default());
    }
}

pub(super) fn read_lock_file(text: &str) {
    let whole = format!("format = 1\n{text}");
    for text in [text, &whole] {
        if let Ok(file) = LockFile::parse(text, Path::new("skillhub.lock")) {
            assert!(LockFile::parse(&file.to_text(), file.path()).is_ok());
        }
    }
}

pub(super) fn read_index(text: &str) {
    for line in text.lines() {
        let _either_way = Entry::parse(line);
    }
    let _either_way = registry_index::Config::parse(text.as_bytes());
    let _either_way = OwnerFile::parse(text.as_bytes());
}

pub(super) fn edit_json_settings(text: &str) {
    edit_settings("claude-code", text);
}

/// The settings of a host, and our own.
pub(super) fn edit_toml_settings(text: &str) {
    edit_settings("codex", text);
    let _either_way = Config::parse(text, Path::new("a"));
}

fn edit_settings(host: &str, text: &str) {
    let (file, entry) = (Path::new("a"), mcp::hosts::ServerEntry { command: "skillhub".to_owned(), args: Vec::new() });
    let host = mcp::hosts::Host::find(host).expect("a host");
    if let Ok(written) = host.written(file, text, &entry) {
        assert!(host.removed(file, &written).is_ok());
    }
}

pub(super) fn read_transcript(text: &str) {
    let mut found = Transcripts::default();
    Host::ALL.into_iter().for_each(|host| found.add(host, text.as_bytes()));
    assert!(found.uses.len() <= Host::ALL.len() * text.len());
}

pub(super) fn read_request(text: &str) {
    let _either_way = ChangeRequest::from_json(text.as_bytes(), &Limits::default());
}
