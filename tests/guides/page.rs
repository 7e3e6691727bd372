//! Reading a page: [`steps`] returns what it wants to have run.

/// One thing to do for a page.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    /// Line of the page, from 1.
    pub line: usize,
    pub kind: Kind,
    /// The commands, or the content of the file.
    pub text: String,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    /// Commands that all succeed.
    Script,
    /// A command with its exit code and the output that the page shows.
    Command { exit: i32, shown: String },
    /// A file to write at this path; `~` is the home.
    File(String),
    /// A word that later stands for the output of the commands.
    Value(String),
}

/// Returns the steps of a page in their order.
pub fn steps(text: &str) -> Vec<Step> {
    let mut lines = text.lines().zip(1..);
    let (mut steps, mut file) = (Vec::new(), None);
    while let Some((first, line)) = lines.next() {
        if first.starts_with("<!--") {
            match hidden(&comment(first, &mut lines), line) {
                Hidden::File(path) => file = Some(path),
                Hidden::Step(step) => steps.push(step),
            }
        } else if let Some(info) = first.strip_prefix("```") {
            let body: Vec<&str> = lines.by_ref().map(|(line, _)| line).take_while(|line| *line != "```").collect();
            match file.take() {
                Some(path) => steps.push(Step { line, kind: Kind::File(path), text: body.join("\n") + "\n" }),
                None => steps.extend(block(info, &body, line)),
            }
        }
    }
    steps
}

/// Reads the rest of a comment and returns its text.
fn comment<'a>(first: &str, lines: &mut impl Iterator<Item = (&'a str, usize)>) -> String {
    let mut text = first.to_owned();
    while !text.contains("-->") {
        let (next, _) = lines.next().unwrap_or_else(|| panic!("{first} does not end"));
        text.push('\n');
        text.push_str(next);
    }
    text.trim_start_matches("<!--").trim_end_matches("-->").trim().to_owned()
}

enum Hidden {
    /// The next block goes to this file.
    File(String),
    Step(Step),
}

fn hidden(comment: &str, line: usize) -> Hidden {
    let (word, rest) = comment.split_once([' ', '\n']).unwrap_or((comment, ""));
    match (word, rest.split_once(": ")) {
        ("file:", _) => Hidden::File(rest.to_owned()),
        ("run", _) => Hidden::Step(Step { line, kind: Kind::Script, text: rest.to_owned() }),
        ("value", Some((name, command))) => {
            Hidden::Step(Step { line, kind: Kind::Value(name.to_owned()), text: command.to_owned() })
        }
        _ => panic!("line {line}: unknown comment `{comment}`"),
    }
}

fn block(info: &str, body: &[&str], line: usize) -> Vec<Step> {
    let (language, mark) = info.split_once(' ').unwrap_or((info, ""));
    let exit = mark.strip_prefix("exits ").and_then(|code| code.parse().ok());
    match (language, mark) {
        ("sh" | "console", mark) if mark.strip_prefix("no-run: ").is_some_and(|reason| !reason.is_empty()) => {
            Vec::new()
        }
        ("sh", "") => vec![Step { line, kind: Kind::Script, text: body.join("\n") }],
        ("console", mark) if mark.is_empty() || exit.is_some() => console(body, line, exit.unwrap_or(0)),
        (_, "") => Vec::new(),
        _ => panic!("line {line}: unknown mark `{mark}`"),
    }
}

/// Returns the commands of a `console` block, of which the last one exits with `exit`.
fn console(body: &[&str], line: usize, exit: i32) -> Vec<Step> {
    let starts: Vec<usize> = (0..body.len()).filter(|at| body[*at].starts_with("$ ")).collect();
    assert!(starts.first() == Some(&0), "line {line}: a console block begins with `$ `");
    let ends = starts.iter().skip(1).copied().chain([body.len()]);
    let step = |(start, end): (&usize, usize)| Step {
        line: line + 1 + start,
        kind: Kind::Command { exit: if end == body.len() { exit } else { 0 }, shown: body[start + 1..end].join("\n") },
        text: body[*start][2..].to_owned(),
    };
    starts.iter().zip(ends).map(step).collect()
}

/// Finds lines that look like commands in blocks that are never run: indented ones, and those of other languages.
pub fn unmarked_commands(text: &str) -> Vec<&str> {
    let mut lines = text.lines().zip(1..);
    let (mut language, mut found) = (None, Vec::new());
    while let Some((line, _)) = lines.next() {
        let is_command = line.trim_start().starts_with("skillhub ") || line.trim_start().starts_with("$ ");
        if line.starts_with("<!--") {
            comment(line, &mut lines);
        } else if let Some(info) = line.trim_start().strip_prefix("```") {
            language = if language.is_some() { None } else { Some(info.split(' ').next().unwrap_or_default()) };
        } else if is_command {
            match language {
                None if line.starts_with("    ") => found.push(line),
                Some(other) if !["sh", "console"].contains(&other) => found.push(line),
                _ => {}
            }
        }
    }
    found
}

#[test]
fn page_becomes_steps() {
    let page = "Text.\n\n<!-- run\na\nb\n-->\n<!-- file: ~/c.toml -->\n```toml\nd = 1\n```\n\n```console exits 4\n$ e\none\n$ f\n```\n\n\
                ```sh no-run: it takes long\ng\n```\n<!-- value h: i -->\n```text\nj\n```\n";
    let command = |exit, shown: &str| Kind::Command { exit, shown: shown.to_owned() };
    let expected = [
        (3, Kind::Script, "a\nb"),
        (8, Kind::File("~/c.toml".to_owned()), "d = 1\n"),
        (13, command(0, "one"), "e"),
        (15, command(4, ""), "f"),
        (21, Kind::Value("h".to_owned()), "i"),
    ];
    assert_eq!(steps(page), expected.map(|(line, kind, text)| Step { line, kind, text: text.to_owned() }));
}

#[test]
fn unmarked_commands_are_found() {
    let page = "skillhub is prose\n<!-- run\n    skillhub hidden\n-->\n\n    skillhub a\n\n```text\n$ skillhub b\n```\n```sh no-run: x\nskillhub c\n```\n";
    assert_eq!(unmarked_commands(page), ["    skillhub a", "$ skillhub b"]);
}
