//! Configuration file of `serve --config`, merged with the command's flags.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;
use server::{Settings, Visibility};
use web::{AddressBlock, AddressBlockError, ServerLimits, TrustedProxies};

use super::{
    ServerArgs,
    storage::{ServedIndex, StorageTable, invalid},
};
use crate::{
    context::Context,
    exit::{CliError, Exit},
    reading::text_at,
};

/// Default address of the server.
const ADDRESS: &str = "127.0.0.1:8700";

/// Environment variable with the address of the first index's database.
const DATABASE_VARIABLE: &str = "SKILLHUB_SERVE_DATABASE";

/// Maximum size of the configuration file, in bytes.
const FILE_BYTES: u64 = 1 << 20;

/// The file of `serve --config`, in TOML. Every key outside of `storage` and `indexes` is optional. Flags and variables
/// take precedence. Paths are relative to the folder of the file.
///
/// ```toml
/// addr = "127.0.0.1:8700"
/// data = "/srv/skillhub"
/// visibility = "public"               # or private
/// hosts = ["skills.example.org"]
/// trusted_proxies = ["127.0.0.1"]     # trusted to report clients' addresses and https
/// proxy_account_header = "X-Account"
/// read_only = false
/// rate = 600                          # changes and searches per client and minute
/// log = true
///
/// [limits]
/// request_seconds = 60
/// head_seconds = 10
/// stall_seconds = 30
/// shutdown_seconds = 20
/// connections = 1024
/// connections_of_client = 256         # does not limit trusted proxies and this machine
/// sign_ins_per_minute = 30            # per client, on the web pages
///
/// [storage]                           # absent: everything is in the data folder
/// kind = "cluster"                    # PostgreSQL and an object store, which several servers share
/// database = "postgres://skillhub@db1,db2/skillhub?target_session_attrs=read-write"
/// objects = "s3://skills/hub"
/// index_remote = "ssh://git@git.example.org/skills/index.git"
/// archives_url = "https://skills.example.org/index/bundles/{hex:0:2}/{hex:2:4}/{hex}.skill"
///
/// [indexes.company]                   # a further index with its own accounts and host names
/// data = "/srv/company"
/// visibility = "private"
/// hosts = ["skills.company.example"]
/// ```
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ServeFile {
    /// IP and port to listen at, `127.0.0.1:8700` by default.
    addr: Option<String>,
    /// Folder of the index and all other data; below the home by default.
    data: Option<PathBuf>,
    /// Permitted readers: `public` for everyone, the default, or `private` for holders of a token.
    #[schemars(with = "Option<super::Reading>")]
    visibility: Option<Visibility>,
    /// Host names that requests may have besides those of this machine; `*` for any.
    hosts: Vec<String>,
    /// Addresses or blocks of proxies that are trusted to report clients' addresses and https.
    trusted_proxies: Vec<String>,
    /// Header in which a trusted proxy names the signed-in account.
    proxy_account_header: Option<String>,
    /// True to refuse all changes, as for a mirror.
    read_only: bool,
    /// Changes and searches per client and minute, 600 by default; 0 for no limit.
    rate: Option<u32>,
    /// True to log each request to standard error as a line of JSON.
    log: bool,
    /// Limits that keep one client from exhausting the server.
    limits: LimitsTable,
    /// Storage of the index and its accounts; the data folder by default.
    storage: Option<StorageTable>,
    /// Further indexes by name, each with its own accounts and host names.
    indexes: BTreeMap<String, IndexTable>,
}

/// Limits that keep one client from exhausting the server.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct LimitsTable {
    /// Time for one request, in seconds; 60 by default.
    request_seconds: Option<u64>,
    /// Time for the head of a request, in seconds; 10 by default.
    head_seconds: Option<u64>,
    /// Time without progress of a connection, in seconds; 30 by default.
    stall_seconds: Option<u64>,
    /// Time for open requests when the server stops, in seconds; 20 by default.
    shutdown_seconds: Option<u64>,
    /// Maximum number of connections, 1024 by default.
    connections: Option<usize>,
    /// Maximum number of connections of one client, 256 by default. Does not limit trusted proxies and this machine.
    connections_of_client: Option<usize>,
    /// Sign-ins on the web pages per client and minute, 30 by default; 0 for no limit.
    sign_ins_per_minute: Option<u32>,
}

/// A further index, served under its own host names.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct IndexTable {
    /// Folder of the index and all other data, which no other index may use.
    data: PathBuf,
    /// Permitted readers.
    #[schemars(with = "super::Reading")]
    visibility: Visibility,
    /// Host names of this index only; at least one.
    hosts: Vec<String>,
    /// Header in which a trusted proxy names the signed-in account.
    proxy_account_header: Option<String>,
    /// True to refuse all changes.
    #[serde(default)]
    read_only: bool,
    /// Storage of the index and its accounts; the data folder by default.
    storage: Option<StorageTable>,
}

/// Builds the settings of a server: those of its first index, and those of the further ones.
///
/// # Errors
/// The file cannot be read or has unknown fields, the address is invalid, or two indexes cannot be distinguished.
pub fn settings(context: &Context, args: &ServerArgs) -> Result<(ServedIndex, Vec<ServedIndex>), CliError> {
    let (file, folder) = match &args.config {
        Some(path) => {
            let path = context.absolute(path);
            (read(&path)?, path.parent().unwrap_or(&path).to_owned())
        }
        None => (ServeFile::default(), context.cwd.clone()),
    };
    let storage = |table: &Option<StorageTable>, database| {
        table.clone().map_or_else(|| Ok(StorageTable::default()), |table| table.checked(&folder, database))
    };
    let written = args.addr.clone().or(file.addr.clone()).unwrap_or_else(|| ADDRESS.to_owned());
    let address = written.parse().map_err(|_| {
        CliError::usage(format!("{written:?} is not an address")).hint("give IP and port, such as 127.0.0.1:8700")
    })?;
    let data = args.data.clone().or_else(|| file.data.as_ref().map(|data| folder.join(data)));
    let visibility = args.visibility.map(Visibility::from).or(file.visibility).unwrap_or(Visibility::Public);
    let settings = Settings {
        address,
        data: super::data_folder(context, data.as_deref()),
        visibility,
        read_only: args.read_only || file.read_only,
        hosts: if args.host.is_empty() { file.hosts.clone() } else { args.host.clone() },
        trusted_proxies: trusted(if args.trusted_proxy.is_empty() {
            &file.trusted_proxies
        } else {
            &args.trusted_proxy
        })?,
        proxy_account_header: args.proxy_account_header.clone().or(file.proxy_account_header.clone()),
        log: |line| eprintln!("{line}"),
        logs_requests: args.log || file.log,
        scanner: context.home.scanner(),
        limits: file.limits.with_rate(args.rate.or(file.rate)),
    };
    let further = |table: &IndexTable| Settings {
        data: folder.join(&table.data),
        visibility: table.visibility,
        read_only: args.read_only || table.read_only,
        hosts: table.hosts.clone(),
        proxy_account_header: table.proxy_account_header.clone(),
        ..settings.clone()
    };
    let other = |table: &IndexTable| -> Result<_, CliError> {
        Ok(ServedIndex { settings: further(table), storage: storage(&table.storage, None)? })
    };
    let others = file.indexes.values().map(other).collect::<Result<Vec<_>, _>>()?;
    check_apart(&settings, file.indexes.keys().map(String::as_str).zip(others.iter().map(|other| &other.settings)))?;
    let database = std::env::var(DATABASE_VARIABLE).ok().filter(|address| !address.is_empty());
    Ok((ServedIndex { storage: storage(&file.storage, database)?, settings }, others))
}

/// Builds the settings of the first index in a configuration file.
///
/// # Errors
/// As [`settings`].
pub fn first_of(context: &Context, config: &Path) -> Result<ServedIndex, CliError> {
    let args = ServerArgs { config: Some(config.to_owned()), ..ServerArgs::default() };
    Ok(settings(context, &args)?.0)
}

fn trusted(addresses: &[String]) -> Result<TrustedProxies, CliError> {
    let blocks = addresses.iter().map(|text| text.parse()).collect::<Result<Vec<AddressBlock>, AddressBlockError>>();
    let refused = |error: AddressBlockError| {
        invalid(format!("invalid trusted proxy: {error}"))
            .hint("write addresses, such as `trusted_proxies = [\"127.0.0.1\"]`")
    };
    Ok(blocks.map_err(refused)?.into())
}

fn read(path: &Path) -> Result<ServeFile, CliError> {
    let shown = path.display();
    let unreadable = |error: &dyn std::fmt::Display| {
        CliError::new("io", Exit::Failed, format!("cannot read {shown}: {error}"))
            .hint("pass a readable file with --config FILE")
    };
    let text = text_at(path, FILE_BYTES).map_err(|error| unreadable(&error))?;
    toml::from_str(&text).map_err(|error| {
        invalid(format!("invalid settings in {shown}: {}", error.to_string().trim()))
            .hint("compare it with the example in docs/guides/server.md")
    })
}

/// Rejects further indexes without a host name, and folders or host names that two indexes share.
fn check_apart<'a>(first: &'a Settings, others: impl Iterator<Item = (&'a str, &'a Settings)>) -> Result<(), CliError> {
    let refused = |text: String, hint: &str| Err(invalid(text).hint(hint.to_owned()));
    let mut folders = BTreeSet::from([&first.data]);
    let mut names: BTreeSet<String> = first.hosts.iter().map(|host| host.to_lowercase()).collect();
    for (index, settings) in others {
        if settings.hosts.is_empty() || settings.hosts.iter().any(|host| host == "*") {
            return refused(format!("the index {index:?} has no host name"), "set `hosts = [\"NAME\"]` in its table");
        }
        if !folders.insert(&settings.data) {
            let data = settings.data.display();
            return refused(format!("the index {index:?} uses the folder of another, {data}"), "use separate folders");
        }
        if let Some(host) = settings.hosts.iter().find(|host| !names.insert(host.to_lowercase())) {
            return refused(
                format!("the index {index:?} uses the host name of another, {host}"),
                "use separate host names",
            );
        }
    }
    Ok(())
}

impl LimitsTable {
    fn with_rate(&self, rate: Option<u32>) -> ServerLimits {
        let usual = ServerLimits::default();
        let time = |seconds: Option<u64>, usual| seconds.map_or(usual, Duration::from_secs);
        ServerLimits {
            head_time: time(self.head_seconds, usual.head_time),
            stall_time: time(self.stall_seconds, usual.stall_time),
            request_time: time(self.request_seconds, usual.request_time),
            connections: self.connections.unwrap_or(usual.connections).max(1),
            connections_of_client: self.connections_of_client.unwrap_or(usual.connections_of_client).max(1),
            sign_ins_per_minute: self.sign_ins_per_minute.unwrap_or(if rate == Some(0) {
                0
            } else {
                usual.sign_ins_per_minute
            }),
            costly_per_minute: rate.unwrap_or(usual.costly_per_minute),
            shutdown_time: time(self.shutdown_seconds, usual.shutdown_time),
        }
    }
}

#[cfg(test)]
mod tests {
    use jsonschema::Validator;
    use toml::Table;

    use super::*;

    #[test]
    fn server_schema_agrees_with_the_program() {
        let schema = testkit::file_schema::<ServeFile>("File of `skillhub serve --config`");
        testkit::assert_published_value("serve", &schema);
        let validator = Validator::new(&schema).unwrap();
        let agree = |table: &Table| {
            let is_valid = validator.is_valid(&serde_json::to_value(table).unwrap());
            assert_eq!(toml::from_str::<ServeFile>(&table.to_string()).is_ok(), is_valid, "{table}");
            is_valid
        };
        let guide = include_str!("../../../docs/guides/server.md");
        let blocks = guide.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
        let blocks: Vec<&str> = blocks.filter(|block| block.contains("addr =")).collect();
        assert!(!blocks.is_empty());
        for block in blocks {
            let table: Table = block.parse().unwrap();
            assert!(agree(&table), "{block}");
            for (key, value) in &table {
                let mut misspelt = table.clone();
                misspelt.remove(key);
                misspelt.insert(format!("{key}x"), value.clone());
                assert!(!agree(&misspelt), "{key}");
            }
        }
    }
}
