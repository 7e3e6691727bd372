//! Every kind of source: it is added, searched, installed from, updated over local edits, verified and used offline.
//! Hostile ones install nothing.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use skill::Digest;

use crate::support::{
    Answer, Fixed, Sandbox, Server, Terminal, Web, git, redirect, repository, skill_md, write_files, zip_bomb,
};

/// Lines between those that the tests change, so that both sides of a merge are apart.
const BODY: &str = "Read the input.\n\nCheck each line.\n\nWrite the output.\n";

fn write_skill(folder: &Path, name: &str, body: &str) {
    let text = skill_md(name, &format!("Handles {name} files. Use in tests."), body);
    write_files(&folder.join(name), &[("SKILL.md", text.as_bytes(), false)]);
}

/// Publishes a skill of acme on a server.
fn publish(sandbox: &Sandbox, server: &Server, name: &str, version: &str, body: &str) {
    write_skill(&sandbox.path("own"), name, body);
    let place = sandbox.path("own").join(name).display().to_string();
    let args = ["publish", &place, "--owner", "acme", "--version", version, "--registry", &server.url, "--json"];
    let mut command = sandbox.command(&args);
    command.env("SKILLHUB_TOKEN", &server.admin);
    sandbox.finish(command, &args).done();
}

/// Searches and returns the one result with this name.
fn found(sandbox: &Sandbox, args: &[&str], name: &str) -> (Value, Value) {
    let document = sandbox.done(&[&["search"], args].concat());
    let results = document["results"].as_array().unwrap();
    let result = results.iter().find(|result| result["name"] == name);
    (result.unwrap_or_else(|| panic!("{document:#}")).clone(), document)
}

fn state(document: &Value, source: &str) -> Value {
    let sources = document["sources"].as_array().unwrap();
    sources.iter().find(|one| one["name"] == source).unwrap_or_else(|| panic!("{document:#}"))["state"].clone()
}

/// Installs the printed address, edits the skill, lets the source change, and updates: both changes are kept.
fn follows_source(sandbox: &Sandbox, address: &str, name: &str, change_source: impl FnOnce()) {
    let address = address.trim_matches('\'');
    let installed = sandbox.done(&["install", address]);
    assert_eq!(installed["skills"][0]["status"], "installed", "{installed:#}");
    assert_eq!(sandbox.done(&["verify"])["ok"], true);
    assert_eq!(sandbox.done(&["outdated"])["skills"].as_array().unwrap().len(), 0);
    let file = sandbox.cwd().join(".agents/skills").join(name).join("SKILL.md");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("Read the input.", "Read the input twice.")).unwrap();
    change_source();
    let updated = sandbox.done(&["update"]);
    assert_eq!(updated["skills"][0]["status"], "merged", "{updated:#}");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("Read the input twice.") && text.contains("Write the result."), "{text}");
    fs::remove_dir_all(sandbox.cwd().join(".agents")).unwrap();
    let again = sandbox.done(&["install", "--offline"]);
    assert_eq!(again["ok"], true, "the cache has the locked files: {again:#}");
    assert_eq!(fs::read_to_string(&file).unwrap(), text, "with the local changes");
}

#[test]
fn marketplace_skill_installs_and_merges() {
    let sandbox = Sandbox::project();
    let source = sandbox.path("market");
    write_skill(&source.join("plugins/tools"), "ledger", BODY);
    let manifest = json!({"plugins": [
        {"name": "kit", "source": "./plugins", "skills": ["./tools/ledger"]},
        {"name": "remote", "description": "Handles remote ledgers.", "source": {"source": "github", "repo": "acme/none"}},
        {"name": "outside", "source": "../../etc"},
    ]});
    write_files(&source, &[(".claude-plugin/marketplace.json", manifest.to_string().as_bytes(), false)]);
    repository(&sandbox, &source);
    let url = format!("file://{}", source.display());
    let added = sandbox.done(&["source", "add", &url, "--name", "market"]);
    assert_eq!((&added["kind"], &added["skills"]), (&json!("marketplace"), &json!(2)), "{added:#}");
    assert!(added["warnings"].to_string().contains("outside"), "{added:#}");
    let (result, document) = found(&sandbox, &["ledger"], "ledger");
    assert_eq!((&result["registry"], &result["kind"]), (&json!("market"), &json!("marketplace")), "{document:#}");
    assert!(document["skipped"].to_string().contains("outside"), "{document:#}");
    let (remote, _) = found(&sandbox, &["remote"], "remote");
    assert!(remote["install"].as_str().unwrap().ends_with("#remote'"), "{remote:#}");
    follows_source(&sandbox, result["install"].as_str().unwrap(), "ledger", || {
        write_skill(&source.join("plugins/tools"), "ledger", &BODY.replace("the output", "the result"));
        git(&sandbox, &["-C", source.to_str().unwrap(), "commit", "--quiet", "--all", "--message=second"]);
    });
    fs::remove_dir_all(&source).unwrap();
    let (_, document) = found(&sandbox, &["ledger", "--offline"], "ledger");
    assert_eq!(state(&document, "market"), "cached", "{document:#}");
    let shown = sandbox.command(&["search", "ledger"]).output().unwrap();
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(text.contains("market (from the cache, read") && text.contains("skillhub install"), "{text}");
}

/// A title in any script finds the skill of a source that is no registry.
#[test]
fn title_finds_skill_of_a_folder() {
    let sandbox = Sandbox::project();
    let text = "---\nname: sheet\ndescription: Fills sheets.\nmetadata:\n  title: 表格工具\n---\n\nFill it.\n";
    write_files(&sandbox.path("shared/sheet"), &[("SKILL.md", text.as_bytes(), false)]);
    sandbox.done(&["source", "add", "../shared", "--name", "team"]);
    let found = sandbox.done(&["search", "表格"]);
    assert_eq!((&found["results"][0]["name"], &found["results"][0]["title"]), (&json!("sheet"), &json!("表格工具")));
    let listed = sandbox.run(&["install", "../shared", "--list"]).exits(0);
    assert!(listed.text().contains("表格工具 · Fills sheets."), "{listed}");
}

#[test]
fn folder_is_stored_without_relative_parts() {
    let sandbox = Sandbox::project();
    write_skill(&sandbox.path("shared"), "tidy", BODY);
    let shared = sandbox.path("shared").canonicalize().unwrap();
    for (name, path) in [("one", "../shared"), ("two", "./../shared/../shared/.")] {
        let added = sandbox.done(&["source", "add", path, "--name", name]);
        assert_eq!(added["location"], shared.to_str().unwrap(), "{path}");
    }
}

#[test]
fn folder_pattern_is_searched_per_project() {
    let sandbox = Sandbox::project();
    let early = sandbox.done(&["source", "add", "node_modules/*/skills", "--name", "early"]);
    assert!(early["skills"] == 0 && early["warnings"].to_string().contains("here yet"), "{early:#}");
    sandbox.done(&["source", "remove", "early"]);
    write_skill(&sandbox.cwd().join("node_modules/kit/skills"), "tidy", BODY);
    write_skill(&sandbox.path("elsewhere/skills"), "stray", BODY);
    std::os::unix::fs::symlink(sandbox.path("elsewhere"), sandbox.cwd().join("node_modules/link")).unwrap();
    let added = sandbox.done(&["source", "add", "node_modules/*/skills"]);
    assert_eq!((&added["kind"], &added["name"]), (&json!("folder"), &json!("node-modules-skills")), "{added:#}");
    let (result, document) = found(&sandbox, &["tidy"], "tidy");
    assert!(document["skipped"].to_string().contains("leads out"), "{document:#}");
    assert!(!sandbox.done(&["search", "stray"])["results"].to_string().contains("stray"));
    follows_source(&sandbox, result["install"].as_str().unwrap(), "tidy", || {
        let folder = sandbox.cwd().join("node_modules/kit/skills");
        write_skill(&folder, "tidy", &BODY.replace("the output", "the result"));
    });
}

#[test]
fn well_known_skill_installs_and_merges() {
    let sandbox = Sandbox::project();
    let server = Server::start(&sandbox, &[]);
    let publish = |version: &str, body: &str| publish(&sandbox, &server, "notes", version, body);
    publish("1.0.0", BODY);
    let added = sandbox.done(&["source", "add", &server.url, "--kind", "well-known", "--name", "docs"]);
    assert_eq!((&added["kind"], &added["location"]), (&json!("well-known"), &json!(server.url)), "{added:#}");
    let (result, _) = found(&sandbox, &["notes"], "notes");
    assert_eq!(result["version"], "1.0.0", "{result:#}");
    let address = result["install"].as_str().unwrap().to_owned();
    assert!(address.contains("/.well-known/agent-skills/index.json#notes"), "{address}");
    follows_source(&sandbox, &address, "notes", || publish("1.1.0", &BODY.replace("the output", "the result")));
    let registry = sandbox.done(&["source", "add", &server.url, "--name", "team"]);
    assert_eq!(registry["kind"], "registry", "{registry:#}");
    let (result, _) = found(&sandbox, &["notes"], "acme/notes");
    assert_eq!(result["install"], "acme/notes --registry team");
    server.end();
    let (_, document) = found(&sandbox, &["notes", "--offline"], "notes");
    assert_eq!(state(&document, "docs"), "cached", "{document:#}");
    assert_eq!(state(&document, "team"), "unreachable", "{document:#}");
}

#[test]
fn clawhub_skill_installs_and_merges() {
    let sandbox = Sandbox::project();
    let server = Server::start(&sandbox, &[]);
    let publish = |version: &str, body: &str| publish(&sandbox, &server, "chart", version, body);
    publish("1.0.0", BODY);
    let added = sandbox.done(&["source", "add", &server.url, "--kind", "clawhub", "--name", "claws"]);
    assert_eq!(added["kind"], "clawhub", "{added:#}");
    let (result, _) = found(&sandbox, &["chart"], "acme/chart");
    assert_eq!(result["version"], "1.0.0", "{result:#}");
    let address = result["install"].as_str().unwrap().to_owned();
    follows_source(&sandbox, &address, "chart", || publish("1.1.0", &BODY.replace("the output", "the result")));
    let lock = fs::read_to_string(sandbox.cwd().join("skillhub.lock")).unwrap();
    assert!(lock.contains("acme/chart@1.1.0\"") && lock.contains("kind = \"archive\""), "{lock}");
    let old = sandbox.path("old").display().to_string();
    let exact = format!("{}@1.0.0", address.trim_matches('\''));
    assert_eq!(sandbox.done(&["install", &exact, "--library", &old])["skills"][0]["version"], "1.0.0");
    let none = exact.replace("@1.0.0", "@1.0.7");
    sandbox.ask(&["install", &none, "--library", &old]).refused_with_hint(7, "not_found");
}

fn sha256(bytes: &[u8]) -> String {
    Digest::of_bytes(bytes).hex()
}

/// Writes a well-known index of the newer form with these skills.
fn write_index(folder: &Path, skills: &Value) {
    let index = json!({"skills": skills}).to_string();
    write_files(folder, &[(".well-known/agent-skills/index.json", index.as_bytes(), false)]);
}

#[test]
fn hostile_index_installs_nothing() {
    let sandbox = Sandbox::project();
    let files = sandbox.path("files");
    write_skill(&sandbox.path("own"), "good", BODY);
    let packed = files.join("good.zip");
    fs::create_dir_all(&files).unwrap();
    sandbox.done(&["pack", sandbox.path("own/good").to_str().unwrap(), "-o", packed.to_str().unwrap()]);
    let good = fs::read(&packed).unwrap();
    let bomb = zip_bomb("---\nname: bomb\ndescription: Grows. Use never.\n---\n", 64 << 20);
    fs::write(files.join("bomb.zip"), &bomb).unwrap();
    fs::write(files.join("page.zip"), "<html>").unwrap();
    fs::File::create(files.join("large.zip")).unwrap().set_len(200 << 20).unwrap();
    fs::copy(sandbox.path("own/good/SKILL.md"), files.join("SKILL.md")).unwrap();
    let archive = |name: &str, file: &str, hash: String| json!({"name": name, "type": "archive", "description": "X.", "url": format!("/{file}"), "digest": format!("sha256:{hash}")});
    let zeros = "0".repeat(64);
    write_index(
        &files,
        &json!([
            archive("good", "good.zip", sha256(&good)),
            archive("tampered", "good.zip", zeros.clone()),
            archive("page", "page.zip", sha256(b"<html>")),
            archive("bomb", "bomb.zip", sha256(&bomb)),
            archive("large", "large.zip", zeros.clone()),
            archive("gone", "none.zip", zeros.clone()),
            {"name": "single", "type": "skill-md", "url": "/SKILL.md", "digest": format!("sha256:{zeros}")},
            {"name": "outside", "files": ["SKILL.md", "../../../../etc/passwd"]},
            {"name": "unhashed", "type": "archive", "url": "/good.zip"},
        ]),
    );
    let web = Web::start(files);
    let at = |name: &str| format!("{}#{name}", web.url(".well-known/agent-skills/index.json"));
    for (name, exit, code) in [
        ("tampered", 8, "integrity"),
        ("page", 3, "invalid_archive"),
        ("bomb", 3, "invalid_archive"),
        ("large", 3, "too_large"),
        ("gone", 7, "not_found"),
        ("single", 8, "integrity"),
        ("outside", 3, "invalid_path"),
        ("unhashed", 7, "not_found"),
    ] {
        let answer = sandbox.ask(&["install", &at(name)]);
        assert_eq!(answer.exit, exit, "{name}: {answer}");
        assert_eq!(answer.json()["error"]["code"], code, "{name}");
        assert!(!sandbox.cwd().join(".agents/skills").join(name).exists(), "{name}");
    }
    let listed = sandbox.done(&["install", &web.url(".well-known/agent-skills/index.json"), "--list"]);
    assert!(listed["sources"][0]["warnings"].to_string().contains("unhashed"), "{listed:#}");
    sandbox.done(&["install", &at("good")]);
    sandbox.ask(&["install", &at("good"), "--offline"]).refused_with_hint(9, "offline");
    sandbox.ask(&["source", "add", &web.url("none")]).refused_with_hint(9, "network");
    sandbox.ask(&["source", "add", "http://me:secret@127.0.0.1/.well-known/skills"]).refused(2, "invalid_spec");
}

/// A folder or repository with too much in one skill installs nothing of that skill, and keeps no copy of it.
#[test]
fn oversized_folders_and_repositories_install_nothing() {
    let sandbox = Sandbox::project();
    let source = sandbox.path("source");
    for name in ["large", "many", "good"] {
        write_skill(&source, name, BODY);
    }
    fs::File::create(source.join("large/data.bin")).unwrap().set_len(17 << 20).unwrap();
    for number in 0..600 {
        fs::write(source.join(format!("many/file-{number}.md")), "x").unwrap();
    }
    repository(&sandbox, &source);
    let git_url = format!("file://{}", source.display());
    for at in [source.to_str().unwrap(), &git_url] {
        for name in ["large", "many"] {
            let answer = sandbox.ask(&["install", at, "--skill", name]);
            answer.refused_with_hint(3, "too_large");
            assert!(!sandbox.cwd().join(".agents/skills").join(name).exists(), "{at} {name}");
        }
        sandbox.done(&["install", at, "--skill", "good"]);
        sandbox.done(&["uninstall", "good"]);
    }
    let largest = files_below(&sandbox.skillhub_home()).into_iter().max().unwrap();
    assert!(largest < 16 << 20, "a file of {largest} bytes was kept");
}

/// Returns the sizes of all files below a folder.
fn files_below(folder: &Path) -> Vec<u64> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .flat_map(|entry| match entry.file_type().unwrap().is_dir() {
            true => files_below(&entry.path()),
            false => vec![entry.metadata().unwrap().len()],
        })
        .collect()
}

#[test]
fn clawhub_files_match_their_list() {
    let sandbox = Sandbox::project();
    let api = sandbox.path("files/api/v1");
    let (name, text) = ("claw", skill_md("claw", "Handles claw files. Use in tests.", BODY));
    write_skill(&sandbox.path("own"), name, BODY);
    write_files(&sandbox.path("own/claw"), &[("_meta.json", b"{}", false)]);
    fs::create_dir_all(&api).unwrap();
    let packed = sandbox.path("claw.skill");
    sandbox.done(&["pack", sandbox.path("own/claw").to_str().unwrap(), "-o", packed.to_str().unwrap()]);
    fs::copy(&packed, api.join("download?slug=claw&version=1.0.0")).unwrap();
    let list = |files: Value| {
        let newest = json!({"latestVersion": {"version": "1.0.0"}}).to_string();
        let version = json!({"version": {"version": "1.0.0", "files": files}}).to_string();
        let _file = fs::remove_file(api.join("skills/claw"));
        let _folder = fs::remove_dir_all(api.join("skills"));
        write_files(&api, &[("skills/claw/versions/1.0.0", version.as_bytes(), false)]);
        newest
    };
    let web = Web::start(sandbox.path("files"));
    let address = format!("clawhub:{}#claw@1.0.0", web.url("").trim_end_matches('/'));
    let zeros = "0".repeat(64);
    for files in [
        json!([{"path": "SKILL.md", "sha256": zeros}]),
        json!([{"path": "SKILL.md", "sha256": sha256(text.as_bytes())}, {"path": "more.md", "sha256": zeros}]),
        json!([{"path": "other.md", "sha256": zeros}]),
    ] {
        list(files);
        sandbox.ask(&["install", &address]).refused_with_hint(8, "integrity");
    }
    list(json!([]));
    sandbox.ask(&["install", &address]).refused_with_hint(3, "invalid_source");
    list(json!([{"path": "SKILL.md", "sha256": sha256(text.as_bytes())}]));
    sandbox.done(&["install", &address]);
    assert!(!sandbox.cwd().join(".agents/skills/claw/_meta.json").exists());
}

#[test]
fn redirect_carries_no_credentials() {
    let target = Fixed::start(redirect("nowhere:x"), Duration::ZERO);
    let host = target.url.trim_start_matches("http://");
    let sandbox = Sandbox::project();
    for (to, is_followed) in [(format!("{}/x", target.url), true), (format!("http://me:hidden@{host}/x"), false)] {
        let source = Fixed::start(redirect(&to), Duration::ZERO);
        for address in [format!("{}/.well-known/skills#x", source.url), format!("clawhub:{}#x", source.url)] {
            let before = target.seen().len();
            let args = ["install", &address, "--json"];
            let mut command = sandbox.command(&args);
            command.env("SKILLHUB_TOKEN", "secret-token");
            let answer = sandbox.finish(command, &args);
            assert_eq!(answer.exit, 9, "{answer}");
            assert!(!source.seen().contains("secret-token") && !target.seen().contains("secret-token"));
            assert!(!target.seen().contains("Authorization") && !target.seen().contains("authorization"));
            assert_eq!(target.seen().len() > before, is_followed, "{address} to {to}");
        }
    }
}

/// git follows no redirect itself, because it would send the credentials in the new address.
#[test]
fn git_redirect_carries_no_credentials() {
    let target = Fixed::start(redirect("nowhere:x"), Duration::ZERO);
    let host = target.url.trim_start_matches("http://");
    let sandbox = Sandbox::project();
    let refs = "info/refs?service=git-upload-pack";
    let source = Fixed::start(redirect(&format!("http://me:hidden@{host}/new.git/{refs}")), Duration::ZERO);
    let answer = sandbox.ask(&["install", &format!("{}/old.git", source.url)]);
    let error = answer.refused_with_hint(9, "git_failed");
    assert!(error["hint"].as_str().unwrap().ends_with(&format!("http://{host}/new.git")), "{error:#}");
    assert!(!error.to_string().contains("hidden") && target.seen().is_empty(), "{error:#}");
    let renamed = Fixed::start(redirect(&format!("/new.git/{refs}")), Duration::ZERO);
    sandbox.ask(&["install", &format!("{}/old.git", renamed.url)]).refused(9, "git_failed");
    assert!(renamed.seen().contains("GET /new.git/info/refs"), "a renamed repository of the same host is followed");
}

#[test]
fn killed_download_leaves_nothing() {
    let half = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"skills\": [".to_vec();
    let source = Fixed::start(half, Duration::from_secs(60));
    let sandbox = Sandbox::project();
    let args = ["install", &format!("{}/.well-known/skills#x", source.url), "--json"];
    let mut child = sandbox.start(&mut sandbox.command(&args));
    let until = Instant::now() + Duration::from_secs(20);
    while source.seen().is_empty() {
        assert!(Instant::now() < until, "it never asked");
        thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!sandbox.cwd().join("skillhub.lock").exists() && !sandbox.cwd().join(".agents/skills/x").exists());
    assert_eq!(sandbox.done(&["list"])["skills"].as_array().unwrap().len(), 0);
    assert_eq!(sandbox.ask(&["verify"]).exit, 0);
}

#[test]
fn unreachable_source_is_named() {
    let sandbox = Sandbox::project();
    let config = "# Mine.\n[sources.gone]\nkind = \"well-known\"\nlocation = \"http://127.0.0.1:1\"\n";
    fs::create_dir_all(sandbox.skillhub_home()).unwrap();
    fs::write(sandbox.skillhub_home().join("config.toml"), config).unwrap();
    let document = sandbox.done(&["search", "page"]);
    assert_eq!((state(&document, "gone"), state(&document, "local")), (json!("unreachable"), json!("searched")));
    let answer = sandbox.run(&["search", "page"]);
    assert!(answer.text().contains("Searched: local") && answer.stderr.contains("could not search gone"), "{answer}");
    write_skill(&sandbox.cwd().join("own"), "mine", BODY);
    sandbox.done(&["source", "add", "own"]);
    sandbox.ask(&["source", "add", "own"]).refused_with_hint(6, "exists");
    let listed = sandbox.done(&["source", "list"]);
    assert_eq!((listed["sources"].as_array().unwrap().len(), &listed["public"]), (3, &Value::Null), "{listed:#}");
    assert!(listed["sources"].to_string().contains("\"local\""), "{listed:#}");
    sandbox.done(&["source", "remove", "own"]);
    sandbox.ask(&["source", "remove", "own"]).refused_with_hint(7, "not_found");
    let text = fs::read_to_string(sandbox.skillhub_home().join("config.toml")).unwrap();
    assert_eq!(text, config);
    let all = format!("{config}[registries.far]\nlocation = \"http://127.0.0.1:1/r.git\"\nowners = [\"*\"]\n");
    fs::write(sandbox.skillhub_home().join("config.toml"), all).unwrap();
    sandbox.ask(&["search", "page"]).refused_with_hint(9, "no_source");
}

#[test]
fn public_sources_wait_for_consent() {
    let proxy = Fixed::start(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n".to_vec(), Duration::ZERO);
    let sandbox = Sandbox::project();
    let command = |args: &[&str]| {
        let mut command = sandbox.command(args);
        for name in ["https_proxy", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"] {
            command.env(name, &proxy.url);
        }
        command.env_remove("no_proxy").env_remove("NO_PROXY");
        command
    };
    let args = ["search", "page"];
    let answer: Answer = sandbox.finish(command(&args), &args);
    assert_eq!((answer.exit, proxy.seen().as_str()), (0, ""), "without a terminal: {answer}");
    let config = sandbox.skillhub_home().join("config.toml");
    assert!(!config.exists(), "nobody was asked");
    let at_terminal = |typed: &str| sandbox.with_terminal_typing(command(&args), &args, Terminal::BOTH, typed);
    for undecided in ["\u{4}", "\n", "maybe\nperhaps\nlater\ny\n"] {
        assert!(at_terminal(undecided).stderr.contains("public sources"), "{undecided}");
        assert!(!config.exists() && proxy.seen().is_empty(), "{undecided}");
    }
    let yes = ["search", "page", "-y"];
    sandbox.with_terminal_typing(command(&yes), &yes, Terminal::BOTH, "\n");
    assert!(!config.exists() && proxy.seen().is_empty(), "-y does not agree to public sources");
    let asked = at_terminal("maybe\nn\n");
    assert!(asked.stderr.contains("public sources") && proxy.seen().is_empty(), "{asked}");
    assert_eq!(fs::read_to_string(&config).unwrap(), "[search]\npublic = false\n");
    assert!(!at_terminal("").stderr.contains("public sources"), "asked once");
    assert!(proxy.seen().is_empty());
    fs::write(&config, "[search]\npublic = true\n").unwrap();
    let args = ["search", "page", "--json"];
    let document = sandbox.finish(command(&args), &args).done();
    assert_eq!(state(&document, "clawhub"), "unreachable", "{document:#}");
    assert!(proxy.seen().contains("github.com"), "{}", proxy.seen());
}

#[test]
fn empty_repository_is_named_as_such() {
    let sandbox = Sandbox::new();
    let place = sandbox.path("empty.git").display().to_string();
    git(&sandbox, &["init", "--quiet", "--bare", &place]);
    let error = sandbox.ask(&["install", &format!("file://{place}")]).refused_with_hint(7, "not_found");
    assert!(error["message"].as_str().unwrap().ends_with("is empty"), "{error:#}");
}

#[test]
fn source_is_named_after_its_folder() {
    let sandbox = Sandbox::new();
    let text = skill_md("tidy", "Tidies notes. Use in tests.", "Read the notes.");
    for folder in ["one/shared", "two/shared"] {
        write_files(&sandbox.path(folder), &[("tidy/SKILL.md", text.as_bytes(), false)]);
    }
    let add = |folder: &str| sandbox.ask(&["source", "add", sandbox.path(folder).to_str().unwrap()]);
    assert_eq!(add("one/shared").done()["name"], "shared");
    add("one/shared").refused_with_hint(6, "exists");
    assert_ne!(add("two/shared").done()["name"], "shared");
    sandbox.done(&["source", "remove", "shared"]);
}
