//! Conditions on matches about agents and MCP servers.

/// Substrings that show that a started agent is hidden from the user or searches for secrets.
const UNSEEN: &[&str] = &[
    ".env", "credential", "private key", "wallet", "token", ".ssh", "> /dev/null", ">/dev/null", "devnull", "detached",
    "'ignore'", "\"ignore\"", "nohup", "trust-all-tools", "--yolo",
];

pub(crate) fn is_unseen(matched: &str) -> bool {
    const SOUGHT: &[&str] = &["wallet", "keystore", "id_rsa", "private key", "seed phrase", ".env,", "metamask"];
    let lower = matched.to_ascii_lowercase();
    if SOUGHT.iter().any(|sought| lower.contains(sought)) {
        return true;
    }
    has_after(matched, UNSEEN, 16)
}

/// Returns true if the match contains one of some lower-case words after its first `from` bytes.
pub(crate) fn has_after(matched: &str, words: &[&str], from: usize) -> bool {
    let lower = matched.to_ascii_lowercase();
    let rest = lower.get(from..).unwrap_or("");
    words.iter().any(|word| rest.contains(word))
}

pub(crate) fn is_elsewhere(matched: &str) -> bool {
    !matched.contains("=ws://localhost") && !matched.contains("=ws://127.")
}

/// Returns true if the match combines keys of at least three kinds of services, such as clouds, models, forges,
/// registries and payment.
pub(crate) fn are_unrelated(matched: &str) -> bool {
    const KINDS: &[&[&str]] = &[
        &["AWS_SECRET", "AZURE_CLIENT_SECRET", "GOOGLE_APPLICATION_CREDENTIALS"],
        &["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"],
        &["GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN"],
        &["NPM_TOKEN", "PYPI_TOKEN", "DOCKER_PASSWORD"],
        &["STRIPE_SECRET", "STRIPE_API_KEY"],
        &["SLACK_TOKEN", "SLACK_BOT_TOKEN", "DISCORD_TOKEN"],
        &["SSH_PRIVATE_KEY", "DATABASE_URL", "KUBECONFIG"],
    ];
    KINDS.iter().filter(|kind| kind.iter().any(|key| matched.contains(key))).count() >= 3
}

pub(crate) fn is_no_sample(matched: &str) -> bool {
    let name = matched.split("s/").last().and_then(|rest| rest.split([' ', '"', '\'']).next()).unwrap_or("");
    let is_upper = !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || matches!(c, '_' | '-'));
    !is_upper
        && !["username", "user", "login", "octocat", "your"].iter().any(|sample| name.eq_ignore_ascii_case(sample))
}

/// Returns true if the match grants something. Statements that deny, and rules for outgoing traffic, do not count.
pub(crate) fn is_granted(matched: &str) -> bool {
    !matched.contains("\"Deny\"") && !matched.contains("egress")
}

/// Returns true if text other than instructions is interpreted as instructions. Every agent interprets instructions as
/// such, so a sentence about those does not count. Instructions in external text are found by the rules for their
/// source.
pub(crate) fn takes_text_for_orders(matched: &str) -> bool {
    const ORDERS: &[&str] = &["instruction", "instructions", "command", "commands", "directive", "directives"];
    const KINDS: &[&str] = &["imperative", "explicit", "clear", "direct", "plain", "specific", "your"];
    let lower = matched.to_ascii_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_orders = match words.as_slice() {
        ["treats" | "interprets" | "regards", orders, "as", ..] => ORDERS.contains(orders),
        ["treats" | "interprets" | "regards", kind, orders, "as", ..] => {
            KINDS.contains(kind) && ORDERS.contains(orders)
        }
        _ => false,
    };
    !is_orders
}
