//! [`LockDocument`]: the format of `skillhub.lock`, for its published schema. Unknown keys are permitted and kept.

use std::{collections::BTreeSet, path::Path};

use schemars::JsonSchema;
use toml::Table;

use super::LockFile;

/// `skillhub.lock`: which skills are installed, exactly. skillhub writes it.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes the file, which is read field by field")]
struct LockDocument {
    /// Format of the file.
    #[schemars(range(min = 0, max = 1))]
    format: u32,
    /// Installed skills, sorted by name.
    skill: Option<Vec<Entry>>,
}

/// An installed skill.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes the file, which is read field by field")]
struct Entry {
    /// `owner/name`, or a bare name from sources without owners.
    name: String,
    /// Name of the folder, if the skill was installed under another name.
    r#as: Option<String>,
    /// Version request of the user; empty for the newest.
    requested: Option<String>,
    /// Version of the release, if its source has versions.
    version: Option<String>,
    /// Commit of a git source.
    commit: Option<String>,
    /// Fingerprint of the owner's key that signed the release.
    signer: Option<String>,
    /// Kind of the source: registry, git, folder, archive, clawhub or other.
    #[schemars(extend("enum" = super::KINDS))]
    kind: String,
    /// Location of the registry, git URL or path.
    source: Option<String>,
    /// True if the source exists on this machine only.
    local: Option<bool>,
    /// Digest of the packed release, `sha256:` and 64 hexadecimal digits; empty if unknown.
    archive: String,
    /// Digest of the content of the release.
    digest: String,
    /// Digest of the current content, which may have changed since; empty if unknown.
    content: Option<String>,
    /// Agents in whose folders it is linked.
    agents: Option<Vec<String>>,
    /// Version of the scanner's rules that cleared it.
    ruleset: Option<String>,
    /// Requirements of the release, `owner/name` or `owner/name@range`.
    requires: Option<Vec<String>>,
    /// True if it is installed only as a requirement of others.
    dependency: Option<bool>,
    /// Capabilities of the current content.
    capabilities: Option<Vec<String>>,
    /// Findings that a person accepted. They inform readers and have no effect.
    waivers: Option<Vec<Waiver>>,
}

/// A finding that a person accepted.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes the file, which is read field by field")]
struct Waiver {
    /// Id of the rule.
    rule: String,
    /// Path of the file within the skill.
    path: String,
    /// Person who accepted it, as `person:id`.
    by: String,
    /// Expiry time, RFC 3339 in UTC.
    until: String,
    /// Reason given by the person.
    reason: String,
}

#[test]
fn lock_schema_has_every_key() {
    let schema = testkit::file_schema::<LockDocument>("skillhub.lock");
    testkit::assert_published_value("lock", &schema);
    let digest = format!("sha256:{}", "0".repeat(64));
    let text = format!(
        "format = 1\n[[skill]]\nname = \"pdf\"\nas = \"pdf-acme\"\nrequested = \"^1\"\nversion = \"1.2.3\"\n\
         kind = \"git\"\nsource = \"https://e.org/r\"\nlocal = true\ncommit = \"{commit}\"\nsigner = \"SHA256:x\"\n\
         archive = \"{digest}\"\ndigest = \"{digest}\"\ncontent = \"{digest}\"\nagents = [\"codex\"]\n\
         ruleset = \"r\"\nrequires = [\"a/b@^2\"]\ndependency = true\ncapabilities = [\"network a.example\"]\n\
         waivers = [{{ rule = \"r\", path = \"p\", by = \"person:a\", until = \"u\", reason = \"w\" }}]\n",
        commit = "0".repeat(40),
    );
    let table: Table = text.parse().unwrap();
    let keys: BTreeSet<&String> = table["skill"][0].as_table().unwrap().keys().collect();
    let described: BTreeSet<&String> = schema["$defs"]["Entry"]["properties"].as_object().unwrap().keys().collect();
    assert_eq!(keys, described);
    let lock = LockFile::parse(&text, Path::new("skillhub.lock")).unwrap();
    let unread: Vec<_> = lock.skills().map(|skill| &skill.raw).collect();
    assert_eq!(unread, [&Table::new()], "a described key that is not read");
}
