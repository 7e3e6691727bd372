//! `skillhub mcp install`: real and malformed configuration files of hosts.

use std::fs;

use serde_json::{Value, json};

use crate::support::Sandbox;

/// Each host with its configuration file in a project and in the user's home.
const FILES: [(&str, &str, &str); 6] = [
    ("claude-code", ".mcp.json", ".claude.json"),
    ("codex", ".codex/config.toml", ".codex/config.toml"),
    ("cursor", ".cursor/mcp.json", ".cursor/mcp.json"),
    ("gemini-cli", ".gemini/settings.json", ".gemini/settings.json"),
    ("github-copilot", ".vscode/mcp.json", ".config/Code/User/mcp.json"),
    ("opencode", "opencode.json", ".config/opencode/opencode.json"),
];

/// It writes to the project and to the home folder; installing again changes nothing.
#[test]
fn install_writes_each_hosts_entry_once() {
    let sandbox = Sandbox::project();
    for (host, project, user) in FILES {
        for (flags, file) in [(vec![], sandbox.cwd().join(project)), (vec!["--global"], sandbox.home().join(user))] {
            let args = [flags.as_slice(), &["mcp", "install", "--agent", host]].concat();
            let shown = sandbox.done(&[args.as_slice(), &["--print"]].concat());
            assert_eq!((&shown["status"], file.exists()), (&json!("dry_run"), false), "{shown:#}");
            assert_eq!(sandbox.done(&args)["status"], "written");
            let text = fs::read_to_string(&file).unwrap();
            assert_eq!(shown["content"], text);
            assert!(text.contains("skillhub") && text.contains(host) && text.contains("--no-catalogue"), "{text}");
            assert_eq!(sandbox.done(&args)["status"], "unchanged");
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
    }
    let left = fs::read_dir(sandbox.cwd()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(left.filter(|name| name.starts_with(".skillhub-")).count() == 0, "nothing temporary stays");
}

#[test]
fn install_keeps_comments_and_names_library() {
    let sandbox = Sandbox::project();
    let file = sandbox.cwd().join("opencode.jsonc");
    let before = "{\n\t// ours\n\t\"model\": \"m\",\n\t\"mcp\": {\n\t\t\"docs\": {\"type\": \"remote\", \"url\": \"https://x\"}, // keep\n\t},\n}\n";
    fs::write(&file, before).unwrap();
    let library = sandbox.path("skills");
    let library = library.to_str().unwrap();
    sandbox.done(&["--library", library, "mcp", "install", "--agent", "opencode"]);
    let after = fs::read_to_string(&file).unwrap();
    for line in before.lines() {
        assert!(after.lines().any(|kept| kept == line), "{line} is gone:\n{after}");
    }
    assert!(after.contains(&format!("\"--library\",\n\t\t\t\t\"{library}\"")), "{after}");
}

/// The answer carries the snippet to paste.
#[test]
fn unreadable_host_file_is_left_unchanged() {
    let sandbox = Sandbox::project();
    let cases: [(&str, &str, &[u8]); 5] = [
        ("claude-code", ".mcp.json", b"{\"mcpServers\": {"),
        ("claude-code", ".mcp.json", b"\xff\xfe{}"),
        ("cursor", ".cursor/mcp.json", b"[1]"),
        ("codex", ".codex/config.toml", b"mcp_servers = 3\n"),
        ("github-copilot", ".vscode/mcp.json", b"{\"servers\": 1}"),
    ];
    for (host, file, bytes) in cases {
        let file = sandbox.cwd().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, bytes).unwrap();
        let answer = sandbox.ask(&["mcp", "install", "--agent", host]).exits(3).json();
        assert_eq!(answer["error"]["code"], "invalid_config", "{answer:#}");
        assert!(answer["error"]["details"]["snippet"].as_str().unwrap().contains("skillhub"), "{answer:#}");
        assert_eq!(fs::read(&file).unwrap(), bytes, "{host}");
    }
    assert_eq!(sandbox.ask(&["mcp", "install", "--agent", "nobody"]).exits(2).json()["error"]["code"], "unknown_agent");
    sandbox.ask(&["mcp", "install"]).exits(2);
    sandbox.ask(&["--actor", "agent:x", "mcp", "install", "--agent", "codex"]).exits(2);
}

/// A link inside a clone must not lead a write out of it; a person's own links may.
#[test]
#[cfg(unix)]
fn only_home_links_are_followed() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let sandbox = Sandbox::project();
    let secret = sandbox.home().join("dotfiles.json");
    fs::write(&secret, "{}").unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&secret, sandbox.cwd().join(".mcp.json")).unwrap();
    symlink(sandbox.home(), sandbox.cwd().join(".cursor")).unwrap();
    for host in ["claude-code", "cursor"] {
        let answer = sandbox.ask(&["mcp", "install", "--agent", host]).exits(5).json();
        assert_eq!(answer["error"]["code"], "policy_denied", "{answer:#}");
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), "{}");
    symlink(&secret, sandbox.home().join(".claude.json")).unwrap();
    sandbox.done(&["--global", "mcp", "install", "--agent", "claude-code"]);
    let document: Value = serde_json::from_slice(&fs::read(&secret).unwrap()).unwrap();
    assert_eq!(document["mcpServers"]["skillhub"]["command"], "skillhub");
    assert!(sandbox.home().join(".claude.json").is_symlink());
    assert_eq!(fs::metadata(&secret).unwrap().permissions().mode() & 0o777, 0o600);
}

/// A hook is written to files of the user only; the first file is that of a project.
#[test]
fn install_adds_hook_to_users_own_file() {
    let sandbox = Sandbox::project();
    for (host, of_project, of_user) in [
        ("claude-code", Some(".claude/settings.local.json"), ".claude/settings.json"),
        ("codex", None, ".codex/config.toml"),
        ("gemini-cli", None, ".gemini/settings.json"),
        ("opencode", None, ".config/opencode/plugins/skillhub.js"),
    ] {
        let installed = sandbox.done(&["mcp", "install", "--agent", host]);
        assert_eq!(installed["hook"]["status"], if of_project.is_some() { "written" } else { "none" }, "{installed:#}");
        let user = sandbox.home().join(of_user);
        assert!(!user.exists());
        let global = ["--global", "mcp", "install", "--agent", host];
        assert_eq!(sandbox.done(&global)["hook"]["status"], "written", "{host}");
        for file in of_project.map(|file| sandbox.cwd().join(file)).iter().chain([&user]) {
            let text = fs::read_to_string(file).unwrap();
            assert!(text.contains("--hook") && text.contains("record"), "{text}");
        }
        assert_eq!(sandbox.done(&global)["hook"]["status"], "unchanged", "{host}");
    }
    assert_eq!(sandbox.done(&["--global", "mcp", "install", "--agent", "cursor"])["hook"]["status"], "none");
}

/// The server is connected even if the hook cannot be added, and the answer has the reason.
#[test]
fn foreign_hook_stays_and_is_reported() {
    let sandbox = Sandbox::new();
    let file = sandbox.home().join(".codex/config.toml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "notify = [\"mine.sh\"]\n").unwrap();
    let installed = sandbox.done(&["mcp", "install", "--agent", "codex"]);
    assert_eq!((&installed["status"], &installed["hook"]["status"]), (&json!("written"), &json!("failed")));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("notify = [\"mine.sh\"]\n") && text.contains("[mcp_servers.skillhub]"), "{text}");
    let plain = sandbox.run(&["mcp", "install", "--agent", "codex"]).exits(0).text();
    assert!(plain.contains("sessions of Codex are not recorded") && plain.contains("another program"), "{plain}");
}

/// The server and the hook go, for the project and for the user, and a second run finds nothing.
#[test]
fn uninstall_removes_what_install_wrote() {
    let sandbox = Sandbox::project();
    for (host, project, user) in FILES {
        for (flags, file) in [(vec![], sandbox.cwd().join(project)), (vec!["--global"], sandbox.home().join(user))] {
            let of = |verb: &'static str| [flags.as_slice(), &["mcp", verb, "--agent", host]].concat();
            sandbox.done(&of("install"));
            let shown = sandbox.done(&[of("uninstall").as_slice(), &["--print"]].concat());
            assert_eq!((&shown["status"], file.exists()), (&json!("dry_run"), true), "{shown:#}");
            assert_eq!(sandbox.done(&of("uninstall"))["status"], "removed", "{host}");
            assert!(!file.exists(), "{host}: nothing but skillhub was in {}", file.display());
            assert_eq!(sandbox.done(&of("uninstall"))["status"], "unchanged", "{host}");
        }
    }
    let left = [".claude/settings.json", ".config/opencode/plugins/skillhub.js"].map(|file| sandbox.home().join(file));
    assert!(left.iter().all(|file| !file.exists()) && !sandbox.cwd().join(".claude/settings.local.json").exists());
    sandbox.done(&["--global", "mcp", "install", "--agent", "cursor"]);
    let elsewhere = sandbox.run(&["mcp", "uninstall", "--agent", "cursor"]).exits(0).text();
    assert!(elsewhere.contains("skillhub --global mcp uninstall --agent cursor"), "{elsewhere}");
}

/// Everything of others stays byte for byte, and so does a server of that name that is not ours.
#[test]
fn uninstall_keeps_everything_else() {
    let sandbox = Sandbox::project();
    for (host, file, before) in [
        (
            "claude-code",
            ".mcp.json",
            "{\n  \"mcpServers\": {\n    \"docs\": {\"url\": \"https://x\"}\n  },\n  \"n\": 1.50\n}\n",
        ),
        ("codex", ".codex/config.toml", "# mine\nmodel = \"x\" # kept\n\n[mcp_servers.docs]\nurl = \"https://x\"\n"),
        ("opencode", "opencode.jsonc", "{\n\t// ours\n\t\"mcp\": {\n\t\t\"docs\": {} // keep\n\t},\n}\n"),
        ("cursor", ".cursor/mcp.json", "{\"mcpServers\": {\"skillhub\": {\"url\": \"https://x\"}}}"),
        ("gemini-cli", ".gemini/settings.json", "{\"mcpServers\": {\"skillhub\": "),
    ] {
        let file = sandbox.cwd().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, before).unwrap();
        let is_ours = ["claude-code", "codex", "opencode"].contains(&host);
        if is_ours {
            sandbox.done(&["mcp", "install", "--agent", host]);
            assert_ne!(fs::read_to_string(&file).unwrap(), before);
        }
        let answer = sandbox.ask(&["mcp", "uninstall", "--agent", host]);
        match host {
            "gemini-cli" => assert_eq!(answer.exits(3).json()["error"]["code"], "invalid_config"),
            _ => assert_eq!(answer.exits(0).json()["status"], if is_ours { "removed" } else { "unchanged" }),
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), before, "{host}");
    }
}
