//! `install` from addresses as people paste and type them, and from manifests of plugins.

use std::fs;

use serde_json::Value;

use crate::support::{Hosting, Sandbox, git, skill_md, write_files};

fn names(document: &Value) -> Vec<&str> {
    let skills = document["skills"].as_array().or_else(|| document["sources"][0]["skills"].as_array());
    skills.unwrap().iter().map(|skill| skill["name"].as_str().unwrap()).collect()
}

/// Writes a harmless skill, named like the last part of its path.
fn write_skill(sandbox: &Sandbox, path: &str) {
    let name = path.rsplit(['/', '#']).next().unwrap();
    let text = skill_md(name, &format!("Does {name}. Use in tests."), "Read the input.");
    write_files(&sandbox.cwd().join(path), &[("SKILL.md", text.as_bytes(), false)]);
}

fn lock_file(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.cwd().join("skillhub.lock")).unwrap()
}

/// The branch `feature/x` is chosen although the branch `feature` would leave the path `x/skills/pdf`.
#[test]
fn link_finds_longest_branch() {
    let sandbox = Sandbox::project();
    let hosting = Hosting::new(&sandbox, &["github.com"]);
    let folder = hosting.add_skills("github.com/acme/kit", &["skills/pdf", "skills/csv"]);
    git(&sandbox, &["-C", folder.to_str().unwrap(), "branch", "feature/x"]);
    git(&sandbox, &["-C", folder.to_str().unwrap(), "tag", "v1"]);
    let link = "https://github.com/acme/kit/blob/feature/x/skills/pdf/SKILL.md?plain=1#L3";
    assert_eq!(names(&hosting.done(&["install", link])), ["pdf"]);
    assert!(lock_file(&sandbox).contains("github:acme/kit#skills/pdf@feature/x"), "{}", lock_file(&sandbox));
    fs::remove_dir_all(sandbox.cwd().join(".agents/skills/pdf")).unwrap();
    fs::remove_dir_all(sandbox.skillhub_home().join("cache")).unwrap();
    hosting.done(&["install", "--frozen"]);
    assert!(sandbox.cwd().join(".agents/skills/pdf/SKILL.md").exists());
    let by_tag = hosting.done(&["install", "github.com/acme/kit/tree/v1/skills/csv"]);
    assert_eq!(names(&by_tag), ["csv"]);
    hosting.ask(&["install", "https://github.com/acme/kit/tree/none/skills/pdf"]).refused_with_hint(7, "not_found");
}

#[test]
fn links_of_each_host_install() {
    let sandbox = Sandbox::project();
    let hosting = Hosting::new(&sandbox, &["gitlab.com", "codeberg.org", "bitbucket.org"]);
    hosting.add_skills("gitlab.com/acme/deep/kit", &["skills/one", "skills/two"]);
    hosting.add_skills("codeberg.org/acme/kit", &["skills/three", "skills/x"]);
    hosting.add_skills("bitbucket.org/acme/kit", &["skills/four", "skills/x"]);
    for (address, name) in [
        ("https://gitlab.com/acme/deep/kit/-/tree/main/skills/one?ref_type=heads", "one"),
        ("gitlab:acme/deep/kit#two", "two"),
        ("https://codeberg.org/acme/kit/src/branch/main/skills/three", "three"),
        ("https://bitbucket.org/acme/kit/src/main/skills/four/", "four"),
    ] {
        assert_eq!(names(&hosting.done(&["install", address])), [name], "{address}");
    }
    hosting.done(&["install", "--frozen"]);
    hosting.ask(&["install", "bitbucket:acme/kit"]).refused_with_hint(2, "invalid_spec");
}

#[test]
fn unknown_names_lead_to_repository_or_folder() {
    let sandbox = Sandbox::project();
    let hosting = Hosting::new(&sandbox, &["github.com"]);
    hosting.add_skills("github.com/acme/kit", &["skills/pdf"]);
    hosting.add_skills("github.com/ACME/Kit", &["skills/csv"]);
    for name in ["acme/kit", "ACME/Kit"] {
        let error = hosting.ask(&["install", name]).refused_with_hint(7, "not_found");
        assert!(error["hint"].as_str().unwrap().ends_with(&format!("skillhub install github:{name}")), "{error}");
        let listed = hosting.ask(&["install", name, "--list"]).refused_with_hint(7, "not_found");
        assert_eq!(listed["hint"], format!("{} --list", error["hint"].as_str().unwrap()));
        let one = hosting.ask(&["install", name, "--agent", "codex", "--skill", "x"]).refused_with_hint(7, "not_found");
        assert_eq!(one["hint"], format!("{} --skill x --agent codex", error["hint"].as_str().unwrap()));
        hosting.done(&["install", &format!("github:{name}")]);
    }
    write_skill(&sandbox, "skills/mine");
    write_skill(&sandbox, "a/b/deep");
    for (path, exit, code) in [("skills/mine", 7, "not_found"), ("a/b/deep", 2, "invalid_spec")] {
        let error = sandbox.ask(&["install", path]).refused_with_hint(exit, code);
        assert!(error["hint"].as_str().unwrap().ends_with(&format!("skillhub install ./{path}")), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn terminal_asks_for_repository_and_skills() {
    let sandbox = Sandbox::project();
    let hosting = Hosting::new(&sandbox, &["github.com"]);
    hosting.add_skills("github.com/Acme/Kit", &["skills/csv", "skills/pdf", "skills/xml"]);
    let skills = sandbox.cwd().join(".agents/skills");
    hosting.typing("n\n", &["install", "Acme/Kit"]).exits(7);
    let listed = hosting.typing("y\n", &["install", "acme/kit", "--list"]);
    assert!(listed.exit == 9 && listed.stderr.contains("install from github.com/acme/kit?"), "{listed}");
    assert!(hosting.typing("y\n", &["install", "Acme/Kit", "--list"]).exits(0).text().contains("csv"));
    let none = hosting.typing("y\n\n", &["install", "Acme/Kit"]).exits(0);
    assert!(none.text().contains("Nothing was installed"), "{none}");
    assert!(!skills.join("csv").exists() && !skills.join("pdf").exists());
    hosting.typing("y\n9\n2,xml\n", &["install", "Acme/Kit"]).exits(0);
    assert!(!skills.join("csv").exists() && skills.join("pdf").exists() && skills.join("xml").exists());
}

#[test]
fn hash_names_skill_of_folder() {
    let sandbox = Sandbox::project();
    for skill in ["kit/skills/pdf", "kit/skills/csv", "kit/skills/xml", "odd#name"] {
        write_skill(&sandbox, skill);
    }
    assert_eq!(names(&sandbox.done(&["install", "./kit#pdf"])), ["pdf"]);
    assert_eq!(names(&sandbox.done(&["install", "./kit#skills/csv"])), ["csv"]);
    let whole = sandbox.cwd().join("kit#xml");
    assert_eq!(names(&sandbox.done(&["install", whole.to_str().unwrap()])), ["xml"]);
    assert_eq!(names(&sandbox.done(&["install", "./odd#name"])), ["name"], "a folder with that name comes first");
    sandbox.ask(&["install", "./kit#none"]).refused_with_hint(7, "not_found");
    sandbox.ask(&["install", "./kit#../kit"]).refused_with_hint(7, "not_found");
    sandbox.done(&["install", "--frozen"]);
}

const MANIFEST: &str = r#"{"plugins": [
    {"name": "deep", "source": "./a/b/c/d/e/f/deep", "description": "A plugin below many folders."},
    {"name": "far", "source": {"source": "github", "repo": "Other/Far"}, "description": "In another repository."},
    {"name": "bad", "source": "../../etc"}]}"#;

#[test]
fn manifest_lists_plugins_of_repository() {
    let sandbox = Sandbox::project();
    let hosting = Hosting::new(&sandbox, &["github.com"]);
    let folder = hosting.add_skills(
        "github.com/acme/kit",
        &["a/b/c/d/e/f/deep/skills/one", "a/b/c/d/e/f/deep/skills/two", "docs/three"],
    );
    write_files(&folder, &[(".claude-plugin/marketplace.json", MANIFEST.as_bytes(), false)]);
    git(&sandbox, &["-C", folder.to_str().unwrap(), "add", "--all"]);
    git(&sandbox, &["-C", folder.to_str().unwrap(), "commit", "--quiet", "--message=manifest"]);
    let listed = hosting.done(&["install", "github:acme/kit", "--list"]);
    assert_eq!(names(&listed), ["three", "one", "two", "far"]);
    let source = &listed["sources"][0];
    assert_eq!(
        (&source["skills"][1]["plugin"], &source["skills"][3]["repository"]),
        (&"deep".into(), &"github:Other/Far".into())
    );
    assert!(source["warnings"][0].as_str().unwrap().contains("bad"), "{source:#}");
    assert!(!sandbox.cwd().join("skillhub.lock").exists());
    let all = hosting.done(&["install", "github:acme/kit", "--all"]);
    assert_eq!(names(&all), ["one", "two"], "no other repository is fetched");
    assert!(all["skills"][0]["warnings"].to_string().contains("bad"), "{all:#}");
    assert_eq!(names(&hosting.done(&["install", "github:acme/kit", "--skill", "deep"])), ["one", "two"]);
    hosting.ask(&["install", "github:acme/kit", "--skill", "far"]).refused_with_hint(9, "git_failed");
    hosting.add_skills("github.com/Other/Far", &["skills/four", "skills/five"]);
    assert_eq!(names(&hosting.done(&["install", "github:acme/kit", "--skill", "far"])), ["five", "four"]);
    assert!(lock_file(&sandbox).contains("github:Other/Far#skills/four"));
    assert_eq!(names(&hosting.done(&["install", folder.to_str().unwrap(), "--list"])), ["three", "one", "two", "far"]);
}

#[test]
fn skills_outside_usual_folders_are_named() {
    let sandbox = Sandbox::project();
    let hosting = Hosting::new(&sandbox, &["github.com"]);
    hosting.add_skills("github.com/acme/kit", &["skills/csv", "skills/pdf", "docs/xml"]);
    let more = "1 more outside the usual folders: xml (--skill xml)";
    assert_eq!(names(&hosting.done(&["install", "github:acme/kit", "--list"])).len(), 3);
    let error = hosting.ask(&["install", "github:acme/kit"]).refused_with_hint(6, "ambiguous_name");
    assert!(error["message"].as_str().unwrap().ends_with(more), "{error:#}");
    let all = hosting.done(&["install", "github:acme/kit", "--all"]);
    assert_eq!((names(&all), all["skills"][0]["warnings"][0].as_str()), (vec!["csv", "pdf"], Some(more)));
    hosting.done(&["install", "github:acme/kit", "--skill", "xml"]);
}

/// A title is no reason to refuse a source, and what cannot be installed does not prevent the rest.
#[test]
fn odd_skill_does_not_stop_all() {
    let sandbox = Sandbox::project();
    let hosting = Hosting::new(&sandbox, &["github.com"]);
    let text = |name: &str| skill_md(name, "Does it. Use in tests.", "Read the input.");
    let (plain, titled, bad) = (text("plain"), text("Customer.io Automation"), text("../up"));
    let files = [
        ("skills/plain/SKILL.md", plain.as_str()),
        ("skills/customer-io/SKILL.md", &titled),
        ("skills/up/SKILL.md", &bad),
    ];
    let folder = hosting.add("github.com/acme/kit", &files).display().to_string();
    for source in ["github:acme/kit", &folder] {
        let library = sandbox.path(&format!("library-{}", source.len())).display().to_string();
        let answer = hosting.ask(&["install", source, "--all", "--library", &library]);
        let skills = answer.exits(3).json()["skills"].take();
        let state = |name: &str| {
            let skills = skills.as_array().unwrap();
            skills.iter().find(|skill| skill["name"] == name).unwrap_or_else(|| panic!("{skills:#?}"))["status"].clone()
        };
        assert_eq!((state("plain"), state("customer-io")), ("installed".into(), "installed".into()));
        assert_eq!(state("skills/up"), "failed");
        hosting.ask(&["install", source, "--skill", "skills/up"]).refused_with_hint(3, "invalid_name");
    }
}

#[test]
fn near_addresses_get_exact_hints() {
    let sandbox = Sandbox::project();
    let hosting = Hosting::new(&sandbox, &["github.com"]);
    hosting.add_skills("github.com/acme/kit", &["skills/csv", "skills/pdf"]);
    for (address, exit, code, hint) in [
        ("acme/kit@csv", 2, "invalid_spec", "skillhub install github:acme/kit#csv"),
        ("github:acme/kit#rel:", 2, "invalid_spec", "skillhub install github:acme/kit --skill rel:"),
        ("github:acme/kit#skills/csv@none", 7, "not_found", "git ls-remote https://github.com/acme/kit.git"),
        ("github:acme/kit@none", 7, "not_found", "git ls-remote https://github.com/acme/kit.git"),
    ] {
        let error = hosting.ask(&["install", address]).refused_with_hint(exit, code);
        assert!(error["hint"].as_str().unwrap().contains(hint), "{error:#}");
    }
}

/// The paths of files that people name in place of a folder.
#[test]
fn near_files_install_or_get_exact_hints() {
    let sandbox = Sandbox::project();
    write_skill(&sandbox, "kit/pdf");
    for path in ["kit/pdf/SKILL.md", "./kit/pdf/SKILL.md"] {
        assert_eq!(names(&sandbox.done(&["install", path])), ["pdf"]);
    }
    assert!(lock_file(&sandbox).contains("requested = \"./kit/pdf\""), "{}", lock_file(&sandbox));
    write_files(&sandbox.cwd(), &[("x.zip", "PK".as_bytes(), false), ("kit/notes.md", "# Notes\n".as_bytes(), false)]);
    for (path, exit, code, hint) in [
        ("x.zip", 2, "invalid_spec", "`unzip x.zip -d ./x`, then install the folder with `skillhub install ./x`"),
        ("./x.zip", 1, "io", "`unzip ./x.zip -d ./x`, then install the folder with `skillhub install ./x`"),
        ("./kit/notes.md", 1, "io", "name the folder that has the SKILL.md"),
        ("kit/", 2, "invalid_spec", "skillhub install ./kit/"),
        ("./none/SKILL.md", 7, "not_found", "check the path"),
    ] {
        let error = sandbox.ask(&["install", path]).refused_with_hint(exit, code);
        assert!(error["hint"].as_str().unwrap().contains(hint), "{error:#}");
        let told = error["message"].as_str().unwrap();
        assert!(!told.contains("os error 20") && !told.contains("is empty"), "{told}");
        assert!(code != "io" || told.contains("neither a folder nor a .skill file"), "{told}");
    }
}

/// A folder of the project is found by every clone.
#[test]
fn folder_of_project_is_locked_relatively() {
    let sandbox = Sandbox::project();
    write_skill(&sandbox, "own/pdf");
    sandbox.done(&["install", "./own/pdf"]);
    let lock = lock_file(&sandbox);
    assert!(lock.contains("source = \"./own/pdf\"") && lock.contains("requested = \"./own/pdf\""), "{lock}");
    assert_eq!(sandbox.done(&["install", "./own/pdf"])["skills"][0]["status"], "unchanged");
    let clone = sandbox.path("clone");
    fs::create_dir_all(clone.join(".git")).unwrap();
    let text = fs::read(sandbox.cwd().join("own/pdf/SKILL.md")).unwrap();
    write_files(&clone, &[("own/pdf/SKILL.md", &text, false), ("skillhub.lock", lock.as_bytes(), false)]);
    fs::remove_dir_all(sandbox.skillhub_home().join("cache")).unwrap();
    fs::remove_dir_all(sandbox.cwd().join("own")).unwrap();
    for command in ["list", "status"] {
        let told = sandbox.run(&["-C", clone.to_str().unwrap(), command]).exits(0).text();
        assert!(
            told.contains("install` installs 1 skill of skillhub.lock") && !told.contains("skillhub new"),
            "{told}"
        );
    }
    sandbox.done(&["-C", clone.to_str().unwrap(), "install", "--frozen"]);
    assert_eq!(fs::read(clone.join(".agents/skills/pdf/SKILL.md")).unwrap(), text);
    assert_eq!(fs::read_to_string(clone.join("skillhub.lock")).unwrap(), lock);
}

/// Two different skills named `review`, and a copy of `tidy`.
#[test]
fn skills_of_one_name_are_listed_and_installed_exactly() {
    let sandbox = Sandbox::project();
    let hosting = Hosting::new(&sandbox, &["github.com"]);
    let text =
        |name: &str, what: &str| skill_md(name, &format!("Does {what}. Use in tests."), &format!("Read {what}."));
    let (code, law, tidy) = (text("review", "code"), text("review", "law"), text("tidy", "rooms"));
    let files = [
        ("kits/code/skills/review/SKILL.md", code.as_str()),
        ("kits/law/skills/review/SKILL.md", &law),
        ("kits/a b/tidy/SKILL.md", &tidy),
        ("skills/tidy/SKILL.md", &tidy),
    ];
    let folder = hosting.add("github.com/acme/kit", &files).display().to_string();
    let link = "https://github.com/acme/kit/tree/main/kits";
    for (source, count) in [("github:acme/kit", 4), (link, 3), (&folder, 4)] {
        let listed = hosting.done(&["install", source, "--list"])["sources"][0]["skills"].take();
        let listed = listed.as_array().unwrap();
        assert_eq!(listed.len(), count, "{listed:#?}");
        for skill in listed {
            let field = |name: &str| skill[name].as_str().unwrap();
            let address = field("install").trim_matches('\'');
            let library = sandbox.path(&format!("{}-{}", source.len(), field("path").replace('/', "-")));
            hosting.done(&["install", "--library", library.to_str().unwrap(), address]);
            let installed = fs::read_to_string(library.join(field("name")).join("SKILL.md")).unwrap();
            let (_, wanted) = files.iter().find(|(file, _)| file.starts_with(field("path"))).unwrap();
            assert_eq!(installed, *wanted, "{address}");
        }
    }
}

#[test]
fn install_by_shared_name_tells_what_was_left_out() {
    let sandbox = Sandbox::project();
    let hosting = Hosting::new(&sandbox, &["github.com"]);
    hosting.add_skills("github.com/acme/kit", &["kits/a/review", "kits/b/review", "kits/b/other"]);
    let installed = hosting.done(&["install", "github:acme/kit", "--skill", "review"]);
    let warnings = installed["skills"][0]["warnings"].to_string();
    assert!(warnings.contains("left out: kits/b/review;"), "{warnings}");
    assert!(lock_file(&sandbox).contains("github:acme/kit#kits/a/review"));
    let error = hosting.ask(&["install", "github:acme/kit"]).refused_with_hint(6, "ambiguous_name");
    assert!(error["message"].as_str().unwrap().contains("review in kits/b/review"), "{error:#}");
    let exact = hosting.done(&["install", "github:acme/kit", "--skill", "kits/b/review", "--as", "second"]);
    assert_eq!((names(&exact), exact["skills"][0]["warnings"].to_string()), (vec!["second"], "[]".to_owned()));
    assert!(lock_file(&sandbox).contains("github:acme/kit#kits/b/review"));
    let texts =
        ["one", "two"].map(|what| skill_md("review", &format!("Does {what}. Use in tests."), "Read the input."));
    let two = hosting.add("github.com/acme/two", &[("a/review/SKILL.md", &texts[0]), ("b/review/SKILL.md", &texts[1])]);
    for source in ["github:acme/two", two.to_str().unwrap()] {
        let error = hosting.ask(&["install", "--library", "../none", source]).refused_with_hint(6, "ambiguous_name");
        assert!(error["hint"].as_str().unwrap().contains(" --skill a/review`"), "not one of them unasked: {error}");
    }
    let both = ["install", "--library", "../both", "github:acme/two", "--skill", "a/review", "b/review"];
    let message = hosting.ask(&both).exits(6).json()["skills"].to_string();
    assert!(message.contains("github:acme/two#a/review and github:acme/two#b/review would both"), "{message}");
}

#[test]
fn malformed_manifest_hides_no_skill() {
    let sandbox = Sandbox::project();
    write_skill(&sandbox, "kit/skills/pdf");
    for manifest in ["{", "[]", &"[".repeat(9000), r#"{"plugins": {}}"#] {
        write_files(&sandbox.cwd().join("kit"), &[(".claude-plugin/marketplace.json", manifest.as_bytes(), false)]);
        let listed = sandbox.done(&["install", "./kit", "--list"]);
        assert_eq!(listed["sources"][0]["warnings"].as_array().unwrap().len(), 1, "{listed:#}");
        assert_eq!(listed["sources"][0]["skills"].as_array().unwrap().len(), 1);
    }
    let text = sandbox.run(&["install", "./kit", "--list"]).exits(0).text();
    assert!(text.contains("Does pdf."), "{text}");
    sandbox.ask(&["install", "acme/demo", "--list"]).refused_with_hint(7, "not_found");
    sandbox.ask(&["install", "--list"]).refused(2, "usage");
}
