//! Processes that are killed in the midst of their commits, for real.

use std::{env, io::Write, process::Command, thread, time::Duration};

use super::*;

const PLACE: &str = "SKILLHUB_TEST_KILLED_PLACE";
const KILLS: u64 = 12;

/// What the killed process does; without its variable it is no test of its own.
#[test]
fn commits_until_it_is_killed() {
    let Some(place) = env::var_os(PLACE).map(PathBuf::from) else { return };
    let home = Home::at(place.join("home")).unwrap();
    let mut library = Library::open(&place.join("skills"), Scope::User, &home, "git").unwrap();
    let mut reported = fs::OpenOptions::new().append(true).create(true).open(place.join("reported")).unwrap();
    loop {
        let number = library.head(&name("pdf")).unwrap().map_or(0, |head| head.number);
        let committed = put(&mut library, &bundle("pdf", &number.to_string(), &[("notes.md", "x")]));
        writeln!(reported, "{}", committed.revision.id).unwrap();
    }
}

#[test]
fn what_was_reported_outlives_the_kill_and_the_folder_follows() {
    let place = Place::new();
    for kill in 0..KILLS {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "library::tests::killed::commits_until_it_is_killed"])
            .env(PLACE, place.temp.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(60 + 7 * kill));
        child.kill().unwrap();
        child.wait().unwrap();
        let library = place.open();
        let history = library.revisions(&name("pdf"), usize::MAX).unwrap();
        let reported = fs::read_to_string(place.temp.path().join("reported")).unwrap_or_default();
        for id in reported.lines().filter(|line| line.len() == 40) {
            assert_eq!(history.iter().filter(|revision| revision.id.as_str() == id).count(), 1, "{id}");
        }
        assert!(history.iter().all(|revision| revision.action == Action::Edit), "no kill looks like a hand edit");
        assert!(history.is_empty() || is_clean(&library, "pdf"));
        assert_eq!(library.events().unwrap().0.len(), history.len());
    }
    assert!(place.open().revisions(&name("pdf"), usize::MAX).unwrap().len() > 1, "the processes did commit");
    place.git(&["fsck", "--strict", "--no-dangling"]);
}
