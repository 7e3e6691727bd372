//! [`Ends`]: which ends of a flow a text has words for, so that only what may hold a whole flow is parsed.

use std::sync::LazyLock;

use crate::literals::Literals;

use super::parse::Language;

/// The ends of flows that a text has words for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ends(u16);

/// A file or program with credentials, or what a user sees, types or keeps.
const SECRET: u16 = 1;
/// The environment, or a key in it that everybody has.
const ENVIRONMENT: u16 = 1 << 1;
/// Something from the network.
const FETCH: u16 = 1 << 2;
const DECODE: u16 = 1 << 3;
const SEND: u16 = 1 << 4;
/// Text is run as code.
const EVAL: u16 = 1 << 5;
/// A program is started.
const LAUNCH: u16 = 1 << 6;
/// A file is written, or made a program.
const STORE: u16 = 1 << 7;
/// A file that is run at every start, or that steers agents.
const STEERING: u16 = 1 << 8;
const REMOVE: u16 = 1 << 9;
const HOME: u16 = 1 << 10;
/// A name is made of a text.
const BY_NAME: u16 = 1 << 11;
/// A text is put together of pieces.
const PIECES: u16 = 1 << 12;

const WORDS: &[(u16, &[&str])] = &[
    (
        SECRET,
        &[
            ".ssh",
            ".aws",
            ".git-credentials",
            ".netrc",
            ".npmrc",
            ".pypirc",
            ".kube",
            ".docker",
            ".gnupg",
            "id_rsa",
            "id_ed25519",
            "Login Data",
            "logins.json",
            "key4.db",
            "keychain",
            "cookies.sqlite",
            "/Cookies",
            "wallet",
            "_history",
            "gcloud",
            ".azure",
            "/etc/shadow",
            "auth.json",
            "/credentials",
            "169.254.169.254",
            "metadata.google",
            "tfstate",
            ".claude/",
            ".codex/",
            ".cursor/",
            ".openclaw",
            "clipboard",
            "pbpaste",
            "xclip",
            "pyperclip",
            "ImageGrab",
            "screencapture",
            "/environ",
            ".env'",
            ".env\"",
            ".env ",
            ".env.",
            "master.key",
            "git config",
            "\"config\"",
            "'config'",
            "auth token",
            "security find",
            "hosts.yml",
            "Local State",
            "pynput",
            "keyboard",
            "User Data",
            ".mozilla",
            "Application Support",
            ".config/",
        ],
    ),
    (
        ENVIRONMENT,
        &[
            "environ)",
            "environ.items",
            "environ.copy",
            "environ,",
            "environ}",
            "environ\n",
            "environ.",
            "process.env)",
            "process.env,",
            "process.env;",
            "process.env }",
            "process.env}",
            "process.env\n",
            "{...process.env",
            "...process.env",
            "entries(process.env",
            "printenv",
            "$(env",
            "env |",
            "env>",
            "env >",
            "`env",
            "export -p",
            "declare -x",
            "declare -p",
            "set |",
            "/environ",
            "(env",
            "Deno.env.toObject",
            "GITHUB_TOKEN",
            "GH_TOKEN",
            "AWS_SECRET",
            "AWS_ACCESS",
            "AWS_SESSION",
            "OPENAI_API",
            "ANTHROPIC_API",
            "STRIPE_",
            "SLACK_",
            "NPM_TOKEN",
            "HF_TOKEN",
            "DATABASE_URL",
            "DB_PASS",
            "GITLAB_",
            "VAULT_TOKEN",
            "environ =",
            "env\n",
            "environb",
        ],
    ),
    (
        FETCH,
        &[
            "urlopen",
            "urlretrieve",
            "requests.",
            "httpx",
            "aiohttp",
            "fetch(",
            "axios",
            "curl",
            "wget",
            "http.get",
            "https.get",
            "got(",
            "urllib",
            "http.client",
            "Http",
        ],
    ),
    (
        DECODE,
        &[
            "b64decode",
            "atob",
            "fromhex",
            "Buffer.from",
            "base64",
            "rot13",
            "rot_13",
            "unhexlify",
            "decompress",
            "b32decode",
            "b85decode",
            "a85decode",
            "fromCharCode",
            "inflate",
            "gunzip",
            "chr(",
            "xxd",
            "bytes([",
            "bytes(",
            "decrypt",
            "rev",
            "^",
        ],
    ),
    (
        SEND,
        &[
            "requests.",
            "urlopen",
            "urllib",
            "httpx",
            "aiohttp",
            "http.client",
            "http.request",
            "https.request",
            ".post(",
            "fetch(",
            "axios",
            "XMLHttp",
            "sendBeacon",
            "socket",
            "smtplib",
            "ftplib",
            "curl",
            "wget",
            "nc ",
            "ncat",
            "socat",
            "/dev/tcp",
            "scp ",
            "rsync",
            "dig ",
            "nslookup",
            "gethostbyname",
            "dns",
            "sendmail",
            "paramiko",
            "git push",
            "net.connect",
            "createConnection",
            "got(",
            "boto3",
            "gsutil",
            "aws s3",
            "rclone",
            "mail ",
            "gist",
            "http.get",
            "https.get",
            "dgram",
            "git.push",
            "\"push\"",
        ],
    ),
    (
        EVAL,
        &[
            "eval(",
            "eval ",
            "exec(",
            "Function(",
            "loads(",
            "exec_module",
            "run_path",
            "FunctionType",
            "runInThisContext",
            "runInNewContext",
            "compile(",
            "vm.",
            "import_module",
            "__import__",
            "import(",
            "source ",
            "| sh",
            "|sh",
            "| bash",
            "|bash",
            "require(",
            ". /",
            ". \"",
            ". $",
        ],
    ),
    (
        LAUNCH,
        &[
            "subprocess",
            "os.system",
            "popen",
            "child_process",
            "spawn",
            "execSync",
            "bash ",
            "sh ",
            "python ",
            "python3 ",
            "node ",
            "startfile",
            "chmod",
            "osascript",
            "os.exec",
            "./",
            "perl ",
        ],
    ),
    (
        STORE,
        &[
            "write",
            "urlretrieve",
            "createWriteStream",
            "-o ",
            "--output",
            "-O ",
            "> ",
            "chmod",
            "0o7",
            "open(",
            "cpSync",
            "copyFile",
            ">",
            "shutil.copy",
            "appendFile",
        ],
    ),
    (
        STEERING,
        &[
            ".bashrc",
            ".zshrc",
            ".profile",
            ".bash_profile",
            ".zshenv",
            "LaunchAgents",
            "LaunchDaemons",
            "crontab",
            "cron.d",
            "systemd/",
            "autostart",
            "authorized_keys",
            "CLAUDE.md",
            "AGENTS.md",
            "GEMINI.md",
            "MEMORY.md",
            "SOUL.md",
            ".cursorrules",
            ".windsurfrules",
            "copilot-instructions",
            "settings.json",
            "settings.local",
            ".claude.json",
            "mcp.json",
            "mcp_config",
            ".git/hooks",
            "git\", \"hooks",
            "'.git', 'hooks",
            "hooksPath",
            "claude/skills",
            "SKILL.md",
            "sudoers",
            "sitecustomize",
            ".pth",
            "Startup",
            "CurrentVersion",
            "config.fish",
            ".cursor/rules",
            "pre-commit",
            "post-checkout",
            "\"hooks\"",
            "'hooks'",
            ".gitconfig",
            "/etc/hosts",
        ],
    ),
    (
        REMOVE,
        &["rmtree", "rmSync", "rm(", "rm -", "unlink", "rmdir", "rimraf", "find ", "shred", "remove(", "emptyDir"],
    ),
    (
        HOME,
        &[
            "home()",
            "homedir()",
            "expanduser",
            "$HOME",
            "~/",
            "'~'",
            "\"~\"",
            "env.HOME",
            "\"/\"",
            "'/'",
            "USERPROFILE",
        ],
    ),
    (
        BY_NAME,
        &[
            "getattr(",
            "__import__",
            "import_module",
            "globals()",
            "vars(",
            "global[",
            "globalThis[",
            "require(",
            "locals()",
            "eval",
        ],
    ),
    (
        PIECES,
        &[
            "reversed(",
            "[::-1]",
            ".reverse()",
            "fromCharCode",
            "chr(",
            "\" + \"",
            "' + '",
            "\"+\"",
            "'+'",
            "''.join",
            "\"\".join",
            "join('')",
            "join(\"\")",
        ],
    ),
];

/// Which sets of ends make a flow.
const FLOWS: &[u16] = &[
    SECRET | SEND,
    ENVIRONMENT | SEND,
    FETCH | EVAL,
    FETCH | STORE | LAUNCH,
    DECODE | EVAL,
    REMOVE | HOME,
    STEERING | STORE,
    REMOVE | HOME,
    BY_NAME | PIECES,
];

/// Those of a shell, where the words of all ends are everywhere.
const SHELL_FLOWS: &[u16] = &[
    SECRET | SEND,
    ENVIRONMENT | SEND,
    FETCH | EVAL,
    FETCH | STORE | LAUNCH,
    DECODE | EVAL,
    STEERING | STORE,
    REMOVE | HOME,
];

impl Ends {
    /// The ends that stand in a text.
    pub fn of(text: &str) -> Self {
        static FINDER: LazyLock<Literals> =
            LazyLock::new(|| Literals::new(WORDS.iter().flat_map(|(_, words)| words.iter().copied())));
        static OWNERS: LazyLock<Vec<u16>> =
            LazyLock::new(|| WORDS.iter().flat_map(|(end, words)| words.iter().map(|_| *end)).collect());
        let mut all = 0;
        FINDER.find(text.as_bytes(), |place, _| all |= OWNERS.get(place).copied().unwrap_or(0));
        Self(all)
    }

    /// Those of two texts that work together.
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether some flow may run from end to end.
    pub fn may_flow(self, language: Language) -> bool {
        let flows = if language == Language::Shell { SHELL_FLOWS } else { FLOWS };
        flows.iter().any(|flow| self.0 & flow == *flow)
    }

    /// The ends that count also where the other one is in another file.
    pub fn far(self) -> Self {
        Self(self.0 & (SECRET | SEND | FETCH | EVAL))
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}
