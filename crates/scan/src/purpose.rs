//! [`check`]: contradictions between a skill's scripts and its own description.
//!
//! A script that sends data, deletes files or concatenates a query is not a finding by itself. It is one if the
//! description promises the opposite, since people decide about a skill by its description.

use std::sync::OnceLock;

use regex_automata::meta::Regex;
use skill::{Bundle, SkillPath};

use crate::{
    Related, Rule, Scope,
    engine::{SearchError, compile},
    finder::{Finder, related_at},
    role, rules,
    source::Source,
};

/// Promise in a skill's frontmatter, and the code that breaks it.
struct Promise {
    rule: &'static Rule,
    given: Given,
    /// Regular expression for code that breaks the promise.
    broken_by: &'static str,
    /// Strings that show the promise to be kept. A file that contains one of them is skipped.
    kept_by: &'static [&'static str],
    compiled: OnceLock<Result<Regex, String>>,
}

/// Form in which a skill gives a promise.
enum Given {
    /// The description contains one of these lower-case phrases.
    Says(&'static [&'static str]),
    /// The frontmatter lists `permissions`, and none of them is of these lower-case kinds. Holds the finding's message.
    AsksForNone(&'static [&'static str], &'static str),
}

static PROMISES: [Promise; 7] = [
    Promise {
        rule: &rules::PROMISE_TO_READ_ONLY,
        given: Given::Says(&[
            "read-only", "read only", "only reads", "reads only", "only looks", "changes nothing", "never changes",
            "never modifies", "never writes", "does not change", "does not modify", "doesn't change", "doesn't modify",
            "without changing", "without modifying", "nothing is changed", "nothing is written", "只读", "不会修改",
            "不修改", "不做任何修改",
        ]),
        broken_by: r"\brm\s{1,3}-[a-z]{0,4}r[a-z]{0,4}\s|\brmtree\(|\brmSync\(|\bfs\.rm\(|\bDROP\s{1,3}(?:TABLE|DATABASE|SCHEMA)\b|\bDELETE\s{1,3}FROM\b|\bTRUNCATE\s{1,3}TABLE\b|\bgit\s{1,3}(?:push|reset\s{1,3}--hard|clean\s{1,3}-)|\bcrontab\s{1,3}-(?:r\b|\s|\n)|>>\s{0,2}[\x22']?(?:~|\$HOME)/\.|\bRemove-Item\b[^\n]{0,60}-Recurse|\bkubectl\s{1,3}(?:delete|apply|patch)\b|\bterraform\s{1,3}(?:apply|destroy)\b|\bchmod\s{1,3}(?:777|u\+s)",
        kept_by: &[],
        compiled: OnceLock::new(),
    },
    Promise {
        rule: &rules::PROMISE_TO_STAY_LOCAL,
        given: Given::Says(&[
            "works offline", "runs offline", "fully offline", "completely offline", "entirely offline", "offline only",
            "offline tool", "no network", "without network", "local-only", "local only", "locally only",
            "only locally", "entirely local", "fully local", "completely local", "purely local", "runs locally",
            "works locally", "never leaves", "never leave", "nothing leaves", "no data leaves", "nothing is sent",
            "nothing is uploaded", "no data is sent", "sends nothing", "never sends", "never uploads", "离线",
            "不联网", "不上传", "不会上传", "数据不出",
        ]),
        broken_by: concat!(
            r"\b(?:requests|httpx|session|axios|client)\.(?:post|put|patch)\(|\burlopen\(|\bfetch\(\s{0,2}['\x22`]https?:|\bcurl\s[^\n]{0,80}(?:\s-[dFT]|--data|--form|--upload|-X\s{0,2}P)|\bwget\s[^\n]{0,60}--post|\bhttp\.(?:Post|NewRequest)\(|\bnet\.Dial\(|\bInvoke-(?:RestMethod|WebRequest)\b",
            r"|\bsocket\.(?:create_connection|socket)\(|\bNet::HTTP|\bcurl_init\(|\bnew\s{1,2}WebSocket\(|\bsendBeacon\(|\bHttpClient\b|\breqwest::|\bureq::|\bsmtplib\.|\bTcpStream::connect\(",
        ),
        kept_by: &["localhost", "127.0.0.1", "::1", "AF_UNIX"],
        compiled: OnceLock::new(),
    },
    Promise {
        rule: &rules::PROMISE_OF_SAFE_QUERIES,
        given: Given::Says(SAFELY),
        broken_by: concat!(
            r"\bf['\x22]{1,3}\s{0,8}(?:SELECT|INSERT|UPDATE|DELETE)\s[^\n]{0,200}\{|['\x22](?:SELECT|INSERT|UPDATE|DELETE)\s[^\n]{0,160}['\x22]\s{0,2}(?:\+|%|\.format\()\s{0,2}|`(?:SELECT|INSERT|UPDATE|DELETE)\s[^\n`]{0,160}\$\{|\bfmt\.Sprintf\(\x22(?:SELECT|INSERT|UPDATE|DELETE)\s",
            r"|\b(?:SELECT|INSERT|UPDATE|DELETE)\s[^\n]{0,120}['\x22]\s{0,2}\.\s{0,2}\$",
        ),
        kept_by: &["quote_ident", "sql.Identifier", "escape_identifier", "isidentifier", "ALLOWED_TABLES", "allowlist"],
        compiled: OnceLock::new(),
    },
    Promise {
        rule: &rules::PROMISE_OF_SAFE_COMMANDS,
        given: Given::Says(SAFELY),
        broken_by: r"\bos\.(?:system|popen)\(\s{0,2}(?:f['\x22]|[a-z_]{1,30}\s{0,2}(?:\)|\+)|['\x22][^\n]{1,100}['\x22]\s{0,2}[+%])|\bsubprocess\.\w{2,14}\([^\n]{0,160}shell\s{0,2}=\s{0,2}True|\b(?:exec|execSync)\(\s{0,2}(?:`[^`\n]{0,160}\$\{|['\x22][^\n]{1,120}['\x22]\s{0,2}\+)|\beval\(\s{0,2}[a-z_]{1,24}\s{0,2}[,)]|\bpickle\.loads?\(|\byaml\.(?:load|unsafe_load)\([^\n)]{1,40}\)",
        kept_by: &["shlex.quote", "SafeLoader", "safe_load", "literal_eval"],
        compiled: OnceLock::new(),
    },
    Promise {
        rule: &rules::PROMISE_OF_SAFE_PATHS,
        given: Given::Says(SAFELY),
        broken_by: r"\bopen\(\s{0,2}f['\x22][^'\x22\n]{0,60}/\{[^\n]{1,60}|\bos\.path\.join\(\s{0,2}[\w.\x22'/]{1,60},\s{0,2}(?:file_?name|name|path|user_\w{1,16}|target|file)\s{0,2}\)|\breadFile(?:Sync)?\(\s{0,2}(?:`[^`\n]{0,60}\$\{|path\.join\([^\n]{1,80},\s{0,2}(?:file_?name|name|file)\))",
        kept_by: &[
            "realpath", "resolve(", "relative_to", "commonpath", "commonprefix", "basename", "'..'", "\"..\"",
            "startsWith(",
        ],
        compiled: OnceLock::new(),
    },
    Promise {
        rule: &rules::PERMISSIONS_EXCEEDED,
        given: Given::AsksForNone(
            &[
                "network", "net", "internet", "http", "web", "webfetch", "websearch", "fetch", "url", "urls", "api",
                "apis", "curl", "browser", "bash", "shell", "exec", "*", "all", "any",
            ],
            "uses the network, though its declared permissions do not include that",
        ),
        broken_by: r"\b(?:requests|httpx|axios)\.(?:get|post|put|patch|request)\(|\burlopen\(|\bfetch\(\s{0,2}['\x22`]https?:|\bcurl\s[^\n]{0,80}https?:|\bhttp\.(?:Get|Post|NewRequest)\(|\bInvoke-(?:RestMethod|WebRequest)\b|\bsocket\.(?:create_connection|socket)\(|\bnew\s{1,2}WebSocket\(",
        kept_by: &["localhost", "127.0.0.1", "AF_UNIX"],
        compiled: OnceLock::new(),
    },
    Promise {
        rule: &rules::PERMISSIONS_EXCEEDED,
        given: Given::AsksForNone(
            &[
                "bash", "shell", "exec", "process", "command", "run", "terminal", "python", "script", "code", "spawn",
                "*", "all", "any",
            ],
            "starts programs, though its declared permissions do not include that",
        ),
        broken_by: r"\bsubprocess\.(?:run|Popen|call|check_\w{4,6}|getoutput)\(|\bos\.(?:system|popen|exec\w{1,3})\(|\b(?:exec|spawn|execFile)(?:Sync)?\(\s{0,2}['\x22`]|\bexec\.Command\(",
        kept_by: &[],
        compiled: OnceLock::new(),
    },
];

/// Phrases that promise safe handling of input.
const SAFELY: &[&str] = &[
    "safely", "safe from", "safe for ", "safe to ", "hardened against", "safe-", "parameterized", "parameterised",
    "prepared statements", "sanitized", "sanitised", "sanitizes", "validated", "with validation", "injection-proof",
    "securely", "安全地", "参数化",
];

/// Adds a finding for each place where a script breaks a promise of the skill.
pub(crate) fn check(bundle: &Bundle, sources: &[&Source<'_>], finder: &mut Finder) -> Result<(), SearchError> {
    let Some(claims) = Claims::of(bundle) else { return Ok(()) };
    for promise in &PROMISES {
        let Some(words) = claims.give(&promise.given) else { continue };
        let given = given_in(sources, words);
        for source in sources {
            promise.look_at(source, given.as_ref(), finder)?;
        }
    }
    Ok(())
}

/// Returns the line of `SKILL.md` with the words of a promise.
fn given_in(sources: &[&Source<'_>], words: &str) -> Option<Related> {
    let source = sources.iter().find(|source| source.path == SkillPath::SKILL_MD)?;
    let (line, at) = source.lines().find_map(|(line, text)| Some((line, text.to_lowercase().find(words)?)))?;
    let at = source.text.floor_char_boundary(source.line_start(line) + at);
    related_at("promised in", source, line, at)
}

/// Claims in a skill's frontmatter, in lower case.
struct Claims {
    description: String,
    /// Value of `permissions` in the frontmatter, if present.
    permissions: Option<String>,
}

impl Claims {
    fn of(bundle: &Bundle) -> Option<Self> {
        let text = bundle.skill_md()?;
        let front = bundle.frontmatter()?;
        let permissions = if front.has("permissions") { permissions_in(text) } else { None };
        let description = front.description.as_deref().unwrap_or_default().to_lowercase();
        Some(Self { description, permissions })
    }

    /// Returns the words by which the skill gives a promise.
    fn give(&self, given: &Given) -> Option<&'static str> {
        match given {
            Given::Says(ways) => ways.iter().copied().find(|words| self.description.contains(words)),
            Given::AsksForNone(kinds, _) => {
                let asked = self.permissions.as_ref()?;
                (!kinds.iter().any(|kind| names(asked, kind))).then_some("permissions:")
            }
        }
    }
}

/// Returns whether a permission list contains a permission of a kind: a word equal to it or, for kinds of at least four
/// letters, a word that begins with it. `networking` is of the kind `network`, but `allow` is not of the kind `all`.
fn names(asked: &str, kind: &str) -> bool {
    let mut words = asked.split(|letter: char| !letter.is_alphanumeric() && letter != '*');
    words.any(|word| word == kind || kind.len() > 3 && word.starts_with(kind))
}

/// Returns the value of `permissions`, which the Agent Skills standard does not define: its line and the list items
/// below.
fn permissions_in(text: &str) -> Option<String> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with("permissions:"));
    let first = lines.next()?.trim_start_matches("permissions:");
    let list = lines.take_while(|line| line.starts_with([' ', '\t', '-']) && *line != "---");
    Some(list.fold(first.to_lowercase(), |all, line| all + "\n" + &line.to_lowercase()))
}

impl Promise {
    fn look_at(&self, source: &Source<'_>, given: Option<&Related>, finder: &mut Finder) -> Result<(), SearchError> {
        let is_own = source.kind().runs || source.path == SkillPath::SKILL_MD;
        if !is_own || source.is_binary() || self.kept_by.iter().any(|words| source.text.contains(words)) {
            return Ok(());
        }
        finder.charge(source.text.len())?;
        for found in self.regex()?.find_iter(source.text.as_bytes()) {
            let line = source.line_at(found.start());
            let is_talk = !source.kind().runs && role::is_lesson(source, line);
            if source.covers(Scope::Code, line) && !is_talk && !finder.has_enough(self.rule, self.rule.evidence) {
                let signal = finder.add(self.rule, self.rule.evidence, source, line, source.statement(line));
                signal.into_iter().for_each(|signal| {
                    signal.message = self.message().to_owned();
                    if let Given::AsksForNone([kind, ..], _) = self.given {
                        let place = given.map(|given| format!(":{}", given.line)).unwrap_or_default();
                        let change = format!("add `{kind}` to `permissions` in SKILL.md{place}, or delete the call");
                        signal.remedy = change.into();
                    }
                    signal.related.extend(given.cloned());
                });
            }
        }
        Ok(())
    }

    /// Returns the message, which names the missing permission if that is the broken promise.
    fn message(&self) -> &'static str {
        match self.given {
            Given::Says(_) => self.rule.message,
            Given::AsksForNone(_, message) => message,
        }
    }

    fn regex(&self) -> Result<&Regex, SearchError> {
        let compiled = self.compiled.get_or_init(|| compile(self.broken_by));
        compiled.as_ref().map_err(|error| SearchError::Broken(self.rule.id, error.clone()))
    }
}
