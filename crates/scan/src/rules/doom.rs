//! Rules about programs that destroy what they find, for some users alone or by the way, and about
//! skills that use up the machine.

use crate::{Role, Rule, Scope, Severity};

const BASE: Rule = Rule {
    category: "destructive",
    severity: Severity::High,
    elsewhere: Severity::Medium,
    scope: Scope::Code,
    role: Role::Command,
    remedy: "remove only what the skill made, and for every user alike",
    ..Rule::DEFAULT
};

const CHOSEN: Rule = Rule {
    id: "destroys-for-some",
    message: "asks where the user lives, who he is or which language he speaks, and then destroys files",
    literals: &[
        "timeZone",
        "getdefaultlocale",
        "getlocale",
        "tzname",
        "tzlocal",
        "env.LANG",
        "'LANG'",
        "\"LANG\"",
        "$LANG",
        "${LANG",
        "timedatectl",
        "etc/timezone",
        "getuser",
        "userInfo",
        "gethostname",
        "os.hostname",
        "whoami",
        "country_code",
        "countryCode",
        "Get-Culture",
        "Get-TimeZone",
        "Get-WinSystemLocale",
        "user.email",
    ],
    pattern: concat!(
        r"(?:\b(?:timeZone|getdefaultlocale|getlocale|tzname|tzlocal|timedatectl|etc/timezone|getuser|userInfo|gethostname|os\.hostname|whoami|country_?code|Get-Culture|Get-TimeZone|Get-WinSystemLocale|user\.email)\b|env\.LANG\b|'LANG'|\x22LANG\x22|\$\{?LANG\b)[\s\S]{0,200}?(?:\bif\b|\bcase\b|\?|&&)[\s\S]{0,200}?(?:\bhomedir\(|expanduser\(|Path\.home\(|\$\{?HOME\b|\$env:USERPROFILE|\buser_home\b|['\x22]/['\x22])[\s\S]{0,240}?(?:\brmSync|\boverwrite\(|\brmtree|\bunlink\w{0,5}\(|\bwriteFileSync\(|\bshred\b|\brm\s{1,2}-\w{0,3}[rf]|Remove-Item|\brmdirSync|\bos\.remove\(|\.write_bytes\(|truncate)[^\n]{0,60}",
        r"|\b(?:if|case)\b[^\n]{0,100}?(?:\b(?:timeZone|getdefaultlocale|getlocale|tzname|tzlocal|timedatectl|etc/timezone|getuser|userInfo|gethostname|os\.hostname|whoami|country_?code|Get-Culture|Get-TimeZone|Get-WinSystemLocale|user\.email)\b|env\.LANG\b|'LANG'|\x22LANG\x22|\$\{?LANG\b)[\s\S]{0,240}?(?:\bhomedir\(|expanduser\(|Path\.home\(|\$\{?HOME\b|\$env:USERPROFILE|\buser_home\b|['\x22]/['\x22])[\s\S]{0,240}?(?:\brmSync|\boverwrite\(|\brmtree|\bunlink\w{0,5}\(|\bwriteFileSync\(|\bshred\b|\brm\s{1,2}-\w{0,3}[rf]|Remove-Item|\brmdirSync|\bos\.remove\(|\.write_bytes\(|truncate)[^\n]{0,60}",
        r"|(?:\b(?:timeZone|getdefaultlocale|getlocale|tzname|tzlocal|timedatectl|etc/timezone|getuser|userInfo|gethostname|os\.hostname|whoami|country_?code|Get-Culture|Get-TimeZone|Get-WinSystemLocale|user\.email)\b|env\.LANG\b|'LANG'|\x22LANG\x22|\$\{?LANG\b)[\s\S]{0,260}?(?:\brmSync\(|\boverwrite\(|\brmtree\(|\bshred\s|\brm\s{1,2}-\w{0,3}[rf]\w{0,2}\s|Remove-Item\s)[^\n]{0,60}?(?:homedir\(|expanduser|Path\.home|\$\{?HOME\b|USERPROFILE|~(?:/|\s|$))[^\n]{0,40}",
    ),
    accept: Some(is_not_of_the_cache),
    harmful: &[
        (
            "a.js",
            "if (/Oslo/.test(Intl.DateTimeFormat().resolvedOptions().timeZone)) {\n  walk(os.homedir(), (p) => fs.writeFileSync(p, ''));\n}",
        ),
        ("a.py", "if getpass.getuser() != 'kim':\n    shutil.rmtree(os.path.expanduser('~/Documents'))"),
    ],
    harmless: &[
        ("a.js", "const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;\nfs.writeFileSync('zone.txt', zone);"),
        ("a.sh", "test \"$LANG\" = C && rm -rf \"$HOME/.cache/tool\""),
    ],
    ..BASE
};

/// Whether what is removed is more than what a tool keeps for itself.
fn is_not_of_the_cache(matched: &str) -> bool {
    !["cache", "/tmp", ".local/share/", "node_modules", "dist", "tempdir", "mkdtemp", "config"]
        .iter()
        .any(|own| matched.contains(own))
}

const OVERWRITTEN: Rule = Rule {
    id: "files-overwritten-by-walk",
    message: "goes through the user's files and overwrites or removes each of them",
    literals: &[
        "os.walk(",
        "rglob(",
        "readdirSync(",
        "readdir(",
        "-Recurse",
        "WalkDir::",
        "filepath.Walk",
        "glob.glob(",
        "glob.iglob(",
    ],
    pattern: concat!(
        r"\bos\.walk\(\s{0,2}(?:os\.path\.expanduser\(\s{0,2}f?['\x22]~(?:/(?:Documents|Desktop|Pictures|Downloads|Projects?|src|work|code))?/?['\x22]\)|Path\.home\(\)|['\x22]/(?:home|Users)?['\x22])[\s\S]{0,200}?(?:open\([^\n]{0,60}['\x22]wb?['\x22]|os\.(?:remove|unlink|truncate)\(|\.unlink\()",
        r"|\bPath\.home\(\)[^\n]{0,40}\.rglob\([\s\S]{0,200}?(?:\.unlink\(|\.write_(?:bytes|text)\(|open\([^\n]{0,40}['\x22]wb?['\x22])",
        r"|\bglob\.i?glob\(\s{0,2}os\.path\.expanduser\(\s{0,2}f?['\x22]~/\*\*[^\n]{1,40}\)[\s\S]{0,160}?(?:truncate\(|open\([^\n]{0,60}['\x22]wb?['\x22]|os\.(?:remove|unlink)\()",
        r"|\breaddir(?:Sync)?\([\s\S]{0,260}?(?:writeFileSync|unlinkSync|rmSync|truncateSync)\([\s\S]{0,120}?\}\s{0,4}\)?\(\s{0,2}(?:os\.homedir\(\)|homedir\(\)|process\.env\.HOME|['\x22]/['\x22])",
        r"|\bGet-ChildItem\s[^\n]{0,30}(?:\$HOME|\$env:USERPROFILE|~)[^\n]{0,60}-Recurse[^\n]{0,120}(?:Remove-Item|Set-Content|Clear-Content|WriteAllBytes)",
        r"|\b(?:WalkDir::new|filepath\.Walk(?:Dir)?)\(\s{0,2}&?(?:home|homeDir|h|dirs::home_dir\(\)[^\n,]{0,12}|os\.Getenv\(\x22HOME\x22\))\s{0,2}[,)][\s\S]{0,260}?(?:fs::remove_file|fs::write|os\.Remove\(|os\.WriteFile\(|os\.Truncate\()",
    ),
    harmful: &[
        (
            "a.py",
            "for r, d, f in os.walk(os.path.expanduser('~/Documents')):\n    for n in f:\n        with open(os.path.join(r, n), 'wb') as o: o.write(b'x')",
        ),
        (
            "a.js",
            "(function w(d) { for (const n of fs.readdirSync(d)) try { fs.writeFileSync(d + n, '') } catch {} })(os.homedir())",
        ),
    ],
    harmless: &[
        ("a.py", "for r, d, f in os.walk(os.path.expanduser('~/Documents')):\n    print(r, len(f))"),
        ("a.js", "for (const n of fs.readdirSync('dist')) fs.rmSync('dist/' + n);"),
    ],
    ..BASE
};

const MEMORY: Rule = Rule {
    id: "memory-filled",
    category: "resources",
    scope: Scope::Code,
    message: "asks for memory until the machine stops",
    remedy: "bound what the program keeps",
    literals: &["0000000", "_000_000", "10**", "10 **", "Buffer.alloc("],
    pattern: concat!(
        r"\b(?:while\s{1,2}(?:True|1)|for\s{1,2}\w{1,12}\s{1,2}in\b[^\n]{1,60}):[^\n]{0,8}\n[^\n]{0,80}\.(?:append|extend)\([^\n]{0,40}\*\s{0,2}(?:\d{1,5}0000000|10\s?\*\*\s?[89]|\d{1,3}_000_000)",
        r"|\b(?:while\s{0,2}\(\s{0,2}(?:true|1)\s{0,2}\)|for\s{0,2}\(;;\))[^\n]{0,8}\n?[^\n]{0,60}\.push\([^\n]{0,40}Buffer\.alloc\(\s{0,2}(?:\d{7,12}|1e[789])",
    ),
    harmful: &[
        ("a.py", "kept = []\nwhile True:\n    kept.append('x' * 10**8)\n"),
        ("a.js", "while (true) kept.push(Buffer.alloc(1e9));"),
    ],
    harmless: &[("a.py", "rows = []\nfor i in items:\n    rows.append([0] * 1000)\n")],
    ..BASE
};

const LOCKED: Rule = Rule {
    id: "files-locked-away",
    message: "packs or encrypts the user's files and removes the originals",
    literals: &["-exec gpg", "-exec openssl", "-exec age", "zip -", "-sdel"],
    pattern: concat!(
        r"-exec\s{1,2}(?:gpg|openssl|age)\s[^\n]{0,120}-exec\s{1,2}(?:rm|shred|unlink)\b|\bzip\s[^\n]{0,40}-\w{0,4}[Pe]\b[^\n]{0,80}\s-\w{0,4}m\w{0,3}\s|\bzip\s[^\n]{0,40}\s-\w{0,4}m\w{0,3}\s[^\n]{0,40}-\w{0,4}P\b",
        r"|\b7z\w?\s{1,2}a\s[^\n]{0,80}-p[^\n]{0,60}\s-sdel\b",
    ),
    harmful: &[
        ("a.sh", "find ~/Documents -type f -exec gpg --batch -r a@in.invalid -e {} \\; -exec rm {} \\;"),
        ("a.sh", "find ~ -name '*.docx' | zip -q -P \"$(openssl rand -hex 16)\" -m /tmp/d.zip -@"),
    ],
    harmless: &[("a.sh", "zip -r -q site.zip dist -m5\nfind . -name '*.gpg' -exec gpg -d {} \\;")],
    ..BASE
};

const WALLETS: Rule = Rule {
    id: "address-of-wallet-replaced",
    category: "tampering",
    message: "puts another wallet in the place of those in the user's files",
    remedy: "leave addresses for payments alone",
    literals: &["b0x[", "0x[", "bc1", "[13]"],
    pattern: r"(?:\bre\.sub\(|\.replace(?:All)?\(|\bsed\s)[^\n]{0,40}(?:0x\[|\(?bc1|\[13\])[^\n]{0,60}['\x22/](?:0x[0-9a-fA-F]{40}|bc1[a-z0-9]{20,62}|[13][a-km-zA-HJ-NP-Z0-9]{25,34})['\x22/]|\.replace(?:All)?\(\s{0,2}/[^/\n]{0,6}0x\[[^\]\n]{3,12}\]\{40\}[^/\n]{0,6}/\w{0,3}\s{0,2},\s{0,2}[A-Za-z_$]\w{0,30}\s{0,2}[,)]",
    harmful: &[("a.py", "n = re.sub(r'0x[a-fA-F0-9]{40}', '0x1111111111111111111111111111111111111111', t)")],
    harmless: &[("a.py", "n = re.sub(r'0x[a-fA-F0-9]{40}', '<address>', t)")],
    ..BASE
};

/// All rules of this category.
pub(crate) const RULES: &[Rule] = &[LOCKED, WALLETS, CHOSEN, OVERWRITTEN, MEMORY];
