//! Installation, build and execution of packages and repositories, for [`Analysis`].

use super::{
    Analysis, CLONED, End,
    command::{INSTALLERS, INTERPRETERS, has_word},
    value::{Kind, Value},
};

/// Programs that install local package files that are named by their arguments.
const PACKAGES: &[&str] =
    &["dpkg", "rpm", "apt", "apt-get", "dnf", "yum", "installer", "msiexec", "apk", "pip", "pip3", "gem"];

/// Programs that run a package and pass it the arguments that follow its name.
const RUNNERS: &[&str] = &["npx", "bunx", "uvx", "pipx"];

/// Options of the [`RUNNERS`] whose value is a package.
const NAMING: &[&str] = &["-p", "--package", "--from", "--spec", "--with"];

/// Returns the URL of a package among the arguments of an installer.
fn package_address<'a>(manager: &str, args: &'a [Value]) -> Option<&'a str> {
    let mut texts = args.iter().filter_map(|arg| arg.text.as_deref());
    let is_address = |text: &&str| text.contains("://");
    if !RUNNERS.contains(&manager) {
        return texts.find(is_address);
    }
    let mut named = false;
    for text in texts {
        let is_package = named || !(text.starts_with('-') || matches!(text, "run" | "install"));
        if is_package || text.contains('=') {
            match is_address(&text) {
                true => return Some(text),
                false if is_package && !named => return None,
                false => {}
            }
        }
        named = NAMING.contains(&text);
    }
    None
}

/// Returns the URL of the repository that a program builds and runs directly, without a package registry.
fn built_from(program: &str, args: &[Value]) -> Option<String> {
    let texts: Vec<&str> = args.iter().filter_map(|arg| arg.text.as_deref()).collect();
    let runs = match program {
        "nix" | "go" => texts.first() == Some(&"run"),
        other => RUNNERS.contains(&other),
    };
    let name = |text: &&str| {
        let of_go = program == "go"
            && !text.starts_with(['.', '-', '/'])
            && text.split_once('/').is_some_and(|(host, _)| host.contains('.'));
        let at_forge =
            text.strip_prefix("github:").or_else(|| text.strip_prefix("gh:")).map(|path| format!("github.com/{path}"));
        let by_git = text.strip_prefix("git+https://").map(str::to_owned);
        at_forge.or(by_git).or_else(|| of_go.then(|| (*text).to_owned()))
    };
    let found = texts.iter().filter(|_| runs).find_map(name)?;
    Some(format!("https://{}", found.split(['@', '#']).next().unwrap_or("")))
}

/// Returns whether a program builds or runs files of the working directory.
fn runs_here(program: &str, args: &[Value]) -> bool {
    let first = args.first().and_then(|arg| arg.text.as_deref()).unwrap_or("");
    let is_near = |path: &str| !path.is_empty() && !path.starts_with(['/', '~', '-', '$']);
    match program {
        "make" | "gmake" | "just" | "rake" | "gradle" | "mvn" => true,
        "npm" | "pnpm" | "yarn" | "bun" => {
            let is_named = |arg: &Value| arg.text.as_deref().is_some_and(|text| !text.starts_with(['-', '.']));
            let is_global = ["-g", "--global"].iter().any(|option| has_word(args, option));
            let is_elsewhere = is_global && args.iter().skip(1).any(is_named);
            matches!(first, "" | "ci" | "run" | "start") || matches!(first, "install" | "i") && !is_elsewhere
        }
        "pip" | "pip3" | "pipx" | "uv" => args.iter().any(|arg| matches!(arg.text.as_deref(), Some("." | "./"))),
        "cargo" | "go" => matches!(first, "run" | "install"),
        other => other.starts_with("./") || INTERPRETERS.contains(&other) && is_near(first),
    }
}

impl Analysis<'_> {
    /// Changes the working directory. Programs built or run there come from the repository in it.
    fn change_folder(&mut self, args: &[Value]) {
        let path = args.first().and_then(|arg| arg.text.as_deref()).unwrap_or("");
        let path = path.trim_end_matches('/');
        let is_below = !path.is_empty() && !path.starts_with(['/', '~', '.', '-', '$']);
        match self.files().get(path).filter(|held| held.taints.iter().any(|taint| taint.kind == Kind::Remote)).cloned()
        {
            Some(held) => self.inside = Some(held),
            None if is_below => {}
            None => self.inside = None,
        }
    }

    /// Records packages that are installed from a URL or from a downloaded file.
    pub(super) fn note_packages(&mut self, program: &str, args: &[Value], line: usize) {
        let manager = if program.starts_with("python") && has_word(args, "pip") { "pip" } else { program };
        if let Some(address) = built_from(program, args) {
            self.note(line, End::Run, &Value::of(Kind::Remote, &format!("{CLONED}{address}")), String::new());
        }
        if INSTALLERS.contains(&manager)
            && let Some(address) = package_address(manager, args)
            && (self.hosts.is_no_registry)(address)
            && ["install", "i", "add", "exec", "dlx", "-y", "--yes", "run"].iter().any(|word| has_word(args, word))
        {
            self.note(line, End::Run, &Value::of(Kind::Remote, address), String::new());
        }
        if PACKAGES.contains(&program) {
            let files: Vec<Value> =
                args.iter().filter_map(|arg| self.files().get(arg.text.as_deref()?)).cloned().collect();
            self.note(line, End::Run, &Value::any_of(&files), String::new());
        }
    }

    /// Tracks the working directory and sourced scripts, and records programs that run in the folder of a repository.
    pub(super) fn work_in_folder(&mut self, program: &str, args: &[Value], line: usize) {
        match program {
            "cd" | "pushd" => self.change_folder(args),
            "." | "source" => {
                args.iter().take(1).filter_map(|arg| arg.text.clone()).for_each(|path| self.read_in(&path))
            }
            _ => {}
        }
        if let Some(held) = self.inside.clone().filter(|_| runs_here(program, args)) {
            self.note(line, End::Run, &held, String::new());
        }
    }
}
