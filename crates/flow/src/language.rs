//! [`Language`]: what a script is written in, and how that is told.

/// What a script is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Python.
    Python,
    /// JavaScript, with elements of a page.
    JavaScript,
    /// Without elements of a page, which the grammar of JavaScript knows.
    TypeScript,
    /// A shell of Unix.
    Shell,
    /// Ruby.
    Ruby,
    /// Go.
    Go,
    /// PHP.
    Php,
    /// Perl.
    Perl,
    /// PowerShell.
    PowerShell,
    /// Lua.
    Lua,
}

impl Language {
    /// By the extension of a file, else by its first line.
    #[must_use]
    pub fn of_file(extension: &str, text: &str) -> Option<Self> {
        Self::of_word(extension).or_else(|| {
            let first = text.strip_prefix("#!")?.lines().next()?;
            let program = first.split_whitespace().find(|word| !word.ends_with("/env") && !word.starts_with('-'))?;
            let name = program.rsplit('/').next().unwrap_or(program);
            Self::of_word(name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
        })
    }

    /// By an extension, the name of an interpreter, or the word behind a fence.
    #[must_use]
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
