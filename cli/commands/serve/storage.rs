//! The table `[storage]` of a server's configuration: the data folder, or PostgreSQL and an object store.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use server::Settings;

use crate::exit::{CliError, Exit};

/// Storage of an index and its accounts: the data folder, or engines that several servers share.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StorageTable {
    /// `embedded`, the data folder, or `cluster`, PostgreSQL and an object store. All other keys are for `cluster`.
    kind: StorageKind,
    /// Address of the database, `postgres://USER@HOST,HOST/NAME?target_session_attrs=read-write`. The variable
    /// `SKILLHUB_SERVE_DATABASE` goes before it. The password may come from `PGPASSWORD`.
    pub database: Option<String>,
    /// Place of the archives: `s3://BUCKET/PREFIX`, or a folder that all servers share.
    pub objects: Option<String>,
    /// URL of the object store's API; that of AWS by default. Plain HTTP is for this machine only.
    pub endpoint: Option<String>,
    /// Region of the bucket, `us-east-1` by default.
    pub region: Option<String>,
    /// git repository to which the leader pushes the index: a URL, or a folder with a bare repository.
    pub index_remote: Option<String>,
    /// URL of an archive with `{hex}` for the digits of its digest, as in `config.json` of the index. Needed with
    /// `index_remote`, because the git repository holds no archives.
    pub archives_url: Option<String>,
    /// False to leave background work, such as pushing the index, to the other servers.
    pub worker: Option<bool>,
}

/// A kind of storage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StorageKind {
    /// The data folder: a git repository and a SQLite file.
    #[default]
    Embedded,
    /// PostgreSQL and an object store.
    Cluster,
}

/// One index to be served.
#[derive(Debug, Clone)]
pub struct ServedIndex {
    /// Settings of its server. The data folder holds caches only, if the index is in a cluster.
    pub settings: Settings,
    /// Storage of the index.
    pub storage: StorageTable,
}

impl StorageTable {
    /// Returns the table with its defaults from the environment.
    ///
    /// # Errors
    /// A key that the kind does not have or lacks.
    pub fn checked(mut self, base: &Path, database: Option<String>) -> Result<Self, CliError> {
        if self.kind == StorageKind::Embedded {
            let unused = Self::default();
            return match self == unused {
                true => Ok(unused),
                false => Err(invalid("the table [storage] has keys that only kind = \"cluster\" has")
                    .hint("set `kind = \"cluster\"`, or remove the other keys")),
            };
        }
        self.database = database.or(self.database);
        for (key, value) in [("database", &self.database), ("objects", &self.objects)] {
            if value.is_none() {
                let text = format!("the table [storage] with kind = \"cluster\" has no `{key}`");
                return Err(invalid(text).hint("see docs/guides/growing-up.md"));
            }
        }
        if self.index_remote.is_some() && self.archives_url.is_none() {
            return Err(invalid("the table [storage] has `index_remote` without `archives_url`").hint(
                "set `archives_url`, such as https://skills.example.org/index/bundles/{hex:0:2}/{hex:2:4}/{hex}.skill",
            ));
        }
        // Folders are relative to the configuration file; git and the store tell URLs by their scheme.
        let is_folder = |text: &&mut String| !text.contains("://");
        if let Some(objects) = self.objects.as_mut().filter(is_folder) {
            *objects = base.join(&*objects).display().to_string();
        }
        Ok(self)
    }

    /// Returns whether the index is in engines that several servers share.
    pub fn is_cluster(&self) -> bool {
        self.kind == StorageKind::Cluster
    }
}

impl ServedIndex {
    /// Returns the name of the place for messages, without a password.
    pub fn place(&self) -> String {
        match &self.storage.objects {
            Some(objects) if self.storage.is_cluster() => format!("the cluster with the archives in {objects}"),
            _ => self.settings.data.display().to_string(),
        }
    }
}

/// Creates the error for settings that do not fit.
pub fn invalid(text: impl Into<String>) -> CliError {
    CliError::new("invalid_config", Exit::Usage, text)
}
