//! Tests of the pages through their routes, with the requests that browsers send.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, Bytes},
    http::{Request, StatusCode, header},
};
use http_body_util::BodyExt;
use jiff::Timestamp;
use semver::Version;
use skill::{Owner, archive};
use tower::ServiceExt;
use web::pages::POLICY;

use crate::{
    Hub, NewToken, Scope, Settings, Visibility, app,
    publish::{Submission, publish},
};

/// A server with two releases of a skill. Everything but its folder is in memory.
struct Server {
    _folder: tempfile::TempDir,
    hub: Arc<Hub>,
    app: Router,
    admin: String,
}

/// The response that a browser received.
struct Got {
    status: StatusCode,
    headers: axum::http::HeaderMap,
    text: String,
}

fn server(visibility: Visibility) -> Server {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::in_memory(folder.path().join("data"), visibility);
    let hub = Arc::new(Hub::open(settings).unwrap());
    let new = NewToken {
        account: Owner::parse("root").unwrap(),
        scope: Scope::Admin,
        label: String::new(),
        expires_at: None,
    };
    let (_, admin) = hub.stores.people.add_token(&new, true, &new.account, Timestamp::now()).unwrap();
    let server = Server { _folder: folder, app: app(&hub), hub, admin };
    server.publish("acme/notes", "1.0.0", "Run the old step.\n", &[("scripts/run.sh", "#!/bin/sh\necho one\n")]);
    server.publish(
        "acme/notes",
        "1.1.0",
        HOSTILE,
        &[("scripts/run.sh", "#!/bin/sh\ncurl https://api.example.org/x\n")],
    );
    server
}

/// A skill's text with common attacks on a page.
const HOSTILE: &str = "Run the new step.\n\n# Notes\n\n<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n\
    [a](javascript:alert(1)) [b](data:text/html,x) ![c](https://pixel.example/a.png) [d](scripts/run.sh)\n\n\
    | a | b |\n|---|---|\n| <iframe src=//evil.example></iframe> | x |\n\n🎉🎉🎉🎉🎉🎉\n";

impl Server {
    fn publish(&self, name: &str, version: &str, body: &str, files: &[(&str, &str)]) {
        let bare = name.split('/').next_back().unwrap();
        let text = format!("---\nname: {bare}\ndescription: Takes <b>notes</b> of meetings. 记录会议。\n---\n{body}");
        let bundle = testkit::bundle(&[files, &[("SKILL.md", &text)]].concat());
        let submission = Submission {
            name: name.parse().unwrap(),
            version: Version::parse(version).unwrap(),
            changelog: String::new(),
            signature: None,
            forked_from: None,
            archive: Bytes::from(archive::pack(&bundle).into_bytes()),
        };
        let caller = self.hub.stores.people.caller(&self.admin, Timestamp::now()).unwrap().unwrap();
        publish(&self.hub, &caller, &submission).unwrap();
    }

    async fn ask(&self, request: Request<Body>) -> Got {
        let response = self.app.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        Got { status, headers, text: String::from_utf8(bytes.to_vec()).unwrap() }
    }

    async fn get_with(&self, path: &str, cookie: &str) -> Got {
        let request = Request::get(path).header(header::HOST, "localhost").header(header::ACCEPT, "text/html");
        self.ask(request.header(header::COOKIE, cookie).body(Body::empty()).unwrap()).await
    }

    async fn get(&self, path: &str) -> Got {
        self.get_with(path, "a=b").await
    }

    async fn post(&self, path: &str, cookie: &str, form: &str) -> Got {
        let request = Request::post(path)
            .header(header::HOST, "localhost")
            .header(header::ACCEPT, "text/html")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(header::COOKIE, cookie);
        self.ask(request.body(Body::from(form.to_owned())).unwrap()).await
    }

    /// Signs an admin in and returns the cookies.
    async fn signed_in(&self) -> String {
        let form = self.get("/-/sign-in").await;
        let cookie = form.cookies();
        let answer = self.post("/-/sign-in", &cookie, &format!("proof={}&token={}", form.proof(), self.admin)).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
        format!("{cookie}; {}", answer.cookies())
    }
}

impl Got {
    fn cookies(&self) -> String {
        let all = self.headers.get_all(header::SET_COOKIE).iter().map(|value| value.to_str().unwrap());
        all.map(|value| value.split(';').next().unwrap()).collect::<Vec<_>>().join("; ")
    }

    fn proof(&self) -> String {
        let (_, rest) = self.text.split_once("name=\"proof\" value=\"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    }
}

#[tokio::test]
async fn pages_have_a_policy_and_no_inline_code() {
    let server = server(Visibility::Public);
    for path in [
        "/",
        "/-/search",
        "/-/search?q=meeting+notes&verdict=allow&sort=name",
        "/-/search?q=%E8%AE%B0%E5%BD%95",
        "/-/search?q=nothing-like-it",
        "/-/search?signed=1",
        "/acme",
        "/acme/notes",
        "/acme/notes?version=1.0.0",
        "/acme/notes/files/1.1.0/SKILL.md",
        "/acme/notes/files/1.1.0/scripts/run.sh",
        "/acme/notes/files/latest/SKILL.md",
        "/acme/notes/diff/1.0.0/1.1.0",
        "/acme/notes/diff/1.0.0/1.1.0?view=unified&file=SKILL.md",
        "/acme/notes/diff/1.1.0/1.1.0",
        "/-/sign-in",
    ] {
        for lang in ["en", "zh"] {
            let path = format!("{path}{}lang={lang}", if path.contains('?') { '&' } else { '?' });
            let got = server.get(&path).await;
            assert_eq!(got.status, StatusCode::OK, "{path}: {}", got.text);
            assert_eq!(got.headers[header::CONTENT_SECURITY_POLICY], POLICY);
            assert!(got.text.contains(&format!("<html lang=\"{lang}\">")), "{path}");
            assert_eq!(got.text.matches("<script").count(), 1, "{path}: only ours");
            assert!(!got.text.contains("style=") && !got.text.contains("<style"), "{path}");
            assert!(got.text.len() < 60_000, "{path}: {} bytes", got.text.len());
            for file in ["css", "js"] {
                let at =
                    got.text.split('"').find(|part| part.starts_with("/-/static/") && part.ends_with(file)).unwrap();
                let asset = server.get(at).await;
                assert_eq!(asset.status, StatusCode::OK);
                assert!(asset.headers[header::CACHE_CONTROL].to_str().unwrap().contains("immutable"));
            }
        }
    }
}

#[tokio::test]
async fn skill_page_shows_capabilities_and_install_command() {
    let server = server(Visibility::Public);
    let got = server.get("/acme/notes").await.text;
    for told in [
        "api.example.org", "curl", "install acme/notes --agent claude-code", "http://localhost", "记录会议",
        "scripts/run.sh", "diff/1.0.0/1.1.0",
    ] {
        assert!(got.contains(told), "{told} in {got}");
    }
    let (_, more) = got.split_once("It accesses more than before").unwrap();
    let (more, _) = more.split_once("</section>").unwrap();
    assert!(more.contains("<code>api.example.org</code>") && more.contains("<code>curl</code>"), "{more}");
    let other = server.get("/acme/notes?version=1.0.0&agent=codex").await;
    assert!(!other.text.contains("It accesses more than before"), "nothing was before");
    assert!(other.text.contains("install acme/notes@1.0.0 --agent codex"), "{}", other.text);
    assert!(other.cookies().contains("skillhub_agent=codex"), "the choice is remembered without script");
    let diff = server.get("/acme/notes/diff/1.0.0/1.1.0").await.text;
    assert!(diff.contains("api.example.org") && diff.contains("accesses more"), "{diff}");
    assert!(diff.contains("<del>old</del>") && diff.contains("<ins>new</ins>"), "{diff}");
}

#[tokio::test]
async fn links_escape_build_metadata() {
    let server = server(Visibility::Public);
    server.publish("acme/notes", "2.0.0+b1", "Run the last step.\n", &[]);
    let place = "/acme/notes?version=2.0.0%2Bb1";
    assert_eq!(server.get(place).await.status, StatusCode::OK);
    for path in ["/acme/notes", "/acme/notes/files/2.0.0+b1/SKILL.md"] {
        let page = server.get(path).await.text;
        assert!(page.contains(&format!("href=\"{place}\"")) && !page.contains("version=2.0.0+b1"), "{path}: {page}");
    }
}

#[tokio::test]
async fn hostile_text_stays_inert() {
    let server = server(Visibility::Public);
    for path in
        ["/acme/notes", "/acme/notes/files/1.1.0/SKILL.md", "/acme/notes/diff/1.0.0/1.1.0", "/-/search?q=%3Cb%3E"]
    {
        let got = server.get(path).await.text;
        for forbidden in [
            "<script>", "<img", "<iframe", "<b>notes", "href=\"javascript", "href=\"data:text", "pixel.example/a.png\"",
        ] {
            assert!(!got.contains(forbidden), "{path}: {forbidden}");
        }
    }
}

#[tokio::test]
async fn missing_pages_answer_in_both_formats() {
    let server = server(Visibility::Public);
    for path in [
        "/nobody",
        "/acme/none",
        "/acme/notes?version=9.9.9",
        "/acme/notes/files/1.0.0/none.md",
        "/acme/notes/files/1.0.0/..%2f..%2fetc%2fpasswd",
        "/acme/notes/diff/1.0.0/9.9.9",
        "/a/b/c",
        "/v1/none",
        "/%00",
    ] {
        let got = server.get(path).await;
        assert_eq!(got.status, StatusCode::NOT_FOUND, "{path}: {}", got.text);
        assert!(got.text.contains("Not found") && got.text.contains("href=\"/\""), "{path}: {}", got.text);
    }
    let request = Request::get("/acme/none").header(header::HOST, "localhost").body(Body::empty()).unwrap();
    assert!(server.ask(request).await.text.starts_with("{\"ok\":false"));
    let bad = server.get("/-/search?owner=A+B").await;
    assert_eq!(bad.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn private_index_requires_signing_in() {
    let server = server(Visibility::Private);
    for path in ["/", "/acme/notes", "/-/search", "/acme", "/acme/notes/files/1.0.0/SKILL.md"] {
        let got = server.get(path).await;
        assert_eq!(got.status, StatusCode::UNAUTHORIZED, "{path}");
        assert!(got.text.contains("/-/sign-in") && !got.text.contains("meetings"), "{}", got.text);
    }
    let cookie = server.signed_in().await;
    assert_eq!(server.get_with("/acme/notes", &cookie).await.status, StatusCode::OK);
    let page = server.get_with("/", &cookie).await;
    let out = server.post("/-/sign-out", &cookie, &format!("proof={}", page.proof())).await;
    assert!(out.headers.get_all(header::SET_COOKIE).iter().any(|value| value.to_str().unwrap().contains("Max-Age=0")));
}

#[tokio::test]
async fn form_without_proof_changes_nothing() {
    let server = server(Visibility::Public);
    let form = server.get("/-/sign-in").await;
    for proof in ["", "x", &"0".repeat(64)] {
        let got = server.post("/-/sign-in", &form.cookies(), &format!("proof={proof}&token={}", server.admin)).await;
        assert_eq!(got.status, StatusCode::FORBIDDEN);
        assert!(!got.cookies().contains("skillhub_session=skh"), "{}", got.cookies());
    }
    let wrong = server.post("/-/sign-in", &form.cookies(), &format!("proof={}&token=skh_wrong", form.proof())).await;
    assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    let cookie = server.signed_in().await;
    let hold = "skill=acme/notes&version=1.0.0&reason=odd";
    for form in [hold.to_owned(), format!("{hold}&proof={}", form.proof())] {
        assert_eq!(server.post("/-/moderation/quarantine", &cookie, &form).await.status, StatusCode::FORBIDDEN);
    }
    let api = Request::post("/v1/skills/acme/notes/1.0.0/withdraw").header(header::HOST, "localhost");
    let api = api.header(header::COOKIE, &cookie).header(header::CONTENT_TYPE, "application/json");
    let got = server.ask(api.body(Body::from("{\"reason\":\"x\"}")).unwrap()).await;
    assert_eq!(got.status, StatusCode::UNAUTHORIZED, "{}", got.text);
    assert_eq!(server.get_with("/v1/reports", &cookie).await.status, StatusCode::OK, "reading is what it is for");
    let other = Request::post("/-/sign-in").header(header::HOST, "localhost").header("sec-fetch-site", "cross-site");
    assert_eq!(server.ask(other.body(Body::empty()).unwrap()).await.status, StatusCode::FORBIDDEN);
    assert!(server.hub.stores.releases.quarantined().unwrap().is_empty());
}

#[tokio::test]
async fn admin_decides_reports_and_releases() {
    let server = server(Visibility::Public);
    assert_eq!(server.get("/-/moderation").await.status, StatusCode::UNAUTHORIZED);
    let account = Owner::parse("root").unwrap();
    server.hub.stores.activity.report("acme/notes", "1.1.0", "<script>bad", &account, Timestamp::now()).unwrap();
    let cookie = server.signed_in().await;
    let queue = server.get_with("/-/moderation", &cookie).await;
    assert!(queue.text.contains("&lt;script&gt;bad") && queue.text.contains("uphold-and-quarantine"), "{}", queue.text);
    let proof = queue.proof();
    let decide = async |decision: &str, rest: &str| {
        let form = format!("proof={proof}&skill=acme/notes&version=1.1.0&{rest}");
        server.post(&format!("/-/moderation/{decision}"), &cookie, &form).await.status
    };
    assert_eq!(decide("uphold-and-quarantine", "report=1&reason=").await, StatusCode::BAD_REQUEST);
    assert_eq!(decide("uphold-and-quarantine", "report=1&reason=it+phones+home").await, StatusCode::SEE_OTHER);
    assert!(server.hub.stores.activity.reports(true).unwrap().is_empty());
    let held = server.get("/acme/notes?version=1.1.0").await;
    let notice = "acme/notes 1.1.0 is under quarantine: it phones home";
    assert!(held.status == StatusCode::OK && held.text.contains(notice), "{}", held.text);
    assert_eq!(server.get("/acme/notes/files/1.1.0/SKILL.md").await.status, StatusCode::FORBIDDEN);
    for path in ["/acme/notes/files/1.1.0/SKILL.md", "/acme/notes?version=1.1.0", "/acme/notes/diff/1.0.0/1.1.0"] {
        let inspected = server.get_with(path, &cookie).await;
        assert_eq!(inspected.status, StatusCode::OK, "{path}: {}", inspected.text);
        assert!(!path.contains("?version") || inspected.text.contains("SKILL.md"), "{}", inspected.text);
    }
    assert_eq!(decide("restore", "reason=looked+at").await, StatusCode::SEE_OTHER);
    assert_eq!(server.get("/acme/notes/files/1.1.0/SKILL.md").await.status, StatusCode::OK);
    assert_eq!(decide("quarantine", "reason=again").await, StatusCode::SEE_OTHER);
    assert!(server.get_with("/-/moderation", &cookie).await.text.contains("is_sure"));
    assert_eq!(decide("withdraw", "reason=after+all").await, StatusCode::BAD_REQUEST, "the box is not ticked");
    assert_eq!(decide("withdraw", "reason=after+all&is_sure=1").await, StatusCode::SEE_OTHER);
    assert_eq!(server.get("/acme/notes/files/1.1.0/SKILL.md").await.status, StatusCode::GONE);
    assert!(server.get("/acme/notes?version=1.1.0").await.text.contains("after all"));
    assert_eq!(decide("destroy", "reason=x").await, StatusCode::NOT_FOUND);
    let log = server.get_with("/-/moderation", &cookie).await.text;
    assert!(log.contains("after all") && log.contains("looked at"), "{log}");
    assert!(!log.contains("is_sure"), "what was withdrawn waits for nothing");
}

#[tokio::test]
async fn only_signed_in_visitors_report_a_release() {
    let server = server(Visibility::Public);
    assert!(!server.get("/acme/notes").await.text.contains("/-/report"));
    let form = server.get("/-/sign-in").await;
    let fields = format!("proof={}&skill=acme/notes&version=1.1.0&reason=odd", form.proof());
    assert_eq!(server.post("/-/report", &form.cookies(), &fields).await.status, StatusCode::UNAUTHORIZED);
    let cookie = server.signed_in().await;
    let page = server.get_with("/acme/notes", &cookie).await;
    assert!(page.text.contains("/-/report"));
    let fields = format!("proof={}&skill=acme/notes&version=1.1.0&reason=odd", page.proof());
    let sent = server.post("/-/report", &cookie, &fields).await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER, "{}", sent.text);
    let back = sent.headers[header::LOCATION].to_str().unwrap();
    assert!(server.get_with(back, &cookie).await.text.contains("The report was sent"));
    assert_eq!(server.hub.stores.activity.reports(true).unwrap()[0].reason, "odd");
    let none = fields.replace("1.1.0", "7.0.0");
    assert_eq!(server.post("/-/report", &cookie, &none).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn empty_index_shows_first_steps() {
    let folder = tempfile::tempdir().unwrap();
    let hub = server(Visibility::Public).hub.settings.clone();
    let hub = Arc::new(Hub::open(Settings { data: folder.path().join("data"), ..hub }).unwrap());
    let request = Request::get("/").header(header::HOST, "skills.example:8080").body(Body::empty());
    let got = app(&hub).oneshot(request.unwrap()).await.unwrap();
    assert_eq!(got.status(), StatusCode::MISDIRECTED_REQUEST);
    let request = Request::get("/").header(header::HOST, "localhost:8080").body(Body::empty());
    let body = app(&hub).oneshot(request.unwrap()).await.unwrap().into_body().collect().await.unwrap().to_bytes();
    let text = String::from_utf8(body.to_vec()).unwrap();
    assert!(text.contains("skillhub --registry http://localhost:8080 publish"), "{text}");
}
