//! [`Sink`]: what the names of functions and programs mean for the data that they get or give.

/// Where data can go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sink {
    /// Over the network.
    Send,
    /// Into an interpreter, as code.
    Run,
    /// To the system, as a command.
    Command,
    /// Out of the file system, with all that is in it.
    Remove,
}

const VERBS: &[&str] = &["post", "put", "patch", "request", "get", "delete", "head", "stream"];
const CLIENTS: &[&str] =
    &["requests", "httpx", "aiohttp", "urllib3", "axios", "got", "superagent", "needle", "session", "undici"];

/// What a function does with its arguments, by its full name.
pub(super) fn sink(name: &str) -> Option<Sink> {
    let (before, last) = name.rsplit_once('.').unwrap_or(("", name));
    let root = before.split(['.', '(']).next().unwrap_or("").to_ascii_lowercase();
    let is_client = CLIENTS.iter().any(|client| root == *client)
        || before.contains("ClientSession")
        || before.contains("Session()");
    let sends = match last {
        "fetch" | "urlopen" | "sendBeacon" | "sendmail" | "send_message" | "sendMail" | "axios" | "got"
        | "urlretrieve" => true,
        "gethostbyname" | "getaddrinfo" | "lookup" | "resolve" | "resolve4" | "resolveTxt" | "gethostbyname_ex" => {
            before.contains("socket") || before.contains("dns")
        }
        "send" | "sendall" | "sendto" | "write" | "end" => [
            "socket",
            "Socket",
            "net.",
            "http.",
            "https.",
            "XMLHttp",
            "websocket",
            "create_connection",
            "connect()",
            "tls.",
        ]
        .iter()
        .any(|part| before.contains(part)),
        "request" if before.contains("http") => true,
        "storbinary" | "put_object" | "upload_file" | "upload_fileobj" => true,
        "Request" => before.contains("urllib"),
        "get" if matches!(before, "http" | "https") => true,
        verb if VERBS.contains(&verb) => is_client,
        _ => false,
    };
    if sends {
        return Some(Sink::Send);
    }
    match last {
        "rmtree" | "rimraf" | "rimrafSync" | "emptyDir" | "emptyDirSync" | "removeSync" => Some(Sink::Remove),
        "rm" | "rmSync" | "rmdirSync" | "rmdir" | "remove" if before.contains("fs") || before.contains("shutil") => {
            Some(Sink::Remove)
        }
        "rm" if before.is_empty() => Some(Sink::Remove),
        "run_path" | "spec_from_file_location" | "SourceFileLoader" | "FunctionType" => Some(Sink::Run),
        "eval" | "exec" | "Function" | "execfile" | "runInThisContext" | "runInNewContext" | "runInContext"
        | "compile"
            if !before.contains("child_process") && !before.ends_with("re") && !before.contains("regex") =>
        {
            Some(Sink::Run)
        }
        "loads" | "load" if matches!(before, "pickle" | "marshal" | "dill" | "cloudpickle") => Some(Sink::Run),
        "system" | "popen" | "execv" | "execvp" | "execl" | "spawnl" | "getoutput" | "getstatusoutput" => {
            Some(Sink::Command)
        }
        "run" | "call" | "check_call" | "check_output" | "Popen"
            if before.contains("subprocess") || before.is_empty() && last == "Popen" =>
        {
            Some(Sink::Command)
        }
        "exec" | "execSync" | "spawn" | "spawnSync" | "execFile" | "execFileSync" | "fork"
            if before.contains("child_process") =>
        {
            Some(Sink::Command)
        }
        "create_subprocess_shell" | "create_subprocess_exec" => Some(Sink::Command),
        _ => None,
    }
}

/// Whether a function reads what its argument, or what it is called on, names.
pub(super) fn reads(last: &str) -> bool {
    matches!(
        last,
        "open"
            | "read"
            | "read_text"
            | "read_bytes"
            | "readlines"
            | "readFile"
            | "readFileSync"
            | "createReadStream"
            | "readAsText"
            | "iterdir"
            | "copyfile"
            | "copy"
            | "connect"
            | "load"
            | "parse"
            | "text"
            | "file"
    )
}

/// Whether a function's text is that of its argument, or of what it is called on.
pub(super) fn keeps_text(last: &str) -> bool {
    matches!(
        last,
        "str"
            | "Path"
            | "expanduser"
            | "expandvars"
            | "abspath"
            | "resolve"
            | "strip"
            | "decode"
            | "encode"
            | "toString"
            | "open"
            | "format"
            | "normpath"
            | "realpath"
            | "trim"
            | "bytes"
            | "bytearray"
            | "String"
            | "File"
            | "createWriteStream"
            | "HTTPSConnection"
            | "HTTPConnection"
            | "create_connection"
            | "expanduser()"
    )
}

/// Whether the name of an environment variable says that it is a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let words = [
        "KEY",
        "TOKEN",
        "SECRET",
        "PASSW",
        "CREDENTIAL",
        "PRIVATE",
        "_AUTH",
        "_PAT",
        "SESSION",
        "COOKIE",
        "DATABASE_URL",
        "_DSN",
    ];
    words.iter().any(|word| name.contains(word)) && !name.contains("PUBLIC") && !name.ends_with("_KEY_ID_PATH")
}

/// Services whose credentials everybody has, as the beginning of a variable's name, and the domains that
/// are theirs.
pub(super) const VENDORS: &[(&str, &[&str])] = &[
    ("AWS", &["amazonaws.com", "amazonaws.com.cn", "aws.amazon.com", "api.aws", "aws.dev"]),
    ("GITHUB", &["github.com", "githubusercontent.com", "ghcr.io"]),
    ("GH_", &["github.com", "githubusercontent.com", "ghcr.io"]),
    ("GITLAB", &["gitlab.com"]),
    ("OPENAI", &["openai.com", "azure.com"]),
    ("ANTHROPIC", &["anthropic.com", "claude.com", "claude.ai"]),
    ("CLAUDE", &["anthropic.com", "claude.com", "claude.ai"]),
    ("GOOGLE", &["google.com", "googleapis.com"]),
    ("GEMINI", &["google.com", "googleapis.com"]),
    ("GCP", &["google.com", "googleapis.com"]),
    ("AZURE", &["azure.com", "microsoft.com", "microsoftonline.com", "windows.net", "azurewebsites.net"]),
    ("STRIPE", &["stripe.com"]),
    ("SLACK", &["slack.com"]),
    ("NPM", &["npmjs.org", "npmjs.com"]),
    ("PYPI", &["pypi.org"]),
    ("HF_", &["huggingface.co", "hf.co"]),
    ("HUGGING", &["huggingface.co", "hf.co"]),
    ("DOCKER", &["docker.com", "docker.io"]),
    ("DATABASE", &[]),
    ("DB_", &[]),
    ("SSH", &[]),
    ("VAULT", &["hashicorp.cloud"]),
    ("KUBE", &[]),
];
