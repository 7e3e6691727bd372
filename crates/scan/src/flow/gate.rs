//! [`Ends`]: which ends of a flow a text has words for, so that only what may hold a whole flow is parsed.

use std::sync::LazyLock;

use crate::literals::Literals;

use super::parse::Language;

/// The ends of flows that a text has words for: of a shell in the upper half, else in the lower.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ends(u32);

/// A file or program with credentials, or what a user sees, types or keeps.
const SECRET: u32 = 1;
/// The environment, or a key in it that everybody has.
const ENVIRONMENT: u32 = 1 << 1;
/// Something from the network.
const FETCH: u32 = 1 << 2;
const DECODE: u32 = 1 << 3;
const SEND: u32 = 1 << 4;
/// Text is run as code.
const EVAL: u32 = 1 << 5;
/// A program is started.
const LAUNCH: u32 = 1 << 6;
/// A file is made of bytes, or made a program.
const STORE: u32 = 1 << 7;
/// A file is written.
const WRITE: u32 = 1 << 8;
/// A file that is run at every start, or that steers agents.
const STEERING: u32 = 1 << 9;
const REMOVE: u32 = 1 << 10;
const HOME: u32 = 1 << 11;
/// A name is made of a text.
const BY_NAME: u32 = 1 << 12;
/// A text is put together of pieces.
const PIECES: u32 = 1 << 13;

/// Where the bits of a shell begin.
const SHELL: u32 = 16;

/// Paths and places that every language names alike.
const STORES: &[&str] = &[
    ".ssh",
    ".aws",
    ".git-credentials",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".kube/",
    ".docker/",
    ".gnupg",
    "id_rsa",
    "id_ed25519",
    "Login Data",
    "logins.json",
    "key4.db",
    "keychain",
    "cookies.sqlite",
    "/Cookies",
    "wallet.dat",
    "_history",
    "gcloud",
    ".azure",
    "/etc/shadow",
    "auth.json",
    "169.254.169.254",
    "metadata.google",
    "tfstate",
    ".claude/projects",
    ".claude/history",
    ".claude/.cred",
    ".codex/",
    ".cursor/mcp",
    ".openclaw",
    "/environ",
    ".env'",
    ".env\"",
    ".env.",
    "master.key",
    "hosts.yml",
    "Local State",
    "User Data",
    ".config/gh",
    ".config/op",
    ".config/solana",
];

const KEYS: &[&str] = &[
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
    "declare -x",
    "printenv",
];

const STEERS: &[&str] = &[
    ".bashrc",
    ".zshrc",
    ".profile",
    ".bash_profile",
    ".zshenv",
    "LaunchAgents",
    "LaunchDaemons",
    "cron.d",
    "systemd/",
    "autostart",
    "authorized_keys",
    "CLAUDE.md",
    "AGENTS.md",
    "GEMINI.md",
    "MEMORY.md",
    "SOUL.md",
    "settings.json",
    "settings.local",
    ".claude.json",
    "mcp.json",
    "mcp_config",
    "claude_desktop",
    "*/SKILL.md",
    "sitecustomize",
    "Start Menu",
];

/// The words of scripts in Python and JavaScript.
const WORDS: &[(u32, &[&str])] = &[
    (SECRET, STORES),
    (
        SECRET,
        &[
            "'.aws'",
            "readText",
            "pyperclip",
            "pbpaste",
            "ImageGrab",
            "screencapture",
            "config\", \"-",
            "--global",
            "auth token",
            "find-generic",
            "'.config'",
            "\".config\"",
            "Application Support",
        ],
    ),
    (ENVIRONMENT, KEYS),
    (
        ENVIRONMENT,
        &[
            "environ)",
            "environ.items",
            "environ.copy",
            "environ}",
            "environ\n",
            "environb",
            "process.env)",
            "process.env,",
            "process.env;",
            "process.env }",
            "process.env}",
            "process.env\n",
            "Deno.env.toObject",
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
            "http.client",
            "npm i",
            "npx ",
            "pip install",
        ],
    ),
    (
        DECODE,
        &[
            "b64decode",
            "atob",
            "fromhex",
            "Buffer.from",
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
            "bytes([",
            "bytes(x",
            "bytearray([",
            "decrypt(",
        ],
    ),
    (
        SEND,
        &[
            "requests.",
            "urlopen",
            "urllib.request",
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
            "socket.",
            "smtplib",
            "ftplib",
            "curl",
            "wget",
            "gethostbyname",
            "dns.",
            "paramiko",
            "net.connect",
            "createConnection",
            "got(",
            "boto3",
            "http.get",
            "https.get",
            "dgram",
            "/dev/tcp",
        ],
    ),
    (
        EVAL,
        &[
            "eval(",
            " exec(",
            "\nexec(",
            "Function(",
            "pickle.loads",
            "marshal.loads",
            "exec_module",
            "run_path",
            "FunctionType",
            "runInThisContext",
            "runInNewContext",
            "__import__(",
            "await import(",
            "\texec(",
            "node:vm",
        ],
    ),
    (LAUNCH, &["subprocess", "os.system", "popen", "child_process", "spawn", "execSync", "startfile", "os.exec"]),
    (
        STORE,
        &[
            "'wb'",
            "\"wb\"",
            "write_bytes",
            "urlretrieve",
            "createWriteStream",
            "writeFile",
            "chmod",
            "0o7",
            "://",
            "https:/",
        ],
    ),
    (WRITE, &["write", "copy", "appendFile", "dump(", "cpSync", "rename"]),
    (STEERING, STEERS),
    (REMOVE, &["rmtree", "rmSync", "rm(", "rimraf", "emptyDir", "rmdirSync"]),
    (HOME, &["home()", "homedir()", "expanduser", "'~'", "\"~\"", "env.HOME", "(\"/\"", "('/'", "USERPROFILE"]),
    (
        BY_NAME,
        &["getattr(", "__import__", "import_module", "globals()[", "vars(", "global[", "globalThis[", "locals()["],
    ),
    (PIECES, &["reversed(", "[::-1]", ".reverse()", "fromCharCode", "chr(", "\" + \"", "' + '", "\"+\"", "'+'"]),
];

/// The words of shells.
const SHELL_WORDS: &[(u32, &[&str])] = &[
    (SECRET, STORES),
    (
        SECRET,
        &[
            ".env ",
            ".env)",
            "git config",
            "auth token",
            "security find",
            "pbpaste",
            "xclip",
            "wl-paste",
            "secret-tool",
            ".ssh",
            ".env\n",
        ],
    ),
    (ENVIRONMENT, KEYS),
    (ENVIRONMENT, &["$(env", "env |", "env|", "env>", "env >", "`env", "export -p", "declare -p", "set |", "(env"]),
    (FETCH, &["curl", "wget"]),
    (DECODE, &["base64", "xxd", "openssl", "gunzip", "rev"]),
    (
        SEND,
        &[
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
            "host ",
            "sendmail",
            "git push",
            "&& git push",
            "mail ",
            "rclone",
            "aws s3",
            "gsutil",
            "push -",
            "ftp",
        ],
    ),
    (EVAL, &["eval ", "source ", "| sh", "|sh", "| bash", "|bash", ". /", ". \"", ". $", "bash -c", "sh -c", "<("]),
    (LAUNCH, &["bash ", "sh ", "python", "node ", "chmod", "osascript", "./", "perl "]),
    (STORE, &["-o ", "--output", "-O ", ">", "-qO", "-so", "-Lo", "-LO", "-sO"]),
    (WRITE, &[">", "tee ", "cp ", "mv ", "install ", "ln "]),
    (STEERING, STEERS),
    (BY_NAME | PIECES, &["eval \"$", "eval $", "$($", "`$", "\n$", "\n\"$", "\n  $", "; $", "&& $"]),
    (REMOVE, &["rm -", "shred "]),
    (HOME, &["$HOME", "~", "${HOME"]),
];

/// Which sets of ends make a flow.
const FLOWS: &[u32] = &[
    SECRET | SEND,
    ENVIRONMENT | SEND,
    FETCH | EVAL,
    FETCH | STORE | LAUNCH,
    DECODE | EVAL,
    STEERING | WRITE,
    REMOVE | HOME,
    BY_NAME | PIECES,
];

impl Ends {
    /// The ends that stand in a text.
    pub fn of(text: &str) -> Self {
        static FINDER: LazyLock<Literals> =
            LazyLock::new(|| Literals::new(words().flat_map(|(_, words)| words.iter().copied())));
        static OWNERS: LazyLock<Vec<u32>> =
            LazyLock::new(|| words().flat_map(|(end, words)| words.iter().map(move |_| end)).collect());
        let mut all = 0;
        let owners = OWNERS.as_slice();
        FINDER.find(text.as_bytes(), |place, _| all |= owners.get(place).copied().unwrap_or(0));
        Self(all)
    }

    /// Those of two texts that work together.
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether some flow may run from end to end.
    pub fn may_flow(self, language: Language) -> bool {
        let ends = if language == Language::Shell { self.0 >> SHELL } else { self.0 };
        FLOWS.iter().any(|flow| ends & flow == *flow)
    }

    /// The ends that count also where the other one is in another file.
    pub fn far(self) -> Self {
        Self(self.0 & (SECRET | SEND | FETCH | EVAL))
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The words of all languages with their bits.
fn words() -> impl Iterator<Item = (u32, &'static [&'static str])> {
    let shell = SHELL_WORDS.iter().map(|(end, words)| (end << SHELL, *words));
    WORDS.iter().copied().chain(shell)
}
