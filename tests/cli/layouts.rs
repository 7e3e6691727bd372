//! Layouts of public skill repositories: each skill is listed, and one installs by each kind of address.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use serde_json::{Value, json};

use crate::support::{Hosting, Sandbox};

/// Manifest at the root of a repository.
const MANIFEST: &str = ".claude-plugin/marketplace.json";

/// A repository of the collection.
struct PublicLayout {
    /// Owner and repository, such as `acme/kit`.
    repository: String,
    /// Path of each `SKILL.md`, and the name in it.
    skills: Vec<(String, String)>,
    manifest: Option<String>,
}

impl PublicLayout {
    fn read(folder: &Path) -> Self {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let list = fs::read_to_string(folder.join("SKILLS.tsv")).unwrap();
        let skills = list.lines().filter_map(|line| line.split_once('\t')).filter_map(|(path, name)| {
            // The standard names the file SKILL.md; a few repositories have a file skill.md, which no agent loads.
            let parent = path.strip_suffix("SKILL.md")?.trim_end_matches('/');
            let folder = parent.rsplit('/').next().unwrap();
            let name = name.trim_matches('"');
            Some((path.to_owned(), if name == "?" { folder } else { name }.to_owned()))
        });
        Self {
            repository: name.replacen('+', "/", 1),
            skills: skills.collect(),
            manifest: fs::read_to_string(folder.join(MANIFEST)).ok(),
        }
    }

    /// Makes the repository: a harmless skill at each path, and the real manifest.
    fn host(&self, hosting: &Hosting<'_>) {
        let text = |(path, name): &(String, String)| {
            let text = format!("---\nname: {}\ndescription: Reads a file.\n---\n\nRead the file.\n", json!(name));
            (path.clone(), text)
        };
        let mut files: Vec<(String, String)> = self.skills.iter().map(text).collect();
        files.extend(self.manifest.iter().map(|text| (MANIFEST.to_owned(), text.clone())));
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        hosting.add(&format!("github.com/{}", self.repository), &files);
    }

    /// Lists the repository and installs one skill by each kind of address.
    fn check(&self) {
        let sandbox = Sandbox::new();
        let hosting = Hosting::new(&sandbox, &["github.com"]);
        self.host(&hosting);
        let Self { repository, skills, .. } = self;
        let address = format!("github:{repository}");
        let listed = hosting.done(&["install", &address, "--list"])["sources"][0]["skills"].take();
        let listed = listed.as_array().unwrap();
        let names: BTreeSet<&str> = listed.iter().map(|skill| skill["name"].as_str().unwrap()).collect();
        let missing: Vec<_> = skills.iter().filter(|(_, name)| !names.contains(name.as_str())).collect();
        assert!(missing.is_empty(), "{repository}: {missing:?}");

        let install = |library: &str, args: &[&str]| {
            let library = sandbox.path(library).display().to_string();
            hosting.ask(&[&["install", "--library", &library], args].concat())
        };
        let is_plain = |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        let (path, name) = skills.iter().find(|(_, name)| is_plain(name)).unwrap();
        let error = install("typed", &[repository]).refused_with_hint(7, "not_found");
        assert!(error["hint"].as_str().unwrap().ends_with(&address), "{error}");
        assert_installed(&install("typed", &[&address, "--skill", name]).done(), repository);

        let folder = path.strip_suffix("SKILL.md").unwrap();
        let link = format!("https://github.com/{repository}/tree/main/{folder}");
        assert_installed(&install("pasted", &[&link]).done(), &link);

        let plugin =
            listed.iter().find(|skill| skill["plugin"].is_string() && is_plain(skill["name"].as_str().unwrap()));
        if let Some(name) = plugin.and_then(|skill| skill["name"].as_str()) {
            assert_installed(&install("manifest", &[&address, "--skill", name]).done(), repository);
        }
    }
}

fn assert_installed(document: &Value, what: &str) {
    assert_eq!(document["skills"][0]["status"], "installed", "{what}: {document:#}");
}

#[test]
#[ignore = "needs SKILLHUB_TEST_DATA"]
fn public_repositories_list_and_install() {
    let folder = tempfile::tempdir().unwrap();
    let archive = testkit::collection().join("layouts.tar.xz");
    let unpacked = Command::new("tar").arg("xJf").arg(&archive).arg("-C").arg(folder.path()).status().unwrap();
    assert!(unpacked.success());
    let folders = fs::read_dir(folder.path().join("layouts")).unwrap();
    let mut layouts: Vec<PublicLayout> = folders.map(|entry| PublicLayout::read(&entry.unwrap().path())).collect();
    layouts.sort_by(|a, b| a.repository.cmp(&b.repository));
    let (left, right) = layouts.split_at(layouts.len() / 2);
    std::thread::scope(|scope| {
        for half in [left, right] {
            scope.spawn(|| half.iter().for_each(PublicLayout::check));
        }
    });
    let skills: usize = layouts.iter().map(|layout| layout.skills.len()).sum();
    println!("{} repositories, {skills} skills", layouts.len());
    assert!(layouts.len() >= 72, "only {} repositories", layouts.len());
}
