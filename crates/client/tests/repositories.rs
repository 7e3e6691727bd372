//! Tests for git repositories as sources, fetched with the system's git from `file://` URLs.
#![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

use std::{fs, path::PathBuf, process::Command};

use client::{InstallRequest, InstallStatus, Pick};
use skill::failure::{Fails, FailureKind};

use crate::support::{World, request, skill_md, write};

struct Repository {
    path: PathBuf,
}

impl Repository {
    fn new(world: &World) -> Self {
        let path = world.root.join("repository");
        fs::create_dir(&path).unwrap();
        let repository = Self { path };
        repository.git(&["init", "-q", "-b", "main"]);
        repository
    }

    fn git(&self, args: &[&str]) -> String {
        let identity = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"];
        let out = Command::new("git").current_dir(&self.path).args(identity).args(args).output().unwrap();
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    }

    fn commit(&self) -> String {
        self.git(&["add", "-A", "-f"]);
        self.git(&["commit", "-q", "-m", "x"]);
        self.git(&["rev-parse", "HEAD"])
    }

    fn skill(&self, folder: &str, name: &str, body: &str) {
        write(&self.path.join(folder).join("SKILL.md"), &skill_md(name, body));
    }

    fn url(&self) -> String {
        format!("file://{}", self.path.display())
    }
}

#[test]
fn source_commit_is_recorded() {
    let world = World::new();
    let repository = Repository::new(&world);
    repository.skill("", "pdf", "At the top.");
    let commit = repository.commit();
    let result = world.install_one(&repository.url());
    let origin = result.origin.unwrap();
    assert_eq!((origin.kind(), origin.commit().map(library::CommitId::as_str)), ("git", Some(commit.as_str())));
    assert!(world.lock_text().contains(&commit));
    assert_eq!(world.install_one(&repository.url()).status, InstallStatus::Unchanged);
}

#[test]
fn branches_tags_and_commits_resolve() {
    let world = World::new();
    let repository = Repository::new(&world);
    repository.skill("", "pdf", "First.");
    let first = repository.commit();
    repository.git(&["tag", "-a", "v1", "-m", "annotated"]);
    repository.skill("", "pdf", "Second.");
    repository.commit();
    repository.git(&["branch", "feature/x"]);
    repository.skill("", "pdf", "Third.");
    repository.commit();
    for (reference, text) in
        [("#@v1", "First."), ("#@feature/x", "Second."), ("", "Third."), (&format!("#@{first}"), "First.")]
    {
        world.install_one(&format!("{}{reference}", repository.url()));
        assert!(world.installed_text("pdf").contains(text), "{reference}");
    }
    let missing = world.install(&[&format!("{}#@nothing", repository.url())]);
    let failure = missing[0].error.as_ref().unwrap().failure();
    assert_eq!((failure.kind, failure.code), (FailureKind::NotFound, "not_found"));
}

#[test]
fn several_skills_are_listed_and_picked() {
    let world = World::new();
    let repository = Repository::new(&world);
    repository.skill("skills/pdf", "pdf", "P.");
    repository.skill(".claude/skills/csv", "csv", "C.");
    repository.skill("docs/examples/other", "other", "O.");
    repository.skill("node_modules/x", "x", "X.");
    repository.commit();
    let results = world.install(&[&repository.url()]);
    let error = results[0].error.as_ref().unwrap();
    assert_eq!((error.failure().kind, error.failure().code), (FailureKind::Conflict, "ambiguous_name"));
    assert!(error.to_string().contains("pdf, csv; 1 more outside the usual folders: other"), "{error}");
    assert_eq!(world.install_one(&format!("{}#docs/examples/other", repository.url())).name, "other");
    let pick = Pick { skills: vec!["csv".into()], all: false };
    let picked = world.install_with(&InstallRequest { pick, ..request(&[&repository.url()]) }).unwrap();
    assert_eq!(picked[0].name, "csv");
    assert!(world.lock_text().contains("#.claude/skills/csv"), "{}", world.lock_text());
    let pick = Pick { all: true, ..Pick::default() };
    let all = world.install_with(&InstallRequest { pick, ..request(&[&repository.url()]) }).unwrap();
    assert_eq!(all.len(), 2);
    let missing = world.install(&[&format!("{}#nowhere", repository.url())]);
    assert_eq!(missing[0].error.as_ref().unwrap().failure().kind, FailureKind::NotFound);
}

#[test]
fn support_files_keep_their_modes() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let repository = Repository::new(&world);
    repository.skill("skills/pdf", "pdf", "P.");
    let script = repository.path.join("skills/pdf/scripts/run.sh");
    write(&script, "#!/bin/sh\necho hello\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    repository.commit();
    world.install_one(&repository.url());
    let installed = world.library_path().join("pdf/scripts/run.sh");
    assert_eq!(fs::metadata(installed).unwrap().permissions().mode() & 0o777, 0o755);
    std::os::unix::fs::symlink("/etc/hostname", repository.path.join("skills/pdf/notes.md")).unwrap();
    repository.commit();
    assert_eq!(world.refused(&repository.url()), (FailureKind::Invalid, "invalid_path"));
}

#[test]
fn filters_and_hooks_do_not_run() {
    let world = World::new();
    let repository = Repository::new(&world);
    repository.skill("", "pdf", "Plain.");
    write(&repository.path.join(".gitattributes"), "SKILL.md filter=evil eol=crlf\n");
    repository.git(&["config", "filter.evil.clean", "cat"]);
    repository.git(&["config", "filter.evil.smudge", "touch smudged; cat"]);
    repository.git(&["config", "uploadpack.packObjectsHook", "touch hooked; exec"]);
    repository.commit();
    world.install_one(&repository.url());
    assert!(!world.installed_text("pdf").contains('\r'), "neither line ends nor filters are applied");
    let ran = |name: &str| repository.path.join(name).exists() || repository.path.join(".git").join(name).exists();
    assert!(!ran("smudged") && !ran("hooked"));
}

#[test]
fn restore_uses_the_locked_commit() {
    let world = World::new();
    let repository = Repository::new(&world);
    repository.skill("", "pdf", "Old.");
    repository.commit();
    world.install_one(&repository.url());
    repository.skill("", "pdf", "New.");
    repository.commit();
    for keep_cache in [true, false] {
        fs::remove_dir_all(world.library_path()).unwrap();
        fs::remove_dir_all(world.home.path().join("libraries")).unwrap();
        if !keep_cache {
            fs::remove_dir_all(world.home.cache()).unwrap();
        }
        let frozen = InstallRequest { frozen: true, ..InstallRequest::default() };
        world.install_with(&frozen).unwrap();
        assert!(world.installed_text("pdf").contains("Old."), "cache: {keep_cache}");
    }
}

#[test]
fn locked_commit_cannot_be_a_branch() {
    let world = World::new();
    let repository = Repository::new(&world);
    repository.skill("", "pdf", "One.");
    let commit = repository.commit();
    world.install_one(&repository.url());
    fs::remove_dir_all(world.library_path()).unwrap();
    fs::remove_dir_all(world.home.path()).unwrap();
    let good = world.lock_text();
    for bad in ["HEAD", "+refs/heads/*:refs/heads/*", "--upload-pack=x"] {
        fs::write(world.lock_path(), good.replace(&commit, bad)).unwrap();
        let error = world.install_with(&request(&[])).unwrap_err();
        assert!(error.to_string().contains("is not the id of a commit"), "{bad}: {error}");
    }
}

/// A few small objects describe billions of folders.
#[test]
fn git_tree_bomb_is_refused() {
    let world = World::new();
    let place = world.root.join("bomb");
    let bare = git2::Repository::init_bare(&place).unwrap();
    let mut tree = bare.treebuilder(None).unwrap().write().unwrap();
    for _ in 0..12 {
        let mut level = bare.treebuilder(None).unwrap();
        for number in 0..40 {
            level.insert(format!("d{number}"), tree, 0o040_000).unwrap();
        }
        tree = level.write().unwrap();
    }
    let mut top = bare.treebuilder(None).unwrap();
    top.insert("deep", tree, 0o040_000).unwrap();
    let skill = bare.blob(skill_md("pdf", "One.").as_bytes()).unwrap();
    top.insert("SKILL.md", skill, 0o100_644).unwrap();
    let root = bare.find_tree(top.write().unwrap()).unwrap();
    let who = git2::Signature::new("x", "x@example.org", &git2::Time::new(0, 0)).unwrap();
    bare.commit(Some("HEAD"), &who, &who, "x", &root, &[]).unwrap();
    let refused = world.refused(&format!("file://{}", place.display()));
    assert_eq!(refused, (FailureKind::Invalid, "too_large"));
}

#[test]
fn offline_reaches_no_host() {
    let world = World::new();
    let offline = InstallRequest { offline: true, ..request(&["https://example.org/o/r.git"]) };
    let results = world.install_with(&offline).unwrap();
    assert_eq!(results[0].error.as_ref().unwrap().failure().code, "offline");
}
