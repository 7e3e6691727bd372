//! Programs that are called, by a shell or by a script.

use super::{
    super::shell::{STDIN, STDOUT},
    Analysis, End,
    value::{Kind, Value, joined},
};

/// Programs that run what they are given.
const INTERPRETERS: &[&str] = &[
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "python",
    "python3",
    "node",
    "perl",
    "ruby",
    "php",
    "osascript",
    "deno",
    "bun",
    "pwsh",
    "source",
    ".",
    "eval",
];

/// Programs that install and run packages.
const INSTALLERS: &[&str] = &["npm", "npx", "pnpm", "yarn", "bunx", "pip", "pip3", "pipx", "uvx", "gem"];

/// Programs that put what they are given into a file among their arguments.
const WRITERS: &[&str] = &["tar", "zip", "7z", "cp", "mv", "gpg", "openssl", "tee", "dd", "install", "ln"];

/// Options of curl and wget behind which stands what is sent, and behind which stands a key.
const DATA: &[&str] = &[
    "-d",
    "--data",
    "--data-binary",
    "--data-raw",
    "--data-urlencode",
    "--json",
    "-F",
    "--form",
    "-T",
    "--upload-file",
    "--post-data",
    "--post-file",
    "--body-data",
    "--body-file",
];
const LOGIN: &[&str] = &["-H", "--header", "-u", "--user", "-b", "--cookie", "--oauth2-bearer"];
const VALUED: &[&str] = &[
    "-X",
    "--request",
    "-A",
    "--user-agent",
    "-e",
    "-m",
    "--max-time",
    "-w",
    "--write-out",
    "--proto",
    "--retry",
    "--unix-socket",
    "--connect-timeout",
    "--cacert",
    "-x",
    "--proxy",
    "--resolve",
    "-P",
    "--tries",
    "--timeout",
];
const OUTPUT: &[&str] = &["-o", "--output", "-O", "--output-document"];

/// Options behind which stands what is not taken.
const LEFT_OUT: &[&str] = &["--exclude", "--exclude-from", "-x", "--ignore", "-not", "!", "-prune"];

/// Words of a command line that say what it does.
const WORDS: usize = 16;

/// What a program tells that is secret, by the words of its command line.
pub(super) fn told(args: &[Value]) -> Option<Value> {
    let mut words: Vec<String> = Vec::new();
    for arg in args.iter().take(WORDS) {
        match &arg.items {
            Some(items) => words.extend(items.iter().take(WORDS).cloned()),
            None => words.extend(arg.text.clone()),
        }
    }
    let line = words.join(" ");
    TELLERS.iter().find(|(needed, _)| needed.iter().all(|word| line.contains(word))).map(|(_, what)| match *what {
        "" => Value::of(Kind::Secret, line.get(..40).unwrap_or(&line)),
        variable => Value::of(Kind::Variable, variable),
    })
}

/// Words of command lines that tell secrets, and the variable in which the same usually stands.
const TELLERS: &[(&[&str], &str)] = &[
    (&["git", "config", "--list"], ""),
    (&["git", "config", "-l"], ""),
    (&["git", "credential", "fill"], ""),
    (&["security", "find-", "-password"], ""),
    (&["security", "dump-keychain"], ""),
    (&["cmdkey", "/list"], ""),
    (&["secret-tool", "lookup"], ""),
    (&["pbpaste"], ""),
    (&["xclip", "-o"], ""),
    (&["wl-paste"], ""),
    (&["screencapture"], ""),
    (&["printenv"], "SECRET"),
    (&["gh auth token"], "GITHUB_TOKEN"),
    (&["gcloud", "print-access-token"], "GOOGLE_TOKEN"),
    (&["gcloud", "print-identity-token"], "GOOGLE_TOKEN"),
    (&["aws", "configure", "get"], "AWS_SECRET"),
    (&["aws", "sts", "get-session-token"], "AWS_SECRET"),
    (&["op", "item", "get"], ""),
    (&["npm", "config", "get", "_auth"], "NPM_TOKEN"),
];

impl Analysis<'_> {
    /// A command line that a script hands to the system, as one text or as a list of words.
    pub(super) fn command(&mut self, all: &Value, args: &[Value], line: usize) {
        let text = args.first().and_then(|arg| arg.text.as_deref()).unwrap_or("");
        let first = text.split_whitespace().next().unwrap_or("").rsplit('/').next().unwrap_or("").to_owned();
        if is_sender(&first) || text.contains("| curl") || text.contains("| nc ") {
            let address = text.split_whitespace().find(|word| word.contains("://")).unwrap_or(text).to_owned();
            self.note(line, End::Sent, all, address);
        }
        let package = text.split_whitespace().find(|word| word.contains("://"));
        if let Some(address) = package.filter(|_| INSTALLERS.contains(&first.as_str())) {
            self.note(line, End::Run, &Value::of(Kind::Remote, address), String::new());
        }
        let is_code = text.starts_with('\0') || text.is_empty() || INTERPRETERS.contains(&first.as_str());
        if is_code {
            self.note(line, End::Run, all, String::new());
        }
        let files: Vec<Value> =
            self.files.iter().filter(|(path, _)| text.contains(path.as_str())).map(|(_, v)| v.clone()).collect();
        for file in files {
            self.note(line, End::Run, &file, String::new());
        }
    }

    /// A call by a shell; the value is what the program puts out.
    pub(super) fn shell_call(
        &mut self,
        program: &str,
        args: &[Value],
        named: &[(String, Value)],
        line: usize,
    ) -> Value {
        let of = |key: &str| named.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone());
        let input = of(STDIN).unwrap_or_default();
        if program == ">" {
            return self.redirect(&input, &of(STDOUT).unwrap_or_default(), line);
        }
        let function = format!("$ {program}");
        self.bind_params(&function, args);
        let given: Vec<Value> = (0..args.len()).filter_map(|at| self.taken(args, at)).collect();
        let whole: Vec<Value> = [Value::of_text(program)].iter().chain(args).cloned().collect();
        if let Some(told) = told(&whole) {
            return told;
        }
        self.note_files(program, args, line);
        match program {
            "env" | "printenv" | "set" | "export" | "declare" if args.is_empty() => {
                return Value::of(Kind::Environment, program);
            }
            "printenv" => {
                let name = args.first().and_then(|arg| arg.text.clone()).unwrap_or_default();
                return Value::of(Kind::Variable, &name);
            }
            "curl" | "wget" | "http" | "https" | "xh" => return self.transfer(args, &input, line),
            program if is_sender(program) => {
                let sent = Value::any_of(&given).or(&input);
                let to = args
                    .iter()
                    .filter_map(|arg| arg.text.clone())
                    .find(|text| text.contains('.') || text.contains(':'));
                self.note(line, End::Sent, &sent, to.unwrap_or_default());
            }
            program if INTERPRETERS.contains(&program) => self.interpret(args, &given, &input, line),
            _ => {}
        }
        let ran = self.files.get(program).cloned();
        ran.into_iter().for_each(|file| self.note(line, End::Run, &file, String::new()));
        let mut value = Value::any_of(&given).or(&input).without_name();
        value.read();
        value.text = match program {
            "echo" | "printf" => {
                let words: Vec<&str> = args.iter().map(|arg| arg.text.as_deref().unwrap_or("\0")).collect();
                Some(joined(&words, " "))
            }
            _ => None,
        };
        if WRITERS.contains(&program) {
            for path in args.iter().filter_map(|arg| arg.text.clone()).filter(|path| !path.starts_with('-')) {
                self.write_file(&path, &value);
            }
        }
        let decodes =
            program == "base64" && args.iter().any(|arg| matches!(arg.text.as_deref(), Some("-d" | "-D" | "--decode")));
        if decodes || program == "xxd" && args.iter().any(|arg| arg.text.as_deref() == Some("-r")) {
            value = value.or(&Value::of(Kind::Decoded, program));
        }
        match self.returns.get(program) {
            Some(known) => value.or(known),
            None => value,
        }
    }

    /// What a program of a shell does to files that matter, and to all of them.
    fn note_files(&mut self, program: &str, args: &[Value], line: usize) {
        let paths: Vec<String> =
            args.iter().filter_map(|arg| arg.text.clone()).filter(|text| !text.starts_with('-')).collect();
        match program {
            "cp" | "mv" | "install" | "ln" => {
                if let Some(path) = paths.last().filter(|_| paths.len() > 1) {
                    self.note_path(line, End::Steered, path);
                }
            }
            "tee" => paths.iter().for_each(|path| self.note_path(line, End::Steered, path)),
            "rm" | "shred" if args.iter().any(|arg| arg.text.as_deref().is_some_and(is_recursive)) => {
                paths.iter().for_each(|path| self.note_path(line, End::Removed, path));
            }
            "git" if paths.iter().any(|word| word == "push") => {
                if let Some(address) = paths.iter().find(|word| word.contains("://")).cloned() {
                    let kept: Vec<Value> = self.files.values().cloned().collect();
                    let mut sent = Value::any_of(&kept);
                    sent.read();
                    self.note(line, End::Sent, &sent, address);
                }
            }
            _ => {}
        }
    }

    /// What an argument gives a program, unless it names what is left out.
    fn taken(&self, args: &[Value], at: usize) -> Option<Value> {
        let text = |at: usize| args.get(at).and_then(|arg| arg.text.as_deref()).unwrap_or("");
        let leaves_out = |option: &str| LEFT_OUT.iter().any(|word| option.starts_with(word));
        let is_left_out = leaves_out(text(at)) || at > 0 && LEFT_OUT.contains(&text(at - 1));
        (!is_left_out).then(|| args.get(at).map(|arg| self.given(arg))).flatten()
    }

    /// What an argument gives a program: its text, and what the file that it names holds.
    fn given(&self, arg: &Value) -> Value {
        let mut value = arg.without_name();
        let path = arg.text.as_deref().unwrap_or("");
        let path = path.rsplit(['@', '=']).next().unwrap_or(path);
        if let Some(file) = self.files.get(path) {
            value = value.or(file);
        }
        let folder = format!("{}/", path.trim_end_matches(['/', '.']));
        if folder.len() > 2 {
            let within = self.files.range(folder.clone()..).take_while(|(path, _)| path.starts_with(&folder));
            value = within.fold(value, |value, (_, file)| value.or(file));
        }
        let mut inner = Value::of_text(path);
        inner.text = None;
        value.or(&inner)
    }

    fn redirect(&mut self, given: &Value, to: &Value, line: usize) -> Value {
        let path = to.text.clone().unwrap_or_default();
        if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") {
            let address = path.trim_start_matches("/dev/tcp/").to_owned();
            self.note(line, End::Sent, given, address);
        } else {
            self.note_path(line, End::Steered, &path);
            self.write_file(&path, given);
        }
        Value::default()
    }

    /// An interpreter runs its input unless it has a program of its own, which may be given as text.
    fn interpret(&mut self, args: &[Value], given: &[Value], input: &Value, line: usize) {
        let texts: Vec<&str> = args.iter().map(|arg| arg.text.as_deref().unwrap_or("\0")).collect();
        let is_option = |text: &&str| text.starts_with('-') && text.len() > 1;
        let inline = texts.iter().position(|text| matches!(*text, "-c" | "-e" | "--eval"));
        let has_file = texts.iter().take_while(|text| **text != "-s").any(|text| !is_option(text) && *text != "-");
        let mut code = match inline {
            Some(at) => given.get(at + 1).cloned().unwrap_or_default(),
            None => Value::any_of(given),
        };
        if inline.is_none() && !has_file {
            code = code.or(input);
        }
        self.note(line, End::Run, &code, String::new());
    }

    /// `curl` and `wget`: what they send and as whom, and where what they fetch goes.
    fn transfer(&mut self, args: &[Value], input: &Value, line: usize) -> Value {
        let given: Vec<Value> = args.iter().map(|arg| self.given(arg)).collect();
        let text = |at: usize| args.get(at).and_then(|arg| arg.text.as_deref()).unwrap_or("");
        let (mut sent, mut output, mut address) = (Value::default(), None, String::new());
        let (mut at, mut is_local) = (0, false);
        while at < args.len() {
            let option = text(at).split('=').next().unwrap_or("");
            let next = given.get(at + 1).cloned().unwrap_or_default();
            let mut is_pair = true;
            if DATA.contains(&option) {
                let mut next = next;
                next.read();
                if text(at + 1).ends_with("@-") || text(at + 1) == "-" {
                    next = next.or(input);
                }
                sent = sent.or(&next);
            } else if LOGIN.contains(&option) {
                sent.put("headers", &next);
            } else if OUTPUT.contains(&option) {
                output = Some(text(at + 1).to_owned());
            } else {
                is_pair = VALUED.contains(&option);
                is_local |= option == "--unix-socket";
                if !option.starts_with('-') && (address.is_empty() || text(at).contains("://")) {
                    address = text(at).to_owned();
                    let mut own = given.get(at).cloned().unwrap_or_default();
                    own.keys.clear();
                    sent = sent.or(&own);
                }
            }
            at += if is_pair && !text(at).contains('=') { 2 } else { 1 };
        }
        if !is_local {
            self.note(line, End::Sent, &sent, address.clone());
        }
        let fetched = Value::of(Kind::Remote, &address);
        if let Some(path) = output {
            self.write_file(&path, &fetched);
        }
        fetched
    }
}

/// Whether an option says that whole folders are meant.
fn is_recursive(option: &str) -> bool {
    option.starts_with('-') && (option.contains('r') || option.contains('R'))
}

/// Programs that send what they are given.
fn is_sender(program: &str) -> bool {
    matches!(
        program,
        "curl"
            | "wget"
            | "nc"
            | "ncat"
            | "netcat"
            | "telnet"
            | "socat"
            | "scp"
            | "rsync"
            | "sftp"
            | "ftp"
            | "rclone"
            | "dig"
            | "nslookup"
            | "host"
            | "ping"
            | "mail"
            | "mailx"
            | "sendmail"
            | "mutt"
    )
}
