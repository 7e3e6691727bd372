//! [`with_flags`]: the flags of a failed `install` in the commands of its hint.

use skill::shell_word;

use super::InstallArgs;

/// Adds flags of the failed command to the commands in its hint that install from another address. The flags that
/// select skills are added only if that address is a repository or folder, which may have several.
pub fn with_flags(hint: &str, args: &InstallArgs) -> String {
    const COMMAND: &str = "skillhub install ";
    let mut pieces = hint.split(COMMAND);
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let is_quoted = out.matches('`').count() % 2 == 1;
        let end = piece.find('`').filter(|_| is_quoted).unwrap_or(piece.len());
        let (command, rest) = piece.split_at(end);
        out.extend([COMMAND, command, &missing_flags(command, args), rest]);
    }
    out
}

/// Returns the flags to add to a command that starts with these arguments.
fn missing_flags(command: &str, args: &InstallArgs) -> String {
    let has = |flag: &str| command.split([' ', '=']).any(|word| word == flag);
    let is_source = ["github:", "./"].into_iter().any(|start| command.trim_start_matches('\'').starts_with(start));
    let is_exact = !is_source || command.contains('#') || ["--skill", "--all", "--list", "--as"].into_iter().any(has);
    if args.list {
        return if is_exact { String::new() } else { " --list".to_owned() };
    }
    let list = |flag: &'static str, values: &[String]| (flag, Some(values.join(",")).filter(|all| !all.is_empty()));
    let switch = |flag: &'static str, is_set: bool| (flag, is_set.then(String::new));
    let selecting = [list("--skill", &args.skill), switch("--all", args.all), ("--as", args.alias.clone())]
        .map(|flag| (flag, is_exact));
    let others = [
        list("--agent", &args.agent),
        switch("--copy", args.copy),
        switch("--link", args.link),
        switch("--dry-run", args.dry_run),
    ];
    let mut all = String::new();
    let others = others.map(|flag| (flag, has("--list")));
    for ((flag, value), is_unneeded) in selecting.into_iter().chain(others) {
        match value.filter(|_| !is_unneeded && !has(flag)) {
            Some(value) if value.is_empty() => all.extend([" ", flag]),
            Some(value) => all.extend([" ", flag, " ", &shell_word(&value)]),
            None => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: InstallArgs,
    }

    fn completed(hint: &str, flags: &[&str]) -> String {
        let line = ["install", "acme/kit"].iter().chain(flags);
        with_flags(hint, &Line::try_parse_from(line).unwrap().args)
    }

    #[test]
    fn other_source_gets_selection_and_agents() {
        let hint = "if it is a repository: skillhub install github:acme/kit";
        assert_eq!(completed(hint, &[]), hint);
        let flags = ["--agent", "codex", "bob", "--dry-run", "--skill", "a", "b"];
        assert_eq!(completed(hint, &flags), format!("{hint} --skill a,b --agent codex,bob --dry-run"));
        assert_eq!(completed(hint, &["--list", "--agent", "codex"]), format!("{hint} --list"));
        assert_eq!(completed(hint, &["--all", "--copy"]), format!("{hint} --all --copy"));
        assert_eq!(completed(hint, &["--as", "mine"]), format!("{hint} --as mine"));
    }

    #[test]
    fn exact_command_gets_agents_only() {
        let flags = ["--skill", "a", "--agent", "codex"];
        assert_eq!(
            completed("use `skillhub install zoe/a --as b`, or first: skillhub uninstall a", &flags),
            "use `skillhub install zoe/a --as b --agent codex`, or first: skillhub uninstall a"
        );
        assert_eq!(
            completed("one: skillhub install github:acme/kit#a", &flags),
            "one: skillhub install github:acme/kit#a --agent codex"
        );
        let listing = "see: skillhub install ./kit --list";
        assert_eq!(completed(listing, &flags), listing);
        let typed = "accept: skillhub install acme/kit --agent codex --skill a --accept x";
        assert_eq!(completed(typed, &flags), typed);
    }
}
