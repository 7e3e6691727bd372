//! Hostile content at each kind of source: it is refused, and nothing is written.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;
use skill::Digest;

use super::offer::{BODY, Kind, Offer};
use crate::support::{Member, Sandbox, Web, git, skill_md, write_files, zip, zip_bomb};

/// Bytes of a file or an archive that exceed the limit of a skill.
const TOO_MANY: usize = 17 << 20;

fn skill_text() -> String {
    skill_md("notes", "Handles notes files. Use in tests.", BODY)
}

/// Archives that every source refuses: with a path outside of the skill, and with far more bytes than it has itself.
fn hostile_archives() -> [Vec<u8>; 2] {
    let skill = Member::stored("SKILL.md", skill_text().as_bytes());
    [zip(&[skill, Member::stored("../../escaped.md", b"x")]), zip_bomb(&skill_text(), 64 << 20)]
}

/// Publishes the skill, and replaces its archive. With `in_line`, its line in the index names the new archive. Returns
/// the registry; the folder `site` serves a clone of it.
fn replaced_release(sandbox: &Sandbox, archive: &[u8], in_line: bool) -> PathBuf {
    let [registry, clone] = ["team.git", "site/index"].map(|name| sandbox.path(name));
    let [place, copy] = [&registry, &clone].map(|path| path.to_str().unwrap());
    sandbox.done(&["index", "init", place]);
    write_files(&sandbox.path("own"), &[("notes/SKILL.md", skill_text().as_bytes(), false)]);
    let own = sandbox.path("own/notes").display().to_string();
    sandbox.done(&["publish", &own, "--owner", "acme", "--registry", place]);
    git(sandbox, &["clone", "--quiet", place, copy]);
    let line = clone.join("no/te/notes/acme");
    let mut entry: serde_json::Value = serde_json::from_str(&fs::read_to_string(&line).unwrap()).unwrap();
    let hex = entry["digest"].as_str().unwrap().trim_start_matches("sha256:").to_owned();
    let bundle = clone.join("bundles").join(&hex[..2]).join(&hex[2..4]).join(format!("{hex}.skill"));
    assert!(bundle.exists());
    fs::write(bundle, archive).unwrap();
    if in_line {
        entry["archive"] = Digest::of_bytes(archive).to_string().into();
        entry["size"] = archive.len().into();
        fs::write(&line, format!("{entry}\n")).unwrap();
    }
    git(sandbox, &["-C", copy, "commit", "--quiet", "--all", "--message=replaced"]);
    git(sandbox, &["-C", copy, "push", "--quiet", "origin", "main"]);
    registry
}

/// Installs from both kinds of registry, and asserts the refusal.
#[track_caller]
fn registries_refuse(archive: &[u8], in_line: bool, exit: i32, code: &str) {
    let sandbox = Sandbox::project();
    let registry = replaced_release(&sandbox, archive, in_line);
    let web = Web::start(sandbox.path("site"));
    let served = web.url("").trim_end_matches('/').to_owned();
    for registry in [format!("git+file://{}", registry.display()), served] {
        sandbox.ask(&["install", "acme/notes", "--registry", &registry]).refused_with_hint(exit, code);
    }
    assert_nothing_installed(&sandbox);
}

fn assert_nothing_installed(sandbox: &Sandbox) {
    let skills = sandbox.cwd().join(".agents/skills");
    assert!(!skills.join("notes").exists() && !skills.join("escaped.md").exists());
    assert!(!sandbox.cwd().join("skillhub.lock").exists());
    assert!(!sandbox.cwd().join("escaped.md").exists() && !sandbox.path("escaped.md").exists());
}

#[test]
fn replaced_release_is_refused() {
    let other = zip(&[Member::stored("SKILL.md", skill_text().replace("Read", "Send").as_bytes())]);
    for in_line in [false, true] {
        registries_refuse(&other, in_line, 8, "integrity");
    }
}

#[test]
fn hostile_archive_is_refused_at_each_source() {
    for archive in hostile_archives() {
        registries_refuse(&archive, true, 3, "invalid_archive");
        let sandbox = Sandbox::project();
        let files = sandbox.path("files");
        let digest = Digest::of_bytes(&archive).to_string();
        let index = json!({"skills": [{"name": "notes", "type": "archive", "url": "/notes.skill", "digest": digest}]});
        let of = |path: &str, bytes: &[u8]| json!({"path": path, "sha256": Digest::of_bytes(bytes).hex()});
        let listed = [of("SKILL.md", skill_text().as_bytes()), of("../../escaped.md", b"x")];
        let version = json!({"version": {"version": "1.0.0", "files": listed}}).to_string();
        write_files(
            &files,
            &[
                ("notes.skill", &archive, false),
                (".well-known/agent-skills/index.json", index.to_string().as_bytes(), false),
                ("api/v1/download?slug=notes&version=1.0.0", &archive, false),
                ("api/v1/skills/notes/versions/1.0.0", version.as_bytes(), false),
            ],
        );
        let (file, web) = (files.join("notes.skill").display().to_string(), Web::start(files));
        for address in [
            file,
            web.url("notes.skill"),
            web.url(".well-known/agent-skills/index.json#notes"),
            format!("clawhub:{}#notes@1.0.0", web.url("").trim_end_matches('/')),
        ] {
            sandbox.ask(&["install", &address]).refused(3, "invalid_archive");
        }
        assert_nothing_installed(&sandbox);
    }
}

/// An index that lists files one by one is bounded as an archive is.
#[test]
fn oversized_file_list_is_refused() {
    let sandbox = Sandbox::project();
    let many: Vec<String> = (0..600).map(|number| format!("file-{number}.md")).collect();
    let index = json!({"skills": [
        {"name": "large", "files": ["SKILL.md", "data.bin"]},
        {"name": "many", "files": many},
        {"name": "outside", "files": ["SKILL.md", "../large/SKILL.md"]},
    ]});
    write_files(
        &sandbox.path("files/.well-known/skills"),
        &[
            ("index.json", index.to_string().as_bytes(), false),
            ("large/SKILL.md", skill_text().as_bytes(), false),
            ("large/data.bin", &vec![0_u8; TOO_MANY], false),
        ],
    );
    let web = Web::start(sandbox.path("files"));
    for (name, code) in [("large", "too_large"), ("many", "invalid_source"), ("outside", "invalid_path")] {
        let address = web.url(&format!(".well-known/skills/index.json#{name}"));
        sandbox.ask(&["install", &address]).refused(3, code);
    }
    assert_nothing_installed(&sandbox);
}

/// Returns the bytes of an id in hexadecimal digits.
fn binary(id: &str) -> Vec<u8> {
    (0..id.len()).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16).unwrap()).collect()
}

/// A bare repository whose trees git itself would not write.
struct RawRepository<'a> {
    sandbox: &'a Sandbox,
    path: PathBuf,
}

/// An entry of a tree: mode, name and id.
type TreeEntry<'a> = (&'a str, &'a str, &'a str);

impl<'a> RawRepository<'a> {
    /// Makes a repository in place of another one.
    fn replace(sandbox: &'a Sandbox, path: &Path) -> Self {
        fs::remove_dir_all(path).unwrap();
        git(sandbox, &["init", "--quiet", "--bare", "--initial-branch=main", path.to_str().unwrap()]);
        Self { sandbox, path: path.to_owned() }
    }

    fn store(&self, kind: &str, bytes: &[u8]) -> String {
        let mut command = std::process::Command::new("git");
        let args = ["hash-object", "-t", kind, "-w", "--literally", "--stdin"];
        self.sandbox.confine(&mut command).arg("--git-dir").arg(&self.path).args(args);
        self.sandbox.finish_with(command, &args, bytes).exits(0).text().trim().to_owned()
    }

    fn tree(&self, entries: &[TreeEntry<'_>]) -> String {
        let of =
            |(mode, name, id): &TreeEntry<'_>| [mode.as_bytes(), b" ", name.as_bytes(), b"\0", &binary(id)].concat();
        self.store("tree", &entries.iter().flat_map(of).collect::<Vec<u8>>())
    }

    /// Commits a tree whose folder `skills/notes` has the text and one more entry.
    fn commit(&self, (mode, name, id): TreeEntry<'_>) {
        let text = self.store("blob", skill_text().as_bytes());
        let manifest = self.store("blob", br#"{"plugins": [{"name": "tools", "source": "./"}]}"#);
        let mut entries = [("100644", "SKILL.md", text.as_str()), (mode, name, id)];
        entries.sort_by_key(|(_, name, _)| *name);
        let skill = self.tree(&entries);
        let skills = self.tree(&[("40000", "notes", &skill)]);
        let plugin = self.tree(&[("100644", "marketplace.json", &manifest)]);
        let root = self.tree(&[("40000", ".claude-plugin", &plugin), ("40000", "skills", &skills)]);
        let place = self.path.to_str().unwrap();
        let commit = git(self.sandbox, &["--git-dir", place, "commit-tree", "-m", "hostile", &root]);
        git(self.sandbox, &["--git-dir", place, "update-ref", "refs/heads/main", commit.trim()]);
    }

    /// Returns a tree of billions of folders, in a few objects.
    fn bomb(&self) -> String {
        let names: Vec<String> = (0..40).map(|number| format!("d{number:02}")).collect();
        let level = |below: String| {
            let entries: Vec<TreeEntry<'_>> = names.iter().map(|name| ("40000", name.as_str(), &*below)).collect();
            self.tree(&entries)
        };
        (0..12).fold(self.tree(&[]), |below, _| level(below))
    }
}

#[test]
fn hostile_tree_is_refused_by_each_address() {
    for kind in Kind::OF_GIT {
        let offer = Offer::new(kind);
        let refused = |what: &str, code: &str| {
            let answer = offer.ask(&offer.install());
            assert_eq!(answer.exit, 3, "{kind:?}, {what}: {answer}");
            answer.refused_with_hint(3, code);
            assert_nothing_installed(&offer.sandbox);
        };
        let repository = RawRepository::replace(&offer.sandbox, offer.folder().parent().unwrap());
        let text = repository.store("blob", b"x");
        let outside = repository.tree(&[("100644", "escaped.md", &text)]);
        repository.commit(("40000", "..", &outside));
        refused("a folder above", "invalid_path");
        let link = repository.store("blob", b"../../../../etc/passwd");
        repository.commit(("120000", "more.md", &link));
        refused("a link", "invalid_path");
        let large = repository.store("blob", &vec![0_u8; TOO_MANY]);
        repository.commit(("100644", "data.bin", &large));
        refused("a large file", "too_large");
        let deep = repository.bomb();
        repository.commit(("40000", "deep", &deep));
        refused("a bomb of folders", "too_large");
    }
}

#[cfg(unix)]
#[test]
fn linked_file_in_folder_is_refused() {
    for kind in [Kind::FolderPattern, Kind::Folder] {
        let offer = Offer::new(kind);
        std::os::unix::fs::symlink("/etc/passwd", offer.folder().join("notes/more.md")).unwrap();
        offer.ask(&offer.install()).refused_with_hint(3, "invalid_path");
        assert_nothing_installed(&offer.sandbox);
    }
}
