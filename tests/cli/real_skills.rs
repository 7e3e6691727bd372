//! Real skills through every operation.

use std::path::{Path, PathBuf};

use super::journey::{Journey, OWNER};
use crate::support::{Sandbox, snapshot};

/// The skills as names and folders.
fn named_skills() -> Vec<(String, PathBuf)> {
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    testkit::skills().into_iter().map(|path| (name(&path), path)).collect()
}

/// Calls a function for every skill, two at a time.
fn each(skills: &[(String, PathBuf)], work: impl Fn(&str, &Path) + Sync) {
    let (left, right) = skills.split_at(skills.len() / 2);
    let work = &work;
    std::thread::scope(|scope| {
        for half in [left, right] {
            scope.spawn(move || half.iter().for_each(|(name, folder)| work(name, folder)));
        }
    });
}

#[test]
fn real_skills_are_valid_and_not_blocked() {
    let skills = named_skills();
    let sandbox = Sandbox::new();
    let paths: Vec<&str> = skills.iter().map(|(_, path)| path.to_str().unwrap()).collect();
    let checked = sandbox.ask(&[&["validate"], &paths[..]].concat()).json();
    let invalid: Vec<_> = checked["skills"].as_array().unwrap().iter().filter(|skill| skill["valid"] != true).collect();
    assert!(invalid.is_empty(), "{invalid:#?}");
    let scanned = sandbox.ask(&[&["scan"], &paths[..]].concat()).json();
    let blocked: Vec<_> =
        scanned["skills"].as_array().unwrap().iter().filter(|skill| skill["verdict"] == "block").collect();
    assert!(blocked.is_empty(), "{blocked:#?}");
    assert_eq!(scanned["skills"].as_array().unwrap().len(), skills.len());
}

#[test]
fn real_skills_survive_the_whole_cycle() {
    let skills = named_skills();
    let sandbox = Sandbox::new();
    let job = Journey::new(&sandbox);
    each(&skills, |name, folder| {
        job.pack(name, folder);
        job.publish(name, folder);
    });
    let specs: Vec<String> = skills.iter().map(|(name, _)| format!("{OWNER}/{name}")).collect();
    let specs: Vec<&str> = specs.iter().map(String::as_str).collect();
    let installed = job.done(&[&["install"], &specs[..]].concat());
    assert!(installed["skills"].as_array().unwrap().iter().all(|skill| skill["status"] == "installed"));
    each(&skills, |name, folder| {
        assert_eq!(job.installed(name), snapshot(folder), "{name} is installed otherwise than published");
        job.change_and_take_back(name);
        job.delete_and_restore(name);
    });
    job.done(&["index", "verify", &job.registry]);
}
