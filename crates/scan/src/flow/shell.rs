//! Shell scripts as a [`Program`](super::program::Program): programs are calls, pipes their input, files and
//! variables names.

use tree_sitter::Node;

use super::program::{Act, Builder, Call, Expr, children, unescaped};

/// What begins the name of a program that a shell calls.
pub(super) const PROGRAM: &str = "$ ";
/// The name under which a call has its standard input.
pub(super) const STDIN: &str = "<";
/// The name under which a call has the file that its output goes to.
pub(super) const STDOUT: &str = ">";

/// Programs in one pipe that are followed.
const PIPES: usize = 50;

/// Words before a program's name that only say how it is run.
const WRAPPERS: &[&str] = &["sudo", "nohup", "command", "exec", "time", "builtin", "nice", "doas", "setsid", "env"];

/// Adds the statements below a node.
pub(super) fn lower(to: &mut Builder<'_>, node: Node<'_>) {
    to.deeper(|to| statement(to, node));
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
            let params = (1..=9).map(|number| format!("${number}")).collect();
            let name = format!("{PROGRAM}{name}");
            to.within(name, params, |to| field(node, "body").into_iter().for_each(|body| lower(to, body)));
        }
        "for_statement" => {
            let mut cursor = node.walk();
            let values: Vec<Node<'_>> = node.children_by_field_name("value", &mut cursor).collect();
            let values = values.into_iter().map(|value| word(to, value)).collect();
            if let Some(variable) = field(node, "variable") {
                to.set(vec![format!("${}", to.text_of(variable))], Expr::List(values));
            }
            field(node, "body").into_iter().for_each(|body| lower(to, body));
        }
        _ => children(node).into_iter().for_each(|child| lower(to, child)),
    }
}

fn field<'t>(node: Node<'t>, name: &str) -> Option<Node<'t>> {
    node.child_by_field_name(name)
}

fn assignment(to: &mut Builder<'_>, node: Node<'_>) {
    let given = field(node, "value").map(|given| word(to, given)).unwrap_or_default();
    if let Some(name) = field(node, "name") {
        let name = to.text_of(name).split('[').next().unwrap_or("").to_owned();
        to.set(vec![format!("${name}")], given);
    }
}

/// What a command puts out, with this on its standard input.
fn run(to: &mut Builder<'_>, node: Node<'_>, input: Option<Expr>) -> Expr {
    to.deeper(|to| match node.kind() {
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
        "compound_statement" | "subshell" | "list" | "program" | "do_group" | "while_statement" | "if_statement" => {
            let mut given = Vec::new();
            for child in children(node) {
                match child.kind() {
                    "variable_assignment" | "function_definition" | "for_statement" => lower(to, child),
                    _ => given.push(run(to, child, input.clone())),
                }
            }
            Expr::List(given)
        }
        "test_command" => Expr::List(children(node).into_iter().map(|part| word(to, part)).collect()),
        _ => {
            lower(to, node);
            Expr::nothing()
        }
    })
}

fn redirected(to: &mut Builder<'_>, node: Node<'_>, mut input: Option<Expr>) -> Expr {
    let mut cursor = node.walk();
    let redirects: Vec<Node<'_>> = node.children_by_field_name("redirect", &mut cursor).collect();
    let mut output = None;
    for redirect in redirects {
        let text = to.text_of(redirect);
        match redirect.kind() {
            "file_redirect" => {
                let Some(to_where) = field(redirect, "destination").map(|target| word(to, target)) else { continue };
                match text.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('<') {
                    true => input = Some(to_where),
                    false => output = Some(to_where),
                }
            }
            _ => input = Some(Expr::List(children(redirect).into_iter().map(|part| word(to, part)).collect())),
        }
    }
    let given = field(node, "body").map(|body| run(to, body, input)).unwrap_or_default();
    match output {
        None => given,
        Some(file) => Expr::Call(Box::new(Call {
            callee: Expr::Name(format!("{PROGRAM}>")),
            args: Vec::new(),
            named: vec![(STDIN.to_owned(), given), (STDOUT.to_owned(), file)],
            line: to.line_of(node),
        })),
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
    let is_wrapper = |word: &Expr| matches!(word, Expr::Text(text) if WRAPPERS.contains(&text.as_str()));
    while words.len() > 1 && words.first().is_some_and(is_wrapper) {
        words.remove(0);
        while words.len() > 1 && matches!(words.first(), Some(Expr::Text(text)) if text.starts_with('-')) {
            words.remove(0);
        }
    }
    if words.is_empty() {
        return Expr::nothing();
    }
    let callee = match words.remove(0) {
        Expr::Text(text) if !text.starts_with('.') && !text.starts_with("/tmp") => {
            Expr::Name(format!("{PROGRAM}{}", text.rsplit('/').next().unwrap_or(&text)))
        }
        Expr::Text(text) => Expr::Name(format!("{PROGRAM}{text}")),
        other => Expr::Join(vec![Expr::Text(PROGRAM.to_owned()), other], ""),
    };
    let named = input.map(|input| (STDIN.to_owned(), input)).into_iter().collect();
    Expr::Call(Box::new(Call { callee, args: words, named, line: to.line_of(node) }))
}

fn word(to: &mut Builder<'_>, node: Node<'_>) -> Expr {
    to.deeper(|to| value(to, node))
}

fn value(to: &mut Builder<'_>, node: Node<'_>) -> Expr {
    let text = to.text_of(node);
    match node.kind() {
        "word" | "number" | "heredoc_body" if children(node).is_empty() => Expr::Text(unescaped(text)),
        "raw_string" => Expr::Text(text.trim_matches('\'').to_owned()),
        "ansi_c_string" => Expr::Text(unescaped(text.trim_start_matches('$').trim_matches('\''))),
        "string_content" | "variable_name" | "special_variable_name" => Expr::Text(text.to_owned()),
        "simple_expansion" => Expr::Name(text.to_owned()),
        "expansion" => {
            let name = text.trim_start_matches("${").trim_start_matches(['!', '#']);
            let name: String = name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let inner = children(node).into_iter().filter(|child| child.kind() != "variable_name");
            let mut parts: Vec<Expr> = inner.map(|child| word(to, child)).collect();
            parts.push(Expr::Name(format!("${name}")));
            Expr::List(parts)
        }
        "command_substitution" | "process_substitution" => {
            let parts: Vec<Expr> = children(node).into_iter().map(|child| run(to, child, None)).collect();
            Expr::List(parts)
        }
        "string" | "concatenation" | "translated_string" => {
            Expr::Join(children(node).into_iter().map(|child| word(to, child)).collect(), "")
        }
        "heredoc_body" | "array" | "word" => {
            Expr::List(children(node).into_iter().map(|child| word(to, child)).collect())
        }
        _ => Expr::List(children(node).into_iter().map(|child| word(to, child)).collect()),
    }
}
