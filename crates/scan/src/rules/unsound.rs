//! Rules about scripts that run whatever words they are given: who chooses a file's name or a search term, for
//! instance in a page that the agent reads, chooses the command (CWE-78, CWE-89).

use crate::{Role, Rule, Scope, Severity};

const BASE: Rule = Rule {
    category: "execution",
    severity: Severity::High,
    elsewhere: Severity::Low,
    scope: Scope::Script,
    role: Role::Command,
    ..Rule::DEFAULT
};

const COMMAND: Rule = Rule {
    id: "command-built-from-words",
    message: "puts a command line together out of words that it is given, and has a shell run it",
    remedy: "run the program with a list of arguments and no shell, or quote each word (shlex.quote)",
    literals: &["os.system(", "os.popen(", "getoutput(", "shell=", "shell =", "exec(", "execSync(", "\"-c\"", "'-c'"],
    pattern: concat!(
        r"\b(?:os\.(?:system|popen)|subprocess\.get(?:status)?output)\(\s{0,20}(?:f['\x22][^\n]{0,160}?\{[a-z_][^\n]{0,120}|['\x22][^\n'\x22]{1,120}['\x22]\s{0,2}(?:\+|%|\.format\()\s{0,2}[a-z_(][^\n]{0,120})",
        r"|\bsubprocess\.\w{3,12}\(\s{0,20}(?:f['\x22][^\n]{0,160}?\{[a-z_]|['\x22][^\n'\x22]{1,120}['\x22]\s{0,2}(?:\+|%|\.format\()\s{0,2}[a-z_(])[^\n]{0,160}(?:\n[^\n]{0,120}){0,3}?\bshell\s?=\s?True",
        r"|\b(?:child_process\.|cp\.)?exec(?:Sync)?\(\s{0,20}(?:`[^`\n]{0,160}\$\{(?:process\.argv|req\.|args\b|argv\b|input\b|params\b|query\b)|['\x22][^\n'\x22]{1,120}\s['\x22]\s{0,2}\+\s{0,2}(?:process\.argv|req\.|args\b|argv\b|input\b|params\b|query\b))[^\n]{0,120}",
        r"|\bexec\.Command\(\s{0,2}\x22(?:/bin/)?(?:ba)?sh\x22,\s{0,2}\x22-c\x22,\s{0,2}(?:\x22[^\n\x22]{1,120}\x22\s{0,2}\+|fmt\.Sprintf\([^\n]{0,120}|os\.Args|strings\.Join)[^\n]{0,120}",
    ),
    accept: Some(is_unquoted),
    harmful: &[
        ("scripts/a.py", "import os, sys\nos.system(\"ping -c1 \" + sys.argv[1])\n"),
        ("scripts/a.py", "def show(name):\n    subprocess.run(f\"figlet {name}\", shell=True)\n"),
        ("scripts/a.js", "execSync(`git log --author=${process.argv[2]}`)\n"),
    ],
    harmless: &[
        ("scripts/a.py", "os.system(f\"ping -c1 {shlex.quote(host)}\")\nsubprocess.run(\"make all\", shell=True)\n"),
        ("scripts/a.js", "execSync(`git -C ${root} status`)\nexec(`rm ${JSON.stringify(args[0])}`)\n"),
        ("SKILL.md", "Never write `os.system(f\"ping {host}\")`.\n"),
    ],
    ..BASE
};

fn is_unquoted(matched: &str) -> bool {
    !["quote(", "JSON.stringify", "escape", "sys.executable", "list2cmdline"].iter().any(|safe| matched.contains(safe))
}

const QUERY: Rule = Rule {
    id: "query-built-from-arguments",
    message: "puts a query together out of its arguments",
    remedy: "hand values to the database as parameters",
    literals: &["execute(", "executescript(", "query(", "raw("],
    pattern: concat!(
        r"\b(?:execute|executescript|query|raw)\(\s{0,20}f['\x22]{1,3}[^\n]{0,160}\b(?:select|insert|update|delete)\s[^\n]{0,160}\{(?:sys\.argv|args\.|request\.|params\b)",
        r"|\b(?:execute|executescript|query|raw)\(\s{0,20}['\x22](?:select|insert|update|delete)\s[^\n\x22]{4,160}['\x22]?\x22\s{0,2}(?:\+|%)\s{0,2}(?:sys\.argv|args\.|request\.|params\b|process\.argv|req\.)",
        r"|\b(?:execute|query|raw)\(\s{0,20}`(?:select|insert|update|delete)\s[^\n`]{4,160}\$\{(?:process\.argv|req\.|args\b|params\b)",
    ),
    harmful: &[("scripts/a.py", "c.execute(\"SELECT * FROM users WHERE name = '\" + sys.argv[1] + \"'\")\n")],
    harmless: &[("scripts/a.py", "c.execute(\"SELECT * FROM users WHERE name = ?\", (sys.argv[1],))\n")],
    ..BASE
};

const UNPACKED: Rule = Rule {
    id: "archive-written-outside",
    message: "writes the files of an archive wherever their names lead",
    remedy: "use extractall with filter=\"data\", or refuse names that leave the folder",
    literals: &[".namelist()", ".getnames()", ".getmembers()", ".infolist()"],
    pattern: r"\bfor\s{1,2}\w{1,20}\s{1,2}in\s{1,2}\w{1,20}\.(?:namelist|getnames|getmembers|infolist)\(\)[^\n]{0,40}\n(?:[^\n]{0,120}\n){0,4}?[^\n]{0,40}\bos\.path\.join\(\s{0,2}['\x22]/['\x22]\s{0,2},",
    harmful: &[(
        "scripts/a.py",
        "for n in z.namelist():\n    p = os.path.join(\"/\", n)\n    open(p, \"wb\").write(z.read(n))\n",
    )],
    harmless: &[("scripts/a.py", "for n in z.namelist():\n    p = os.path.join(\"out\", n)\n")],
    ..BASE
};

/// All rules of this category.
pub(crate) const RULES: &[Rule] = &[COMMAND, QUERY, UNPACKED];
