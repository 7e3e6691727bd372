//! [`Words`]: lists of words that tell the role of a place, and whether a passage holds one of a list.

use std::sync::LazyLock;

use flow::Literals;

/// A list of words.
#[derive(Clone, Copy)]
pub(super) enum Words {
    /// Words that speak about an attack instead of making it.
    Teaching,
    /// Words by which a line calls its own command bad.
    Bad,
    /// Words by which a sentence only keeps the user out of something.
    Hides,
    /// Words by which a text says at its beginning that it is about defence.
    Defence,
    /// Words by which a text says at its beginning that it is about tests of security, beside those of defence.
    Tests,
    /// Words of headings and introductions under which a text about defence shows what attackers do.
    Samples,
    /// Words by which a text forbids to run what it shows.
    NotRun,
    /// Words by which a text says that it shows what others do.
    Shown,
}

/// The words of each list, small where they are of ASCII.
const LISTS: [(Words, &[&str]); 8] = [
    (
        Words::Teaching,
        &[
            "e.g.",
            "attack",
            "injection",
            "injected",
            "detect",
            "malicious",
            "adversar",
            "jailbreak",
            "untrusted",
            "red flag",
            "suspicious",
            "phrases like",
            "payload",
            "never obey",
            "never follow",
            "not follow",
            "not obey",
            "anti-pattern",
            "as data",
            "test case",
            "threat",
            "vulnerab",
            "tries to",
            "trying to",
            "attempts to",
            "decodes to",
            "攻击",
            "注入",
            "例如",
            "检测",
        ],
    ),
    (
        Words::Bad,
        &[
            "❌",
            "bad: ",
            "wrong: ",
            "dangerous",
            "vulnerable",
            "insecure",
            "unsafe",
            "never ",
            "don't ",
            "do not ",
            "avoid",
            "attackers ",
            "detect ",
            "block ",
        ],
    ),
    (Words::Hides, &["the user", "users ", "bother", "mention", " ask ", "tell "]),
    (
        Words::Defence,
        &[
            "incident",
            "forensic",
            "triage",
            "threat hunt",
            "hunting for",
            "hardening",
            "hardens",
            "security review",
            "security training",
            "attacks work",
            "defend against",
            "defends against",
            "penetration test",
            "pentest",
            "red team",
            "red-team",
            "offensive security",
            "container-security",
            "security assess",
            "blue team",
            "malware",
            "prompt injection",
            "poisoned",
            "poisoning",
            "untrusted",
            "compromise",
            "phishing",
            "before installation",
            "reverse shells",
            "detects ",
            "detecting ",
            "detection ",
            "应急响应",
            "取证",
            "排查",
            "安全培训",
            "防御",
            "入侵检测",
        ],
    ),
    (
        Words::Tests,
        &[
            "vulnerabilit",
            "security test",
            "security audit",
            "security scan",
            "penetration-test",
            "penetration tester",
            "bug bounty",
            "bug-bounty",
            "owasp",
            "capture the flag",
            "capture-the-flag",
            "ctf",
            "offensive",
            "exploitation",
            "injection",
            "sqli",
            "ssti",
            "ssrf",
            "xxe",
            "traversal",
            "deserializ",
            "brute-force",
            "brute force",
            "安全测试",
            "渗透",
            "漏洞",
            "注入",
        ],
    ),
    (
        Words::Samples,
        &[
            "example",
            "demonstration",
            "sign",
            "indicator",
            "typical",
            "what such",
            "look for",
            "payload",
            "technique",
            "recogni",
            "anti-pattern",
            "red flag",
            "symptom",
            "often find",
            "usually find",
            "often see",
            "traces",
            "evidence",
            "finding",
            "bad and good",
            "示例",
            "特征",
            "迹象",
            "案例",
            "写法",
        ],
    ),
    (Words::NotRun, &["not run", "never run", "n't run", "not execute", "never execute", "不要运行", "不要执行"]),
    (Words::Shown, &["malicious", "attacker", "in the wild", "detection rule", "quoted from", "恶意", "攻击者"]),
];

/// The words of all lists, and the bits of their lists.
static FINDER: LazyLock<(Literals, Vec<u8>)> = LazyLock::new(|| {
    let all = || LISTS.into_iter().flat_map(|(list, words)| words.iter().map(move |word| (*word, bit(list))));
    (Literals::new(all().map(|(word, _)| word)), all().map(|(_, bit)| bit).collect())
});

/// Bytes of a line that are looked at.
const PASSAGE: usize = 1000;

/// Whether a passage holds one of some words, in any ASCII case, outside addresses.
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

/// The bit of a list.
const fn bit(list: Words) -> u8 {
    1 << list as u8
}
