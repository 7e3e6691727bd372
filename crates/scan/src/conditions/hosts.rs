//! Whose host, registry, forge, page or mailbox a match names.

use crate::hosts::{
    Address, Trust, addresses, bare, first, is_inside, is_near, is_sample, is_unchecked, is_within, trust_at, trust_of,
};

/// Whether an address leads to somebody who is known in one of these ways, or to nobody.
fn is_usual(address: &Address<'_>, is_known: impl Fn(Trust) -> bool) -> bool {
    address.is_nowhere() || is_known(trust_at(address))
}

/// The words of a text that could be hosts.
fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-')));
    words.map(|word| word.trim_matches('.').to_ascii_lowercase())
}

/// Whether what matched names neither this machine nor a sample, so that it is about another one.
pub(crate) fn is_far(matched: &str) -> bool {
    match addresses(matched).next() {
        Some(_) => addresses(matched).any(|address| !is_near(&address.host) && !is_sample(&address.host)),
        None => {
            !words(matched).any(|word| is_near(&word) && word != "0.0.0.0" || word.contains('.') && is_sample(&word))
        }
    }
}

/// Whether an address that stands for another one is that of somebody else.
pub(crate) fn goes_elsewhere(matched: &str) -> bool {
    let lower = matched.to_ascii_lowercase();
    let Some((new, old)) = lower.split_once(".insteadof") else { return true };
    let is_of = |text: &str, forge: &str| words(text).any(|word| is_within(&word, forge));
    let forge = ["github.com", "gitlab.com", "bitbucket.org"].into_iter().find(|forge| is_of(old, forge));
    forge.is_none_or(|forge| !is_of(new, forge))
}

/// Whether an address is that of a package, and not of a server that a bridge speaks to.
pub(crate) fn is_no_bridge(matched: &str) -> bool {
    is_no_registry(matched)
        && !["mcp-remote", "mcp-proxy", "supergateway"].iter().any(|bridge| matched.contains(bridge))
}

/// Whether the first address is that of nobody from whom packages usually come.
pub(crate) fn is_no_registry(matched: &str) -> bool {
    addresses(matched).next().is_some_and(|address| !is_usual(&address, Trust::gives_packages))
}

/// Whether a connection leads to another machine.
pub(crate) fn is_not_here(matched: &str) -> bool {
    !matched.contains("TCPSocket") || !words(matched).any(|word| is_near(&word))
}

/// Whether all that is fetched comes from vendors, over TLS and with checks on.
pub(crate) fn from_known_host(text: &str) -> bool {
    let mut seen = false;
    let all_known = addresses(text).all(|address| {
        seen = true;
        address.is_secure && trust_at(&address) == Trust::Vendor
    });
    all_known && seen && bare(text).is_empty() && !is_unchecked(text)
}

pub(crate) fn is_unknown(matched: &str) -> bool {
    !from_known_host(matched)
}

/// Whether a host is made for catching data or for passing on payloads.
pub(crate) fn is_drop(matched: &str) -> bool {
    addresses(matched).chain(bare(matched)).any(|address| trust_at(&address) == Trust::Drop && !is_only_named(&address))
}

/// Whether an address is only that of the service, which gives each of its users a part of it.
fn is_only_named(address: &Address<'_>) -> bool {
    address.host == "webhook.site" && address.path.len() < 2
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
    let trust = addresses(text).next().map(|address| trust_of(&address.host));
    !matches!(trust, Some(Trust::Forge | Trust::Vendor))
}

pub(crate) fn is_unknown_page(matched: &str) -> bool {
    is_unknown(matched) && is_strange_page(matched)
}

/// Whether the address of a script is none from which pages usually load theirs.
pub(crate) fn is_strange_page(matched: &str) -> bool {
    first(matched).is_some_and(|address| {
        let host = &address.host;
        host.contains('.') && !is_near(host) && !is_sample(host) && !trust_at(&address).is_known()
    })
}

/// Whether something leaves for anybody but the two whose models the agents ask.
pub(crate) fn leaves(matched: &str) -> bool {
    let stays = |address: &Address<'_>| {
        is_near(&address.host) || ["api.anthropic.com", "api.openai.com"].contains(&address.host.as_str())
    };
    addresses(matched).next().is_none() || !addresses(matched).all(|address| stays(&address))
}

pub(crate) fn leaves_cluster(matched: &str) -> bool {
    addresses(matched).next().is_none() || !addresses(matched).all(|address| is_near(&address.host))
}

/// Whether the address of a resource is that of no cloud.
pub(crate) fn is_no_cloud(matched: &str) -> bool {
    let is_cloud = |trust| matches!(trust, Trust::Vendor | Trust::Service);
    first(matched).is_none_or(|address| !(address.is_open() || is_near(&address.host) || is_cloud(trust_at(&address))))
}

/// Whether files go to a store that is none of those that are for rent.
pub(crate) fn is_unknown_store(matched: &str) -> bool {
    let is_store = |trust| !matches!(trust, Trust::Unknown | Trust::Drop);
    addresses(matched).next().is_none_or(|address| !is_inside(&address.host) && !is_usual(&address, is_store))
}

/// Whether a picture comes from none of the services that draw what stands in an address.
pub(crate) fn is_drawn_elsewhere(matched: &str) -> bool {
    first(matched).is_none_or(|address| !trust_at(&address).is_known())
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
    let hosts = matched.split('@').skip(1).filter_map(|rest| words(rest).next());
    hosts.fold(None, |real, host| Some(real.unwrap_or(false) || !is_near(&host) && !is_sample(&host))).unwrap_or(true)
}

pub(crate) fn leaves_the_machine(matched: &str) -> bool {
    !words(matched).any(|word| matches!(word.as_str(), "localhost" | "127.0.0.1" | "0.0.0.0" | "::1"))
        && !matched.contains("[::1]")
}

/// Whether an address is none of the usual services for models, nor a placeholder.
pub(crate) fn is_strange_gateway(matched: &str) -> bool {
    let lower = matched.to_ascii_lowercase();
    let is_strange =
        |address: Address<'_>| !is_usual(&address, |trust| matches!(trust, Trust::Vendor | Trust::Service));
    let named = || words(&lower).filter(|word| word.contains('.')).any(|word| is_near(&word) || is_sample(&word));
    lower.contains("cert") || addresses(matched).next().map_or_else(|| !named() && !lower.contains('<'), is_strange)
}
