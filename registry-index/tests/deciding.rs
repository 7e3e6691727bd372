//! What a registry decides about releases, and lines that were changed behind its back.

use registry_index::{
    AppendError, Deprecation, Entry, FetchError, FlagError, Index, KeyChange, KeyChangeError, OwnerFile, PublicKey,
    SecretKey, key_statement, newest, statement,
};
use ring::signature::{Ed25519KeyPair, KeyPair};
use skill::{Owner, archive};
use ssh_key::{
    LineEnding, PrivateKey,
    private::{Ed25519Keypair, Ed25519PrivateKey},
    public::Ed25519PublicKey,
};

use crate::support::*;

const OLD_LINES: &str = include_str!("../../tests/data/index-line-1.json");
const OLD_OWNER: &str = include_str!("../../tests/data/owner-file-1.json");

/// A key of nobody.
fn key(seed: u8) -> SecretKey {
    let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap();
    let public = Ed25519PublicKey(pair.public_key().as_ref().try_into().unwrap());
    let pair = Ed25519Keypair { public, private: Ed25519PrivateKey::from_bytes(&[seed; 32]) };
    let file = PrivateKey::new(pair.into(), "test@example.org").unwrap().to_openssh(LineEnding::LF).unwrap();
    SecretKey::parse(&file).unwrap()
}

fn acme() -> Owner {
    Owner::parse("acme").unwrap()
}

#[test]
fn line_must_match_its_files() {
    let (_dir, index) = index();
    let entry = publish(&index, "acme/forms@1.0.0", "one").unwrap().entry().clone();
    let files = archive::unpack(&index.bundle(&entry).unwrap(), &skill::Limits::default()).unwrap();
    entry.check_files(&files).unwrap();
    for (field, from, to) in [
        ("digest", entry.digest.to_string(), format!("sha256:{}", "0".repeat(64))),
        ("files", r#""files":2"#.to_owned(), r#""files":3"#.to_owned()),
        ("description", "Fills forms.".to_owned(), "Fills all forms.".to_owned()),
        ("license", r#""MIT""#.to_owned(), "null".to_owned()),
        ("keywords", r#"["forms","pdf"]"#.to_owned(), r#"["forms","free"]"#.to_owned()),
        ("requires", r#""requires":[]"#.to_owned(), r#""requires":["evil/helper"]"#.to_owned()),
        ("name", "acme/forms".to_owned(), "acme/other".to_owned()),
    ] {
        let line = entry.to_line();
        assert!(line.contains(&from), "{field}: {line}");
        let changed = Entry::parse(&line.replace(&from, &to)).unwrap();
        match changed.check_files(&files) {
            Err(FetchError::Differs(differs)) => assert_eq!(differs.field, field),
            other => panic!("{field}: {other:?}"),
        }
    }
}

#[test]
fn absent_license_and_keywords_are_accepted() {
    let (_dir, index) = index();
    let entry = publish(&index, "acme/forms@1.0.0", "one").unwrap().entry().clone();
    let files = archive::unpack(&index.bundle(&entry).unwrap(), &skill::Limits::default()).unwrap();
    let without = entry.to_line().replace(r#""license":"MIT","keywords":["forms","pdf"],"requires":[],"#, "");
    Entry::parse(&without).unwrap().check_files(&files).unwrap();
}

#[test]
fn verify_names_a_changed_requirement() {
    let (dir, index) = index();
    publish(&index, "acme/forms@1.0.0", "one").unwrap();
    tamper(&dir, |copy| {
        let path = copy.join("fo/rm/forms/acme");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, text.replace(r#""requires":[]"#, r#""requires":["evil/helper"]"#)).unwrap();
    });
    let faults = index.verify().unwrap();
    assert!(faults.iter().any(|fault| fault.to_string().contains("requires")), "{faults:?}");
}

#[test]
fn older_lines_are_read() {
    let lines: Vec<&str> = OLD_LINES.lines().collect();
    let held = Entry::parse(lines[0]).unwrap();
    assert_eq!(held.quarantined().unwrap().reason, "it may be bad");
    let yanked = Entry::parse(lines[1]).unwrap();
    assert!(yanked.yanked && yanked.yanked_reason().is_none() && yanked.quarantined().is_none());
    assert!(newest(&[held.clone(), yanked.clone()], false).is_none());
    for entry in [held, yanked] {
        assert!(lines.contains(&entry.to_line().as_str()), "written back byte for byte");
    }
    assert!(Entry::parse(lines[2]).is_err(), "a later format");
}

#[test]
fn older_owner_file_is_read() {
    let file = OwnerFile::parse(OLD_OWNER.as_bytes()).unwrap();
    assert!(file.keys().len() == 1 && file.keys()[0].vouched_by.is_none());
    assert_eq!(file.to_text(), OLD_OWNER);
}

#[test]
fn yank_keeps_its_reason() {
    let (_dir, index) = index();
    let (forms, version) = (name("acme/forms"), "1.0.0".parse().unwrap());
    publish(&index, "acme/forms@1.0.0", "one").unwrap();
    let set = |yanked, reason| index.set_yanked(&forms, &version, yanked, reason, &stamp()).unwrap();
    assert_eq!(set(true, Some("it loses pages")).yanked_reason(), Some("it loses pages"));
    assert_eq!(set(true, None).yanked_reason(), Some("it loses pages"));
    let back = set(false, None);
    assert!(back.yanked_reason().is_none() && !back.to_line().contains("status"));
    assert_eq!(index.verify().unwrap(), []);
}

#[test]
fn deprecated_release_stays_available() {
    let (_dir, index) = index();
    let (forms, version) = (name("acme/forms"), "1.0.0".parse().unwrap());
    publish(&index, "acme/forms@1.0.0", "one").unwrap();
    let advice = Deprecation { replacement: Some("acme/other".to_owned()), reason: "it is old".to_owned() };
    let set = |advice| index.set_deprecated(&forms, &version, advice, &stamp()).unwrap();
    let deprecated = set(Some(&advice));
    assert!(deprecated.is_offered() && deprecated.deprecated().as_ref() == Some(&advice));
    assert!(index.set_yanked(&forms, &version, true, Some("bad"), &stamp()).unwrap().deprecated().is_some());
    index.set_yanked(&forms, &version, false, None, &stamp()).unwrap();
    let back = set(None);
    assert!(back.deprecated().is_none() && !back.to_line().contains("status"));
    assert_eq!(index.verify().unwrap(), []);
}

#[test]
fn held_release_is_not_offered() -> Result<(), FlagError> {
    let (_dir, index) = index();
    publish(&index, "acme/forms@1.0.0", "one").unwrap();
    publish(&index, "beta/forms@1.0.0", "one").unwrap();
    let version: semver::Version = "1.0.0".parse().unwrap();
    let copies = [(name("beta/forms"), version.clone()), (name("beta/gone"), version.clone())];
    index.set_quarantined(&name("acme/forms"), &version, Some("it may be bad"), true, &stamp())?;
    index.set_held(&copies, Some("a copy"), &stamp())?;
    let entry = index.releases(&name("beta/forms")).unwrap().remove(0);
    assert!(!entry.yanked && entry.held().is_some() && !entry.is_offered());
    assert!(matches!(index.bundle(&entry), Err(FetchError::Held { .. })));
    let digest = entry.digest;
    assert_eq!(index.releases_of_content(&digest).unwrap().len(), 2);
    let revision = index.revision().unwrap();
    index.set_held(&copies, Some("again"), &stamp())?;
    assert_eq!(index.revision().unwrap(), revision, "what is held stays as it is");
    index.set_held(&copies, None, &stamp())?;
    assert!(index.releases(&name("beta/forms")).unwrap()[0].is_offered());
    assert_eq!(index.verify().unwrap(), []);
    Ok(())
}

#[test]
fn owner_with_keys_must_sign() {
    let (_dir, index) = index();
    publish(&index, "acme/forms@1.0.0", "one").unwrap();
    let first = key(0).public();
    add(&index, first, None).unwrap();
    assert!(matches!(publish(&index, "acme/forms@1.1.0", "two"), Err(AppendError::Unsigned { .. })));
    assert!(publish(&index, "acme/forms@1.0.0", "one").is_ok(), "it is there already");
    let mut signed = release("acme/forms@1.1.0");
    let cleared = cleared(&signed.name, "two");
    let text = statement(&signed.name, &signed.version, &cleared.digest());
    signed.signature = Some(key(0).sign(&text).unwrap());
    index.append(&signed, &cleared, &archive::pack(cleared.bundle())).unwrap();
    index.change_key(&acme(), &KeyChange::Retire(first.fingerprint()), &stamp()).unwrap();
    assert!(publish(&index, "acme/forms@1.2.0", "three").is_ok(), "nobody can sign any more");
}

#[test]
fn old_key_vouches_for_new_key() {
    let (_dir, index) = index();
    let (first, second) = (key(0).public(), key(1).public());
    add(&index, first, None).unwrap();
    let by_itself = key(1).sign(&key_statement(&acme(), &second)).unwrap();
    let for_another = key(0).sign(&key_statement(&Owner::parse("beta").unwrap(), &second)).unwrap();
    for bad in [by_itself, for_another, "none".to_owned()] {
        assert!(matches!(add(&index, second, Some(bad)), Err(KeyChangeError::NotVouched { .. })));
    }
    let file = add(&index, second, None).unwrap();
    assert!(file.vouchers(&acme(), &second.fingerprint()).is_empty());
    let file = add(&index, second, Some(key(0).sign(&key_statement(&acme(), &second)).unwrap())).unwrap();
    assert_eq!(file.vouchers(&acme(), &second.fingerprint()), [first.fingerprint()]);
    assert!(file.vouchers(&acme(), &first.fingerprint()).is_empty());
    let forged = file.to_text().replace("\"owner\":\"acme\"", "\"owner\":\"beta\"");
    let forged = OwnerFile::parse(forged.as_bytes()).unwrap();
    assert!(forged.vouchers(&Owner::parse("beta").unwrap(), &second.fingerprint()).is_empty());
}

fn add(index: &Index, key: PublicKey, vouched_by: Option<String>) -> Result<OwnerFile, KeyChangeError> {
    index.change_key(&acme(), &KeyChange::Add { key, vouched_by }, &stamp())
}
