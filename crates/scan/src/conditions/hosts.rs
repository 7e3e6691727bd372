//! Conditions on the owner of a host, registry, forge, page or mailbox.

use crate::hosts::{
    Address, Trust, addresses, bare, first, is_inside, is_near, is_sample, is_unchecked, is_within, trust_at, trust_of,
};

/// Returns true if an address has an accepted level of trust or leads to nobody.
fn is_usual(address: &Address<'_>, is_known: impl Fn(Trust) -> bool) -> bool {
    address.is_nowhere() || is_known(trust_at(address))
}

/// Returns the words of a text that could be hosts, in lower case.
fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-')));
    words.map(|word| word.trim_matches('.').to_ascii_lowercase())
}

/// Returns true if the match is about another machine: it names neither this one nor a sample.
pub(crate) fn is_far(matched: &str) -> bool {
    match addresses(matched).next() {
        Some(_) => addresses(matched).any(|address| !is_near(&address.host) && !is_sample(&address.host)),
        None => {
            !words(matched).any(|word| is_near(&word) && word != "0.0.0.0" || word.contains('.') && is_sample(&word))
        }
    }
}

/// Returns true if a git URL rewrite replaces an address by one of another owner.
pub(crate) fn goes_elsewhere(matched: &str) -> bool {
    let lower = matched.to_ascii_lowercase();
    let Some((new, old)) = lower.split_once(".insteadof") else { return true };
    let is_of = |text: &str, forge: &str| words(text).any(|word| is_within(&word, forge));
    let forge = ["github.com", "gitlab.com", "bitbucket.org"].into_iter().find(|forge| is_of(old, forge));
    forge.is_none_or(|forge| !is_of(new, forge))
}

/// Returns true if an address is a package source rather than the server that a bridge connects to.
pub(crate) fn is_no_bridge(matched: &str) -> bool {
    is_no_registry(matched)
        && !["mcp-remote", "mcp-proxy", "supergateway"].iter().any(|bridge| matched.contains(bridge))
}

/// Returns true if the first address is not a usual source of packages.
pub(crate) fn is_no_registry(matched: &str) -> bool {
    addresses(matched).next().is_some_and(|address| !is_usual(&address, Trust::gives_packages))
}

/// Returns true if a connection leads to another machine.
pub(crate) fn is_not_here(matched: &str) -> bool {
    !matched.contains("TCPSocket") || !words(matched).any(|word| is_near(&word))
}

/// Returns true if all downloads come from vendors, over TLS with verification enabled.
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

/// Returns true if a host exists for collecting data or for serving payloads.
pub(crate) fn is_drop(matched: &str) -> bool {
    addresses(matched).chain(bare(matched)).any(|address| trust_at(&address) == Trust::Drop && !is_only_named(&address))
}

/// Returns true if an address is only the service's own page rather than a user's collection point.
fn is_only_named(address: &Address<'_>) -> bool {
    address.host == "webhook.site" && address.path.len() < 2
}

/// Returns true if no image is a known tool for managing containers and the socket is writable.
pub(crate) fn is_no_known_tool(matched: &str) -> bool {
    const TOOLS: &[&str] = &[
        "portainer", "traefik", "watchtower", "docker:", "dind", "gitlab-runner", "github-runner", "actions-runner",
        "jenkins", "wagoodman/dive", "trivy", "nektos", "lazydocker", "ctop", "cadvisor", "dozzle", "diun", "glances",
        "datadog", "telegraf", "vector", "buildpack", "pack", "nginx-proxy", "testcontainers", "ryuk", "localstack",
        "kind", "k3d", "kaniko", "hadolint", "grype", "syft", "docker-bench", "newrelic", "fluent", "filebeat", "otel",
        "opentelemetry", "autoheal", "ofelia", "woodpecker", "drone/", "act_runner", "earthly", "dagger",
    ];
    let lower = matched.to_ascii_lowercase();
    let is_name = |word: &&str| !word.starts_with(['-', '/']) && !word.contains(":/");
    let is_tool = |word: &str| TOOLS.iter().any(|tool| word.contains(tool));
    !lower.contains("docker.sock:ro") && !lower.split_whitespace().filter(is_name).any(is_tool)
}

/// Returns true if untrusted input is part of the command itself rather than passed in an environment variable.
pub(crate) fn is_in_command(matched: &str) -> bool {
    !(matched.starts_with("run:") && matched.contains(" env:"))
}

/// Returns true if no well-known forge is named.
pub(crate) fn is_unknown_forge(text: &str) -> bool {
    let trust = addresses(text).next().map(|address| trust_of(&address.host));
    !matches!(trust, Some(Trust::Forge | Trust::Vendor))
}

pub(crate) fn is_unknown_page(matched: &str) -> bool {
    is_unknown(matched) && is_strange_page(matched)
}

/// Returns true if a script's address is not one from which pages usually load scripts.
pub(crate) fn is_strange_page(matched: &str) -> bool {
    first(matched).is_some_and(|address| {
        let host = &address.host;
        host.contains('.') && !is_near(host) && !is_sample(host) && !trust_at(&address).is_known()
    })
}

/// Returns true if data leaves for anybody but the two providers whose models the agents use.
pub(crate) fn leaves(matched: &str) -> bool {
    let stays = |address: &Address<'_>| {
        is_near(&address.host) || ["api.anthropic.com", "api.openai.com"].contains(&address.host.as_str())
    };
    addresses(matched).next().is_none() || !addresses(matched).all(|address| stays(&address))
}

pub(crate) fn leaves_cluster(matched: &str) -> bool {
    addresses(matched).next().is_none() || !addresses(matched).all(|address| is_near(&address.host))
}

/// Returns true if a resource's address does not belong to a cloud provider.
pub(crate) fn is_no_cloud(matched: &str) -> bool {
    let is_cloud = |trust| matches!(trust, Trust::Vendor | Trust::Service);
    first(matched).is_none_or(|address| !(address.is_open() || is_near(&address.host) || is_cloud(trust_at(&address))))
}

/// Returns true if files go to a store that is not a known storage provider.
pub(crate) fn is_unknown_store(matched: &str) -> bool {
    let is_store = |trust| !matches!(trust, Trust::Unknown | Trust::Drop);
    addresses(matched).next().is_none_or(|address| !is_inside(&address.host) && !is_usual(&address, is_store))
}

/// Returns true if the replacement of a library is neither its own mirror nor a known fork.
pub(crate) fn is_strange_fork(matched: &str) -> bool {
    const KNOWN: &[&str] = &[
        "github.com/golang/", "github.com/grpc/", "github.com/googleapis/", "github.com/kubernetes/", "@preact/",
        "preact", "@vue/", "lodash-es", "npm:react@", "npm:react-dom@", "npm:lodash@", "npm:axios@", "npm:express@",
        "npm:chalk@", "npm:vue@", "npm:next@", "npm:debug@", "npm:uuid@", "npm:ws@", "npm:webpack@", "npm:jest@",
        "npm:eslint@", "npm:ethers@", "npm:web3@", "npm:node-fetch@", "npm:moment@", "npm:dotenv@", "npm:commander@",
        "@socket",
    ];
    !KNOWN.iter().any(|known| matched.contains(known))
}

/// Returns true if a mail address is more than a placeholder.
pub(crate) fn is_real_mail(matched: &str) -> bool {
    let hosts = matched.split('@').skip(1).filter_map(|rest| words(rest).next());
    hosts.fold(None, |real, host| Some(real.unwrap_or(false) || !is_near(&host) && !is_sample(&host))).unwrap_or(true)
}

pub(crate) fn leaves_the_machine(matched: &str) -> bool {
    !words(matched).any(|word| matches!(word.as_str(), "localhost" | "127.0.0.1" | "0.0.0.0" | "::1"))
        && !matched.contains("[::1]")
}

/// Returns true if an address is neither a usual model provider nor a placeholder.
pub(crate) fn is_strange_gateway(matched: &str) -> bool {
    let lower = matched.to_ascii_lowercase();
    let is_strange =
        |address: Address<'_>| !is_usual(&address, |trust| matches!(trust, Trust::Vendor | Trust::Service));
    let named = || words(&lower).filter(|word| word.contains('.')).any(|word| is_near(&word) || is_sample(&word));
    lower.contains("cert") || addresses(matched).next().map_or_else(|| !named() && !lower.contains('<'), is_strange)
}
