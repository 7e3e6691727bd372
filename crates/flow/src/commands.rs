//! Extraction of shell commands from configuration and build files. [`Format::script`] returns them as one shell script
//! in which each command keeps the line number that it has in the file.

mod build;
mod json;
mod steps;
mod yaml;

/// File format that embeds commands among other content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// YAML, such as workflows, playbooks and compose files.
    Yaml,
    /// JSON, such as package manifests, hooks and editor tasks.
    Json,
    /// Dockerfile or Containerfile, with its `RUN` and similar instructions.
    Docker,
    /// Makefile, whose recipes begin with a tab.
    Make,
    /// Justfile, with `{{ }}` around variables.
    Just,
    /// Windows batch file, translated to shell commands.
    Batch,
    /// Steps of a `tool_schema` in a skill's frontmatter.
    Steps,
}

impl Format {
    /// Returns the format for the path of a file, by its name or extension.
    pub fn of_file(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name.as_str(), ""));
        match (stem, extension) {
            (_, "yml" | "yaml") => Some(Self::Yaml),
            (_, "json" | "jsonc" | "json5") => Some(Self::Json),
            ("dockerfile" | "containerfile", _) | (_, "dockerfile") => Some(Self::Docker),
            ("makefile" | "gnumakefile", _) | (_, "mk") => Some(Self::Make),
            ("justfile", _) | (_, "just") => Some(Self::Just),
            (_, "bat" | "cmd") => Some(Self::Batch),
            _ => None,
        }
    }

    /// Returns [`Format::Steps`] for a `SKILL.md` that declares a tool.
    pub fn of_skill(path: &str, text: &str) -> Option<Self> {
        (path.eq_ignore_ascii_case("SKILL.md") && text.contains(steps::KEY)).then_some(Self::Steps)
    }

    /// Returns the format for the info string of a fenced code block.
    pub fn of_word(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "yaml" | "yml" => Some(Self::Yaml),
            "json" | "jsonc" | "json5" => Some(Self::Json),
            "dockerfile" | "docker" | "containerfile" => Some(Self::Docker),
            "makefile" | "make" | "mk" => Some(Self::Make),
            "just" | "justfile" => Some(Self::Just),
            "bat" | "batch" | "cmd" | "dos" => Some(Self::Batch),
            _ => None,
        }
    }

    /// Extracts the commands of a text as a shell script. Lines without a command are empty.
    pub fn script(self, text: &str) -> String {
        let mut page = Page::default();
        match self {
            Self::Yaml => yaml::commands(text, &mut page),
            Self::Json => json::commands(text, &mut page),
            Self::Docker => build::docker(text, &mut page),
            Self::Make => build::make(text, &mut page),
            Self::Just => build::just(text, &mut page),
            Self::Batch => build::batch(text, &mut page),
            Self::Steps => steps::commands(text, &mut page),
        }
        page.text
    }
}

/// Shell script under construction, written from the top down.
#[derive(Default)]
struct Page {
    text: String,
    /// Number of the last line of the text, counted from 0.
    line: usize,
}

impl Page {
    /// Puts a command on a line. If the text has already reached or passed that line, the command is appended to its
    /// last line, behind a `;`. Commands with an unclosed quotation mark are dropped.
    fn put(&mut self, line: usize, command: &str) {
        let command = command.trim_end();
        if command.trim().is_empty() || !is_closed(command) {
            return;
        }
        if line > self.line {
            self.text.extend(std::iter::repeat_n('\n', line - self.line));
            self.line = line;
        } else if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push_str(" ; ");
        }
        self.text.push_str(command);
        self.line += command.matches('\n').count();
    }

    /// Puts a command that is given as a list of words, quoting each where necessary.
    fn put_words(&mut self, line: usize, words: &[String]) {
        let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        self.put(line, &quoted.join(" "));
    }
}

/// Returns whether all quotation marks of a command are closed. An open one would swallow the commands that follow.
fn is_closed(command: &str) -> bool {
    let mut open = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (open, c) {
            (Some('\''), '\'') | (Some('"'), '"') => open = None,
            (None | Some('"'), '\\') => drop(chars.next()),
            (None, '\'' | '"') => open = Some(c),
            _ => {}
        }
    }
    open.is_none()
}

/// Quotes a word for a shell, unless it consists of plain characters only.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | '.' | ':' | '=' | '@' | '$' | '~');
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Replaces each placeholder between the marks `open` and `close` with the result of `name`, usually a shell variable.
fn with_variables(text: &str, open: &str, close: &str, name: impl Fn(&str) -> String) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        plain.push_str(before);
        let Some((inside, behind)) = after.split_once(close) else {
            plain.push_str(open);
            rest = after;
            continue;
        };
        plain.push_str(&name(inside.trim()));
        rest = behind;
    }
    plain.push_str(rest);
    plain
}

/// Formats a name as a shell variable. Characters that the grammar does not allow become `_`.
fn variable(name: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(60).collect();
    format!("${{{}}}", if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_keep_their_lines() {
        let cases = [
            (Format::Docker, "FROM a\nRUN x \\\n  y\nCMD [\"sh\", \"-c\", \"a b\"]\n", "\nx \\\n  y\nsh -c 'a b'"),
            (Format::Make, "X := 1\na: b\n\t@echo $$X $(HOME)\n", "X=1\n\necho $X ${HOME}"),
            (Format::Just, "a:\n    @echo {{ x }}\n", "\necho ${x}"),
            (Format::Batch, "@echo off\ntype %USERPROFILE%\\a > b\n", "\ncat ${HOME}/a > b"),
            (Format::Json, "{\"scripts\": {\n\"test\": \"a && b\"}}", "\na && b"),
            (Format::Json, "{\"command\": \"sh\",\n\"args\": [\"-c\", \"a b\"]}", "sh -c 'a b'"),
            (Format::Yaml, "a:\n  - run: |\n      x\n      y\n  - run: z\n", "\n\nx\ny\nz"),
            (Format::Yaml, "command: [\"sh\", \"-c\", \"a b\"]\n", "sh -c 'a b'"),
            (
                Format::Steps,
                "---\nname: a\ntool_schema:\n  steps:\n    - id: key\n      tool: read_file\n      input: {path: a}\n    - {tool: shell, input: {command: sh, args: [\"-c\", \"x {{steps.key.output}}\"]}}\n---\n",
                "\n\n\n\n\nsteps_0=$(cat a) ; steps_key=\"${steps_0}\"\n\nsh -c \"x ${steps_key}\"",
            ),
            (Format::Yaml, "script:\n  - a b\n  - c\n", "\na b\nc"),
        ];
        for (format, text, script) in cases {
            assert_eq!(format.script(text), script, "{text}");
        }
    }

    #[test]
    fn other_text_yields_no_commands() {
        for (format, text) in [
            (Format::Yaml, "name: curl x | sh\nlist:\n  - a\n"),
            (Format::Json, "{\"description\": \"curl x | sh\", \"args\": [\"a\"]}"),
            (Format::Docker, "# RUN x\nCOPY a b\n"),
            (Format::Make, "# x\na: b c\n"),
            (Format::Yaml, "run: it's open\n"),
        ] {
            assert_eq!(format.script(text).trim(), "", "{text}");
        }
    }
}
