//! Whose host, registry, forge, page or mailbox a match names.

use crate::local::is_own_registry;

/// Whether what matched names neither this machine nor a sample, so that it is about another one.
pub(crate) fn is_far(matched: &str) -> bool {
    !["localhost", "127.0.0.1", "[::1]", "host.docker.internal", "example.", ".local"]
        .iter()
        .any(|near| matched.contains(near))
}

/// Whether an address that stands for another one is that of somebody else.
pub(crate) fn goes_elsewhere(matched: &str) -> bool {
    let lower = matched.to_ascii_lowercase();
    let Some((new, old)) = lower.split_once(".insteadof") else { return true };
    let host = ["github", "gitlab", "bitbucket"].into_iter().find(|host| old.contains(host));
    host.is_none_or(|host| !new.contains(&format!("{host}.com")) && !new.contains(&format!("{host}.org")))
}

/// Whether an address is that of a package, and not of a server that a bridge speaks to.
pub(crate) fn is_no_bridge(matched: &str) -> bool {
    is_no_registry(matched)
        && !["mcp-remote", "mcp-proxy", "supergateway"].iter().any(|bridge| matched.contains(bridge))
}

/// Hosts from which packages come.
const REGISTRIES: &[&str] = &[
    "npmjs.org",
    "npmjs.com",
    "npmmirror.com",
    "pypi.org",
    "pythonhosted.org",
    "pytorch.org",
    "github.com",
    "githubusercontent.com",
    "gitlab.com",
    "huggingface.co",
    "jsr.io",
    "yarnpkg.com",
    "nvidia.com",
    "tsinghua.edu.cn",
    "aliyun.com",
    "localhost",
    "127.0.0.1",
    "example.com",
    "pkg.dev",
    "codeartifact",
    "your-",
    "your.",
    "<",
    "$",
    "anaconda.org",
    "rubygems.org",
    "openmmlab.com",
    "pyg.org",
    "ustc.edu.cn",
    "jfrog.io",
    "cloudsmith.io",
    "example.org",
    "googleapis.com",
    "azure.com",
    "dev.azure",
    "company",
    "internal",
];

pub(crate) fn is_no_registry(matched: &str) -> bool {
    let lower = matched.to_ascii_lowercase();
    lower.split("://").nth(1).is_some_and(|rest| {
        let host = rest.split('/').next().unwrap_or("");
        !REGISTRIES.iter().any(|known| host.contains(known)) && !is_own_registry(rest)
    })
}

/// Whether a connection leads to another machine.
pub(crate) fn is_not_here(matched: &str) -> bool {
    let is_socket = matched.contains("TCPSocket");
    !is_socket || !matched.contains("127.0.0.1") && !matched.contains("localhost")
}

pub(crate) fn is_unknown(matched: &str) -> bool {
    !super::remote_code::from_known_host(matched)
}

/// Whether no image is one that is known for managing containers, and the socket may be written to.
pub(crate) fn is_no_known_tool(matched: &str) -> bool {
    const TOOLS: &[&str] = &[
        "portainer",
        "traefik",
        "watchtower",
        "docker:",
        "dind",
        "gitlab-runner",
        "github-runner",
        "actions-runner",
        "jenkins",
        "wagoodman/dive",
        "trivy",
        "nektos",
        "lazydocker",
        "ctop",
        "cadvisor",
        "dozzle",
        "diun",
        "glances",
        "datadog",
        "telegraf",
        "vector",
        "buildpack",
        "pack",
        "nginx-proxy",
        "testcontainers",
        "ryuk",
        "localstack",
        "kind",
        "k3d",
        "kaniko",
        "hadolint",
        "grype",
        "syft",
        "docker-bench",
        "newrelic",
        "fluent",
        "filebeat",
        "otel",
        "opentelemetry",
        "autoheal",
        "ofelia",
        "woodpecker",
        "drone/",
        "act_runner",
        "earthly",
        "dagger",
    ];
    let lower = matched.to_ascii_lowercase();
    !lower.contains("docker.sock:ro") && !lower.contains(":ro ") && !TOOLS.iter().any(|tool| lower.contains(tool))
}

/// Whether what strangers write stands in the command itself, and not in a variable beside it.
pub(crate) fn is_in_command(matched: &str) -> bool {
    !(matched.starts_with("run:") && matched.contains(" env:"))
}

/// Whether no well-known forge is named.
pub(crate) fn is_unknown_forge(text: &str) -> bool {
    const FORGES: &[&str] = &[
        "github.com/",
        "gitlab.com/",
        "bitbucket.org/",
        "codeberg.org/",
        "git.sr.ht/",
        "huggingface.co/",
        "dev.azure.com/",
    ];
    let host = text.split("://").nth(1).unwrap_or("");
    !is_own_registry(host)
        && !FORGES.iter().any(|forge| {
            host.starts_with(forge) || host.split_once('@').is_some_and(|(_, host)| host.starts_with(forge))
        })
}

pub(crate) fn is_unknown_page(matched: &str) -> bool {
    is_unknown(matched) && is_strange_page(matched)
}

/// Whether the address of a script is none from which pages usually load theirs.
pub(crate) fn is_strange_page(matched: &str) -> bool {
    const KNOWN: &[&str] = &[
        "jsdelivr.net",
        "unpkg.com",
        "cdnjs.",
        "tailwindcss.com",
        "googleapis.com",
        "gstatic.com",
        "esm.sh",
        "skypack.dev",
        "bootstrapcdn.com",
        "jquery.com",
        "shields.io",
        "githubusercontent.com",
        "github.com",
        "googletagmanager.com",
        "example.",
        "plot.ly",
        "d3js.org",
        "mathjax",
        "polyfill",
        "youtube",
        "stripe.com",
        "w3.org",
    ];
    let address = matched.split("//").nth(1).unwrap_or("");
    let host = address.split(['/', '\'', '"', '>']).next().unwrap_or("").to_ascii_lowercase();
    host.contains('.') && !KNOWN.iter().any(|known| host.contains(known))
}

pub(crate) fn leaves(matched: &str) -> bool {
    !["localhost", "127.0.0.1", "0.0.0.0", "api.anthropic.com", "api.openai.com"]
        .iter()
        .any(|here| matched.contains(here))
}

pub(crate) fn leaves_cluster(matched: &str) -> bool {
    !["kubernetes.default", "localhost", "127.0.0.1", ".svc"].iter().any(|here| matched.contains(here))
}

pub(crate) fn is_no_cloud(matched: &str) -> bool {
    const CLOUDS: &[&str] =
        &["azure.", "windows.net", "microsoft", "googleapis.com", "google.com", "amazonaws.com", "localhost", "$", "{"];
    let lower = matched.to_ascii_lowercase();
    !CLOUDS.iter().any(|cloud| lower.contains(cloud))
}

pub(crate) fn is_unknown_store(matched: &str) -> bool {
    const KNOWN: &[&str] = &[
        "localhost",
        "127.0.0.1",
        "minio",
        "localstack",
        "cloudflarestorage",
        "digitaloceanspaces",
        "backblazeb2",
        "wasabisys",
        "storage.googleapis",
        "amazonaws",
        "aliyuncs",
        "myqcloud",
        "scw.cloud",
        "linodeobjects",
        "supabase",
        "tigris",
        "fly.storage",
        "ovh.net",
        "hetzner",
        "example.",
        "https://$",
        "https://<",
        "=$",
        "test",
    ];
    !KNOWN.iter().any(|known| matched.contains(known))
}

/// Whether a picture comes from none of the services that draw what stands in an address.
pub(crate) fn is_drawn_elsewhere(matched: &str) -> bool {
    const DRAWS: &[&str] =
        &["shields.io", "quickchart", "mermaid", "kroki", "plantuml", "pollinations", "githubusercontent", "codecogs"];
    let lower = matched.to_ascii_lowercase();
    !DRAWS.iter().any(|service| lower.contains(service))
}

/// Whether what stands in for the library is neither its own mirror nor a known replacement.
pub(crate) fn is_strange_fork(matched: &str) -> bool {
    const KNOWN: &[&str] = &[
        "github.com/golang/",
        "github.com/grpc/",
        "github.com/googleapis/",
        "github.com/kubernetes/",
        "@preact/",
        "preact",
        "@vue/",
        "lodash-es",
        "npm:react@",
        "npm:react-dom@",
        "npm:lodash@",
        "npm:axios@",
        "npm:express@",
        "npm:chalk@",
        "npm:vue@",
        "npm:next@",
        "npm:debug@",
        "npm:uuid@",
        "npm:ws@",
        "npm:webpack@",
        "npm:jest@",
        "npm:eslint@",
        "npm:ethers@",
        "npm:web3@",
        "npm:node-fetch@",
        "npm:moment@",
        "npm:dotenv@",
        "npm:commander@",
        "@socket",
    ];
    !KNOWN.iter().any(|known| matched.contains(known))
}

/// Whether an address is more than a placeholder.
pub(crate) fn is_real_mail(matched: &str) -> bool {
    let lower = matched.to_ascii_lowercase();
    !["@example.", "@your", "@company.", "@domain.", "@test.", "@localhost"].iter().any(|sample| lower.contains(sample))
}

pub(crate) fn leaves_the_machine(matched: &str) -> bool {
    !["localhost", "127.0.0.1", "0.0.0.0", "[::1]"].iter().any(|here| matched.contains(here))
}

/// Whether an address is none of the usual services for models, nor a placeholder.
pub(crate) fn is_strange_gateway(matched: &str) -> bool {
    const KNOWN: &[&str] = &[
        "openai.com",
        "anthropic.com",
        "googleapis.com",
        "openrouter.ai",
        "azure.com",
        "localhost",
        "127.0.0.1",
        "deepseek.com",
        "moonshot",
        "bigmodel.cn",
        "z.ai",
        "aliyuncs.com",
        "groq.com",
        "together.",
        "mistral.ai",
        "fireworks.ai",
        "x.ai",
        "volces.com",
        "minimax",
        "siliconflow",
        "amazonaws.com",
        "your-",
        "your.",
        "yourcompany",
        "company",
        "corp",
        "internal",
        "example",
        "<",
        "cloudflare.com",
        "vercel.sh",
        "portkey.ai",
        "helicone.ai",
    ];
    let lower = matched.to_ascii_lowercase();
    lower.contains("cert") || !KNOWN.iter().any(|known| lower.contains(known))
}
