//! [`Words`]: word lists that determine the context of a match.

use std::sync::LazyLock;

use flow::Literals;

/// A list of words or fragments, matched as substrings.
#[derive(Clone, Copy)]
pub(super) enum Words {
    /// Words that discuss an attack instead of performing it.
    Teaching,
    /// Words by which a line marks its own command as bad.
    Bad,
    /// Words by which a prohibition keeps the user uninformed, so that it does not call a command bad.
    Hides,
    /// Words that announce a text about defence at its beginning.
    Defence,
    /// Words that announce a text about security testing at its beginning, beside those of [`Self::Defence`].
    Tests,
    /// Words in headings and introductions of attack samples in texts about defence.
    Samples,
    /// Words that forbid running a sample.
    NotRun,
    /// Words that attribute a sample to attackers.
    Shown,
}

/// Words of each list. ASCII words are in lower case.
const LISTS: [(Words, &[&str]); 8] = [
    (
        Words::Teaching,
        &[
            "e.g.", "attack", "injection", "injected", "detect", "malicious", "adversar", "jailbreak", "untrusted",
            "red flag", "suspicious", "phrases like", "payload", "never obey", "never follow", "not follow",
            "not obey", "anti-pattern", "as data", "test case", "threat", "vulnerab", "tries to", "trying to",
            "attempts to", "decodes to", "攻击", "注入", "例如", "检测",
        ],
    ),
    (
        Words::Bad,
        &[
            "❌", "bad: ", "wrong: ", "dangerous", "vulnerable", "insecure", "unsafe", "never ", "don't ", "do not ",
            "avoid", "attackers ", "detect ", "block ",
        ],
    ),
    (Words::Hides, &["the user", "users ", "bother", "mention", " ask ", "tell "]),
    (
        Words::Defence,
        &[
            "incident", "forensic", "triage", "threat hunt", "hunting for", "hardening", "hardens", "security review",
            "security training", "attacks work", "defend against", "defends against", "penetration test", "pentest",
            "red team", "red-team", "offensive security", "container-security", "security assess", "blue team",
            "malware", "prompt injection", "poisoned", "poisoning", "untrusted", "compromise", "phishing",
            "before installation", "reverse shells", "detects ", "detecting ", "detection ", "应急响应", "取证",
            "排查", "安全培训", "防御", "入侵检测",
        ],
    ),
    (
        Words::Tests,
        &[
            "vulnerabilit", "security test", "security audit", "security scan", "penetration-test",
            "penetration tester", "bug bounty", "bug-bounty", "owasp", "capture the flag", "capture-the-flag", "ctf",
            "offensive", "exploitation", "injection", "sqli", "ssti", "ssrf", "xxe", "traversal", "deserializ",
            "brute-force", "brute force", "安全测试", "渗透", "漏洞", "注入",
        ],
    ),
    (
        Words::Samples,
        &[
            "example", "demonstration", "sign", "indicator", "typical", "what such", "look for", "payload",
            "technique", "recogni", "anti-pattern", "red flag", "symptom", "often find", "usually find", "often see",
            "traces", "evidence", "finding", "bad and good", "示例", "特征", "迹象", "案例", "写法",
        ],
    ),
    (Words::NotRun, &["not run", "never run", "n't run", "not execute", "never execute", "不要运行", "不要执行"]),
    (Words::Shown, &["malicious", "attacker", "in the wild", "detection rule", "quoted from", "恶意", "攻击者"]),
];

/// Searcher for the words of all lists, with the bit of each word's list.
static FINDER: LazyLock<(Literals, Vec<u8>)> = LazyLock::new(|| {
    let all = || LISTS.into_iter().flat_map(|(list, words)| words.iter().map(move |word| (*word, bit(list))));
    (Literals::new(all().map(|(word, _)| word)), all().map(|(_, bit)| bit).collect())
});

/// Maximum number of bytes examined in a passage.
const PASSAGE: usize = 1000;

/// Returns true if a passage contains a word of a list outside of URLs, ignoring ASCII case.
pub(super) fn has(words: Words, passage: &str) -> bool {
    let passage = passage.get(..passage.floor_char_boundary(PASSAGE)).unwrap_or(passage);
    let mut plain = String::with_capacity(passage.len() + 1);
    for word in passage.split_whitespace().filter(|word| !word.contains("://")) {
        plain.push_str(word);
        plain.push(' ');
    }
    let (literals, lists) = &*FINDER;
    let mut found = 0;
    literals.find(plain.as_bytes(), |word, _| found |= lists.get(word).copied().unwrap_or(0));
    found & bit(words) != 0
}

/// Returns the bit of a list in the searcher's result.
const fn bit(list: Words) -> u8 {
    1 << list as u8
}
