//! The data folder: only one server at a time writes to it, its secrets are unreadable to other users, and databases of
//! older builds are migrated.

use std::path::Path;

use rusqlite::Connection;

use super::{archive, publish};
use crate::support::{Sandbox, Server};

/// Databases of two builds older than the history of migrations, with their tokens.
const OLD_DATABASES: [&str; 2] = ["tests/data/server-1.sqlite", "tests/data/server-2.sqlite"];
const OLD_ADMIN: &str = "skh_29d86b1df1d73efa3b14429588bd58fbe3f22ce3a36692af5bb9272b6a11fa14";
const OLD_ANN: &str = "skh_3effe42d8b6d9c189b5d42435998c0cbec8c55a1dd3f172ff46437bf3c8c0820";

#[test]
fn second_server_is_refused() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    let data = server.data().to_str().unwrap().to_owned();
    let serve = ["serve", "--data", &data, "--addr", "127.0.0.1:0"];
    let error = sandbox.ask(&serve).refused_with_hint(6, "locked");
    assert!(error["message"].as_str().unwrap().contains("process "), "{error}");
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("skillhub serve --read-only") && hint.contains(&data), "{hint}");
    assert_eq!(server.get("/v1/skills")["results"], serde_json::json!([]), "the first one goes on");
}

#[test]
fn admin_and_mirror_run_beside_server() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    let mirror = Server::start(&sandbox, &["--read-only"]);
    publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
    let data = server.data().to_str().unwrap();
    let token = sandbox.run(&["serve", "admin-token", "--data", data, "--account", "root"]).exits(0);
    assert_eq!(server.ask("GET", "/v1/whoami", Some(token.text().trim()), b"").done()["account"], "root");
    assert_eq!(mirror.get("/v1/skills/acme/notes/1.0.0")["release"]["version"], "1.0.0");
}

#[test]
fn admin_token_creates_no_data_folder() {
    let sandbox = Sandbox::new();
    let (wrong, default) = (sandbox.path("hubb"), sandbox.skillhub_home().join("server"));
    let command = ["serve", "admin-token", "--data", wrong.to_str().unwrap()];
    for (args, folder) in [(&command[..], &wrong), (&command[..2], &default)] {
        let error = sandbox.ask(args).refused_with_hint(7, "not_found");
        assert!(error["message"].as_str().unwrap().contains(folder.to_str().unwrap()), "{error}");
        let start = format!("skillhub serve --data {}", folder.display());
        assert!(error["hint"].as_str().unwrap().contains(&start), "{error}");
        assert!(!folder.exists());
    }
    std::fs::create_dir(&wrong).unwrap();
    std::fs::write(wrong.join("notes.txt"), "other files").unwrap();
    sandbox.ask(&command).refused_with_hint(7, "not_found");
    std::fs::remove_file(wrong.join("notes.txt")).unwrap();
    sandbox.run(&command).exits(0);
}

#[test]
fn killed_server_leaves_no_lock() {
    let sandbox = Sandbox::new();
    for _ in 0..2 {
        Server::start(&sandbox, &[]).kill();
    }
    Server::start(&sandbox, &[]);
}

/// A server that is killed while it moves the branch leaves git's lock file.
#[test]
fn restarted_server_publishes_despite_branch_lock() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    let lock = server.index().join("refs/heads/main.lock");
    server.kill();
    std::fs::write(&lock, "").unwrap();
    let _mirror = Server::start(&sandbox, &["--read-only"]);
    assert!(lock.exists(), "a mirror removes nothing");
    let server = Server::start(&sandbox, &[]);
    publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
    assert!(!lock.exists());
}

#[cfg(unix)]
mod modes {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn data_files_are_private_to_user() {
        let sandbox = Sandbox::new();
        let server = Server::start(&sandbox, &["--visibility", "private"]);
        server.token("ann", "read");
        assert_eq!(mode(server.data()), 0o700);
        for file in ["skillhub.sqlite", "skillhub.sqlite-wal", "skillhub.sqlite-shm"] {
            assert_eq!(mode(&server.data().join(file)), 0o600, "{file}");
        }
    }

    #[test]
    fn older_data_permissions_are_tightened() {
        let sandbox = Sandbox::new();
        for (visibility, folder) in [("public", 0o755), ("private", 0o700)] {
            let server = Server::start(&sandbox, &[]);
            let data = server.data().to_owned();
            server.kill();
            set_mode(&data, 0o755);
            for file in ["skillhub.sqlite", "skillhub.sqlite-wal", "skillhub.sqlite-shm"] {
                set_mode(&data.join(file), 0o644);
            }
            let _server = Server::start(&sandbox, &["--visibility", visibility]);
            assert_eq!(mode(&data), folder, "other users may read the index of a {visibility} server or not");
            for file in ["skillhub.sqlite", "skillhub.sqlite-wal", "skillhub.sqlite-shm"] {
                assert_eq!(mode(&data.join(file)), 0o600, "{file}");
            }
        }
    }
}

#[test]
fn earlier_databases_are_upgraded() {
    for old in OLD_DATABASES {
        upgrades(&Path::new(env!("CARGO_MANIFEST_DIR")).join(old));
    }
}

fn upgrades(old: &Path) {
    let sandbox = Sandbox::new();
    let data = sandbox.path("hub");
    std::fs::create_dir(&data).unwrap();
    std::fs::copy(old, data.join("skillhub.sqlite")).unwrap();
    let server = Server::start(&sandbox, &[]);
    assert_eq!(server.ask("GET", "/v1/whoami", Some(OLD_ADMIN), b"").done()["admin"], true);
    let bytes = archive(&sandbox, "notes", "two");
    server.ask("PUT", "/v1/skills/ann/notes/2.0.0", Some(OLD_ANN), &bytes).done();
    let refused = server.ask("PUT", "/v1/skills/acme/notes/2.0.0", Some(OLD_ANN), &bytes);
    assert_eq!(refused.refused(403), "policy_denied", "acme has a member of its own");
    let audit = server.ask("GET", "/v1/audit", Some(OLD_ADMIN), b"").done();
    assert!(audit["decisions"].to_string().contains("it may be bad") || audit.to_string().contains("it may be bad"));
    server.kill();
    let database = Connection::open(data.join("skillhub.sqlite")).unwrap();
    let rows = |sql: &str| {
        let mut select = database.prepare(sql).unwrap();
        let rows = select.query_map([], |row| row.get::<_, String>(0)).unwrap();
        rows.collect::<Result<Vec<_>, _>>().unwrap()
    };
    assert!(rows("select name from migrations order by number").len() >= 3);
    assert!(rows("select sha256 || applied_at from migrations").iter().all(|row| row.len() == 64 + 20));
}

#[test]
fn damaged_database_is_named() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    let file = server.data().join("skillhub.sqlite");
    server.kill();
    for suffix in ["-wal", "-shm"] {
        std::fs::remove_file(file.with_file_name(format!("skillhub.sqlite{suffix}"))).unwrap();
    }
    let data = file.parent().unwrap().to_str().unwrap();
    let mut damaged = std::fs::read(&file).unwrap();
    damaged.truncate(5000);
    for content in [b"no database".repeat(100), damaged] {
        std::fs::write(&file, content).unwrap();
        for command in [&["serve", "--addr", "127.0.0.1:0"][..], &["serve", "admin-token"]] {
            let error = sandbox.ask(&[command, &["--data", data]].concat()).refused_with_hint(8, "damaged_database");
            assert!(error["message"].as_str().unwrap().contains(file.to_str().unwrap()), "{error}");
            assert!(error["hint"].as_str().unwrap().contains("backup"), "{error}");
        }
    }
}

#[test]
fn newer_database_is_refused() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    let data = server.data().to_owned();
    server.kill();
    let database = Connection::open(data.join("skillhub.sqlite")).unwrap();
    let later = "insert into migrations values (99, '0099-later', 'x', '2030-01-01T00:00:00Z')";
    database.execute(later, []).unwrap();
    drop(database);
    for command in [&["serve", "--addr", "127.0.0.1:0"][..], &["serve", "admin-token"]] {
        let error = sandbox.ask(&[command, &["--data", data.to_str().unwrap()]].concat());
        let error = error.refused_with_hint(1, "newer_format");
        assert!(error["message"].as_str().unwrap().contains("0099-later"), "{error}");
    }
}
