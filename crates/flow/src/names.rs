//! [`Sink`]: classification of functions by their names, as sources and sinks of data.

/// Kind of sink, by its effect on the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sink {
    /// Transmission over the network.
    Send,
    /// Execution as code by an interpreter.
    Run,
    /// Execution as a command by the system.
    Command,
    /// Removal of files or folders.
    Remove,
}

/// Function that opens either a file or a URL.
pub(super) const OPEN_ANY: &str = "open_uri";

const VERBS: &[&str] = &["post", "put", "patch", "request", "get", "delete", "head", "stream", "options", "query"];

/// HTTP clients, by the first part of the name in lower case. Their methods are named after HTTP verbs.
pub(super) const CLIENTS: &[&str] = &[
    "requests", "httpx", "aiohttp", "urllib3", "axios", "got", "superagent", "needle", "session", "undici", "ky",
    "phin", "bent", "wretch", "ofetch", "node-fetch", "niquests", "grequests", "curl_cffi", "requests_html",
    "cloudscraper", "treq", "tls_client", "primp", "request",
];

/// Functions that send their arguments, regardless of the receiver.
const SENDERS: &[&str] = &[
    "fetch", "$fetch", "ofetch", "urlopen", "sendBeacon", "sendmail", "send_message", "sendMail", "axios", "got", "ky",
    "needle", "phin", "superagent", "node-fetch", "undici", "urlretrieve", "storbinary", "storlines", "put_object",
    "putObject", "upload_file", "upload_fileobj", "upload_from_string", "upload_from_filename", "upload_from_file",
    "upload_blob", "uploadData", "uploadFile", "files_upload", "files_upload_v2", "chat_postMessage",
    "postMessageToSlack", "send_document", "sendDocument", "sendMessage", "send_file", "create_gist", "basic_publish",
    "invoke_endpoint", "putfo", "DiscordWebhook", "SyncWebhook", "EventSource", "PutObjectCommand", "SendEmailCommand",
    "SendRawEmailCommand", "SendMessageCommand", "send_email", "send_raw_email", "sendEmail", "createGist",
    "fput_object", "fPutObject", "UploadFile", "open_connection",
];

/// Parts of names of connections, whose messages are sent over the network.
const CONNECTED: &[&str] = &[
    "socket", "Socket", "net.", "http.", "https.", "http2.", "XMLHttp", "create_connection", "createConnection",
    "open_connection", "connect()", "tls.", "telnetlib", "smtplib", "yagmail", "ftplib", "paramiko", "mqtt", "redis",
    "pika", "Deno.connect", "Bun.connect", "dgram", "S3Client", "WebhookClient", "DiscordWebhook", "gists", "telegram",
    "TeleBot", "ws()",
];

/// Modules whose sessions are not HTTP clients, or ends of their names, as of `aioboto3`.
const OTHER_SESSIONS: &[&str] = &["sqlalchemy", "sqlmodel", "boto3", "botocore"];

/// Returns whether a qualified name is a part of a request that a server receives.
pub(super) fn is_request(name: &str) -> bool {
    matches!(
        name,
        "req.body"
            | "req.query"
            | "req.params"
            | "request.body"
            | "request.json"
            | "request.args"
            | "request.form"
            | "request.values"
            | "request.data"
            | "request.query"
            | "request.query_params"
            | "request.headers"
            | "request.cookies"
            | "ctx.request.body"
            | "flask.request.json"
            | "flask.request.args"
            | "flask.request.form"
    )
}

/// Returns whether a qualified name is an object or a function that receives data from the network.
pub(super) fn is_channel(name: &str) -> bool {
    const WHOLE: &[&str] = &[
        "WebSocket", "ws", "websockets.connect", "mqtt.connect", "socket.io-client", "socket.io-client.io",
        "net.connect", "net.createConnection", "net.Socket", "tls.connect", "EventSource", "Deno.connect",
        "dgram.createSocket",
    ];
    const ENDS: &[&str] = &[
        "mqtt.Client", "socketio.Client", "websocket.WebSocket", "websocket.WebSocketApp",
        "websocket.create_connection", ".recv", ".recvfrom", "rfile.read", "get_updates", "getUpdates",
    ];
    WHOLE.contains(&name) || ENDS.iter().any(|end| name.ends_with(end))
}

/// Returns the sink of a function, by its qualified name.
pub(super) fn sink(name: &str) -> Option<Sink> {
    let (before, last) = name.rsplit_once('.').unwrap_or(("", name));
    if sends(before, last) {
        return Some(Sink::Send);
    }
    match last {
        "rmtree" | "rimraf" | "rimrafSync" | "emptyDir" | "emptyDirSync" | "removeSync" | "deleteSync" | "del"
        | "send2trash" => Some(Sink::Remove),
        "rm" | "rmSync" | "rmdirSync" | "rmdir" | "remove" | "unlink" | "unlinkSync" | "removedirs" => {
            Some(Sink::Remove)
        }
        "run_path"
        | "run_module"
        | "spec_from_file_location"
        | "SourceFileLoader"
        | "FunctionType"
        | "exec_module"
        | "load_source"
        | "execfile"
        | "runpy"
        | "importScripts"
        | "load_module"
        | "CDLL"
        | "WinDLL"
        | "LoadLibrary"
        | "dlopen" => Some(Sink::Run),
        "eval" | "exec" | "Function" | "runInThisContext" | "runInNewContext" | "runInContext" | "Script"
        | "_compile" | "compile" | "compileFunction" | "AsyncFunction" | "GeneratorFunction" | "Worker"
            if !before.contains("child_process") && !before.ends_with("re") && !before.contains("regex") =>
        {
            Some(Sink::Run)
        }
        "setTimeout" | "setInterval" | "execScript" if before.is_empty() => Some(Sink::Run),
        "loads" | "load"
            if matches!(before, "pickle" | "marshal" | "dill" | "cloudpickle" | "_pickle" | "jsonpickle") =>
        {
            Some(Sink::Run)
        }
        "system" | "popen" | "execv" | "execvp" | "execvpe" | "execve" | "execl" | "execlp" | "spawnl" | "spawnlp"
        | "spawnv" | "spawnvp" | "getoutput" | "getstatusoutput" | "startfile" | "posix_spawn" => Some(Sink::Command),
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
        "execa" | "execaSync" | "execaCommand" | "$" => Some(Sink::Command),
        "create_subprocess_shell" | "create_subprocess_exec" => Some(Sink::Command),
        _ => None,
    }
}

fn sends(before: &str, last: &str) -> bool {
    let root = before.split(['.', '(']).next().unwrap_or("").to_ascii_lowercase();
    let is_session = || before.contains("Session()") && !OTHER_SESSIONS.iter().any(|end| root.ends_with(end));
    let is_client = || CLIENTS.contains(&root.as_str()) || before.contains("ClientSession") || is_session();
    let is_connected = || CONNECTED.iter().any(|part| before.contains(part));
    match last {
        _ if SENDERS.contains(&last) => true,
        "gethostbyname" | "getaddrinfo" | "lookup" | "resolve" | "resolve4" | "resolve6" | "resolveTxt"
        | "resolveAny" | "gethostbyname_ex" | "query" => before.contains("socket") || before.contains("dns"),
        "udp" | "tcp" | "tls" => before.contains("dns.query"),
        "send" | "sendall" | "sendto" | "write" | "end" | "emit" | "publish" | "put" | "execute" | "drain"
        | "writelines" | "create" | "send_bytes" | "sendfile" | "append" | "send_json" | "send_text" => is_connected(),
        "request" if before.contains("http") => true,
        "setopt" => before.contains("url()"),
        "submit" => before.contains("form") || before.contains("Form"),
        "open" if before == "webbrowser" => true,
        "Request" => before.contains("urllib"),
        "get" if matches!(before, "http" | "https") => true,
        verb if VERBS.contains(&verb) => is_client() && !is_record(before) && !is_answer(before),
        _ => root == "request" && before.is_empty(),
    }
}

/// Returns whether a qualified name is, or belongs to, the answer of a request, such as `requests.post().json()`.
pub(super) fn is_answer(name: &str) -> bool {
    let calls = name.match_indices("()").filter_map(|(end, _)| name.get(..end));
    calls.map(|callee| callee.rsplit_once('.').unwrap_or(("", callee))).any(|(before, last)| sends(before, last))
}

/// Returns whether a qualified name is a field of a client or of a received request, whose `get` reads an entry.
fn is_record(name: &str) -> bool {
    const FIELDS: &[&str] = &["headers", "cookies", "params", "proxies"];
    let is_received = name.starts_with("request.") && !name.ends_with("()");
    is_received || name.split('.').skip(1).any(|part| FIELDS.contains(&part))
}

/// Returns whether a call reads a record by a key, as `request.get("name")` and `session.get("user_id")` do. What is
/// downloaded has an address instead.
pub(super) fn is_by_key(name: &str, key: Option<&str>) -> bool {
    let is_key = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let is_record = matches!(name.split(['.', '(']).next(), Some("request" | "session"));
    is_record && name.ends_with(".get") && key.is_some_and(is_key)
}

/// Returns whether a function sends the content of the files that its arguments name.
pub(super) fn sends_files(last: &str) -> bool {
    matches!(
        last,
        "upload_file"
            | "upload_from_filename"
            | "uploadFile"
            | "UploadFile"
            | "fput_object"
            | "fPutObject"
            | "put"
            | "send_file"
            | "send_document"
            | "sendDocument"
            | "files_upload"
            | "files_upload_v2"
            | "upload_folder"
            | "fastPut"
    )
}

/// Returns whether a function reads the file that its argument or receiver names.
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
            | "readdir"
            | "readdirSync"
            | "bytes"
            | "json"
            | "read_csv"
            | "ConfigParser"
            | "dotenv_values"
            | "load_dotenv"
            | "copy2"
            | "copytree"
            | "copyFileSync"
            | "cpSync"
            | "make_archive"
            | "readTextFile"
            | "readTextFileSync"
            | "readSync"
            | "slurp"
            | "all"
            | "iterate"
            | "prepare"
            | "fetchall"
            | "fetchone"
            | "DatabaseSync"
            | "read_sql_query"
            | "read_sql"
            | "Database"
            | "openSync"
            | "File"
    )
}

/// Returns whether a function's result has the text of its argument or receiver.
pub(super) fn keeps_text(last: &str) -> bool {
    matches!(
        last,
        "str"
            | "Path"
            | "PurePath"
            | "PosixPath"
            | "fspath"
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

/// Parts of names of environment variables with secrets.
pub(super) const SECRET_WORDS: &[&str] = &[
    "KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL", "PRIVATE", "_AUTH", "_PAT", "SESSION", "COOKIE", "BEARER",
    "MNEMONIC", "DATABASE_URL", "_DSN",
];

/// Returns whether the name of an environment variable indicates a secret.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_WORDS.iter().any(|word| name.contains(word)) && !name.contains("PUBLIC") && !name.ends_with("_KEY_ID_PATH")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clients_send_by_a_verb() {
        let sent = ["requests.get", "requests.Session().get", "axios.create().get", "session.post", "request.get"];
        assert!(sent.iter().all(|name| sink(name) == Some(Sink::Send)));
        let read = [
            "requests.post().json().get", "requests.Session().get().headers.get", "session.cookies.get",
            "request.headers.get", "boto3.Session().get", "config.get", "os.environ.get",
        ];
        read.iter().for_each(|name| assert_eq!(sink(name), None, "{name}"));
    }
}
