//! The layer table: permitted imports between crates of the workspace, and crates that may use heavy dependencies.

use toml::{Table, Value};

use super::tree::{Fault, Tree};

/// Prefix of each library package's name.
const PREFIX: &str = "skillhub-";

/// Each package, without the prefix `skillhub-`, with its permitted imports from the workspace. Imports go downwards,
/// so the table is ordered by layer, lowest first.
const LAYERS: &[(&str, &[&str])] = &[
    ("process", &[]),
    ("json-schema", &[]),
    ("skill", &[]),
    (FOR_TESTS, &["skill"]),
    ("flow", &["skill"]),
    ("scan", &["skill", "flow"]),
    ("library", &["process", "skill", "scan"]),
    ("registry-index", &["skill", "scan"]),
    ("skill-manage", &["skill", "scan", "library"]),
    ("agent", &["skill", "scan", "library"]),
    ("compose", &["process", "json-schema", "skill", "scan", "library", "agent"]),
    ("client", &["process", "skill", "scan", "library", "registry-index"]),
    ("evolve", &["json-schema", "skill", "scan", "library", "skill-manage"]),
    (
        "ops",
        &[
            "process", "json-schema", "skill", "scan", "library", "registry-index", "skill-manage", "agent", "compose",
            "client", "evolve",
        ],
    ),
    ("web", &["skill", "scan", "registry-index", "ops"]),
    ("server", &["skill", "scan", "library", "registry-index", "client", "web"]),
    ("cluster", &["skill", "scan", "registry-index", "client", "web", "server"]),
    ("gateway", &["skill", "scan", "library", "skill-manage", "agent", "evolve", "ops", "web"]),
    (
        "mcp",
        &[
            "process", "json-schema", "skill", "scan", "library", "registry-index", "skill-manage", "agent", "compose",
            "client", "evolve", "ops", "web",
        ],
    ),
    (
        "skillhub",
        &[
            "process", "skill", "scan", "library", "registry-index", "skill-manage", "agent", "compose", "client",
            "evolve", "ops", "web", "server", "cluster", "gateway", "mcp",
        ],
    ),
];

/// The package of fixtures, which all others may use, but only in tests.
const FOR_TESTS: &str = "testkit";

/// Crates that determine how a package is built or what it can reach, with the packages that may use them. A name
/// includes its family: `tokio` also means `tokio-util`.
const CONFINED: &[(&str, &[&str])] = &[
    ("git2", &["library", "registry-index", "client", "cluster"]),
    ("cap-std", &["library", "registry-index", "client", "agent", "compose"]),
    ("cap-fs-ext", &["library", "registry-index", "client", "compose"]),
    ("tokio", &["web", "server", "cluster", "gateway", "mcp"]),
    ("deadpool-postgres", &["cluster"]),
    ("object_store", &["cluster"]),
    ("axum", &["web", "server", "gateway", "mcp"]),
    ("rusqlite", &["server"]),
    ("utoipa", &["web", "server"]),
    ("rmcp", &["mcp"]),
    ("clap", &["skillhub"]),
    ("anstream", &["skillhub"]),
    ("comfy-table", &["skillhub"]),
    ("console", &["skillhub"]),
    ("indicatif", &["skillhub"]),
    ("yaml_serde", &["skill"]),
    ("pubgrub", &["client"]),
    ("jsonschema", &["json-schema"]),
    ("ring", &["registry-index"]),
    ("ssh-key", &["registry-index"]),
];

/// Packages without I/O.
const PURE: [&str; 3] = ["skill", "flow", "scan"];

/// Dependencies permitted to pure crates: they compute and use neither disk, clock, environment nor network. Before a
/// name is added here, its own dependencies are reviewed.
const PURE_MAY_USE: &[&str] = &[
    "aho-corasick", "base64", "flate2", "infer", "lzma-rust2", "memchr", "percent-encoding", "regex-automata",
    "schemars", "semver", "serde", "serde_json", "serde_path_to_error", "sha2", "similar", "thiserror", "toml",
    "tree-sitter", "tree-sitter-bash", "tree-sitter-javascript", "tree-sitter-python", "tree-sitter-typescript",
    "unicode-normalization", "unicode-security", "yaml_serde", "zip",
];

/// A dependency in a manifest.
struct Dependency {
    /// Package name without the prefix `skillhub-`, regardless of any renaming.
    package: String,
    /// Line in the manifest, from 1.
    line: usize,
    /// True under `dev-dependencies`.
    for_tests: bool,
}

/// A package of the workspace.
struct Member {
    path: String,
    /// Name without the prefix `skillhub-`.
    name: String,
    has_prefix: bool,
    dependencies: Vec<Dependency>,
}

/// Finds packages without the prefix, packages missing in the table, and imports that the table does not permit.
pub fn upward_imports(tree: &Tree) -> Vec<Fault> {
    let members = members(tree);
    let mut faults = Vec::new();
    for member in &members {
        if !member.has_prefix {
            faults.push(Fault::new(&member.path, 1, format!("`{}` must be called `skillhub-{0}`", member.name)));
        }
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == member.name) else {
            faults.push(Fault::new(&member.path, 1, format!("`{}` has no place in the layer table", member.name)));
            continue;
        };
        let is_upward = |d: &&Dependency| {
            let is_fixture = d.package == FOR_TESTS && d.for_tests;
            !is_fixture && members.iter().any(|other| other.name == d.package) && !allowed.contains(&d.package.as_str())
        };
        faults.extend(member.dependencies.iter().filter(is_upward).map(|dependency| {
            let message = format!("`{}` must not import `{}`", member.name, dependency.package);
            Fault::new(&member.path, dependency.line, message)
        }));
    }
    faults
}

/// Finds confined crates in packages that may not use them, except in tests.
pub fn strayed_crates(tree: &Tree) -> Vec<Fault> {
    built_dependencies(tree, |member, package| {
        let (name, allowed) = CONFINED.iter().find(|(name, _)| is_of_family(package, name))?;
        (!allowed.contains(&member)).then(|| format!("`{name}` is for {} only, not for `{member}`", allowed.join(", ")))
    })
}

/// Finds dependencies of pure packages that are not known to be pure, except in tests.
pub fn impure_dependencies(tree: &Tree) -> Vec<Fault> {
    built_dependencies(tree, |member, package| {
        let is_known = PURE_MAY_USE.contains(&package) || LAYERS.iter().any(|(name, _)| *name == package);
        (PURE.contains(&member) && !is_known)
            .then(|| format!("`{member}` does no I/O, and `{package}` is not among the crates known to do none"))
    })
}

fn is_of_family(package: &str, name: &str) -> bool {
    package.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
}

/// Calls `fault` for every pair of member and package that is built outside tests.
fn built_dependencies(tree: &Tree, fault: impl Fn(&str, &str) -> Option<String>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for member in members(tree) {
        for dependency in member.dependencies.iter().filter(|d| !d.for_tests) {
            let message = fault(&member.name, &dependency.package);
            faults.extend(message.map(|message| Fault::new(&member.path, dependency.line, message)));
        }
    }
    faults
}

/// Returns the root package and the packages of `workspace.members`; a `*` matches one folder.
fn members(tree: &Tree) -> Vec<Member> {
    let root = manifest(tree, "Cargo.toml");
    let shared = table(&root, &["workspace", "dependencies"]);
    let patterns: Vec<_> = root
        .get("workspace")
        .and_then(|workspace| workspace.get("members")?.as_array())
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let is_member = |path: &str| match path.strip_suffix("Cargo.toml") {
        Some("") => true,
        Some(folder) => patterns.iter().any(|pattern| folder_matches(folder.trim_end_matches('/'), pattern)),
        None => false,
    };
    tree.files().map(|(path, _)| path).filter(|path| is_member(path)).map(|path| member(tree, path, &shared)).collect()
}

fn folder_matches(folder: &str, pattern: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(parent) => folder.strip_prefix(parent).is_some_and(|name| !name.contains('/')),
        None => folder == pattern,
    }
}

fn manifest(tree: &Tree, path: &str) -> Table {
    let text = tree.text(path).unwrap_or_default();
    text.parse().unwrap_or_else(|error| panic!("{path} is no TOML: {error}"))
}

fn table(parent: &Table, keys: &[&str]) -> Table {
    let inner = keys.iter().try_fold(parent, |table, key| table.get(*key)?.as_table());
    inner.cloned().unwrap_or_default()
}

fn member(tree: &Tree, path: &str, shared: &Table) -> Member {
    let manifest = manifest(tree, path);
    let text = tree.text(path).unwrap_or_default();
    let name = manifest.get("package").and_then(|package| package.get("name")?.as_str()).unwrap_or(path).to_owned();
    let targets = table(&manifest, &["target"]);
    let owners = std::iter::once(&manifest).chain(targets.values().filter_map(Value::as_table));
    let dependencies = owners.flat_map(|owner| dependencies(owner, shared, text)).collect();
    let has_prefix = name == "skillhub" || name.starts_with(PREFIX);
    Member { path: path.to_owned(), name: short(&name).to_owned(), has_prefix, dependencies }
}

fn short(package: &str) -> &str {
    package.strip_prefix(PREFIX).unwrap_or(package)
}

fn dependencies(owner: &Table, shared: &Table, text: &str) -> Vec<Dependency> {
    let mut found = Vec::new();
    for kind in ["dependencies", "build-dependencies", "dev-dependencies"] {
        for (key, value) in &table(owner, &[kind]) {
            let package = renamed(value).or_else(|| renamed(shared.get(key)?)).unwrap_or(key);
            found.push(Dependency {
                package: short(package).to_owned(),
                line: line_of_key(text, kind, key),
                for_tests: kind == "dev-dependencies",
            });
        }
    }
    found
}

/// Returns the `package` of a renamed dependency.
fn renamed(value: &Value) -> Option<&str> {
    value.get("package")?.as_str()
}

/// Returns the line of `key` under the heading of `kind`, or that of the heading if it is written differently.
fn line_of_key(text: &str, kind: &str, key: &str) -> usize {
    let is_heading = |line: &str| line.starts_with('[') && line.contains(kind);
    let is_key = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(['.', ' ', '=']));
    let mut lines = text.lines().enumerate().skip_while(|(_, line)| !is_heading(line));
    let heading = lines.next().map_or(0, |(at, _)| at);
    lines.find(|(_, line)| is_key(line)).map_or(heading, |(at, _)| at) + 1
}

fn sample(scan: &str, extra: &[(&str, &str)]) -> Tree {
    let root = "[workspace]\nmembers = [\"crates/*\", \"registry-index\"]\n[workspace.dependencies]\n\
                yaml = { package = \"yaml_serde\" }\n[package]\nname = \"skillhub\"\n[dependencies]\nclap = \"4\"\n";
    let scan = format!("[package]\nname = \"skillhub-scan\"\n[dependencies]\n{scan}");
    let skill = "[package]\nname = \"skillhub-skill\"\n[dependencies]\nserde = \"1\"\nyaml.workspace = true\n";
    let mut files = vec![("Cargo.toml", root), ("crates/scan/Cargo.toml", &scan), ("crates/skill/Cargo.toml", skill)];
    files.extend(extra);
    Tree::of(&files)
}

#[test]
fn upward_and_unknown_packages_are_found() {
    assert_eq!(upward_imports(&sample("skill.workspace = true", &[])), []);
    let upward = sample("regex = \"1\"\nskillhub = { path = \"../..\" }", &[]);
    let expected = Fault::new("crates/scan/Cargo.toml", 5, "`scan` must not import `skillhub`");
    assert_eq!(upward_imports(&upward), [expected]);
    let renamed = sample("other = { package = \"skillhub\", path = \"../..\" }", &[]);
    assert_eq!(upward_imports(&renamed).len(), 1);
    let unknown =
        sample("", &[("crates/utils/Cargo.toml", "[package]\nname = \"skillhub-utils\""), ("seed/x/Cargo.toml", "")]);
    assert_eq!(upward_imports(&unknown).len(), 1);
    let short = sample("", &[("crates/agent/Cargo.toml", "[package]\nname = \"agent\"")]);
    let expected = Fault::new("crates/agent/Cargo.toml", 1, "`agent` must be called `skillhub-agent`");
    assert_eq!(upward_imports(&short), [expected]);
}

#[test]
fn layer_table_runs_downwards() {
    for (at, (name, below)) in LAYERS.iter().enumerate() {
        let lower: Vec<_> = LAYERS[..at].iter().map(|(name, _)| *name).collect();
        assert!(below.iter().all(|other| lower.contains(other)), "{name}");
    }
}

/// A dependency under any heading counts but `[dev-dependencies]`.
#[test]
fn strayed_crates_are_found_outside_tests() {
    assert_eq!(strayed_crates(&sample("", &[])), []);
    let direct = sample("tokio-util = \"1\"\nyaml.workspace = true", &[]);
    assert_eq!(strayed_crates(&direct).iter().map(|fault| fault.line).collect::<Vec<_>>(), [4, 5]);
    for heading in ["build-dependencies", "target.'cfg(unix)'.dependencies"] {
        assert_eq!(strayed_crates(&sample(&format!("[{heading}]\ngit2 = \"0\""), &[])).len(), 1, "{heading}");
    }
    assert_eq!(strayed_crates(&sample("[dev-dependencies]\ngit2 = \"0\"", &[])), []);
}

#[test]
fn io_crates_are_found_in_pure_packages() {
    assert_eq!(impure_dependencies(&sample("memchr = \"2\"\nskill.workspace = true", &[])), []);
    for name in ["tempfile", "rustix", "jiff", "ureq", "tokio"] {
        assert_eq!(impure_dependencies(&sample(&format!("{name} = \"1\""), &[])).len(), 1, "{name}");
    }
}
