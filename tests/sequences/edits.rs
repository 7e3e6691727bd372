//! Steps that are commands of skillhub.

use std::fs;

use super::world::{NAMES, World};
use crate::support::{
    Answer,
    layout::{Source, mark, put, text},
};

/// Number of operations in `undo --list` from which a step chooses.
const LATEST: u64 = 6;

pub fn patch(world: &mut World) -> Option<Answer> {
    let name = world.present_one()?;
    let version = world.next_version();
    let old = world.text(name).and_then(|text| version_in(&text, name)).unwrap_or(1);
    let (find, replace) = (mark(name, old), mark(name, version));
    world.change(&["manage", "patch", name, "--find", &find, "--replace", &replace, "--replace-all"], b"")
}

/// Returns the version whose mark is in a text.
fn version_in(text: &str, name: &str) -> Option<u32> {
    let (_, after) = text.split_once(&format!("mark-{name}-v"))?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

pub fn edit(world: &mut World) -> Option<Answer> {
    let name = world.present_one()?;
    let text = text(name, world.next_version());
    world.change(&["manage", "edit", name, "--content", "-"], text.as_bytes())
}

pub fn write_file(world: &mut World) -> Option<Answer> {
    let name = world.present_one()?;
    let version = world.next_version();
    let files = ["references/notes.md", "assets/form.txt", "scripts/run.sh", "evals/evals.json"];
    let path = world.pick(&files)?;
    let content = match path {
        "scripts/run.sh" => format!("#!/bin/sh\necho {version}\n"),
        "evals/evals.json" => format!("{{\"skill_name\": \"{name}\", \"evals\": [], \"version\": {version}}}\n"),
        _ => format!("Note {version}.\n"),
    };
    world.change(&["manage", "write_file", name, "--path", path, "--content", "-"], content.as_bytes())
}

pub fn remove_file(world: &mut World) -> Option<Answer> {
    let name = world.present_one()?;
    let path = world.pick(&["references/notes.md", "assets/form.txt", "scripts/run.sh"])?;
    world.change(&["manage", "remove_file", name, "--path", path], b"")
}

pub fn create(world: &mut World) -> Option<Answer> {
    let free = world.free();
    let name = world.pick(&free).or_else(|| world.present_one())?;
    let text = text(name, world.next_version());
    world.change(&["manage", "create", name, "--content", "-"], text.as_bytes())
}

pub fn delete(world: &mut World) -> Option<Answer> {
    let name = world.present_one()?;
    world.change(&["manage", "delete", name], b"")
}

pub fn roll_back(world: &mut World) -> Option<Answer> {
    let name = world.pick(&NAMES)?;
    if world.chance(2) {
        return world.change(&["rollback", name], b"");
    }
    let number = (world.random.below(6) + 1).to_string();
    world.change(&["rollback", name, &number], b"")
}

/// Resolves a blocked edit, or returns from a branch.
pub fn roll_back_to_head(world: &mut World) -> Option<Answer> {
    let name = world.pick(&NAMES)?;
    world.change(&["rollback", name, "head"], b"")
}

pub fn undo(world: &mut World) -> Option<Answer> {
    world.change(&["undo"], b"")
}

pub fn undo_to(world: &mut World) -> Option<Answer> {
    let list = world.run(&["undo", "--list"], b"").done();
    let at = usize::try_from(world.random.below(LATEST)).unwrap();
    let id = list["operations"].as_array().unwrap().get(at)?["id"].as_str().unwrap().to_owned();
    world.change(&["undo", "--to", &id], b"")
}

pub fn commit(world: &mut World) -> Option<Answer> {
    let name = world.present_one()?;
    match world.random.below(3) {
        0 => world.change(&["commit", "--reason", "by the test"], b""),
        1 => world.change(&["commit", name, "--reason", "by the test"], b""),
        _ => Some(world.run_as_person(&["commit", name, "--reason", "by a person"])),
    }
}

pub fn pin(world: &mut World) -> Option<Answer> {
    let name = world.present_one()?;
    world.change(&["pin", name], b"")
}

pub fn unpin(world: &mut World) -> Option<Answer> {
    for name in world.present() {
        world.run_as_person(&["unpin", name]);
    }
    None
}

pub fn disable(world: &mut World) -> Option<Answer> {
    let name = world.present_one()?;
    world.change(&["disable", name], b"")
}

pub fn enable(world: &mut World) -> Option<Answer> {
    let disabled = world.disabled();
    let name = world.pick(&disabled).or_else(|| world.present_one())?;
    world.change(&["enable", name], b"")
}

pub fn hide(world: &mut World) -> Option<Answer> {
    let (name, agent) = (world.present_one()?, agent(world));
    world.change(&["disable", name, "--agent", agent], b"")
}

pub fn show(world: &mut World) -> Option<Answer> {
    let (name, agent) = (world.present_one()?, agent(world));
    let link: &[&str] = if world.chance(2) { &["--link"] } else { &[] };
    world.change(&[&["enable", name, "--agent", agent], link].concat(), b"")
}

/// Chooses a host, usually Claude Code, which needs a link.
fn agent(world: &mut World) -> &'static str {
    let hosts = world.hosts.clone();
    if world.chance(5) { world.pick(&hosts).unwrap().id } else { "claude-code" }
}

pub fn install(world: &mut World) -> Option<Answer> {
    let name = world.pick(&NAMES)?;
    let version = world.next_version();
    match world.layout.source {
        Source::Registry => {
            world.layout.release(name, version);
            world.change(&["install", &format!("acme/{name}")], b"")
        }
        Source::Git => {
            world.layout.release(name, version);
            let spec = format!("git+{}#skills/{name}", world.layout.upstream());
            world.change(&["install", &spec], b"")
        }
        Source::Here => {
            put(&world.layout.sandbox.path("sources"), name, version);
            world.change(&["install", &format!("../sources/{name}")], b"")
        }
    }
}

pub fn uninstall(world: &mut World) -> Option<Answer> {
    let name = world.present_one()?;
    world.change(&["uninstall", name], b"")
}

pub fn update(world: &mut World) -> Option<Answer> {
    let name = world.present_one()?;
    let version = world.next_version();
    if world.chance(2) {
        world.layout.release(name, version);
    }
    match world.random.below(3) {
        0 => world.change(&["update"], b""),
        1 => world.change(&["update", name, "--theirs"], b""),
        _ => world.change(&["update", name], b""),
    }
}

pub fn gc(world: &mut World) -> Option<Answer> {
    world.change(&["gc"], b"")
}

pub fn doctor_fix(world: &mut World) -> Option<Answer> {
    world.change(&["doctor", "--fix"], b"")
}

/// Runs a command that `list` names for a difference, as a person would.
pub fn follow_hint(world: &mut World) -> Option<Answer> {
    let list = world.run(&["list"], b"").json();
    let of = |key: &str, field: &str| {
        let all = list[key].as_array().unwrap().clone();
        all.into_iter().map(|one| one[field].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let hints = [of("differences", "hint"), of("lacking", "command")].concat();
    let hint = world.pick(&hints)?.replace("TEXT", "hint");
    if let Some(paths) = hint.strip_prefix("mv ") {
        let (from, to) = paths.split_once(' ')?;
        let _nothing_is_there = fs::remove_dir_all(to);
        fs::rename(from, to).unwrap();
        world.note(hint);
        return None;
    }
    let words: Vec<&str> = hint.split(' ').skip(1).filter(|word| *word != "--global").collect();
    Some(world.run_as_person(&words))
}
