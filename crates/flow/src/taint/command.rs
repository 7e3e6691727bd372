//! Model of command-line programs that a shell or a script calls, for [`Analysis`].

use super::{
    super::{
        parse::{PARAMS, STDIN, STDOUT},
        program::unescaped,
    },
    Analysis, CLONED, End, PACKED,
    output::output,
    tellers::told,
    value::{Kind, Value, joined},
};

/// Programs that run their argument or input as code.
pub(super) const INTERPRETERS: &[&str] = &[
    "sh", "bash", "zsh", "dash", "ksh", "python", "python3", "node", "perl", "ruby", "php", "osascript", "deno", "bun",
    "pwsh", "source", ".", "eval",
];

/// Returns whether the target of a redirection is a command for another program. It stands behind a placeholder, as in
/// `ssh <host> "cat /etc/hosts"`, whose bracket a shell takes for a redirection.
fn is_command(target: &str) -> bool {
    let is_path = |word: &str| word.starts_with(['/', '~', '$']);
    !is_path(target) && target.split_whitespace().skip(1).any(is_path)
}

/// Programs that only read their file arguments.
const READERS: &[&str] =
    &["jq", "cat", "less", "head", "tail", "grep", "wc", "sort", "file", "diff", "open", "xdg-open", "yq", "csvlook"];

/// Package managers, and programs that run a package.
pub(super) const INSTALLERS: &[&str] = &["npm", "npx", "pnpm", "yarn", "bunx", "pip", "pip3", "pipx", "uvx", "gem"];

/// Pseudo path in the file table for the Git remote that was added last.
const REMOTE: &str = "\0remote";

/// Programs that write their arguments' content to a file that is among the arguments.
const WRITERS: &[&str] =
    &["split", "csplit", "tar", "zip", "7z", "cp", "mv", "gpg", "openssl", "tee", "dd", "install", "ln"];

/// Options whose value is excluded from the program's input.
const LEFT_OUT: &[&str] =
    &["--exclude", "--exclude-from", "-x", "--ignore", "-not", "!", "-prune", "-i", "-e", "--rsh"];

/// Returns whether a program decodes its input.
fn decodes(program: &str, args: &[Value]) -> bool {
    let has = |flags: &[&str]| args.iter().any(|arg| arg.text.as_deref().is_some_and(|text| flags.contains(&text)));
    match program {
        "base64" | "base32" | "basenc" => has(&["-d", "-D", "--decode"]),
        "xxd" => has(&["-r"]),
        _ => false,
    }
}

impl Analysis<'_> {
    /// Handles a command line that a script passes to the system, as one string or as a list of words.
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
        let is_decoded = all.taints.iter().any(|taint| taint.kind == Kind::Decoded);
        let is_code = is_decoded || text.starts_with('\0') || text.is_empty() || INTERPRETERS.contains(&first.as_str());
        if is_code {
            self.note(line, End::Run, all, String::new());
        }
        let reads = READERS.contains(&first.as_str()) && !text.contains(['|', ';', '&', '$']);
        let files: Vec<Value> = self
            .files()
            .iter()
            .filter(|(path, _)| !reads && text.contains(path.as_str()))
            .map(|(_, v)| v.clone())
            .collect();
        for file in files {
            self.note(line, End::Run, &file, String::new());
        }
    }

    /// Handles a program call in a shell script. Returns the program's output.
    pub(super) fn shell_call(
        &mut self,
        program: &str,
        args: &[Value],
        named: &[(String, Value)],
        line: usize,
    ) -> Value {
        if let Some((program, rest)) = program.split_once(' ') {
            let words = rest.split_whitespace().map(Value::of_text).chain(args.iter().cloned());
            let words: Vec<Value> = words.collect();
            return self.shell_call(program, &words, named, line);
        }
        self.set_callee(program);
        let of = |key: &str| named.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone());
        let input = of(STDIN).unwrap_or_default();
        if program == ">" {
            return self.redirect(&input, &of(STDOUT).unwrap_or_default(), line);
        }
        let function = format!("$ {program}");
        self.hand_over(&function, args, &input);
        let given: Vec<Value> = (0..args.len()).filter_map(|at| self.taken(args, at)).collect();
        let whole: Vec<Value> = [Value::of_text(program)].iter().chain(args).cloned().collect();
        if let Some(told) = told(&whole) {
            let named = args.iter().filter_map(|arg| arg.text.as_ref()).filter(|text| text.contains(['/', '.']));
            let paths: Vec<String> = named.filter(|text| !text.starts_with('-')).cloned().collect();
            paths.iter().for_each(|path| self.write_file(path, &told));
            return told;
        }
        self.note_files(program, args, line);
        if let Some(known) = self.known_program(program, args, &input, line) {
            return known;
        }
        self.note_packages(program, args, line);
        self.work_in_folder(program, args, line);
        if INTERPRETERS.contains(&program) {
            self.interpret(program, args, &given, &input, line);
        } else if matches!(program, "ssh" | "logger") || program == "openssl" && has_word(args, "s_client") {
            self.sender(program, args, input.clone(), line);
        } else if is_sender(program) || uploads(program, args) {
            self.sender(program, args, Value::any_of(&given).or(&input), line);
        }
        let within = |(path, _): &(&String, &Value)| {
            program.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        let ran = self
            .program_file(program)
            .or_else(|| self.unpacked(program))
            .or_else(|| self.files().iter().find(within).map(|(_, file)| file))
            .cloned();
        ran.into_iter().for_each(|file| self.note(line, End::Run, &file, String::new()));
        let mut value = Value::any_of(&given).or(&input).without_name();
        value.read();
        if self.returned(&function).is_none() {
            value = output(program, args, value);
        }
        value.text = printed(program, args, &input);
        if packs_all(program, args) {
            value = value.or(&Value::of(Kind::Project, PACKED));
        }
        self.write_given(program, args, &value);
        if decodes(program, args) {
            value = value.or(&Value::of(Kind::Decoded, program));
        }
        match self.returned(&function) {
            Some(known) => value.or(&known),
            None => value,
        }
    }

    /// Records the arguments that a program writes to. With a secret, the path of a public key counts for any program.
    fn write_given(&mut self, program: &str, args: &[Value], value: &Value) {
        let writes = WRITERS.contains(&program);
        let is_secret = value.taints.iter().any(|taint| taint.kind == Kind::Secret);
        for path in args.iter().filter_map(|arg| arg.text.as_deref()).filter(|path| !path.starts_with('-')) {
            if writes || is_secret && path.ends_with(".pub") {
                self.write_file(path, value);
            }
        }
    }

    /// Binds arguments and standard input to the parameters of a shell function.
    fn hand_over(&mut self, function: &str, args: &[Value], input: &Value) {
        let mut handed = args.to_vec();
        handed.resize(PARAMS, Value::default());
        handed.push(input.clone());
        self.bind_params(function, &handed);
    }

    /// Returns the content of the file that a command name refers to, by its path or as a program in a `bin` folder.
    fn program_file(&self, program: &str) -> Option<&Value> {
        let of_name = |path: &&String| path.strip_suffix(program).is_some_and(|folder| folder.ends_with("/bin/"));
        let by_name = || self.files().iter().find(|(path, _)| of_name(path)).map(|(_, file)| file);
        self.files().get(program).or_else(by_name)
    }

    /// Returns the content of an archive that was unpacked into a parent folder of a path.
    fn unpacked(&self, path: &str) -> Option<&Value> {
        const WIDE: &[&str] = &["", "."];
        let mut rest = path;
        while let Some((folder, _)) = rest.rsplit_once('/').filter(|(folder, _)| !WIDE.contains(folder)) {
            if let Some(held) = self.files().get(folder).or_else(|| self.files().get(&format!("{folder}/"))) {
                return Some(held);
            }
            rest = folder;
        }
        None
    }

    /// Returns the output of a program that is recognised by its name, such as `printenv` or `curl`.
    fn known_program(&mut self, program: &str, args: &[Value], input: &Value, line: usize) -> Option<Value> {
        Some(match program {
            "env" | "printenv" | "set" | "export" | "declare" if args.is_empty() => {
                Value::of(Kind::Environment, program)
            }
            "printenv" => {
                let name = args.first().and_then(|arg| arg.text.clone()).unwrap_or_default();
                Value::of(Kind::Variable, &name)
            }
            "history" | "fc" if !has_word(args, "-c") => Value::of(Kind::Secret, "the history of the shell"),
            "curl" | "wget" | "http" | "https" | "xh" | "aria2c" | "curlie" => {
                self.transfer(args, input, line, program.starts_with(['h', 'x']))
            }
            "mktemp" => Value::of_text(&format!("/tmp/new-{line}")),
            "lynx" | "w3m" | "links" | "fetch" => {
                let from = args.iter().filter_map(|arg| arg.text.as_deref()).find(|text| text.contains('.'));
                Value::of(Kind::Remote, from.unwrap_or(""))
            }
            _ => return None,
        })
    }

    /// Records a transmission by a program. `given` is the data that it sends.
    fn sender(&mut self, program: &str, args: &[Value], given: Value, line: usize) {
        let texts: Vec<&str> = args.iter().filter_map(|arg| arg.text.as_deref()).collect();
        let is_endpoint = |text: &&&str| program == "aws" && text.contains("http");
        let to = texts
            .iter()
            .find(is_endpoint)
            .or_else(|| texts.iter().find(|text| text.contains(['@', ':'])))
            .or_else(|| texts.iter().find(|text| text.contains('.')));
        if matches!(program, "rsync" | "rclone") && !texts.iter().any(|text| text.contains(':')) {
            return;
        }
        let mut sent = given;
        sent.read();
        self.note(line, End::Sent, &sent, to.map(|to| (*to).to_owned()).unwrap_or_default());
    }

    /// Records file operations of a program that are relevant by themselves, and Git remotes, clones and pushes.
    fn note_files(&mut self, program: &str, args: &[Value], line: usize) {
        let paths: Vec<String> =
            args.iter().filter_map(|arg| arg.text.clone()).filter(|text| !text.starts_with('-')).collect();
        match program {
            "cp" | "mv" | "install" | "ln" => {
                if let Some(path) = paths.last().filter(|_| paths.len() > 1) {
                    self.note_path(line, End::Steered, path);
                }
            }
            "git" if has_word(args, "clone") => {
                let address = paths.iter().find(|word| word.contains("://")).cloned().unwrap_or_default();
                let own = address.rsplit('/').next().unwrap_or("").trim_end_matches(".git").to_owned();
                let folder = paths.last().filter(|last| !last.contains("://")).cloned().unwrap_or(own);
                let at_forge = !(self.hosts.is_unknown_forge)(&address);
                let from = if at_forge { format!("{CLONED}{address}") } else { address.clone() };
                if !address.is_empty() {
                    self.write_file(&folder, &Value::of(Kind::Remote, &from));
                }
            }
            "scp" | "rsync" => {
                if let [from @ .., to] = paths.as_slice()
                    && let Some(from) = from.iter().find(|from| from.contains(':'))
                    && !to.contains(':')
                {
                    self.write_file(to, &Value::of(Kind::Remote, from));
                }
            }
            "sed" | "perl" if args.iter().any(|arg| arg.text.as_deref().is_some_and(|text| text.starts_with("-i"))) => {
                let paths = paths.iter().filter(|path| !(path.ends_with("sshd_config") && shuts(args)));
                paths.for_each(|path| self.note_path(line, End::Steered, path));
            }
            _ if types(program, args) => {
                let typed: Vec<Value> = args.iter().map(|arg| self.given(arg)).collect();
                self.note(line, End::Run, &Value::any_of(&typed), String::new());
            }
            "tee" => paths.iter().for_each(|path| self.note_path(line, End::Steered, path)),
            "rm" | "shred" if args.iter().any(|arg| arg.text.as_deref().is_some_and(is_recursive)) => {
                paths.iter().for_each(|path| self.note_path(line, End::Removed, path));
            }
            "git" if has_word(args, "remote") && (has_word(args, "add") || has_word(args, "set-url")) => {
                if let Some(address) = paths.iter().find(|word| word.contains("://") || word.contains('@')) {
                    self.write_file(REMOTE, &Value::of_text(address));
                }
            }
            "git" | "gh" if paths.iter().any(|word| word == "push") || has_word(args, "--push") => {
                let remote = self.files().get(REMOTE).and_then(|remote| remote.text.clone());
                let address = paths.iter().find(|word| word.contains("://")).cloned().or(remote);
                if let Some(address) = address.or_else(|| (program == "gh").then(String::new)) {
                    let kept: Vec<Value> = self.files().values().cloned().collect();
                    let mut sent = Value::any_of(&kept);
                    sent.read();
                    self.note(line, End::Sent, &sent, address);
                }
            }
            _ => {}
        }
    }

    /// Returns the data that a program reads through an argument, unless it names an exclusion.
    fn taken(&self, args: &[Value], at: usize) -> Option<Value> {
        let text = |at: usize| args.get(at).and_then(|arg| arg.text.as_deref()).unwrap_or("");
        let leaves_out = |option: &str| LEFT_OUT.iter().any(|word| word.len() > 2 && option.starts_with(word));
        let is_left_out = leaves_out(text(at)) || at > 0 && LEFT_OUT.contains(&text(at - 1));
        (!is_left_out).then(|| args.get(at).map(|arg| self.given(arg))).flatten()
    }

    /// Returns the data that an argument provides: its text, and the content of the file or folder that it names.
    pub(super) fn given(&self, arg: &Value) -> Value {
        let mut value = arg.clone().without_name();
        let path = arg.text.as_deref().unwrap_or("");
        let path = path.rsplit(['@', '=']).next().unwrap_or(path);
        if let Some(file) = self.files().get(path) {
            value = value.or(file);
        }
        let folder = format!("{}/", path.trim_end_matches(['/', '.']));
        if folder.len() > 2 {
            let within = self.files().range(folder.clone()..).take_while(|(path, _)| path.starts_with(&folder));
            value = within.fold(value, |value, (_, file)| value.or(file));
        }
        let mut inner = Value::of_text(path);
        inner.text = None;
        value = value.or(&inner);
        self.leave_public_key(&mut value, path);
        value
    }

    fn redirect(&mut self, given: &Value, to: &Value, line: usize) -> Value {
        let path = to.text.clone().unwrap_or_default();
        if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") {
            let address = path.trim_start_matches("/dev/tcp/").to_owned();
            self.note(line, End::Sent, given, address);
        } else if !is_command(&path) {
            self.note_path(line, End::Steered, &path);
            self.write_file(&path, given);
        }
        Value::default()
    }

    /// Records the code that an interpreter runs: the program that it is given as a file or as text, or else its input.
    /// Arguments behind the program, or behind a `-` for the input, are data.
    fn interpret(&mut self, program: &str, args: &[Value], given: &[Value], input: &Value, line: usize) {
        let texts: Vec<&str> = args.iter().map(|arg| arg.text.as_deref().unwrap_or("\0")).collect();
        let is_option = |text: &&str| text.starts_with('-') && text.len() > 1;
        if texts.windows(2).any(|pair| pair == ["-m", "json.tool"]) {
            return;
        }
        // For a shell, `-` ends the options, and a file follows.
        let reads_input = program.starts_with("python") || program == "node";
        if reads_input && texts.iter().find(|text| !is_option(text)) == Some(&"-") {
            return self.note(line, End::Run, input, String::new());
        }
        let inline = texts.iter().position(|text| matches!(*text, "-c" | "-e" | "--eval"));
        let has_file = texts.iter().take_while(|text| **text != "-s").any(|text| !is_option(text) && *text != "-");
        let unpacked: Vec<Value> =
            texts.iter().take(2).filter(|_| inline.is_none()).filter_map(|text| self.unpacked(text)).cloned().collect();
        let mut code = match inline {
            Some(at) => given.get(at + 1).cloned().unwrap_or_default(),
            None => Value::any_of(given),
        };
        if inline.is_none() && !has_file {
            code = code.or(input);
        }
        code = code.or(&Value::any_of(&unpacked));
        self.note(line, End::Run, &code, String::new());
    }
}

/// Returns whether a program types its arguments into a terminal, where a shell runs them.
fn types(program: &str, args: &[Value]) -> bool {
    match program {
        "tmux" => has_word(args, "send-keys") || has_word(args, "send"),
        "screen" => has_word(args, "stuff"),
        "xdotool" | "ydotool" | "wtype" => has_word(args, "type") || program == "wtype",
        "zellij" => has_word(args, "write-chars"),
        "wezterm" | "kitty" | "kitten" => has_word(args, "send-text"),
        _ => false,
    }
}

/// Returns whether an edit of the SSH server's configuration only restricts access.
fn shuts(args: &[Value]) -> bool {
    let mut edits = args.iter().filter_map(|arg| arg.text.as_deref()).filter(|text| text.contains([' ', '/']));
    let is_no = |edit: &str| {
        let to = edit.trim_end_matches(['/', 'g', 'i']).to_ascii_lowercase();
        to.ends_with(" no") || to.ends_with(" prohibit-password") || edit.ends_with("sshd_config")
    };
    edits.all(is_no)
}

/// Returns whether a program packs the whole working directory.
fn packs_all(program: &str, args: &[Value]) -> bool {
    let packs = matches!(program, "tar" | "zip" | "7z" | "bsdtar" | "gtar");
    packs && args.iter().any(|arg| matches!(arg.text.as_deref(), Some("." | "./")))
}

/// Returns the output of a program, as far as it is known.
fn printed(program: &str, args: &[Value], input: &Value) -> Option<String> {
    match program {
        "echo" | "printf" => {
            let words: Vec<&str> = args.iter().map(|arg| arg.text.as_deref().unwrap_or("\0")).collect();
            let text = joined(&words, " ");
            Some(if text.contains('\\') { unescaped(&text) } else { text })
        }
        "rev" => input.text.as_ref().map(|text| text.trim_end().chars().rev().collect()),
        "cat" | "tee" if args.is_empty() => input.text.clone(),
        _ => None,
    }
}

pub(super) fn has_word(args: &[Value], word: &str) -> bool {
    args.iter().any(|arg| arg.text.as_deref() == Some(word))
}

/// Returns whether a call uploads files to a cloud service or a site.
fn uploads(program: &str, args: &[Value]) -> bool {
    let has = |word: &str| has_word(args, word);
    match program {
        "aws" => has("s3") && (has("cp") || has("sync") || has("mv")) || has("put-object") || has("put-parameter"),
        "gsutil" => has("cp") || has("rsync") || has("mv"),
        "gcloud" => has("storage") && (has("cp") || has("rsync")),
        "az" => has("upload") || has("upload-batch"),
        "gh" => has("gist") || has("comment") || has("api") || has("create") || has("upload"),
        "docker" | "oras" => has("push"),
        _ => false,
    }
}

/// Returns whether an option makes a removal recursive.
fn is_recursive(option: &str) -> bool {
    option.starts_with('-') && (option.contains('r') || option.contains('R'))
}

/// Returns whether a program sends its arguments or input over the network.
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
            | "s-nail"
            | "msmtp"
            | "ssmtp"
            | "swaks"
            | "lftp"
            | "tftp"
            | "smbclient"
            | "drill"
            | "kdig"
            | "resolvectl"
            | "websocat"
            | "mosquitto_pub"
            | "pastebinit"
            | "telegram-send"
            | "wormhole"
            | "croc"
            | "ffsend"
            | "ntfy"
            | "gist"
            | "azcopy"
            | "s3cmd"
            | "mc"
            | "b2"
    )
}
