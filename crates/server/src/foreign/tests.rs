//! Tests of the routes for foreign clients, with the requests that those clients send, on an index in a temporary
//! folder.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    http::{Request, StatusCode, header},
};
use jiff::Timestamp;
use serde_json::{Value, json};
use skill::{Bundle, Digest, Limits, Owner, archive};
use tower::ServiceExt;

use crate::{Hub, NewToken, Scope, Settings, Visibility, api::Shared, serve::app};

const SKILL_MD: &str = "# Notes\n\nRead. Write.\n";

struct World {
    hub: Shared,
    app: Router,
    admin: String,
    _folder: tempfile::TempDir,
}

impl World {
    fn new(visibility: Visibility) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let hub = Arc::new(Hub::open(Settings::in_memory(folder.path().join("data"), visibility)).unwrap());
        let mut world = Self { app: app(&hub), hub, admin: String::new(), _folder: folder };
        world.admin = world.token("root", Scope::Admin, true);
        world
    }

    fn token(&self, account: &str, scope: Scope, is_admin: bool) -> String {
        let account = Owner::parse(account).unwrap();
        let new = NewToken { account, scope, label: String::new(), expires_at: None };
        self.hub.stores.people.add_token(&new, is_admin, &new.account, Timestamp::now()).unwrap().1
    }

    async fn ask(&self, method: &str, path: &str, token: &str, body: impl Into<Body>) -> (StatusCode, Bytes) {
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, "127.0.0.1:8700");
        request = request.header(header::CONTENT_TYPE, "application/json");
        if !token.is_empty() {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let response = self.app.clone().oneshot(request.body(body.into()).unwrap()).await.unwrap();
        let status = response.status();
        (status, to_bytes(response.into_body(), usize::MAX).await.unwrap())
    }

    async fn get(&self, path: &str) -> (StatusCode, Bytes) {
        self.ask("GET", path, "", Body::empty()).await
    }

    async fn json(&self, path: &str) -> Value {
        let (status, bytes) = self.get(path).await;
        assert_eq!(status, StatusCode::OK, "{path}: {bytes:?}");
        serde_json::from_slice(&bytes).unwrap()
    }

    async fn publish(&self, name: &str, version: &str, extra: &[(&str, &str)]) {
        let bundle = bundle(name.split('/').nth(1).unwrap(), version, extra);
        let path = format!("/v1/skills/{name}/{version}");
        let (status, body) = self.ask("PUT", &path, &self.admin, archive::pack(&bundle).into_bytes()).await;
        assert_eq!(status, StatusCode::OK, "{body:?}");
    }

    async fn post(&self, path: &str, token: &str, body: Value) -> (StatusCode, Value) {
        let (status, bytes) = self.ask("POST", path, token, body.to_string()).await;
        let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
        (status, serde_json::from_slice(&bytes).unwrap_or_else(|_| text()))
    }

    /// Uploads files like `clawhub`, and publishes them.
    async fn claw_publish(&self, token: &str, files: &[(&str, &str)], mut said: Value) -> (StatusCode, Value) {
        let mut sent = Vec::new();
        for (path, text) in files {
            let sha256 = Digest::of_bytes(text.as_bytes()).hex();
            let announced = json!({"path": path, "size": text.len(), "sha256": sha256, "contentType": "text/plain"});
            let (status, answer) = self.post("/api/v1/skills/-/upload-url", token, announced).await;
            if status != StatusCode::OK {
                return (status, answer);
            }
            let url = answer["uploadUrl"].as_str().unwrap().strip_prefix("http://127.0.0.1:8700").unwrap();
            let (_, stored) = self.ask("POST", url, token, (*text).to_owned()).await;
            let stored: Value = serde_json::from_slice(&stored).unwrap();
            sent.push(json!({"path": path, "size": text.len(), "storageId": stored["storageId"], "sha256": sha256}));
        }
        said["files"] = json!(sent);
        self.post("/api/v1/skills", token, said).await
    }
}

fn skill_md(name: &str, version: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name} in version {version}. Use in tests.\n---\n\n{SKILL_MD}")
}

fn bundle(name: &str, version: &str, extra: &[(&str, &str)]) -> Bundle {
    testkit::bundle(&[extra, &[("SKILL.md", &skill_md(name, version))]].concat())
}

fn names(index: &Value) -> Vec<&str> {
    index["skills"].as_array().unwrap().iter().map(|skill| skill["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn indexed_files_are_served_unchanged() {
    let world = World::new(Visibility::Public);
    world.publish("acme/notes", "1.0.0", &[("references/a b.md", "old\n")]).await;
    world.publish("acme/notes", "1.1.0", &[("references/a b.md", "new\n")]).await;
    let index = world.json("/.well-known/agent-skills/index.json").await;
    assert_eq!(index["$schema"], "https://schemas.agentskills.io/discovery/0.2.0/schema.json");
    let one = &index["skills"][0];
    assert_eq!((one["name"].as_str(), one["type"].as_str()), (Some("notes"), Some("archive")));
    let (_, archive) = world.get(one["url"].as_str().unwrap()).await;
    assert_eq!(one["digest"], Digest::of_bytes(&archive).to_string());

    let files = world.json("/.well-known/skills/index.json").await;
    assert_eq!(files["skills"][0]["files"], json!(["SKILL.md", "references/a b.md"]));
    assert_eq!(files["skills"][0]["version"], "1.1.0");
    let (_, text) = world.get("/.well-known/skills/notes/references/a%20b.md").await;
    assert_eq!(text, "new\n");
    let (_, text) = world.get("/.well-known/agent-skills/notes/SKILL.md").await;
    assert_eq!(text, skill_md("notes", "1.1.0"));
    for path in ["notes/absent.md", "other/SKILL.md", "notes/..%2fSKILL.md", "..%2f/SKILL.md", "%00/SKILL.md"] {
        assert_eq!(world.get(&format!("/.well-known/skills/{path}")).await.0, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn plugin_archives_match_their_marketplace() {
    let world = World::new(Visibility::Public);
    world.publish("acme/notes", "1.0.0", &[]).await;
    world.publish("acme/notes", "1.1.0", &[("references/a.md", "new\n")]).await;
    world.publish("zoe/notes", "2.0.0", &[]).await;
    let market = world.json("/.claude-plugin/marketplace.json").await;
    let plugins = market["plugins"].as_array().unwrap();
    let names: Vec<_> = plugins.iter().map(|plugin| plugin["name"].as_str().unwrap()).collect();
    assert_eq!((market["name"].as_str(), names), (Some("127-0-0-1-8700"), vec!["acme--notes", "zoe--notes"]));
    let source = &plugins[0]["source"];
    assert_eq!((source["source"].as_str(), plugins[0]["version"].as_str()), (Some("archive"), Some("1.1.0")));
    let url = source["url"].as_str().unwrap().strip_prefix("http://127.0.0.1:8700").unwrap();
    let (_, zip) = world.get(url).await;
    assert_eq!(source["sha256"], Digest::of_bytes(&zip).hex());
    // Nothing of a skill is at the root of its plugin, where Claude Code would run its hooks.
    let paths: Vec<_> = archive::members(&zip, &Limits::default()).unwrap();
    let paths: Vec<_> = paths.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["skills/notes/SKILL.md", "skills/notes/references/a.md"]);

    let of_owner = world.json("/acme/.claude-plugin/marketplace.json").await;
    assert_eq!((of_owner["name"].as_str(), of_owner["plugins"][0]["name"].as_str()), (Some("acme"), Some("notes")));
    assert_eq!(world.get("/.claude-plugin/acme/notes/9.0.0/plugin.zip").await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn bare_name_belongs_to_first_owner() {
    let world = World::new(Visibility::Public);
    world.publish("zoe/notes", "1.0.0", &[]).await;
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    world.publish("acme/notes", "2.0.0", &[]).await;
    world.publish("acme/odd", "1.0.0", &[("references/50%.md", "x\n")]).await;
    // Downloads do not change which owner a name belongs to.
    for _ in 0..3 {
        world.get("/v1/skills/acme/notes/2.0.0/archive").await;
    }
    world.hub.stores.activity.write_downloads().unwrap();
    let (agent, plain) = ("/.well-known/agent-skills/index.json", "/.well-known/skills/index.json");
    let index = world.json(agent).await;
    assert_eq!(names(&index), ["notes", "odd"]);
    assert_eq!(index["skills"][0]["url"], "/v1/skills/zoe/notes/1.0.0/archive");
    let (_, text) = world.get("/.well-known/skills/notes/SKILL.md").await;
    assert_eq!(text, skill_md("notes", "1.0.0"));
    assert_eq!(names(&world.json(plain).await), ["notes"], "a path that the client would garble");
    assert_eq!(names(&world.json(&format!("/acme{agent}")).await), ["notes", "odd"]);
    let (_, text) = world.get("/acme/.well-known/skills/notes/SKILL.md").await;
    assert_eq!(text, skill_md("notes", "2.0.0"));
    assert_eq!(names(&world.json(&format!("/acme/notes{plain}")).await), ["notes"]);
    let (_, text) = world.get("/acme/notes/.well-known/skills/notes/SKILL.md").await;
    assert_eq!(text, skill_md("notes", "2.0.0"));
    assert_eq!(world.get("/acme/notes/.well-known/skills/odd/SKILL.md").await.0, StatusCode::NOT_FOUND);
    assert_eq!(world.get(&format!("/acme/none{agent}")).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn withheld_releases_are_not_offered() {
    let world = World::new(Visibility::Public);
    for name in ["yanked", "withdrawn", "held", "kept"] {
        world.publish(&format!("acme/{name}"), "1.0.0", &[]).await;
    }
    world.publish("acme/kept", "1.1.0", &[]).await;
    let reason = json!({"reason": "for a test"}).to_string();
    let admin = &world.admin;
    let done = [
        world.ask("PUT", "/v1/skills/acme/yanked/1.0.0/yank", admin, Body::empty()).await,
        world.ask("POST", "/v1/skills/acme/withdrawn/1.0.0/withdraw", admin, reason.clone()).await,
        world.ask("PUT", "/v1/skills/acme/held/1.0.0/quarantine", admin, reason.clone()).await,
        world.ask("PUT", "/v1/skills/acme/kept/1.1.0/quarantine", admin, reason).await,
    ];
    assert!(done.iter().all(|(status, _)| *status == StatusCode::OK), "{done:?}");
    for index in ["/.well-known/agent-skills/index.json", "/acme/.well-known/skills/index.json"] {
        assert_eq!(names(&world.json(index).await), ["kept"], "{index}");
    }
    let plugins = world.json("/.claude-plugin/marketplace.json").await["plugins"].clone();
    assert_eq!((plugins[0]["version"].as_str(), plugins.as_array().unwrap().len()), (Some("1.0.0"), 1));
    let skill = world.json("/api/v1/skills/kept").await;
    assert_eq!(skill["latestVersion"]["version"], "1.0.0");
    let versions = world.json("/api/v1/skills/kept/versions").await;
    assert_eq!(versions["items"].as_array().unwrap().len(), 1);
    for path in ["/.well-known/skills/held/SKILL.md", "/api/v1/skills/held", "/api/v1/download?slug=withdrawn"] {
        assert_eq!(world.get(path).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    assert_eq!(world.get("/api/v1/download?slug=held&version=1.0.0").await.0, StatusCode::FORBIDDEN);
    assert_eq!(world.get("/api/v1/download?slug=withdrawn&version=1.0.0").await.0, StatusCode::GONE);
    assert_eq!(world.get("/api/v1/download?slug=yanked&version=1.0.0").await.0, StatusCode::OK, "by its version only");
}

#[tokio::test]
async fn private_index_requires_a_token_everywhere() {
    let world = World::new(Visibility::Private);
    world.publish("acme/notes", "1.0.0", &[]).await;
    for path in [
        "/.well-known/agent-skills/index.json",
        "/.well-known/skills/index.json",
        "/.well-known/skills/notes/SKILL.md",
        "/acme/notes/.well-known/skills/notes/SKILL.md",
        "/.claude-plugin/marketplace.json",
        "/.claude-plugin/acme/notes/1.0.0/plugin.zip",
        "/api/v1/search?q=notes",
        "/api/v1/skills",
        "/api/v1/skills/notes",
        "/api/v1/skills/notes/install",
        "/api/v1/skills/notes/versions",
        "/api/v1/skills/notes/versions/1.0.0",
        "/api/v1/skills/notes/file?path=SKILL.md",
        "/api/v1/skills/notes/moderation",
        "/api/v1/resolve?slug=notes&hash=0",
        "/api/v1/download?slug=notes",
    ] {
        assert_eq!(world.get(path).await.0, StatusCode::UNAUTHORIZED, "{path}");
        let reader = world.token("ann", Scope::Read, false);
        assert_eq!(world.ask("GET", path, &reader, Body::empty()).await.0, StatusCode::OK, "{path}");
    }
}

#[tokio::test]
async fn clawhub_download_is_counted() {
    let world = World::new(Visibility::Public);
    world.publish("acme/notes", "1.0.0", &[("references/x.md", "x\n")]).await;
    assert_eq!(world.json("/.well-known/clawhub.json").await["apiBase"], "http://127.0.0.1:8700");
    let found = world.json("/api/v1/search?q=notes&limit=5").await;
    assert_eq!(
        (found["results"][0]["slug"].as_str(), found["results"][0]["ownerHandle"].as_str()),
        (Some("notes"), Some("acme"))
    );
    let list = world.json("/api/v1/skills?limit=200&sort=downloads").await;
    assert_eq!((list["items"][0]["slug"].as_str(), &list["nextCursor"]), (Some("notes"), &Value::Null));
    assert_eq!(world.json("/api/v1/skills?prefix=not").await["items"].as_array().unwrap().len(), 1);
    assert_eq!(world.json("/api/v1/search?q=not&mode=exact").await["results"], json!([]));
    let version = world.json("/api/v1/skills/notes/versions/1.0.0").await;
    assert_eq!(version["version"]["files"][1]["path"], "references/x.md");
    assert_eq!(version["version"]["files"][1]["sha256"], Digest::of_bytes(b"x\n").hex());
    let (_, text) = world.get("/api/v1/skills/notes/file?path=references/x.md&version=1.0.0").await;
    assert_eq!(text, "x\n");
    let (_, zip) = world.get("/api/v1/download?slug=notes&ownerHandle=acme&version=1.0.0").await;
    assert_eq!(
        archive::unpack(&zip, &Limits::default()).unwrap().digest(),
        bundle("notes", "1.0.0", &[("references/x.md", "x\n")]).digest()
    );
    world.hub.stores.activity.write_downloads().unwrap();
    assert_eq!(world.json("/api/v1/skills/acme--notes").await["skill"]["stats"]["downloads"], 1);
    assert_eq!(world.json("/api/v1/skills/notes/moderation").await["moderation"]["verdict"], "clean");
    let install = world.json("/api/v1/skills/notes/install").await;
    let url =
        install["archive"]["downloadUrl"].as_str().unwrap().strip_prefix("http://127.0.0.1:8700").unwrap().to_owned();
    assert_eq!(world.get(&url).await.1, zip);
    for path in [
        "/api/v1/skills/none",
        "/api/v1/skills/zoe--notes",
        "/api/v1/skills/notes?ownerHandle=zoe",
        "/api/v1/skills/acme--notes?ownerHandle=zoe",
        "/api/v1/skills/notes/file?path=../x",
    ] {
        let (status, body) = world.get(path).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{path}");
        assert!(!body.starts_with(b"{"), "errors are text: {body:?}");
    }
    assert_eq!(world.get("/api/v1/skills?limit=x").await.0, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn ambiguous_name_lists_its_owners() {
    let world = World::new(Visibility::Public);
    world.publish("acme/notes", "1.0.0", &[]).await;
    world.publish("zoe/notes", "2.0.0", &[]).await;
    let (status, body) = world.get("/api/v1/skills/notes").await;
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((status, body["code"].as_str()), (StatusCode::CONFLICT, Some("AMBIGUOUS_SKILL_SLUG")));
    assert_eq!(body["matches"][1]["ref"], "@zoe/notes");
    let found = world.json("/api/v1/search?q=notes").await;
    let mut slugs: Vec<&str> =
        found["results"].as_array().unwrap().iter().map(|one| one["slug"].as_str().unwrap()).collect();
    slugs.sort_unstable();
    assert_eq!(slugs, ["acme--notes", "zoe--notes"]);
    for path in ["/api/v1/skills/zoe--notes", "/api/v1/skills/notes?ownerHandle=@zoe"] {
        assert_eq!(world.json(path).await["latestVersion"]["version"], "2.0.0");
    }
}

#[tokio::test]
async fn clawhub_recognises_its_published_folder() {
    let world = World::new(Visibility::Public);
    let (ann, reader) = (world.token("ann", Scope::Publish, false), world.token("ann", Scope::Read, false));
    let text = skill_md("notes", "1.0.0");
    let files = [("SKILL.md", text.as_str()), ("references/x.md", "x\n")];
    let said =
        json!({"slug": "notes", "displayName": "Notes", "version": "1.0.0", "changelog": "first", "tags": ["latest"]});
    assert_eq!(world.claw_publish("", &files, said.clone()).await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(world.claw_publish(&reader, &files, said.clone()).await.0, StatusCode::FORBIDDEN);
    let (status, answer) = world.claw_publish(&ann, &files, said.clone()).await;
    assert_eq!((status, answer["publicationStatus"].as_str()), (StatusCode::OK, Some("published")), "{answer}");
    let print = super::fingerprint::fingerprint(&bundle("notes", "1.0.0", &[("references/x.md", "x\n")]));
    let resolved = world.json(&format!("/api/v1/resolve?slug=notes&ownerHandle=ann&hash={print}")).await;
    assert_eq!(resolved, json!({"match": {"version": "1.0.0"}, "latestVersion": {"version": "1.0.0"}}));
    let resolved = world.json("/api/v1/resolve?slug=none&hash=0").await;
    assert_eq!(resolved, json!({"match": null, "latestVersion": null}));

    let with = |field: &str, value: Value| {
        let mut said = said.clone();
        said[field] = value;
        said
    };
    let (status, why) = world.claw_publish(&ann, &files, with("ownerHandle", json!("acme"))).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{why}");
    for (field, value) in [("version", json!("1")), ("slug", json!("../x")), ("migrateOwner", json!(true))] {
        assert_eq!(world.claw_publish(&ann, &files, with(field, value)).await.0, StatusCode::BAD_REQUEST, "{field}");
    }
    for bad in ["../x.md", "a/../../x", "C:x", "references/\u{202e}x.md"] {
        let files = [("SKILL.md", text.as_str()), (bad, "x\n")];
        let (status, why) = world.claw_publish(&ann, &files, with("version", json!("1.0.1"))).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{bad}: {why}");
    }
    let changed = [("SKILL.md", text.as_str()), ("references/x.md", "y\n")];
    assert_eq!(
        world.claw_publish(&ann, &changed, said.clone()).await.0,
        StatusCode::CONFLICT,
        "other content, same version"
    );
}

#[tokio::test]
async fn accounts_publish_only_their_uploads() {
    let world = World::new(Visibility::Public);
    let (ann, bob) = (world.token("ann", Scope::Publish, false), world.token("bob", Scope::Publish, false));
    let text = skill_md("notes", "1.0.0");
    let sha256 = Digest::of_bytes(text.as_bytes()).hex();
    let path = format!("/api/v1/skills/-/uploads/{sha256}");
    assert_eq!(world.ask("POST", &path, &ann, "other bytes").await.0, StatusCode::BAD_REQUEST);
    assert_eq!(world.ask("POST", &path, &bob, text.clone()).await.0, StatusCode::OK);
    let said = json!({"slug": "notes", "version": "1.0.0", "files": [{"path": "SKILL.md", "storageId": sha256}]});
    let (status, why) = world.post("/api/v1/skills", &ann, said.clone()).await;
    assert_eq!(status, StatusCode::CONFLICT, "another account's file: {why}");
    assert_eq!(world.post("/api/v1/skills", &bob, said).await.0, StatusCode::OK);
    let large = json!({"path": "a", "size": u64::MAX, "sha256": sha256});
    assert_eq!(world.post("/api/v1/skills/-/upload-url", &ann, large).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    for body in ["", "{", "[]", "{\"slug\":1}"] {
        assert_eq!(world.ask("POST", "/api/v1/skills", &ann, body).await.0, StatusCode::BAD_REQUEST, "{body}");
    }
}

#[tokio::test]
async fn account_stars_a_skill_once() {
    let world = World::new(Visibility::Public);
    world.publish("acme/notes", "1.0.0", &[]).await;
    let ann = world.token("ann", Scope::Read, false);
    assert_eq!(world.post("/api/v1/stars/notes", "", json!({})).await.0, StatusCode::UNAUTHORIZED);
    let star = || world.post("/api/v1/stars/notes?ownerHandle=acme", &ann, json!({}));
    assert_eq!(star().await.1, json!({"ok": true, "starred": true, "alreadyStarred": false}));
    assert_eq!(star().await.1, json!({"ok": true, "starred": true, "alreadyStarred": true}));
    let (_, body) = world.ask("DELETE", "/api/v1/stars/notes", &ann, Body::empty()).await;
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["alreadyUnstarred"], false);
    let (_, who) = world.ask("GET", "/api/v1/whoami", &ann, Body::empty()).await;
    assert_eq!(serde_json::from_slice::<Value>(&who).unwrap()["user"]["handle"], "ann");
    assert_eq!(world.get("/api/v1/whoami").await.0, StatusCode::UNAUTHORIZED);
}
