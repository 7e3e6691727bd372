//! [`RULES`] about what attacks on services are made with: objects that run commands when they are read, programs in
//! values, lists of passwords, kits.

use super::exploits::{BASE, is_at_another};
use crate::{Rule, Scope, Severity};

const OBJECTS: Rule = Rule {
    id: "request-carries-objects",
    message: "makes or sends an object that runs a command when a service reads it",
    literals: &[
        "ysoserial",
        "phpggc",
        "marshalsec",
        "__reduce__",
        "rO0AB",
        "python/object",
        "_$$ND_FUNC$$_",
        "ScriptEngineManager",
        "JdbcRowSetImpl",
    ],
    pattern: concat!(
        r"\b(?:java\s[^\n]{0,60}(?:ysoserial|marshalsec)[\w.-]{0,30}\.jar\s{1,3}[\w.]{4,60}\s|ysoserial\.exe\s{1,3}-\w\s|phpggc\s{1,3}(?:-\w{1,3}\s{1,3}){0,3}\w{3,20}/\w{3,12})",
        r"|\bdef\s{1,2}__reduce(?:_ex)?__\([^)\n]{1,30}\)[^\n:]{0,20}:\s{0,4}(?:[^\n]{0,120}\n){0,4}?\s{0,16}return\s{0,2}\(?\s{0,2}(?:os\.(?:system|popen)|subprocess\.\w{3,14}|exec|eval|builtins\.\w{4}|__import__\(|posix\.system)\b",
        r"|(?:\b\w{1,20}\s{0,2}=\s{0,2}b?['\x22]|\b(?:curl\s|(?:requests|session|s|httpx)\.\w{3,7}\(|fetch\()[^\n]{0,200}?[=:\s'\x22])rO0AB[\w+/]{16,40}|!!python/object/(?:apply|new):(?:os\.|subprocess\.|builtins\.|__builtin__)|_\$\$ND_FUNC\$\$_function|!!javax\.script\.ScriptEngineManager\s?\[|\bcom\.sun\.rowset\.JdbcRowSetImpl\b",
    ),
    accept: Some(is_no_search),
    harmful: &[
        ("a.sh", "java -jar ysoserial.jar CommonsCollections6 'id' | curl --data-binary @- http://$1/invoker\n"),
        ("a.py", "class W:\n    def __reduce__(self):\n        return (os.system, ('id',))\n"),
        ("a.sh", "curl -b 'session=rO0ABXNyABFqYXZhLnV0aWwuSGFzaE1hcA' https://shop.invalid/home\n"),
        ("a.py", "p = '!!python/object/apply:os.system [\"id\"]'\n"),
    ],
    harmless: &[
        ("a.py", "class M:\n    def __reduce__(self):\n        return (M, (self.weights,))\n"),
        ("SKILL.md", "```java\n// Base64: rO0AB\nfilter.reject(\"com.sun.rowset.*\");\n```\n"),
        ("a.sh", "grep -rE 'rO0ABXNyABFqYXZhLnV0aWwuSGFzaE1hcA|ysoserial' logs\n"),
    ],
    ..BASE
};

/// Whether it is no command that looks for such an object.
fn is_no_search(matched: &str) -> bool {
    !matched.contains("grep")
}

const VALUE: Rule = Rule {
    id: "value-carries-program",
    scope: Scope::Machine,
    message: "a value of a configuration or of a request is a program that starts others",
    literals: &["child_process", "execSync", "spawnSync", "__import__("],
    pattern: r"\x22\s?:\s{0,2}\\{0,2}\x22\s{0,2}(?:\(\s?\{|\(\s?function|\(\s?\(\s?\)\s?=>|\{\s?\w{1,12}\s?:\s?\(\s?function|=\s?\(?function|return\s|(?:global|process|this)\.|\{\{\s?)[^\n]{0,240}?\b(?:child_process|execSync|spawnSync|__import__\(\\{0,2}['\x22](?:os|subprocess))\b",
    harmful: &[
        (
            "flow.json",
            "{\"mcpServerConfig\":\"({x:(function(){return process.mainModule.require('child_process').execSync('id')})()})\"}",
        ),
        ("SKILL.md", "```json\n{\"override\": {\"fn\": \"return require('child_process').execSync('id')\"}}\n```\n"),
    ],
    harmless: &[
        ("flow.json", "{\"jsCode\":\"const x = items.map(function (i) { return i.json; });\"}"),
        (
            "package.json",
            "{\"scripts\": {\"stamp\": \"node -e \\\"require('child_process').execSync('git rev-parse HEAD')\\\"\"}}",
        ),
    ],
    ..BASE
};

const GUESSED: Rule = Rule {
    id: "request-guesses-password",
    message: "tries the passwords of a list on another's service",
    literals: &["while read", "while ifs=", "$(cat ", "in open(", "in passwords", "in wordlist", "in candidates"],
    pattern: concat!(
        r"(?:\bwhile\s{1,2}(?:IFS=\S{0,4}\s)?read\s|\bfor\s{1,2}\w{1,12}\s{1,2}in\s{1,2}\$\(cat\s)[^\n]{0,80}(?:\n[^\n]{0,120}){0,4}?[^\n]{0,40}?\bcurl\s[^\n]{0,200}?(?:-u\s{1,2}['\x22]?[\w@.-]{1,30}:\$\w|(?:pass|passwd|password|pwd)\w{0,4}=\$\w|\x22(?:pass|password|pwd)\\?\x22\s?:\s?\\?['\x22]{1,3}\$\w)[^\n]{0,160}",
        r"|\bfor\s{1,2}\w{1,20}\s{1,2}in\s{1,2}(?:open\(|passwords|wordlist|candidates)[^\n]{0,80}(?:\n[^\n]{0,160}){1,5}?[^\n]{0,80}\b(?:requests|session|sess|s|httpx)\.(?:post|get|request)\([^\n]{0,160}?(?:pass|passwd|password|pwd)['\x22]?\s?[:=][^\n]{0,160}",
    ),
    accept: Some(is_at_another),
    harmful: &[
        ("a.sh", "while read p; do curl -s -u \"admin:$p\" https://shop.invalid/api; done < words.txt\n"),
        (
            "a.py",
            "for pw in open('words.txt'):\n    r = requests.post('https://shop.invalid/login', data={'user': 'a', 'password': pw})\n",
        ),
    ],
    harmless: &[
        ("a.sh", "while read name; do curl -s -u \"$USER:$TOKEN\" https://shop.invalid/$name; done < names.txt\n"),
        ("a.py", "for pw in open('words.txt'):\n    print(len(pw))\nrequests.get('https://shop.invalid/a')\n"),
    ],
    ..BASE
};

const KIT: Rule = Rule {
    id: "exploit-kit-run",
    elsewhere: Severity::Medium,
    message: "runs a kit for breaking into machines against one that it names",
    literals: &[
        "msfconsole",
        "sqlmap",
        "commix",
        "hydra",
        "medusa",
        "nuclei",
        "crackmapexec",
        "netexec",
        "nxc ",
        "evil-winrm",
        "psexec",
        "secretsdump",
        "wmiexec",
        "responder",
        "bettercap",
        "rsf.py",
    ],
    pattern: concat!(
        r"\bmsfconsole\s[^\n]{0,60}-x\s{1,2}['\x22][^\n]{0,160}\bset\s{1,2}RHOSTS?\s{1,2}[\w./:-]{4,60}|\b(?:sqlmap|commix)(?:\.py)?\s[^\n]{0,60}(?:-u|--url)[\s=]{1,2}['\x22]?https?://[\w.-]{4,80}|\bnuclei\s[^\n]{0,60}-u\s{1,2}['\x22]?(?:https?://)?[\w-]{1,40}\.[\w.-]{2,60}",
        r"|\b(?:hydra|medusa)\s[^\n]{0,40}-[lLpPCuUh]\s[^\n]{0,80}\s(?:(?:ssh|ftp|rdp|smb|telnet|vnc|mysql|https?[\w-]{0,16})://[\w.-]{4,60}|[\w-]{1,40}\.[\w.-]{3,60}\s{1,2}(?:ssh|ftp|rdp|smb|telnet|vnc|mysql|https?[\w-]{0,16})\b)",
        r"|\b(?:crackmapexec|netexec|nxc)\s{1,2}(?:smb|ssh|winrm|ldap|mssql|rdp)\s{1,2}\d{1,3}\.[\d./-]{5,20}\s[^\n]{0,40}-p\s|\bevil-winrm\s[^\n]{0,60}-i\s{1,2}[\d.]{7,15}|\b(?:impacket-)?(?:psexec|secretsdump|wmiexec)(?:\.py)?\s[^\n]{0,60}@\d{1,3}\.[\d.]{5,12}",
    ),
    accept: Some(is_at_another),
    harmful: &[
        ("a.sh", "msfconsole -q -x \"use exploit/windows/smb/ms17_010; set RHOSTS 10.0.0.0/24; run; exit\"\n"),
        ("a.sh", "sqlmap -u 'https://shop.invalid/item?id=1' --batch --dump-all\n"),
        ("SKILL.md", "```bash\nhydra -L users.txt -P words.txt ssh://shop.invalid -t 4\n```\n"),
    ],
    harmless: &[
        ("a.sh", "sqlmap -u 'http://localhost/item?id=1' --batch\nnuclei -u \"$SITE\" -o report.txt\n"),
        ("a.sh", "python train.py hydra.run.dir=out -p 4; nuclei -version\n"),
    ],
    ..BASE
};

/// All rules of this kind.
pub(crate) const RULES: &[Rule] = &[OBJECTS, VALUE, GUESSED, KIT];
