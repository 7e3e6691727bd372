//! Where code that is run comes from.

use crate::local::is_own_installer;

/// Hosts whose own pages tell to install by a pipe into a shell.
const INSTALLERS: &[&str] = &[
    "get.chezmoi.io",
    "kind.sigs.k8s.io",
    "dl.k8s.io",
    "astral.sh",
    "apt.llvm.org",
    "sh.rustup.rs",
    "rustup.rs",
    "get.docker.com",
    "brew.sh",
    "deno.land",
    "bun.sh",
    "nodesource.com",
    "fnm.vercel.app",
    "get.pnpm.io",
    "ollama.com",
    "ollama.ai",
    "claude.ai",
    "fluxcd.io",
    "get.helm.sh",
    "tailscale.com",
    "sdkman.io",
    "get.sdkman.io",
    "starship.rs",
    "install.python-poetry.org",
    "pypa.io",
    "bootstrap.pypa.io",
    "pyenv.run",
    "get.k3s.io",
    "nixos.org",
    "install.determinate.systems",
    "mise.run",
    "fly.io",
    "supabase.com",
    "cli.github.com",
    "dl.google.com",
    "sdk.cloud.google.com",
    "aka.ms",
    "get.scoop.sh",
    "community.chocolatey.org",
    "chocolatey.org",
    "packages.microsoft.com",
    "raw.githubusercontent.com/Homebrew",
    "raw.githubusercontent.com/nvm-sh",
    "raw.githubusercontent.com/helm",
    "raw.githubusercontent.com/ohmyzsh",
    "raw.githubusercontent.com/pyenv",
    "raw.githubusercontent.com/aquasecurity",
    "raw.githubusercontent.com/anchore",
    "raw.githubusercontent.com/golangci",
    "foundry.paradigm.xyz",
    "release.solana.com",
    "release.anza.xyz",
    "sh.vector.dev",
    "cursor.com",
    "opencode.ai",
    "railway.app",
    "cli.doppler.com",
    "semgrep.dev",
    "get.volta.sh",
    "install.duckdb.org",
    "dot.net",
    "just.systems",
    "deb.nodesource.com",
    "rpm.nodesource.com",
    "wasmtime.dev",
    "moonrepo.dev",
    "proto.sh",
    "dagger.io",
    "buf.build",
    "clis.cloud.ibm.com",
    "releases.hashicorp.com",
    "get.jetify.com",
    "pixi.sh",
    "micro.mamba.pm",
    "install.anaconda.com",
    "dl.cloudsmith.io",
    "repo.anaconda.com",
];

/// Whether the text names a host that is known for its installer, over TLS and with checks on.
pub(crate) fn from_known_host(text: &str) -> bool {
    let hosts = text.split("https://").skip(1).map(|rest| rest.to_ascii_lowercase());
    let known = |rest: &String| {
        INSTALLERS.iter().any(|host| {
            let host = host.to_ascii_lowercase();
            let direct = rest
                .strip_prefix(&host)
                .or_else(|| rest.split_once('.').and_then(|(_, parent)| parent.strip_prefix(&host)));
            direct.is_some_and(|after| {
                after.is_empty() || after.starts_with(['/', '"', '\'', ' ', ')', '?', '|', '`', '\\'])
            })
        }) || (rest.starts_with("github.com/") && rest.contains("/releases/"))
            || is_own_installer(rest)
    };
    let mut seen = false;
    hosts.into_iter().all(|rest| {
        seen = true;
        known(&rest)
    }) && seen
}

pub(crate) fn from_unknown_host(text: &str) -> bool {
    !from_known_host(text) && !is_local(text)
}

/// Whether the only hosts are this machine, samples, or left out.
pub(crate) fn is_local(text: &str) -> bool {
    let hosts: Vec<&str> =
        text.split("://").skip(1).filter_map(|rest| rest.split(['/', ':', '"', '\'', ' ']).next()).collect();
    !hosts.is_empty()
        && hosts.iter().all(|host| matches!(*host, "localhost" | "127.0.0.1" | "0.0.0.0" | "example.com" | "..."))
}

/// Whether an address of four numbers is routed on the internet, and neither one of the public
/// resolvers nor one of the blocks for documentation (RFC 5737).
pub(crate) fn is_public_address(url: &str) -> bool {
    let host = url.split("://").nth(1).unwrap_or("");
    let numbers: Vec<u8> =
        host.split(|c: char| !c.is_ascii_digit()).take(4).filter_map(|part| part.parse().ok()).collect();
    let [a, b, c, d] = numbers[..] else { return false };
    let documentation = matches!((a, b, c), (192, 0, 2) | (198, 51, 100) | (203, 0, 113));
    let local = matches!(a, 0 | 10 | 127 | 224..) || (a, b) == (192, 168) || (a, b) == (169, 254);
    let shared = (a == 172 && (16..32).contains(&b)) || (a == 100 && (64..128).contains(&b));
    let sample =
        matches!((a, b, c, d), (1, 2, 3, 4) | (1, 1, 1, 1) | (1, 0, 0, 1) | (8, 8, 8, 8) | (8, 8, 4, 4) | (9, 9, 9, 9));
    !(documentation || local || shared || sample)
}

/// Whether the host is none of those from which vendors and registries give their packages out.
pub(crate) fn comes_from_strangers(matched: &str) -> bool {
    const VENDORS: &[&str] = &[
        "github.com",
        "dl.google.com",
        "microsoft.com",
        "docker.com",
        "gitlab.com",
        "hashicorp.com",
        "localhost",
        "sourceforge",
        "jenkins.io",
        "apache.org",
        "maven.org",
        "debian.org",
        "ubuntu.com",
        "nvidia.com",
        "amazonaws.com/session-manager",
        "cloudflare.com",
        "getoutline",
        "slack-edge",
        "zoom.us",
    ];
    super::hosts::is_unknown(matched) && !VENDORS.iter().any(|vendor| matched.contains(vendor))
}

pub(crate) fn is_no_usual_source(matched: &str) -> bool {
    const USUAL: &[&str] = &[
        "galaxy.ansible.com",
        "github.com",
        "cpan.org",
        "metacpan.org",
        "cachix.org",
        "nixos.org",
        "luarocks.org",
        "cran.",
        "rubygems.org",
        "localhost",
    ];
    !USUAL.iter().any(|usual| matched.contains(usual))
}

/// Whether the recipe is neither in a repository that can be looked at nor its publisher's own.
pub(crate) fn is_nobodys_recipe(matched: &str) -> bool {
    const PUBLISHERS: &[&str] = &[
        "k8s.io",
        "kubernetes.io",
        "istio.io",
        "docs.projectcalico.org",
        "tekton.dev",
        "knative.dev",
        "google.com",
        "googleapis.com",
        "amazonaws.com",
        "azure",
        "microsoft",
        "elastic.co",
        "hashicorp.com",
        "fluxcd.io",
        "cert-manager.io",
        "localhost",
        "example.",
        "127.0.0.1",
        "cockroachdb",
        "linkerd.io",
        "githubusercontent.com",
        "gist.",
        "rancher",
        "openebs",
        "metallb",
        "traefik.io",
        "argoproj",
        "strimzi.io",
        "://<",
        "://$",
        "://{",
    ];
    super::hosts::is_unknown_forge(matched) && !PUBLISHERS.iter().any(|publisher| matched.contains(publisher))
}

/// Whether it is no command that looks for such an object.
pub(crate) fn is_no_search(matched: &str) -> bool {
    !matched.contains("grep")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_host_is_matched_whole_and_over_tls() {
        assert!(
            from_known_host("curl https://sh.rustup.rs | sh") && from_known_host("curl -L https://astral.sh/uv/x | sh")
        );
        for bad in [
            "https://astral.sh.evil.invalid/x",
            "http://astral.sh/x",
            "https://notastral.sh/x",
            "https://evil.invalid/astral.sh",
        ] {
            assert!(!from_known_host(bad), "{bad}");
        }
        assert!(!from_known_host("curl https://astral.sh/x https://evil.invalid/y"), "every host must be known");
    }
}
