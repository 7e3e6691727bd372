//! Commands in running text, such as `skillhub list --json`: do they exist, and have they these flags?

use std::collections::BTreeMap;

use crate::support::Sandbox;

/// Finds commands in inline code that the program does not know, or whose flags it does not know.
pub fn unknown_commands(sandbox: &Sandbox, text: &str) -> Vec<String> {
    let mut helps = Helps { sandbox, read: BTreeMap::new() };
    inline_codes(text).into_iter().filter(|code| !helps.know(code)).map(str::to_owned).collect()
}

/// Returns the inline code outside of blocks that starts with the program's name and a command.
fn inline_codes(text: &str) -> Vec<&str> {
    let mut in_block = false;
    let mut codes = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            codes.extend(line.split('`').skip(1).step_by(2).filter(|code| code.starts_with("skillhub ")));
        }
    }
    codes
}

/// Help pages that were read, by command; `None` if there is no such command.
struct Helps<'a> {
    sandbox: &'a Sandbox,
    read: BTreeMap<String, Option<String>>,
}

impl Helps<'_> {
    fn know(&mut self, code: &str) -> bool {
        let words: Vec<&str> = code.split_whitespace().skip(1).collect();
        let names: Vec<&str> = words.iter().take_while(|word| is_name(word)).take(2).copied().collect();
        let whole = self.page(&names);
        let first = self.page(names.get(..1).unwrap_or_default());
        let Some(page) = whole.or(first.filter(|page| !page.contains("\nCommands:\n"))) else { return false };
        let general = self.page(&["options"]).unwrap_or_default();
        let flags = words.iter().filter(|word| word.starts_with("--")).filter_map(|word| word.split('=').next());
        flags.into_iter().all(|flag| page.contains(flag) || general.contains(flag))
    }

    fn page(&mut self, names: &[&str]) -> Option<String> {
        let read = || {
            let output = self.sandbox.command(&[&["help"], names].concat()).output().unwrap();
            output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
        };
        self.read.entry(names.join(" ")).or_insert_with(read).clone()
    }
}

/// Returns whether a word can be the name of a command.
fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_lowercase() || "-_".contains(c))
}

#[test]
fn unknown_commands_are_found() {
    let text = "`skillhub list --json` `skillhub help list` `skillhub lisp` `skillhub list --jason` `skillhub`\n\
                ```sh\n`skillhub no`\n```\n`skillhub review accept ID --require-evals` `skillhub mcp` `cargo x` `skillhub review grow`\n";
    assert_eq!(
        unknown_commands(&Sandbox::new(), text),
        ["skillhub lisp", "skillhub list --jason", "skillhub review grow"]
    );
}
