//! Processes that are really killed during their commits.

use std::{
    env,
    io::Write,
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};

use super::*;

const PLACE: &str = "SKILLHUB_TEST_KILLED_PLACE";
const KILLS: u64 = 12;

/// Body of the killed process. Does nothing unless its environment variable is set.
#[test]
fn commits_until_killed() {
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

fn start(place: &Fixture) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "library::tests::killed::commits_until_killed"])
        .env(PLACE, place.temp.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits until a process has reported another commit.
fn wait_for_a_report(place: &Fixture) {
    let len = || fs::metadata(place.temp.path().join("reported")).map_or(0, |file| file.len());
    let (before, end) = (len(), Instant::now() + Duration::from_secs(60));
    while len() == before && Instant::now() < end {
        thread::sleep(Duration::from_millis(1));
    }
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Asserts that every reported revision is in the history exactly once.
fn assert_all_reported(place: &Fixture, history: &[Revision]) {
    let reported = fs::read_to_string(place.temp.path().join("reported")).unwrap_or_default();
    for id in reported.lines().filter(|line| line.len() == 40) {
        assert_eq!(history.iter().filter(|revision| revision.id.as_str() == id).count(), 1, "{id}");
    }
}

/// Removes temporary folders like `doctor --fix` does, and asserts that none are left.
fn assert_swept(place: &Fixture, library: &mut Library) {
    for name in library.temporary_names().unwrap() {
        assert!(library.remove_leftover(&name).unwrap(), "{name}: {:?}", library.temporary_kind(&name));
    }
    assert!(place.names().iter().all(|name| name == "pdf"), "{:?}", place.names());
}

#[test]
fn reported_commits_survive_a_kill() {
    let place = Fixture::new();
    for number in 0..KILLS {
        let child = start(&place);
        if number % 2 == 0 {
            wait_for_a_report(&place);
        }
        thread::sleep(Duration::from_millis(7 * number));
        kill(child);
        let mut library = place.open();
        let history = library.revisions(&name("pdf"), usize::MAX).unwrap();
        assert_all_reported(&place, &history);
        assert!(history.iter().all(|revision| revision.action == Action::Edit), "no kill looks like a hand edit");
        assert!(history.is_empty() || is_clean(&library, "pdf"));
        assert_eq!(library.events().unwrap().0.len(), history.len());
        if number % 3 == 2 {
            assert_swept(&place, &mut library);
        }
    }
    assert!(place.open().revisions(&name("pdf"), usize::MAX).unwrap().len() > 1, "the processes did commit");
    place.git(&["fsck", "--strict", "--no-dangling"]);
}

/// A user keeps adding files to the folder. Any checkout may displace them, and any kill may leave them in a
/// displaced folder.
#[test]
fn hand_edits_survive_a_kill() {
    let place = Fixture::new();
    put(&mut place.open(), &bundle("pdf", "0", &[("notes.md", "x")]));
    let mut written = Vec::new();
    for number in 0..KILLS {
        let child = start(&place);
        let end = Instant::now() + Duration::from_millis(60 + 11 * number);
        while Instant::now() < end {
            let text = format!("hand {}", written.len());
            fs::write(place.temp.path().join("draft"), &text).unwrap();
            let to = place.skills().join(format!("pdf/hand-{}.md", written.len()));
            if fs::rename(place.temp.path().join("draft"), to).is_ok() {
                written.push(text);
            }
            thread::sleep(Duration::from_millis(3));
        }
        kill(child);
        let mut library = place.open();
        assert_all_reported(&place, &library.revisions(&name("pdf"), usize::MAX).unwrap());
        assert_swept(&place, &mut library);
    }
    let mut library = place.open();
    library.snapshot(&name("pdf"), &stamp(), HandEditMode::Commit).unwrap();
    let history = library.revisions(&name("pdf"), usize::MAX).unwrap();
    let bundles: Vec<Bundle> = history.iter().map(|revision| library.bundle(&revision.id).unwrap()).collect();
    for (number, text) in written.iter().enumerate() {
        let path = SkillPath::parse(&format!("hand-{number}.md")).unwrap();
        let is_kept = |bundle: &Bundle| bundle.get(&path).is_some_and(|file| file.text() == Some(text));
        assert!(bundles.iter().any(is_kept), "{text} of {} in {} revisions", written.len(), history.len());
    }
}
