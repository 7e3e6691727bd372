//! Hubs, accounts and releases for tests of this crate.

use std::path::Path;

use axum::body::Bytes;
use jiff::Timestamp;
use semver::Version;
use skill::{Owner, archive};

use crate::{Hub, NewToken, Scope, Settings, Visibility, access::Caller, publish::Submission};

/// A hub with a public index in a folder.
pub fn hub(folder: &Path) -> Hub {
    Hub::open(Settings::in_memory(folder.join("data"), Visibility::Public)).unwrap()
}

pub fn owner(name: &str) -> Owner {
    Owner::parse(name).unwrap()
}

/// Builds version 1.0.0 of a skill with `name: notes` in its frontmatter.
pub fn submission(name: &str, description: &str) -> Submission {
    let text = format!("---\nname: notes\ndescription: {description}\n---\n\n# Notes\n");
    Submission {
        name: name.parse().unwrap(),
        version: Version::new(1, 0, 0),
        changelog: String::new(),
        signature: None,
        forked_from: None,
        archive: Bytes::from(archive::pack(&testkit::bundle(&[("SKILL.md", text)])).into_bytes()),
    }
}

/// Creates an account with a token that permits publishing.
pub fn account(hub: &Hub, name: &str) -> Caller {
    let new = NewToken { account: owner(name), scope: Scope::Publish, label: String::new(), expires_at: None };
    let (_, secret) = hub.stores.people.add_token(&new, false, &new.account, Timestamp::now()).unwrap();
    hub.stores.people.caller(&secret, Timestamp::now()).unwrap().unwrap()
}
