//! Tests of [`LockFile`].

use super::*;

/// Text of a lock file with two skills and unknown fields. `~a~` stands for a digest.
const OLD: &str = "format = 1\nlater = true\n\n[[skill]]\nname = \"zoe/pdf\"\nversion = \"2.0.0\"\n\
    kind = \"registry\"\narchive = \"~a~\"\ndigest = \"~b~\"\nsigner = \"z\"\n\n[[skill]]\nname = \"acme/pdf\"\n\
    requested = \"^1\"\nversion = \"1.0.0\"\nkind = \"registry\"\nsource = \"/r\"\nlocal = true\n\
    archive = \"~c~\"\ndigest = \"~d~\"\ncontent = \"~d~\"\nagents = [\"x\"]\nruleset = \"1\"\n\
    [skill.extra]\ndeep = { a = 1 }\n";

/// Writes a digest for each `~x~`.
fn with_digests(text: &str) -> String {
    let parts = text.split('~').enumerate();
    parts.map(|(at, part)| if at % 2 == 1 { digest_of(part).to_string() } else { part.to_owned() }).collect()
}

fn digest_of(text: &str) -> Digest {
    Digest::of_bytes(text.as_bytes())
}

fn parse(text: &str) -> Result<LockFile, LockFileError> {
    LockFile::parse(&with_digests(text), Path::new("skillhub.lock"))
}

/// In the lock file of `npx skills`, one owner's skill overwrites the other's.
#[test]
fn same_named_skills_coexist() {
    let file = parse(OLD).unwrap();
    assert_eq!(file.names().collect::<Vec<_>>(), ["acme/pdf", "zoe/pdf"]);
    assert_eq!(file.get("acme/pdf").unwrap().bare_name().as_str(), "pdf");
}

#[test]
fn too_many_values_are_refused() {
    for flood in ["0,", "a.", "[", "{a=", "do not ", "a\"", "é "] {
        let error = parse(&format!("format = 1\nx = [{}", flood.repeat(1 << 20))).unwrap_err().to_string();
        assert!(error.contains("too many for a lock file of its size"), "{flood}: {error}");
    }
    let tables = (0..1_000).map(|at| format!("x{at}{} = 1\n", ".aaaaaaaaaaaaaaa".repeat(70))).collect::<String>();
    assert!(parse(&tables).unwrap_err().to_string().contains("70000 dots outside its strings"));
    assert!(parse(&"\n".repeat(10_000)).unwrap_err().to_string().contains("format"));
}

#[test]
fn capabilities_survive_a_round_trip() {
    let mut file = parse(OLD).unwrap();
    assert!(!file.to_text().contains("capabilities"), "an old entry has none");
    let odd = ["runs (computed)", "tool Bash(\"a\\b\")", "reads ~/é/]"].map(str::to_owned).to_vec();
    file.insert(LockedSkill { capabilities: odd, ..file.get("acme/pdf").unwrap().clone() });
    let usual: Vec<_> = (0..20).map(|at| format!("network host{at}.example.com")).collect();
    for at in 0..2000 {
        let old = file.get("acme/pdf").unwrap().clone();
        let mut release = old.origin.as_registry().unwrap().clone();
        release.name = format!("acme/s{at}").parse().unwrap();
        let (origin, capabilities) = (Origin::Registry(release), usual.clone());
        file.insert(LockedSkill { origin, capabilities, ..old });
    }
    let text = file.readable_text().unwrap();
    assert!(text.contains("capabilities = [\n  \"runs (computed)\",\n  "));
    assert_eq!(LockFile::parse(&text, Path::new("skillhub.lock")).unwrap(), file);
}

#[test]
fn unknown_fields_survive_a_rewrite() {
    let mut file = parse(OLD).unwrap();
    let skill = LockedSkill { content: Some(digest_of("e")), ..file.get("acme/pdf").unwrap().clone() };
    file.insert(LockedSkill { raw: Table::new(), ..skill });
    let text = file.to_text();
    assert_eq!(parse(&text).unwrap(), file, "{text}");
    assert_eq!(parse(&text).unwrap().to_text(), text);
    for kept in ["later = true", "signer", "deep", &digest_of("e").to_string()] {
        assert!(text.contains(kept), "{kept} in {text}");
    }
    assert!(text.find("acme/pdf") < text.find("zoe/pdf"), "sorted by name");
}

#[test]
fn older_format_is_upgraded() {
    let old = OLD.replace("format = 1", "format = 0");
    let file = parse(&old).unwrap();
    assert_eq!(file, parse(OLD).unwrap());
    assert!(file.to_text().contains("\nformat = 1\n"));
}

#[test]
fn unreadable_lock_file_is_never_empty() {
    let merge = format!("format = 1\n<<<<<<< HEAD\n{OLD}");
    assert!(matches!(parse(&merge), Err(LockFileError::ConflictMarkers { line: 2, .. })));
    assert!(matches!(parse("format = 9\n"), Err(LockFileError::Newer { found: 9, .. })));
    for damaged in [
        "", "format = -1\n", "{\"version\": 1}", "format = 1\nskill = 1\n", "format = 1\n[[skill]]\nname = 1\n",
        "format = 1\n[[skill]]\nname = \"a\"\n",
    ] {
        let error = parse(damaged).unwrap_err();
        assert!(matches!(error, LockFileError::Damaged { .. }), "{damaged}");
        assert_eq!(error.failure().kind, FailureKind::Integrity);
    }
    let error = parse("format = 1\n[[skill]\n").unwrap_err();
    assert!(error.to_string().contains("line 2"), "{error}");
}

#[test]
fn unknown_source_kind_needs_newer_skillhub() {
    let newer = format!("{OLD}\n[[skill]]\nname = \"acme/later\"\nkind = \"oci\"\nlayers = [1]\n");
    let error = parse(&newer).unwrap_err();
    assert!(matches!(&error, LockFileError::NewerKind { kind, .. } if kind == "oci"), "{error}");
    assert!(error.to_string().contains("written by a newer skillhub"), "{error}");
    assert_eq!(error.failure().kind, FailureKind::Integrity);
}

#[test]
fn every_source_is_rewritten_identically() {
    let (commit, more) = ("a".repeat(40), "agents = []\nruleset = \"1\"\n");
    let entry = |name: &str, fields: &str, rest: &str| {
        format!("\n[[skill]]\nname = \"{name}\"\nrequested = \"\"\n{fields}{rest}content = \"~c~\"\n{more}")
    };
    let known = "archive = \"~a~\"\ndigest = \"~d~\"\n";
    let text = [
        format!("{HEAD}format = 1\n"),
        entry(
            "acme/pdf",
            "version = \"1.2.0-rc.1+b\"\nsigner = \"SHA256:x\"\nkind = \"registry\"\nsource = \"/r\"\nlocal = true\n",
            known,
        ),
        entry(
            "b",
            &format!("version = \"v1 beta\"\ncommit = \"{commit}\"\nkind = \"git\"\nsource = \"https://e.org/r\"\n"),
            known,
        ),
        entry("c", "kind = \"git\"\nsource = \"file:///r\"\n", "archive = \"~a~\"\ndigest = \"git-tree:00\"\n"),
        entry("d", "version = \"1\"\nkind = \"folder\"\nsource = \"/f\"\nlocal = true\n", known),
        entry("e", "kind = \"archive\"\nsource = \"/a.skill\"\n", "archive = \"\"\ndigest = \"~d~\"\n"),
        entry("f", "version = \"3.0.0\"\nkind = \"clawhub\"\nsource = \"x\"\n", known),
        entry("g", "kind = \"other\"\nsource = \"left-pad\"\n", "archive = \"~a~\"\ndigest = \"unknown\"\n"),
    ];
    let text = with_digests(&text.concat());
    let file = parse(&text).unwrap();
    assert_eq!(file.skills().count(), 7);
    assert_eq!(file.to_text(), text);
}

#[test]
fn contradictory_entry_is_damage() {
    let entry = "name = \"acme/pdf\"\nversion = \"1.0.0\"\nkind = \"registry\"\narchive = \"~a~\"\ndigest = \"~d~\"\n";
    let whole = |entry: &str| format!("format = 1\n[[skill]]\n{entry}");
    assert!(parse(&whole(entry)).is_ok());
    for (good, bad, why) in [
        ("acme/pdf", "pdf", "owner/name"),
        ("version = \"1.0.0\"\n", "", "no version"),
        ("1.0.0", "^1", "not a version"),
        ("~d~", "unknown", "not a digest"),
        ("~d~", "zzz", "`digest`: \"zzz\" is not a digest, nor a hash of a known tool"),
        ("~d~", "git-tree:", "`digest`: \"git-tree:\" is not a digest"),
        ("~a~", "sha256:00", "`archive`: \"sha256:00\" is not a digest"),
        ("version", "commit = \"main\"\nversion", "cannot have a commit"),
        ("registry", "folder", "cannot be the name of a skill"),
    ] {
        let error = parse(&whole(&entry.replace(good, bad))).unwrap_err();
        assert_eq!(error.failure().code, "damaged_lock_file");
        assert!(error.to_string().contains("skill number 1: ") && error.to_string().contains(why), "{bad}: {error}");
    }
}

#[test]
fn duplicate_skill_is_refused() {
    let twice = format!(
        "{OLD}\n[[skill]]\nname = \"acme/pdf\"\nversion = \"1.0.0\"\nkind = \"registry\"\narchive = \"\"\ndigest = \"~b~\"\n"
    );
    assert!(parse(&twice).unwrap_err().to_string().contains("twice"));
}
