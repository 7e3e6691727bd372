//! [`World`]: a test environment with a home, a project and a library in one temporary folder.
#![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use client::{
    AgentFolders, Config, InstallError, InstallRequest, Installed, Installer, PublishError, PublishOptions, Published,
    Publisher, Registries, Spec, publish,
};
use library::{Actor, ActorKind, Home, Library, Scope, Stamp};
use skill::failure::{Fails, FailureKind};
pub use testkit::name;

pub struct World {
    _temp: tempfile::TempDir,
    pub root: PathBuf,
    pub home: Home,
    pub config: Config,
}

pub fn skill_md(name: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: Shows how {name} is done.\n---\n\n{body}\n")
}

pub fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

impl World {
    pub fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("project")).unwrap();
        let home = Home::at(root.join("home")).unwrap();
        Self { _temp: temp, root, home, config: Config::default() }
    }

    pub fn stamp() -> Stamp {
        Stamp::new(Actor::new(ActorKind::Agent, "test"), "2026-11-20T10:00:00Z".parse().unwrap())
    }

    pub fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    pub fn library_path(&self) -> PathBuf {
        self.project().join(".agents/skills")
    }

    pub fn lock_path(&self) -> PathBuf {
        self.project().join("skillhub.lock")
    }

    pub fn lock_text(&self) -> String {
        fs::read_to_string(self.lock_path()).unwrap_or_default()
    }

    pub fn library(&self) -> Library {
        Library::open(&self.library_path(), Scope::Project, &self.home, "git").unwrap()
    }

    pub fn registries(&self) -> Registries {
        Registries::new(None, &self.config, &self.home, Self::stamp().time)
    }

    /// Searches all sources.
    pub fn search(&self, query: &str) -> Vec<client::SearchResult> {
        let sources = client::Sources {
            home: &self.home,
            config: &self.config,
            registries: &self.registries(),
            user_home: &self.root,
            cwd: &self.root,
            now: Self::stamp().time,
        };
        let request = client::SearchRequest { limit: 50, offline: false, only_registries: false, public: false };
        sources.search(query, &request).unwrap().results
    }

    pub fn agents(&self) -> AgentFolders {
        AgentFolders::of_project(&self.project())
    }

    /// Writes a skill into `source/<name>` and returns the folder.
    pub fn skill(&self, name: &str, body: &str) -> PathBuf {
        let folder = self.root.join("source").join(name);
        write(&folder.join("SKILL.md"), &skill_md(name, body));
        folder
    }

    pub fn publish_with(&self, folder: &Path, options: &PublishOptions) -> Result<Published, PublishError> {
        let registries = self.registries();
        let config_path = self.home.config();
        publish(
            folder,
            options,
            Publisher { registries: &registries, config_path: &config_path, signing: None, now: Self::stamp().time },
            &client::accept_nothing,
        )
    }

    /// Publishes a body as a release of `acme/<name>`.
    pub fn release(&self, name: &str, version: &str, body: &str) -> Published {
        self.release_by("acme", name, version, body)
    }

    pub fn release_by(&self, owner: &str, name: &str, version: &str, body: &str) -> Published {
        let folder = self.skill(name, body);
        let options = PublishOptions {
            owner: Some(owner.to_owned()),
            version: Some(version.to_owned()),
            ..PublishOptions::default()
        };
        self.publish_with(&folder, &options).unwrap()
    }

    pub fn install_with(&self, request: &InstallRequest) -> Result<Vec<Installed>, InstallError> {
        self.install_under(&permit_all, request)
    }

    pub fn install_under(
        &self,
        permit: &library::Permit<'_>,
        request: &InstallRequest,
    ) -> Result<Vec<Installed>, InstallError> {
        let (mut library, registries, agents) = (self.library(), self.registries(), self.agents());
        Installer {
            library: &mut library,
            home: &self.home,
            registries: &registries,
            agent_folders: &agents,
            lock_path: &self.lock_path(),
            user_home: Some(&self.root),
            stamp: &Self::stamp(),
            permit,
            hides: &|_, _, _, _| false,
            outcomes: &|_, _, _| None,
            accept: &client::accept_nothing,
            progress: &|_| {},
            program: Some("the one under test"),
            prefetch: client::Prefetch::default(),
        }
        .install(request)
    }

    pub fn uninstall(&self, skill: &str) -> Result<client::Uninstalled, client::UninstallError> {
        let (mut library, lock_path) = (self.library(), self.lock_path());
        let done = client::uninstall(&mut library, &[name(skill)], &lock_path, &Self::stamp(), &permit_all)?;
        done.into_iter().next().unwrap().1
    }

    pub fn install(&self, specs: &[&str]) -> Vec<Installed> {
        self.install_with(&request(specs)).unwrap()
    }

    /// Installs one skill, which must succeed, and returns its result.
    pub fn install_one(&self, spec: &str) -> Installed {
        let mut results = self.install(&[spec]);
        assert_eq!(results.len(), 1, "{results:?}");
        let result = results.remove(0);
        assert!(result.error.is_none(), "{result:?}");
        result
    }

    /// Installs one skill, which must fail, and returns the failure.
    pub fn refused(&self, spec: &str) -> (FailureKind, &'static str) {
        let results = self.install(&[spec]);
        let failure = results[0].error.as_ref().unwrap_or_else(|| panic!("{results:?}")).failure();
        (failure.kind, failure.code)
    }

    pub fn installed_text(&self, name: &str) -> String {
        fs::read_to_string(self.library_path().join(name).join("SKILL.md")).unwrap_or_default()
    }
}

pub fn request(specs: &[&str]) -> InstallRequest {
    let specs = specs.iter().map(|spec| spec.parse::<Spec>().unwrap()).collect();
    InstallRequest { specs, ..InstallRequest::default() }
}

/// A policy check that permits every change.
pub fn permit_all(_: &library::SkillChange<'_>) -> Result<(), library::Denied> {
    Ok(())
}
