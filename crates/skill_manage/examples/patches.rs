//! Benchmark of changes in a running process: `patches [COUNT]` patches one line of a 22 KB SKILL.md COUNT times, and
//! prints the wall and CPU time per patch and the size of the home.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "an example for the desk, not for users")]

use std::{fs, path::Path, time::Instant};

use jiff::Timestamp;
use library::{Home, Library, Scope};
use skill::Limits;
use skill_manage::{ChangeRequest, Context, Policy, manage};

const FIRST: usize = 20;

fn text() -> String {
    let words = "Read the table that is named first, then write each row with its heading. ".repeat(4);
    let parts: String = (0..68).map(|part| format!("## Part {part}\n\n{words}\n\n")).collect();
    format!(
        "---\nname: measured\ndescription: Reads tables. Use when a table is given.\n---\n\nThe counter is 0.\n\n{parts}"
    )
}

/// Returns the CPU time of this process in nanoseconds.
fn cpu() -> u64 {
    let stat = fs::read_to_string("/proc/self/schedstat").unwrap();
    stat.split(' ').next().unwrap().parse().unwrap()
}

fn change(library: &mut Library, request: &serde_json::Value) {
    let request = ChangeRequest::from_json(request.to_string().as_bytes(), &Limits::default()).unwrap();
    let actor = "agent:measure".parse().unwrap();
    let context = Context { actor, time: Timestamp::now(), policy: Policy::default(), surroundings: &Vec::new };
    manage(library, &request, &context).unwrap();
}

fn patch(library: &mut Library, count: usize) {
    let (find, replace) = (format!("The counter is {count}."), format!("The counter is {}.", count + 1));
    change(library, &serde_json::json!({"action": "patch", "name": "measured", "find": find, "replace": replace}));
}

fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| if entry.path().is_dir() { size(&entry.path()) } else { entry.metadata().unwrap().len() }).sum()
}

fn main() {
    let count: usize = std::env::args().nth(1).map_or(500, |count| count.parse().unwrap());
    let place = tempfile::tempdir_in(".").unwrap();
    let home = Home::at(place.path().join("home")).unwrap();
    let mut library = Library::open(&place.path().join("library"), Scope::User, &home, "git").unwrap();
    change(&mut library, &serde_json::json!({"action": "create", "name": "measured", "content": text()}));
    (0..FIRST).for_each(|count| patch(&mut library, count));
    let (began, before) = (Instant::now(), cpu());
    (FIRST..FIRST + count).for_each(|count| patch(&mut library, count));
    let (wall, used) = (began.elapsed().as_secs_f64(), cpu() - before);
    let one = |seconds: f64| seconds * 1e3 / count as f64;
    println!(
        "{count} patches in a running process: {:.2} ms and {:.2} ms of CPU each",
        one(wall),
        one(used as f64 / 1e9)
    );
    println!("the home takes {} KB for {} revisions", size(&place.path().join("home")) / 1000, count + FIRST + 1);
}
