//! [`Language`]: language of a script, and its detection.

/// Language of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Python, parsed with its grammar.
    Python,
    /// JavaScript, parsed with a grammar that includes JSX.
    JavaScript,
    /// TypeScript, parsed without JSX. Files with the extension `tsx` count as JavaScript, whose grammar covers JSX.
    TypeScript,
    /// Unix shell, such as sh, bash or zsh.
    Shell,
    /// Ruby, read without a grammar.
    Ruby,
    /// Go, read without a grammar.
    Go,
    /// PHP, read without a grammar.
    Php,
    /// Perl, read without a grammar.
    Perl,
    /// PowerShell, read without a grammar.
    PowerShell,
    /// Lua, read without a grammar.
    Lua,
}

impl Language {
    /// Detects the language of a file from its extension, or else from its `#!` line.
    pub fn of_file(extension: &str, text: &str) -> Option<Self> {
        Self::of_word(extension).or_else(|| {
            let first = text.strip_prefix("#!")?.lines().next()?;
            let program = first.split_whitespace().find(|word| !word.ends_with("/env") && !word.starts_with('-'))?;
            let name = program.rsplit('/').next().unwrap_or(program);
            Self::of_word(name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
        })
    }

    /// Returns the language for an extension, an interpreter name or the info string of a fence.
    pub fn of_word(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "py" | "python" | "pyw" | "python3" => Some(Self::Python),
            "js" | "mjs" | "cjs" | "jsx" | "tsx" | "node" | "javascript" => Some(Self::JavaScript),
            "ts" | "mts" | "cts" | "typescript" | "deno" | "bun" | "tsx-node" | "ts-node" => Some(Self::TypeScript),
            "sh" | "bash" | "zsh" | "ksh" | "dash" | "command" | "shell" | "console" | "shell-session" => {
                Some(Self::Shell)
            }
            "rb" | "ruby" => Some(Self::Ruby),
            "go" | "golang" => Some(Self::Go),
            "php" => Some(Self::Php),
            "pl" | "pm" | "perl" => Some(Self::Perl),
            "ps1" | "psm1" | "powershell" | "pwsh" => Some(Self::PowerShell),
            "lua" | "luajit" => Some(Self::Lua),
            _ => None,
        }
    }
}
