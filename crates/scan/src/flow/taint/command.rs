//! Programs that are called, by a shell or by a script.

use super::{
    super::shell::{STDIN, STDOUT},
    Analysis,
    value::{Kind, Value},
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

impl Analysis<'_> {
    /// A command line that a script hands to the system, as one text or as a list of words.
    pub(super) fn command(&mut self, all: &Value, args: &[Value], line: usize) {
        let text = args.first().and_then(|arg| arg.text.as_deref()).unwrap_or("");
        let first = text.split_whitespace().next().unwrap_or("").rsplit('/').next().unwrap_or("").to_owned();
        if is_sender(&first) || text.contains("| curl") || text.contains("| nc ") {
            let address = text.split_whitespace().find(|word| word.contains("://")).unwrap_or(text).to_owned();
            self.note(line, true, all, address);
        }
        let is_code = text.starts_with('\0') || text.is_empty() || INTERPRETERS.contains(&first.as_str());
        if is_code {
            self.note(line, false, all, String::new());
        }
        let files: Vec<Value> =
            self.files.iter().filter(|(path, _)| text.contains(path.as_str())).map(|(_, v)| v.clone()).collect();
        for file in files {
            self.note(line, false, &file, String::new());
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
                self.note(line, true, &sent, to.unwrap_or_default());
            }
            program if INTERPRETERS.contains(&program) => self.interpret(args, &given, &input, line),
            _ => {}
        }
        let ran = self.files.get(program).cloned();
        ran.into_iter().for_each(|file| self.note(line, false, &file, String::new()));
        let mut value = Value::any_of(&given).or(&input).without_name();
        value.read();
        value.text = match program {
            "echo" | "printf" => {
                Some(args.iter().map(|arg| arg.text.as_deref().unwrap_or("\0")).collect::<Vec<_>>().join(" "))
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
        let mut inner = Value::of_text(path);
        inner.text = None;
        value.or(&inner)
    }

    fn redirect(&mut self, given: &Value, to: &Value, line: usize) -> Value {
        let path = to.text.clone().unwrap_or_default();
        if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") {
            let address = path.trim_start_matches("/dev/tcp/").to_owned();
            self.note(line, true, given, address);
        } else {
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
        self.note(line, false, &code, String::new());
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
            self.note(line, true, &sent, address.clone());
        }
        let fetched = Value::of(Kind::Remote, &address);
        if let Some(path) = output {
            self.write_file(&path, &fetched);
        }
        fetched
    }
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
