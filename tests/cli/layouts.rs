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

    /// Returns each plugin of the manifest that has skills in this repository, with the names of these skills.
    fn plugins(&self) -> Vec<(String, BTreeSet<&str>)> {
        let Some(text) = &self.manifest else { return Vec::new() };
        let manifest: Value = serde_json::from_str(text).unwrap();
        let root = manifest["metadata"]["pluginRoot"].as_str().unwrap_or_default();
        let plugin = |plugin: &Value| {
            let source = &plugin["source"];
            let address = source["repo"].as_str().or(source["url"].as_str()).unwrap_or_default();
            let is_here = !source.is_object() || address.trim_end_matches(".git").ends_with(&self.repository);
            let below = source.as_str().or(source["path"].as_str()).unwrap_or_default();
            let top = joined(if source.is_object() { "" } else { root }, below);
            let listed = plugin["skills"].as_array().map(Vec::as_slice).unwrap_or_default();
            let listed: Vec<String> = listed.iter().map(|folder| joined(&top, folder.as_str().unwrap())).collect();
            let has = |path: &str| {
                let folder = joined(path.strip_suffix("SKILL.md").unwrap(), "");
                match listed.is_empty() {
                    true => folder == top || is_below(&folder, &joined(&top, "skills")),
                    false => listed.iter().any(|listed| folder == *listed || is_below(&folder, listed)),
                }
            };
            let skills = self.skills.iter().filter(|(path, _)| is_here && has(path)).map(|(_, name)| name.as_str());
            (plugin["name"].as_str().unwrap().to_owned(), skills.collect())
        };
        let plugins = manifest["plugins"].as_array().unwrap().iter().map(plugin);
        plugins.filter(|(_, skills): &(_, BTreeSet<_>)| !skills.is_empty()).collect()
    }

    /// Installs all skills by the names of their plugins, and one as a search of the marketplace finds it.
    fn check_marketplace(&self, hosting: &Hosting<'_>, address: &str) {
        let (plugins, repository) = (self.plugins(), &self.repository);
        let Some(wanted) = plugins.iter().flat_map(|(_, skills)| skills).find(|name| is_plain(name)) else { return };
        let names: Vec<String> = plugins.iter().map(|(name, _)| format!("{name}:")).collect();
        let names = names.iter().map(String::as_str);
        let order: Vec<&str> = ["install", address, "--skill"].into_iter().chain(names).collect();
        let installed = hosting.done(&order);
        let installed: BTreeSet<&str> =
            installed["skills"].as_array().unwrap().iter().map(|skill| skill["name"].as_str().unwrap()).collect();
        let missing: Vec<_> =
            plugins.iter().flat_map(|(_, skills)| skills).filter(|name| !installed.contains(*name)).collect();
        assert!(missing.is_empty(), "{repository}: {missing:?}");

        assert_eq!(
            hosting.done(&["source", "add", address, "--name", "market"])["kind"],
            "marketplace",
            "{repository}"
        );
        let found = hosting.done(&["search", wanted, "--limit", "100"]);
        let found = found["results"].as_array().unwrap().iter().find(|skill| skill["name"] == **wanted).unwrap();
        let found = found["install"].as_str().unwrap().trim_matches('\'');
        assert_installed(&hosting.done(&["install", "--library", "../searched", found]), found);
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
        let places: BTreeSet<(&str, &str)> =
            listed.iter().map(|skill| (text(skill, "path"), text(skill, "name"))).collect();
        let is_missing = |(path, name): &&(String, String)| {
            !places.contains(&(path.strip_suffix("SKILL.md").unwrap().trim_end_matches('/'), name))
        };
        let missing: Vec<_> = skills.iter().filter(is_missing).collect();
        assert!(missing.is_empty(), "{repository}: {missing:?}");

        let install = |library: &str, args: &[&str]| {
            let library = sandbox.path(library).display().to_string();
            hosting.ask(&[&["install", "--library", &library], args].concat())
        };
        let (path, name) = skills.iter().find(|(_, name)| is_plain(name)).unwrap();
        let error = install("typed", &[repository]).refused_with_hint(7, "not_found");
        assert!(error["hint"].as_str().unwrap().ends_with(&address), "{error}");
        assert_installed(&install("typed", &[&address, "--skill", name]).done(), repository);

        let folder = path.strip_suffix("SKILL.md").unwrap();
        let link = format!("https://github.com/{repository}/tree/main/{folder}");
        assert_installed(&install("pasted", &[&link]).done(), &link);

        let is_last = |skill: &&Value| {
            is_plain(text(skill, "name")) && listed.iter().filter(|other| other["name"] == skill["name"]).count() > 1
        };
        if let Some(shared) = listed.iter().rev().find(is_last) {
            let address = text(shared, "install").trim_matches('\'');
            assert!(address.ends_with(text(shared, "path")), "{address}");
            assert_installed(&install("shared", &[address]).done(), address);
        }
        self.check_marketplace(&hosting, &address);
    }
}

/// Returns whether the name is valid as it is.
fn is_plain(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

fn text<'a>(skill: &'a Value, field: &str) -> &'a str {
    skill[field].as_str().unwrap()
}

/// Joins two paths without empty parts and dots.
fn joined(folder: &str, below: &str) -> String {
    let parts = folder.split('/').chain(below.split('/'));
    parts.filter(|part| !matches!(*part, "" | ".")).collect::<Vec<_>>().join("/")
}

fn is_below(folder: &str, parent: &str) -> bool {
    folder.strip_prefix(parent).is_some_and(|rest| parent.is_empty() || rest.starts_with('/'))
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
