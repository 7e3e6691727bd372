//! Lowering of shell scripts to a [`Program`](super::program::Program). Programs become calls, pipes become their
//! input, and files and variables become names.

use tree_sitter::Node;

use crate::{
    language::Language,
    program::{Act, Builder, Call, Expr, children, field, unescaped},
};

/// Prefix of the callee's name in a call of a program.
pub(in super::super) const PROGRAM: &str = "$ ";
/// Name of the argument that holds the standard input of a call.
pub(in super::super) const STDIN: &str = "<";
/// Name of the argument that holds the file to which the output of a call is redirected.
pub(in super::super) const STDOUT: &str = ">";

/// Number of positional parameters of a function that are distinguished.
pub(in super::super) const PARAMS: usize = 9;

/// Number of programs in one pipe through which data is followed.
const PIPES: usize = 50;

/// Wrapper programs, which precede the name of another program and run it.
const WRAPPERS: &[&str] = &[
    "sudo", "nohup", "command", "exec", "time", "builtin", "nice", "doas", "setsid", "env", "timeout", "stdbuf",
    "ionice", "busybox", "proxychains", "proxychains4", "torsocks", "torify", "xargs", "unbuffer", "caffeinate",
    "parallel", "chronic",
];

/// Adds the statements below a node.
pub(super) fn lower(to: &mut Builder<'_>, node: Node<'_>) {
    to.statement(node, |to| statement(to, node));
}

fn statement(to: &mut Builder<'_>, node: Node<'_>) {
    match node.kind() {
        "command" | "pipeline" | "redirected_statement" | "test_command" => {
            let given = run(to, node, None);
            to.step(Act::Run(given));
        }
        "variable_assignment" => assignment(to, node),
        "function_definition" => {
            let name = field(node, "name").map_or("", |name| to.text_of(name));
            let input = format!("{STDIN}{PARAMS}");
            let params = (1..=PARAMS).map(|number| format!("${number}")).chain([input.clone()]).collect();
            let name = format!("{PROGRAM}{name}");
            to.within(name, params, |to| {
                let given = field(node, "body").map(|body| run(to, body, Some(Expr::Name(input)))).unwrap_or_default();
                to.step(Act::Return(given));
            });
        }
        "for_statement" => {
            let given = each_of(to, node, None);
            to.step(Act::Run(given));
        }
        _ => children(node).into_iter().for_each(|child| lower(to, child)),
    }
}

fn assignment(to: &mut Builder<'_>, node: Node<'_>) {
    let given = field(node, "value").map(|given| word(to, given)).unwrap_or_default();
    if let Some(name) = field(node, "name") {
        let name = to.text_of(name).split('[').next().unwrap_or("").to_owned();
        to.change(format!("${name}"), given);
    }
}

/// Returns the output of a whole script.
pub(super) fn output(to: &mut Builder<'_>, node: Node<'_>) -> Expr {
    run(to, node, None)
}

/// Lowers a loop over values and returns the output of its body.
fn each_of(to: &mut Builder<'_>, node: Node<'_>, input: Option<Expr>) -> Expr {
    let mut cursor = node.walk();
    let values: Vec<Node<'_>> = node.children_by_field_name("value", &mut cursor).collect();
    let values = values.into_iter().map(|value| word(to, value)).collect();
    if let Some(variable) = field(node, "variable") {
        to.set(vec![format!("${}", to.text_of(variable))], Expr::List(values));
    }
    field(node, "body").map(|body| run(to, body, input)).unwrap_or_default()
}

/// Lowers a command with the given standard input and returns its output.
fn run(to: &mut Builder<'_>, node: Node<'_>, input: Option<Expr>) -> Expr {
    to.statement(node, |to| match node.kind() {
        "command" => command(to, node, input),
        "pipeline" => {
            let mut passed = input;
            for (at, part) in children(node).into_iter().enumerate() {
                let given = run(to, part, passed.take());
                let is_long = at % PIPES == PIPES - 1;
                to.program.cut |= is_long;
                passed = (!is_long).then_some(given);
            }
            passed.unwrap_or_default()
        }
        "redirected_statement" => redirected(to, node, input),
        "for_statement" => each_of(to, node, input),
        "compound_statement" | "subshell" | "list" | "program" | "do_group" | "while_statement" | "if_statement"
        | "case_statement" | "case_item" | "else_clause" | "elif_clause" | "negated_command" => {
            let input = input.map(|input| Expr::Name(format!("${}", to.variable_for(input))));
            let mut given = Vec::new();
            for child in children(node) {
                match child.kind() {
                    "variable_assignment" | "function_definition" => lower(to, child),
                    _ => given.push(run(to, child, input.clone())),
                }
            }
            Expr::List(given)
        }
        "test_command" => Expr::List(children(node).into_iter().map(|part| word(to, part)).collect()),
        "file_redirect" => field(node, "destination").map(|from| content(to, from)).unwrap_or_default(),
        _ => {
            lower(to, node);
            Expr::nothing()
        }
    })
}

/// Returns the content of a file.
fn content(to: &mut Builder<'_>, path: Node<'_>) -> Expr {
    let args = vec![word(to, path)];
    Expr::Call(Box::new(Call {
        callee: Expr::Name(format!("{PROGRAM}cat")),
        args,
        named: Vec::new(),
        line: to.line_of(path),
    }))
}

/// Redirections of a statement.
#[derive(Default)]
struct Redirects<'t> {
    input: Option<Expr>,
    output: Option<Expr>,
    /// Commands behind a here-document in the same pipe or list.
    next: Vec<Node<'t>>,
}

fn redirect<'t>(to: &mut Builder<'_>, node: Node<'t>, found: &mut Redirects<'t>) {
    match node.kind() {
        "file_redirect" => {
            let Some(target) = field(node, "destination") else { return };
            let text = to.text_of(node);
            if text.starts_with('2') || text.contains(">&") {
                return;
            }
            let text = text.trim_start_matches(|c: char| c.is_ascii_digit());
            match text.starts_with('<') {
                true => found.input = Some(content(to, target)),
                false => found.output = Some(word(to, target)),
            }
        }
        "heredoc_redirect" => {
            for child in children(node) {
                match child.kind() {
                    "heredoc_start" | "heredoc_end" => {}
                    "heredoc_body" => found.input = Some(word(to, child)),
                    "file_redirect" | "herestring_redirect" => to.deeper(|to| redirect(to, child, found)),
                    _ => found.next.push(child),
                }
            }
        }
        _ => found.input = Some(Expr::List(children(node).into_iter().map(|part| word(to, part)).collect())),
    }
}

fn redirected(to: &mut Builder<'_>, node: Node<'_>, input: Option<Expr>) -> Expr {
    let mut cursor = node.walk();
    let redirects: Vec<Node<'_>> = node.children_by_field_name("redirect", &mut cursor).collect();
    let mut found = Redirects { input, ..Redirects::default() };
    redirects.into_iter().for_each(|node| redirect(to, node, &mut found));
    if let Some(file) = &found.output {
        let printed = field(node, "body").filter(|_| found.input.is_none()).and_then(|body| printed(to, body));
        if let Some(text) = printed {
            script_for(to, file, Some(&Expr::Text(text)), to.line_of(node));
        }
        script_for(to, file, found.input.as_ref(), to.line_of(node));
    }
    let mut given = field(node, "body").map(|body| run(to, body, found.input)).unwrap_or_default();
    for next in found.next {
        given = run(to, next, Some(given));
    }
    match found.output {
        None => given,
        Some(file) => Expr::Call(Box::new(Call {
            callee: Expr::Name(format!("{PROGRAM}>")),
            args: Vec::new(),
            named: vec![(STDIN.to_owned(), given), (STDOUT.to_owned(), file)],
            line: to.line_of(node),
        })),
    }
}

/// Returns the text of an `echo` or `printf` command, if that is a script with a shebang line.
fn printed(to: &Builder<'_>, node: Node<'_>) -> Option<String> {
    let text = to.text_of(node);
    let words = text.strip_prefix("printf ").or_else(|| text.strip_prefix("echo "))?;
    let words = words.trim_start_matches("-e ").trim_start_matches("-n ").trim();
    let inner = words.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let inner = inner.or_else(|| words.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')))?;
    inner.starts_with("#!").then(|| unescaped(inner))
}

/// Lowers the content that is written to a file as a script, if the file name or the content indicates one.
fn script_for(to: &mut Builder<'_>, file: &Expr, given: Option<&Expr>, line: usize) {
    let name = to.script_of(file).unwrap_or_default();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    if let Some(text) = given.and_then(|given| to.script_of(given))
        && let Some(language) = Language::of_file(extension, &text)
    {
        let value = language.embed(to, &text, line);
        to.step(Act::Run(value));
    }
}

fn command(to: &mut Builder<'_>, node: Node<'_>, mut input: Option<Expr>) -> Expr {
    let mut words = Vec::new();
    for child in children(node) {
        match child.kind() {
            "variable_assignment" => assignment(to, child),
            "file_redirect" | "heredoc_redirect" => {}
            "herestring_redirect" => {
                input = Some(Expr::List(children(child).into_iter().map(|part| word(to, part)).collect()));
            }
            "command_name" => words.extend(children(child).first().map(|name| word(to, *name))),
            _ => words.push(word(to, child)),
        }
    }
    called(to, words, input, to.line_of(node))
}

/// Lowers a program call, together with a script among its words.
pub(super) fn called(to: &mut Builder<'_>, mut words: Vec<Expr>, input: Option<Expr>, line: usize) -> Expr {
    let is_text =
        |word: Option<&Expr>, test: &dyn Fn(&str) -> bool| matches!(word, Some(Expr::Text(text)) if test(text));
    while words.len() > 1 && is_text(words.first(), &|text| WRAPPERS.contains(&text)) {
        let takes_input = is_text(words.first(), &|text| text == "xargs");
        words.remove(0);
        let mut hole = None;
        let is_option =
            |text: &str| text.starts_with('-') || text.starts_with(|c: char| c.is_ascii_digit()) || text.contains('=');
        while words.len() > 1 && is_text(words.first(), &is_option) {
            let Expr::Text(option) = words.remove(0) else { continue };
            if !takes_input || words.len() < 2 {
                continue;
            }
            match option.strip_prefix("-I").or_else(|| option.strip_prefix("--replace=")) {
                Some("") => hole = Some(words.remove(0)),
                Some(own) => hole = Some(Expr::Text(own.to_owned())),
                None if matches!(option.as_str(), "-d" | "-E" | "-a") => drop(words.remove(0)),
                None => {}
            }
        }
        match (input.clone().filter(|_| takes_input), hole) {
            (Some(given), Some(Expr::Text(hole))) => {
                let given = Expr::Name(format!("${}", to.variable_for(given)));
                words.iter_mut().for_each(|word| *word = filled(word, &hole, &given));
            }
            (given, _) => words.extend(given),
        }
    }
    if words.is_empty() {
        return Expr::nothing();
    }
    let script = script(to, &words, input.as_ref(), line).or_else(|| contained(to, &words, line));
    let callee = match words.remove(0) {
        Expr::Text(text) if !text.starts_with(['.', '/', '~']) || text.contains("/bin/") => {
            Expr::Name(format!("{PROGRAM}{}", text.rsplit('/').next().unwrap_or(&text)))
        }
        Expr::Text(text) => Expr::Name(format!("{PROGRAM}{text}")),
        other => Expr::Join(vec![Expr::Text(PROGRAM.to_owned()), other], ""),
    };
    let named = input.map(|input| (STDIN.to_owned(), input)).into_iter().collect();
    let call = Expr::Call(Box::new(Call { callee, args: words, named, line }));
    match script {
        Some(script) => Expr::List(vec![call, script]),
        None => call,
    }
}

/// Replaces a placeholder in a word with a value.
fn filled(word: &Expr, hole: &str, given: &Expr) -> Expr {
    match word {
        Expr::Text(text) if text.contains(hole) && !hole.is_empty() => {
            let parts = text.split(hole).map(|part| Expr::Text(part.to_owned()));
            let parts: Vec<Expr> = parts.flat_map(|part| [part, given.clone()]).collect();
            let kept = parts.len().saturating_sub(1);
            let full = parts.into_iter().take(kept).filter(|part| !matches!(part, Expr::Text(text) if text.is_empty()));
            Expr::Join(full.collect(), "")
        }
        Expr::Join(parts, between) => Expr::Join(parts.iter().map(|part| filled(part, hole, given)).collect(), between),
        other => other.clone(),
    }
}

/// Container options that do not take a value.
const BARE_OPTIONS: &[&str] =
    &["--rm", "-it", "-ti", "-i", "-t", "-d", "--privileged", "--init", "--interactive", "--tty", "-dit"];

/// Lowers the command that runs in a container, with its mounted folders mapped to those of the host.
fn contained(to: &mut Builder<'_>, words: &[Expr], line: usize) -> Option<Expr> {
    let texts: Vec<String> =
        words.iter().take(SCRIPT_WORDS).map(|word| to.script_of(word).unwrap_or_default()).collect();
    let [program, verb, rest @ ..] = texts.as_slice() else { return None };
    (matches!(program.as_str(), "docker" | "podman" | "nerdctl") && verb == "run").then_some(())?;
    let (mut at, mut folders) = (0, Vec::new());
    while let Some(option) = rest.get(at).filter(|option| option.starts_with('-')) {
        let (name, own) = option.split_once('=').map_or((option.as_str(), None), |(name, own)| (name, Some(own)));
        let value = own.or_else(|| rest.get(at + 1).map(String::as_str)).unwrap_or("");
        if matches!(name, "-v" | "--volume") {
            let mut parts = value.trim_matches('"').split(':');
            folders.extend(
                parts.next().zip(parts.next()).map(|(from, inner)| (inner.to_owned(), from.replace("$HOME", "~"))),
            );
        }
        at += if own.is_some() || BARE_OPTIONS.contains(&name) { 1 } else { 2 };
    }
    let image = rest.get(at)?;
    let given = rest.get(at + 1..).filter(|_| !folders.is_empty())?;
    let own = image.contains("curl").then(|| "curl".to_owned());
    let outside = |word: String| folders.iter().fold(word, |word, (inner, from)| word.replace(inner, from));
    let words: Vec<Expr> = own.into_iter().chain(given.iter().cloned()).map(|word| Expr::Text(outside(word))).collect();
    (!words.is_empty()).then(|| to.deeper(|to| called(to, words, None, line)))
}

/// Maximum number of words of a container command that are examined.
const SCRIPT_WORDS: usize = 64;

/// Lowers the script that an interpreter gets as an argument or as its input. For `read` and `mapfile`, assigns the
/// input to the variables instead.
fn script(to: &mut Builder<'_>, words: &[Expr], input: Option<&Expr>, line: usize) -> Option<Expr> {
    let Some((Expr::Text(program), args)) = words.split_first() else { return None };
    let program = program.rsplit('/').next().unwrap_or(program);
    if matches!(program, "read" | "mapfile" | "readarray") {
        let names = args.iter().filter_map(|arg| match arg {
            Expr::Text(name) if !name.starts_with('-') => Some(format!("${name}")),
            _ => None,
        });
        to.set(names.collect(), input?.clone());
        return None;
    }
    let language = match program {
        "eval" | "watch" | "su" => Language::Shell,
        other => Language::of_word(other.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))?,
    };
    let is = |arg: &Expr, test: &dyn Fn(&str) -> bool| matches!(arg, Expr::Text(text) if test(text));
    let inline = args
        .iter()
        .position(|arg| is(arg, &|text| matches!(text, "-c" | "-e" | "-lc" | "-ic" | "-p" | "--eval" | "--command")));
    let text = match inline {
        Some(at) => to.script_of(args.get(at + 1)?)?,
        None if program == "eval" => args.iter().filter_map(|arg| to.script_of(arg)).collect::<Vec<_>>().join(" "),
        None if args.iter().all(|arg| is(arg, &|text| text.starts_with('-') || text == "/dev/stdin")) => {
            to.script_of(input?)?
        }
        None => return None,
    };
    Some(language.embed(to, &text, line))
}

fn word(to: &mut Builder<'_>, node: Node<'_>) -> Expr {
    to.deeper(|to| value(to, node))
}

fn value(to: &mut Builder<'_>, node: Node<'_>) -> Expr {
    let text = to.text_of(node);
    match node.kind() {
        "word" | "number" if children(node).is_empty() => Expr::Text(unescaped(text)),
        "heredoc_body" if children(node).is_empty() => Expr::Text(text.to_owned()),
        "raw_string" => Expr::Text(text.trim_matches('\'').to_owned()),
        "ansi_c_string" => Expr::Text(unescaped(text.trim_start_matches('$').trim_matches('\''))),
        "string_content" => Expr::Text(text.replace("\\\"", "\"").replace("\\$", "$")),
        "heredoc_content" | "variable_name" | "special_variable_name" => Expr::Text(text.to_owned()),
        "simple_expansion" => Expr::Name(text.to_owned()),
        "expansion" => {
            let name = text.trim_start_matches("${").trim_start_matches(['!', '#']);
            let name: String = name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if let Some((old, new)) = replaced(text) {
                return replaced_in(Expr::Name(format!("${name}")), old, new, to.line_of(node));
            }
            let inner = children(node).into_iter().filter(|child| child.kind() != "variable_name");
            let mut parts: Vec<Expr> = inner.map(|child| word(to, child)).collect();
            let whole = Expr::Name(format!("${name}"));
            parts.push(if shortens(text) { replaced_in(whole, ".pub", "", to.line_of(node)) } else { whole });
            Expr::List(parts)
        }
        "command_substitution" | "process_substitution" => {
            let parts: Vec<Expr> = children(node).into_iter().map(|child| run(to, child, None)).collect();
            Expr::List(parts)
        }
        "string" | "concatenation" | "translated_string" | "heredoc_body" => {
            let parts: Vec<Expr> = children(node).into_iter().map(|child| word(to, child)).collect();
            let plain = parts.iter().map(|part| if let Expr::Text(text) = part { Some(text.as_str()) } else { None });
            match plain.collect::<Option<String>>() {
                Some(text) if node.kind() == "concatenation" => Expr::Text(text),
                _ => Expr::Join(parts, ""),
            }
        }
        _ => Expr::List(children(node).into_iter().map(|child| word(to, child)).collect()),
    }
}

/// Returns whether a `${name…}` expansion leaves out a part of the value.
fn shortens(expansion: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || "${_![]@*".contains(c);
    let rest = expansion.trim_start_matches(is_name);
    rest.starts_with(['%', '/']) || rest.strip_prefix(':').is_some_and(|rest| !rest.starts_with(['-', '=', '?', '+']))
}

/// Returns a value in which all occurrences of a text are replaced.
fn replaced_in(value: Expr, old: &str, new: &str, line: usize) -> Expr {
    let args = vec![Expr::Text(old.to_owned()), Expr::Text(new.to_owned())];
    let callee = Expr::Attr(Box::new(value), "replaceAll".to_owned());
    Expr::Call(Box::new(Call { callee, args, named: Vec::new(), line }))
}

/// Returns the pattern and the replacement of a `${name//old/new}` expansion, if both are literal.
fn replaced(expansion: &str) -> Option<(&str, &str)> {
    let (_, rest) = expansion.strip_suffix('}')?.split_once("//")?;
    let (old, new) = rest.split_once('/').unwrap_or((rest, ""));
    let is_plain = !old.is_empty() && !old.contains(['$', '*', '[', '/']) && !new.contains('$');
    is_plain.then_some((old, new))
}
