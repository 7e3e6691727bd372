//! Rules about scripts that do whatever the words say that they are given: who chooses a file's name or a search
//! term, for instance in a page that the agent reads, chooses the command, the file, the host or the page
//! (CWE-22, CWE-78, CWE-89, CWE-90, CWE-94, CWE-347, CWE-611, CWE-918, CWE-1336).

use crate::{Role, Rule, Scope, Severity};

const BASE: Rule = Rule {
    category: "execution",
    severity: Severity::High,
    elsewhere: Severity::Low,
    scope: Scope::Code,
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
    literals: &["execute(", "executescript(", "query(", "raw(", "$where", "search_s("],
    pattern: concat!(
        r"\b(?:execute|executescript|query|raw)\(\s{0,20}f['\x22]{1,3}[^\n]{0,160}\b(?:select|insert|update|delete)\s[^\n]{0,160}\{(?:sys\.argv|args\.|request\.|params\b)",
        r"|\b(?:execute|executescript|query|raw)\(\s{0,20}['\x22](?:select|insert|update|delete)\s[^\n\x22]{4,160}['\x22]?\x22\s{0,2}(?:\+|%)\s{0,2}(?:sys\.argv|args\.|request\.|params\b|process\.argv|req\.)",
        r"|\b(?:execute|query|raw)\(\s{0,20}`(?:select|insert|update|delete)\s[^\n`]{4,160}\$\{(?:process\.argv|req\.|args\b|params\b)",
        r"|\$where['\x22]?\s{0,2}:\s{0,2}(?:`[^`\n]{0,120}\$\{|['\x22][^'\x22\n]{0,120}['\x22]\s{0,2}\+)|\bsearch(?:_s|_ext_s)?\([^\n]{0,120}\(\w{1,20}=['\x22]\s{0,2}\+\s{0,2}(?:sys\.argv|args\.|request\.|req\.)",
    ),
    harmful: &[("scripts/a.py", "c.execute(\"SELECT * FROM users WHERE name = '\" + sys.argv[1] + \"'\")\n")],
    harmless: &[("scripts/a.py", "c.execute(\"SELECT * FROM users WHERE name = ?\", (sys.argv[1],))\n")],
    ..BASE
};

const UNPACKED: Rule = Rule {
    id: "archive-written-outside",
    message: "writes the files of an archive wherever their names lead",
    remedy: "use extractall with filter=\"data\", or refuse names that leave the folder",
    literals: &[".namelist()", ".getnames()", ".getmembers()", ".infolist()", "extractall("],
    pattern: r"\bfor\s{1,2}\w{1,20}\s{1,2}in\s{1,2}\w{1,20}\.(?:namelist|getnames|getmembers|infolist)\(\)[^\n]{0,40}\n(?:[^\n]{0,120}\n){0,4}?[^\n]{0,40}\bos\.path\.join\(\s{0,2}['\x22]/['\x22]\s{0,2},|\bextractall\(\s{0,2}(?:path\s?=\s?)?['\x22]/['\x22]",
    harmful: &[(
        "scripts/a.py",
        "for n in z.namelist():\n    p = os.path.join(\"/\", n)\n    open(p, \"wb\").write(z.read(n))\n",
    )],
    harmless: &[("scripts/a.py", "for n in z.namelist():\n    p = os.path.join(\"out\", n)\n")],
    ..BASE
};

const CODE: Rule = Rule {
    id: "code-built-from-words",
    message: "runs, as code of its own, words that it is given",
    remedy: "read values with a parser: ast.literal_eval, JSON.parse, or one for formulas",
    literals: &[
        "eval(",
        "exec(",
        "Function(",
        "runInNewContext(",
        "runInThisContext(",
        "render_template_string(",
        "from_string(",
    ],
    pattern: concat!(
        r"\b(?:eval|exec)\(\s{0,2}(?:compile\(\s{0,2})?(?:sys\.argv|input\(|args\.\w|request\.|req\.(?:query|body|params)|process\.argv|flask\.request)",
        r"|\b(?:new\s{1,2})?Function\(\s{0,2}(?:['\x22`]return\s{1,2}\(?['\x22`]\s{0,2}\+|`return\s{1,2}\(?\$\{|req\.|process\.argv)|\brunIn(?:New|This)Context\(\s{0,2}\w{1,20}\s{0,2},\s{0,2}\{[^}\n]{0,60}\b(?:require|process)\b",
        r"|\b(?:render_template_string|from_string|Template)\([^\n]{0,80}\b(?:request\.(?:args|form|json|values|query_params)|sys\.argv)",
    ),
    harmful: &[
        ("a.py", "import sys\nprint(eval(sys.argv[1]))\n"),
        ("a.js", "module.exports = (config) => Function('return ' + config)();\n"),
        ("a.py", "return render_template_string('<h1>' + request.args.get('t') + '</h1>')\n"),
    ],
    harmless: &[("a.py", "import ast, sys\nprint(ast.literal_eval(sys.argv[1]))\n")],
    ..BASE
};

const ANY_FILE: Rule = Rule {
    id: "file-named-by-request",
    message: "hands out whatever file, or fetches whatever address, a request names",
    remedy: "keep to one folder (safe_join, a resolved path that is checked) and to a list of hosts",
    literals: &[
        "request.args",
        "request.form",
        "request.json",
        "request.values",
        "request.query_params",
        "request.GET",
        "req.query",
        "req.params",
        "req.body",
        "redirect_uri",
    ],
    pattern: concat!(
        r"\b(?:send_file|sendFile|createReadStream|readFile(?:Sync)?|open)\(\s{0,2}(?:f?['\x22`][^'\x22`\n]{0,60}(?:['\x22`]\s{0,2}\+\s{0,2}|\$?\{))?(?:request\.(?:args|form|json|values|query_params|GET)|req\.(?:query|params|body))\b[^\n]{0,60}",
        r"|\b(?:fetch|axios\.get|got|requests\.get|httpx\.get|urlopen)\(\s{0,2}(?:request\.(?:args|form|json|values|query_params|GET)|req\.(?:query|params|body))\b[^\n]{0,60}",
        r"|\b(?:RedirectResponse|redirect)\(\s{0,2}(?:redirect_uri|req\.query\.redirect_uri|request\.args\[['\x22]redirect_uri['\x22]\])\s{0,2}\+[^\n]{0,40}",
    ),
    harmful: &[
        ("a.py", "return send_file('/srv/files/' + request.args['name'])\n"),
        ("a.js", "const r = await fetch(req.query.url);\n"),
    ],
    harmless: &[("a.py", "return send_file(safe_join(ROOT, request.args['name']))\n")],
    ..BASE
};

const UNCHECKED: Rule = Rule {
    id: "check-left-out",
    message: "leaves out the check that keeps others from posing as somebody, or from reading files through a document",
    remedy: "name the algorithm of signatures, list the origins that may call, and read XML without entities",
    literals: &[
        "algorithm",
        "resolve_entities",
        "load_dtd",
        "noent",
        "NOENT",
        "Allow-Origin",
        "debug=True",
        "debug = True",
        "verify_signature",
    ],
    pattern: concat!(
        r"\balgorithms?['\x22]?\s{0,2}[:=]\s{0,2}\[[^\]\n]{0,40}['\x22]none['\x22]|\bverify_signature['\x22]?\s{0,2}:\s{0,2}False|\bresolve_entities\s?=\s?True|\bload_dtd\s?=\s?True|\bnoent\s?:\s?true|\bLIBXML_NOENT\b",
        r"|\bAccess-Control-Allow-Origin['\x22]\s{0,2},\s{0,2}\w{1,12}\.(?:headers?\.origin|headers?\[['\x22]origin['\x22]\]|get\(['\x22]origin['\x22]\))[\s\S]{0,160}?Allow-Credentials['\x22]\s{0,2},\s{0,2}['\x22]?true",
        r"|\.run\([^\n)]{0,80}0\.0\.0\.0[^\n)]{0,60}\bdebug\s?=\s?True|\.run\([^\n)]{0,80}\bdebug\s?=\s?True[^\n)]{0,60}0\.0\.0\.0",
    ),
    harmful: &[
        ("a.js", "jwt.verify(t, null, { algorithms: ['none', 'HS256'] });\n"),
        ("a.py", "p = etree.XMLParser(resolve_entities=True)\n"),
        ("a.py", "app.run(host='0.0.0.0', port=80, debug=True)\n"),
    ],
    harmless: &[("a.js", "jwt.verify(t, key, { algorithms: ['HS256'] });\n"), ("a.py", "app.run(debug=True)\n")],
    ..BASE
};

const IN_TMP: Rule = Rule {
    id: "program-anybody-can-change",
    category: "privilege",
    message: "runs, with all rights, a file that anybody on the machine can change",
    remedy: "keep it in a folder that belongs to root, or run it without sudo",
    literals: &["chmod 777 /tmp", "chmod 0777 /tmp", "chmod a+rwx /tmp", "chmod -R 777 /tmp"],
    pattern: r"\bchmod\s{1,2}(?:-R\s{1,2})?(?:0?777|a\+rwx)\s{1,2}/tmp/[\w./-]{1,60}[\s\S]{0,80}?\bsudo\s{1,2}(?:(?:ba)?sh\s{1,2})?/tmp/",
    harmful: &[("a.sh", "cp \"$1\" /tmp/u.sh && chmod 777 /tmp/u.sh && sudo sh /tmp/u.sh\n")],
    harmless: &[("a.sh", "chmod 777 /tmp/out\nsudo systemctl restart app\n")],
    ..BASE
};

const PASSWORD: Rule = Rule {
    id: "password-in-code",
    category: "credentials",
    message: "carries the password of a server that is not this machine",
    remedy: "take it from the environment or a vault, and change it now",
    literals: &[
        "password=",
        "password =",
        "password\":",
        "password:",
        "passwd=",
        "postgres://",
        "postgresql://",
        "mysql://",
        "mongodb://",
        "mongodb+srv://",
        "redis://",
        "amqp://",
        "amqps://",
    ],
    pattern: concat!(
        r"\b(?:connect|create_engine|createConnection|createPool|Client|Connection)\([^\n]{0,160}\b(?:password|passwd)['\x22]?\s?[:=]\s?['\x22][^'\x22\n]{8,60}['\x22]",
        r"|\b(?:postgres(?:ql)?|mysql|mongodb(?:\+srv)?|redis|amqps?)://[\w.-]{1,30}:[^\s@'\x22:/]{8,60}@[\w.-]{4,80}",
    ),
    accept: Some(is_real_password),
    secret: true,
    harmful: &[(
        "a.py",
        concat!("psycopg2.connect(host='db.prod.internal', user='admin', password='Sup3r", "S3cret!2026')\n"),
    )],
    harmless: &[(
        "a.py",
        "psycopg2.connect(host='db', password='postgres')\ncreate_engine('postgresql://u:password123@localhost/x')\n",
    )],
    ..BASE
};

/// Whether the match holds a password that somebody chose for a server, and no sample.
fn is_real_password(matched: &str) -> bool {
    const SAMPLES: &[&str] = &[
        "localhost",
        "127.0.0.1",
        "example",
        "your",
        "change",
        "test",
        "demo",
        "xxx",
        "<",
        "${",
        "{",
        "%s",
        "placeholder",
        "dummy",
        "sample",
    ];
    let lower = matched.to_ascii_lowercase();
    let word = match matched.rsplit_once('@') {
        Some((before, _)) if matched.contains("://") => before.rsplit(':').next().unwrap_or(""),
        _ => matched.rsplit(['\'', '"']).nth(1).unwrap_or(""),
    };
    let has = |kind: fn(&char) -> bool| word.chars().any(|c| kind(&c));
    !SAMPLES.iter().any(|sample| lower.contains(sample))
        && has(char::is_ascii_digit)
        && has(char::is_ascii_uppercase)
        && has(char::is_ascii_lowercase)
        && has(|c| !c.is_ascii_alphanumeric())
}

/// All rules of this category.
pub(crate) const RULES: &[Rule] = &[COMMAND, QUERY, UNPACKED, CODE, ANY_FILE, UNCHECKED, IN_TMP, PASSWORD];
