//! Benchmark of the catalogue: `catalogue [COUNT]` creates a library of COUNT skills (10,000) in a temporary folder,
//! and prints the time of a first answer, a cached one, and one after a change by another program, with the memory of
//! the process.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "an example for the desk, not for users")]

use std::{fs, path::Path, time::Instant};

use agent::{CatalogueCache, Form, ListOptions, SkillLocations, prompt};
use library::{Home, Scope};

fn make(library: &Path, count: usize) {
    for number in 0..count {
        let folder = library.join(format!("skill-{number:05}"));
        fs::create_dir_all(&folder).unwrap();
        let words = "Reads a table that is named, checks each row and writes a report. ".repeat(3);
        let text = format!(
            "---\nname: skill-{number:05}\ndescription: {words}Use for table {number}.\n---\n\n# Do\n\n{words}\n"
        );
        fs::write(folder.join("SKILL.md"), text).unwrap();
    }
}

/// Returns the time in milliseconds and the size in bytes of one answer.
fn answer(live: &CatalogueCache) -> (f64, usize) {
    let began = Instant::now();
    let look = ListOptions::of(Form::XML);
    let bytes = live.with(|catalogue| prompt(&catalogue.visible().collect::<Vec<_>>(), &[], look).len()).unwrap();
    (began.elapsed().as_secs_f64() * 1e3, bytes)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = |name: &str| status.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    format!("{}, {}", line("VmRSS"), line("VmHWM"))
}

fn main() {
    let count: usize = std::env::args().nth(1).map_or(10_000, |count| count.parse().unwrap());
    let place = tempfile::tempdir_in(".").unwrap();
    let library = place.path().join("skills");
    make(&library, count);
    let home = Home::at(place.path().join("home")).unwrap();
    let libraries = vec![(library, Scope::User)];
    let places =
        SkillLocations { home, storage: "git".to_owned(), libraries, folders: Vec::new(), project: None, inner: false };
    let (scanned, bytes) = answer(&CatalogueCache::new(places.clone(), Vec::new()));
    let live = CatalogueCache::new(places.clone(), Vec::new());
    let (cold, _) = answer(&live);
    let warm = median((0..101).map(|_| answer(&live).0).collect());
    let again = median(
        (0..11)
            .map(|_| {
                live.reload();
                answer(&live).0
            })
            .collect(),
    );
    println!("{count} skills, a list of {bytes} bytes");
    println!("first look ever, each skill scanned   {scanned:9.1} ms");
    println!("cold: a new process that knows them   {cold:9.1} ms");
    println!("looked at again after the bound       {again:9.1} ms");
    println!("warm, from what is kept               {warm:9.1} ms");
    println!("memory: {}", memory());
}
