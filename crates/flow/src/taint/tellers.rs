//! Programs whose output is secret, recognised by the words of their command lines.

use std::sync::LazyLock;

use super::value::{Kind, Value, joined};
use crate::literals::Literals;

/// Returns the secret that a command line prints, if any.
pub(super) fn told(args: &[Value]) -> Option<Value> {
    let mut words: Vec<&str> = Vec::new();
    for arg in args {
        match &arg.items {
            Some(items) => words.extend(items.iter().map(String::as_str)),
            None => words.extend(arg.text.as_deref()),
        }
    }
    let line = joined(&words, " ");
    if matches!(line.trim(), "printenv" | "env" | "export -p" | "set") {
        return Some(Value::of(Kind::Environment, line.trim()));
    }
    teller(&line).map(|what| match what {
        PROJECT => Value::of(Kind::Project, line.get(..40).unwrap_or(&line)),
        "" => Value::of(Kind::Secret, line.get(..40).unwrap_or(&line)),
        variable => Value::of(Kind::Variable, variable),
    })
}

/// Returns the entry of the first of the [`TELLERS`] that matches a command line.
fn teller(line: &str) -> Option<&'static str> {
    static FIRST_WORDS: LazyLock<Literals> =
        LazyLock::new(|| Literals::new(TELLERS.iter().map(|(needed, _)| needed.first().copied().unwrap_or(""))));
    let mut there = 0_u128;
    FIRST_WORDS.find(line.as_bytes(), |place, _| there |= 1 << place);
    let is_there = |place: usize| there >> place & 1 == 1;
    let is_called = |needed: &[&str]| needed.iter().all(|word| line.contains(word));
    let mut called = TELLERS.iter().enumerate().filter(|(place, (needed, _))| is_there(*place) && is_called(needed));
    called.next().map(|(_, (_, what))| *what)
}

/// Marker for the content of the whole project, in place of a variable name.
const PROJECT: &str = "the project";

/// Words of command lines that print secrets, with the environment variable that usually holds the same secret.
const TELLERS: &[(&[&str], &str)] = &[
    (&["git", "config", "--list"], ""),
    (&["git", "config", "-l"], ""),
    (&["git", "config", "--get-all"], ""),
    (&["git", "credential", "fill"], ""),
    (&["git-credential"], ""),
    (&["security", "find-", "-password"], ""),
    (&["security", "dump-keychain"], ""),
    (&["security", "export"], ""),
    (&["cmdkey", "/list"], ""),
    (&["secret-tool", "lookup"], ""),
    (&["secret-tool", "search"], ""),
    (&["kwallet-query"], ""),
    (&["pass ", "show "], ""),
    (&["bw ", "get "], ""),
    (&["bw ", "list "], ""),
    (&["bw ", "export"], ""),
    (&["lpass", "show"], ""),
    (&["lpass", "export"], ""),
    (&["op", "item", "get"], ""),
    (&["op ", "read ", "op://"], ""),
    (&["pbpaste"], ""),
    (&["xclip", "-o"], ""),
    (&["xsel", "-"], ""),
    (&["wl-paste"], ""),
    (&["Get-Clipboard"], ""),
    (&["osascript", "clipboard"], ""),
    (&["screencapture"], ""),
    (&["gnome-screenshot"], ""),
    (&["scrot"], ""),
    (&["grim "], ""),
    (&["import", "-window", "root"], ""),
    (&["ffmpeg", "x11grab"], ""),
    (&["ffmpeg", "avfoundation"], ""),
    (&["ffmpeg", "/dev/video"], ""),
    (&["ffmpeg", "-f pulse"], ""),
    (&["ffmpeg", "-f alsa"], ""),
    (&["ffmpeg", "gdigrab"], ""),
    (&["arecord"], ""),
    (&["gpg", "--export-secret"], ""),
    (&["jq", "transcript_path"], ""),
    (&["netsh", "wlan", "key=clear"], ""),
    (&["nmcli", "wireless-security.psk"], ""),
    (&["getent", "shadow"], ""),
    (&["vault", "kv", "get"], ""),
    (&["vault", "read "], ""),
    (&["doppler", "secrets"], ""),
    (&["secretsmanager", "get-secret-value"], ""),
    (&["ssm", "get-parameter", "with-decryption"], ""),
    (&["keyvault", "secret", "show"], ""),
    (&["kubectl", "get secret"], ""),
    (&["kubectl", "get", "secrets"], ""),
    (&["kubectl", "config", "view", "--raw"], ""),
    (&["gcloud", "secrets", "versions", "access"], ""),
    (&["ps ", "eww"], ""),
    (&["/proc/", "/environ"], ""),
    (&["git", "bundle", "create"], PROJECT),
    (&["git", "archive"], PROJECT),
    (&["git", "ls-files"], PROJECT),
    (&["git", "log", "-p"], PROJECT),
    (&["printenv"], "SECRET"),
    (&["gh auth token"], "GITHUB_TOKEN"),
    (&["gh auth status", "-t"], "GITHUB_TOKEN"),
    (&["glab", "auth", "token"], "GITLAB_TOKEN"),
    (&["gcloud", "print-access-token"], "GOOGLE_TOKEN"),
    (&["gcloud", "print-identity-token"], "GOOGLE_TOKEN"),
    (&["gcloud", "config-helper"], "GOOGLE_TOKEN"),
    (&["az", "get-access-token"], "AZURE_TOKEN"),
    (&["heroku", "auth:token"], "SECRET"),
    (&["aws", "configure", "get"], "AWS_SECRET"),
    (&["aws", "configure", "export-credentials"], "AWS_SECRET"),
    (&["aws", "sts", "get-session-token"], "AWS_SECRET"),
    (&["aws", "ecr", "get-login-password"], "AWS_SECRET"),
    (&["npm", "config", "get", "_auth"], "NPM_TOKEN"),
    (&["npm", "token", "list"], "NPM_TOKEN"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_printing_secrets_are_found() {
        assert!(TELLERS.len() < u128::BITS as usize, "a bit for each");
        for (at, (needed, what)) in TELLERS.iter().enumerate() {
            let line = needed.join(" ");
            let plainly = TELLERS.iter().position(|(needed, _)| needed.iter().all(|word| line.contains(word)));
            let found = teller(&line);
            assert_eq!(found, plainly.map(|at| TELLERS[at].1), "{line}");
            assert!(plainly < Some(at) || found == Some(what), "{line}");
        }
        assert_eq!(teller("git status"), None);
    }
}
