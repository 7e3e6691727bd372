//! [`document`]: the installed skills as a bill of materials, in the format CycloneDX 1.6.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use agent::{Catalogue, ListedSkill};
use client::{LOCK_FILE, LockFile, LockedSkill};
use library::{Library, Origin, RevisionId, Scope, StorageError};
use serde_json::{Map, Value, json};
use skill::Digest;

use crate::{
    context::Context,
    exit::{CliError, failed},
    print::time,
};

/// Host of the repositories that have package URLs of their own kind.
const GITHUB: &str = "https://github.com/";

/// Returns the bill of materials. Its serial number depends on the content alone, not on the time.
///
/// # Errors
/// A lock file or a history cannot be read.
pub(super) fn document(context: &Context, catalogue: &Catalogue) -> Result<Value, CliError> {
    let mut locks: BTreeMap<&Path, LockFile> = BTreeMap::new();
    for library in catalogue.libraries() {
        let path = match library.path() == context.library_path() {
            true => context.lock_path(library),
            false => library.own_path().join(LOCK_FILE),
        };
        locks.insert(library.path(), LockFile::read(&path).map_err(failed)?);
    }
    let present = || catalogue.skills.iter().filter(|listed| !listed.missing);
    let references: BTreeSet<String> = present().map(reference_of).collect();
    let mut components = Vec::new();
    let mut dependencies = Vec::new();
    for listed in present() {
        let library = catalogue.library_of(listed);
        let lock = library.and_then(|library| locks.get(library.path()));
        let locked = lock.and_then(|lock| lock.find(&listed.name));
        components.push(component(listed, library, locked)?);
        let required = locked.zip(lock).map(|(locked, lock)| required(locked, lock)).unwrap_or_default();
        let required = required.iter().map(|skill| reference(listed.scope, skill));
        let required: BTreeSet<String> = required.filter(|skill| references.contains(skill)).collect();
        dependencies.push(json!({"ref": reference_of(listed), "dependsOn": required}));
    }
    let content = json!({"components": components, "dependencies": dependencies});
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.6",
        "serialNumber": serial_number(&content), "version": 1,
        "metadata": {
            "timestamp": time(context.now),
            "tools": {"components": [{
                "type": "application", "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION"),
            }]},
        },
        "components": content["components"], "dependencies": content["dependencies"],
    }))
}

/// Returns the folders of the locked skills that an entry requires.
fn required<'a>(locked: &LockedSkill, lock: &'a LockFile) -> Vec<&'a str> {
    let names = locked.requires.iter().filter_map(|requirement| requirement.split('@').next());
    names.filter_map(|name| Some(lock.get(name)?.bare_name().as_str())).collect()
}

/// Returns the id of a component in the document. A project and its user may have skills of the same name.
fn reference(scope: Scope, skill: &str) -> String {
    format!("{}:{skill}", scope.as_str())
}

fn reference_of(listed: &ListedSkill) -> String {
    reference(listed.scope, listed.name.as_str())
}

fn component(
    listed: &ListedSkill,
    library: Option<&Library>,
    locked: Option<&LockedSkill>,
) -> Result<Value, StorageError> {
    let origin = listed.head.as_ref().and_then(|head| head.origin.as_ref());
    let release = origin.and_then(Origin::as_registry);
    let mut fields = Map::new();
    let mut field = |key: &str, value: Option<Value>| drop(value.map(|value| fields.insert(key.to_owned(), value)));
    field("type", Some(json!("application")));
    field("bom-ref", Some(json!(reference_of(listed))));
    field("supplier", release.map(|release| json!({"name": release.name.owner.as_str()})));
    field("group", release.map(|release| json!(release.name.owner.as_str())));
    field("name", Some(json!(origin.map_or(&listed.name, Origin::bare_name).as_str())));
    field("version", listed.version.as_ref().map(|version| json!(version)));
    field("description", Some(json!(listed.description)));
    let archive = locked.and_then(|locked| locked.archive);
    field("hashes", archive.map(|archive| json!([{"alg": "SHA-256", "content": archive.hex()}])));
    let license = listed.served().zip(library).map(|(head, library)| license(library, &head.id)).transpose()?.flatten();
    field("licenses", license.map(|license| json!([{"license": {"name": license}}])));
    field("purl", Some(json!(package_url(listed, origin))));
    field("externalReferences", origin.and_then(external_reference).map(|one| json!([one])));
    field("properties", Some(json!(properties(listed, locked))));
    Ok(Value::Object(fields))
}

fn license(library: &Library, revision: &RevisionId) -> Result<Option<String>, StorageError> {
    let license = library.bundle(revision)?.frontmatter().and_then(|found| found.license.clone());
    Ok(license.filter(|license| !license.is_empty()))
}

/// Returns the package URL: of kind `github` for a skill from there, otherwise `generic`.
fn package_url(listed: &ListedSkill, origin: Option<&Origin>) -> String {
    let commit = origin.and_then(Origin::commit);
    let repository = origin.and_then(|origin| origin.location().strip_prefix(GITHUB)).map(str::to_lowercase);
    let name = origin.map_or_else(|| listed.name.to_string(), Origin::name);
    let (kind, name, version) = match (commit, repository) {
        (Some(commit), Some(repository)) => {
            ("github", repository.trim_end_matches('/').trim_end_matches(".git").to_owned(), Some(commit.as_str()))
        }
        _ => ("generic", name, listed.version.as_deref()),
    };
    let name: Vec<String> = name.split('/').map(encoded).collect();
    let version = version.map(|version| format!("@{}", encoded(version))).unwrap_or_default();
    format!("pkg:{kind}/{}{version}", name.join("/"))
}

/// Encodes a part of a package URL: everything but letters, digits and `-._~` in ASCII.
fn encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Returns where a skill is from, unless that is a place on this machine.
fn external_reference(origin: &Origin) -> Option<Value> {
    let url = origin.location();
    let is_url = ["https://", "http://", "ssh://"].iter().any(|scheme| url.starts_with(scheme));
    let is_plain = url.bytes().all(|byte| byte.is_ascii_graphic() && !br#""<>\^`{|}"#.contains(&byte));
    let kind = if origin.commit().is_some() { "vcs" } else { "distribution" };
    (is_url && is_plain).then(|| json!({"type": kind, "url": url}))
}

fn properties(listed: &ListedSkill, locked: Option<&LockedSkill>) -> Vec<Value> {
    let verdict = listed.head.as_ref().map(|head| head.verdict.to_string());
    let mut properties = vec![
        ("scope", Some(listed.scope.as_str().to_owned())),
        ("digest", listed.digest().map(str::to_owned)),
        ("verdict", verdict),
        ("ruleset", listed.head.as_ref().map(|head| head.ruleset.clone()).filter(|ruleset| !ruleset.is_empty())),
        ("modified", Some(listed.modified.to_string())),
        ("signer", locked.and_then(|locked| locked.signer.clone())),
    ];
    let capabilities = locked.map(|locked| locked.capabilities.as_slice()).unwrap_or_default();
    properties.extend(capabilities.iter().map(|capability| ("capability", Some(capability.clone()))));
    let property =
        |(name, value): (&str, Option<String>)| Some(json!({"name": format!("skillhub:{name}"), "value": value?}));
    properties.into_iter().filter_map(property).collect()
}

/// Returns a UUID of version 8 (RFC 9562) that is made from the content's hash.
fn serial_number(content: &Value) -> String {
    let hash = Digest::of_bytes(content.to_string().as_bytes()).hex();
    let part = |from: usize, to: usize| hash.get(from..to).unwrap_or_default();
    format!("urn:uuid:{}-{}-8{}-8{}-{}", part(0, 8), part(8, 12), part(12, 15), part(15, 18), part(18, 30))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_characters_of_package_urls_are_encoded() {
        assert_eq!(encoded("1.0.0-rc.1+b"), "1.0.0-rc.1%2Bb");
        assert_eq!(encoded("表@?#"), "%E8%A1%A8%40%3F%23");
    }

    #[test]
    fn serial_number_is_a_uuid_of_the_content() {
        let number = serial_number(&json!({"components": []}));
        assert_eq!(number.len(), "urn:uuid:".len() + 36, "{number}");
        assert_ne!(number, serial_number(&json!({"components": [1]})));
    }
}
