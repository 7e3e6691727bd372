//! Lowering of Python to a [`Program`](super::program::Program).

use tree_sitter::Node;

use super::embedded;
use crate::{
    language::Language,
    program::{Act, Builder, Call, Expr, children, field, operands, unescaped},
};

/// Adds the statements below a node.
pub(super) fn lower(to: &mut Builder<'_>, node: Node<'_>) {
    to.statement(node, |to| statement(to, node));
}

fn statement(to: &mut Builder<'_>, node: Node<'_>) {
    match node.kind() {
        "function_definition" => {
            let name = field(node, "name").map_or("", |name| to.text_of(name)).to_owned();
            let around = own_of(to, node).map(|own| to.own.replace(own));
            let params = field(node, "parameters").map(|params| params_of(to, params)).unwrap_or_default();
            to.within(name, params, |to| {
                defaults(to, node);
                each(to, field(node, "body"));
            });
            if let Some(around) = around {
                to.own = around;
            }
        }
        "class_definition" => {
            if let Some(name) = field(node, "name").map(|name| to.text_of(name).to_owned()) {
                to.classes.insert(name);
            }
            each(to, Some(node));
        }
        "for_statement" => {
            binding(to, node);
            each(to, field(node, "body"));
        }
        "with_item" => {
            let value = field(node, "value").map(|value| expr(to, value)).unwrap_or_default();
            to.step(Act::Run(value));
        }
        "import_statement" => imports(to, node, ""),
        "import_from_statement" => {
            let module = field(node, "module_name").map_or("", |name| to.text_of(name)).to_owned();
            imports(to, node, &module);
        }
        "return_statement" => {
            let value = Expr::List(children(node).into_iter().map(|child| expr(to, child)).collect());
            to.step(Act::Return(value));
        }
        "expression_statement" | "delete_statement" | "raise_statement" | "assert_statement" => {
            for child in children(node) {
                let value = expr(to, child);
                to.step(Act::Run(value));
            }
        }
        "if_statement" | "while_statement" | "elif_clause" | "match_statement" | "with_statement" => {
            for name in ["condition", "subject"] {
                if let Some(value) = field(node, name).map(|value| expr(to, value)) {
                    to.step(Act::Run(value));
                }
            }
            each(to, Some(node));
        }
        _ => each(to, Some(node)),
    }
}

fn each(to: &mut Builder<'_>, node: Option<Node<'_>>) {
    for child in node.map(children).unwrap_or_default() {
        lower(to, child);
    }
}

fn params_of(to: &Builder<'_>, params: Node<'_>) -> Vec<String> {
    let name = |param: Node<'_>| {
        let named = field(param, "name").or_else(|| children(param).into_iter().next()).unwrap_or(param);
        to.text_of(named).trim_start_matches('*').to_owned()
    };
    children(params).into_iter().map(name).filter(|name| !is_own(to, name)).collect()
}

/// Returns the name of a method's parameter for its own object, usually `self`.
fn own_of(to: &Builder<'_>, function: Node<'_>) -> Option<String> {
    let parent = function.parent()?;
    let (around, is_static) = match parent.kind() {
        "decorated_definition" => (parent.parent()?, to.text_of(parent).contains("@staticmethod")),
        _ => (parent, false),
    };
    let is_method = !is_static && around.parent().is_some_and(|class| class.kind() == "class_definition");
    let first = field(function, "parameters").map(children).unwrap_or_default().into_iter().next()?;
    (is_method && first.kind() == "identifier").then(|| to.text_of(first).to_owned())
}

/// Returns whether a name refers to the object or the class that contains the current code.
fn is_own(to: &Builder<'_>, name: &str) -> bool {
    matches!(name, "self" | "cls") || to.own.as_deref() == Some(name)
}

/// Returns the member of `self.member`, or of `Class.member` for a class of the program.
fn part_of_own<'n>(to: &Builder<'_>, name: &'n str) -> Option<&'n str> {
    let (object, part) = name.split_once('.')?;
    is_owner(to, object).then_some(part)
}

/// Returns whether a name refers to the current object, or to a class of the program.
fn is_owner(to: &Builder<'_>, name: &str) -> bool {
    is_own(to, name) || to.classes.contains(name)
}

/// Sets parameters to their default values.
fn defaults(to: &mut Builder<'_>, function: Node<'_>) {
    for param in field(function, "parameters").map(children).unwrap_or_default() {
        if let (Some(name), Some(value)) = (field(param, "name"), field(param, "value")) {
            let value = expr(to, value);
            to.set(vec![to.text_of(name).to_owned()], value);
        }
    }
}

/// Lowers `import a as b` and `from a import b as c`.
fn imports(to: &mut Builder<'_>, node: Node<'_>, module: &str) {
    let mut cursor = node.walk();
    let names: Vec<Node<'_>> = node.children_by_field_name("name", &mut cursor).collect();
    for name in names {
        let full = field(name, "name").unwrap_or(name);
        let full =
            if module.is_empty() { to.text_of(full).to_owned() } else { format!("{module}.{}", to.text_of(full)) };
        match field(name, "alias") {
            Some(alias) => to.set(vec![to.text_of(alias).to_owned()], Expr::Name(full)),
            None if !module.is_empty() => to.set(vec![to.text_of(name).to_owned()], Expr::Name(full)),
            None => {}
        }
    }
}

/// Assigns the `right` of a node to its `left`.
fn binding(to: &mut Builder<'_>, node: Node<'_>) {
    let value = field(node, "right").map(|right| expr(to, right)).unwrap_or_default();
    if let Some(left) = field(node, "left") {
        assign(to, left, value);
    }
}

fn assign(to: &mut Builder<'_>, left: Node<'_>, value: Expr) {
    let names = targets(to, left);
    let around = wrapped(&value);
    if let ([name], false) = (names.as_slice(), around.is_empty()) {
        to.set(around, Expr::Name(name.clone()));
    }
    match part_of_own(to, to.text_of(left)) {
        Some(_) => to.set_shared(names, value),
        None => to.set(names, value),
    }
}

/// Returns the buffers that a call wraps in an archive or a writer.
fn wrapped(value: &Expr) -> Vec<String> {
    let Expr::Call(call) = value else { return Vec::new() };
    let (Expr::Attr(_, name) | Expr::Name(name)) = &call.callee else { return Vec::new() };
    let is_wrapper =
        matches!(name.as_str(), "ZipFile" | "GzipFile" | "TextIOWrapper" | "BufferedWriter" | "writer" | "DictWriter");
    let given = call.args.iter().filter(|_| is_wrapper);
    let given = given.chain(call.named.iter().filter(|(name, _)| name == "fileobj").map(|(_, arg)| arg));
    given.filter_map(|arg| if let Expr::Name(name) = arg { Some(name.clone()) } else { None }).collect()
}

/// Returns the names that a pattern sets. Assigning to an element sets its container, too.
fn targets(to: &mut Builder<'_>, left: Node<'_>) -> Vec<String> {
    match left.kind() {
        "identifier" => vec![to.text_of(left).to_owned()],
        "attribute" => {
            let name = to.text_of(left);
            vec![part_of_own(to, name).unwrap_or(name).to_owned()]
        }
        "subscript" => field(left, "value").map(|value| targets(to, value)).unwrap_or_default(),
        _ => to.deeper(|to| children(left).into_iter().flat_map(|child| targets(to, child)).collect()),
    }
}

fn expr(to: &mut Builder<'_>, node: Node<'_>) -> Expr {
    to.deeper(|to| value(to, node))
}

fn all(to: &mut Builder<'_>, node: Node<'_>) -> Vec<Expr> {
    children(node).into_iter().map(|child| expr(to, child)).collect()
}

fn value(to: &mut Builder<'_>, node: Node<'_>) -> Expr {
    match node.kind() {
        "identifier" => Expr::Name(to.text_of(node).to_owned()),
        "string" => string(to, node),
        "concatenated_string" => Expr::Join(all(to, node), ""),
        "interpolation" => field(node, "expression").map(|inner| expr(to, inner)).unwrap_or_default(),
        "attribute" => {
            let name = field(node, "attribute").map_or("", |name| to.text_of(name)).to_owned();
            match field(node, "object") {
                Some(object) if is_owner(to, to.text_of(object)) => Expr::Name(name),
                Some(object) => Expr::Attr(Box::new(expr(to, object)), name),
                None => Expr::nothing(),
            }
        }
        "subscript" => {
            let base = field(node, "value").map(|base| expr(to, base)).unwrap_or_default();
            match field(node, "subscript") {
                Some(index) if index.kind() == "slice" && to.text_of(index).replace(' ', "") == "::-1" => {
                    Expr::Reversed(Box::new(base))
                }
                Some(index) if index.kind() == "slice" => base,
                Some(index) => Expr::Index(Box::new(base), Box::new(expr(to, index))),
                None => base,
            }
        }
        "call" => call(to, node),
        "binary_operator" => binary(to, node),
        "dictionary" => Expr::Record(children(node).into_iter().map(|pair| entry(to, pair)).collect()),
        "assignment" | "augmented_assignment" => {
            binding(to, node);
            Expr::nothing()
        }
        "named_expression" => {
            let given = field(node, "value").map(|given| expr(to, given)).unwrap_or_default();
            if let Some(name) = field(node, "name") {
                assign(to, name, given.clone());
            }
            given
        }
        "as_pattern" => {
            let parts = children(node);
            let given = parts.first().map(|first| expr(to, *first)).unwrap_or_default();
            if let Some(name) = field(node, "alias") {
                assign(to, name, given.clone());
            }
            given
        }
        "list_comprehension" | "set_comprehension" | "generator_expression" | "dictionary_comprehension" => {
            children(node)
                .into_iter()
                .filter(|child| child.kind() == "for_in_clause")
                .for_each(|part| binding(to, part));
            field(node, "body").map(|body| expr(to, body)).unwrap_or_default()
        }
        "pair" => {
            let (_, given) = entry(to, node);
            given
        }
        "yield" => {
            let given = Expr::List(all(to, node));
            to.step(Act::Return(given));
            Expr::nothing()
        }
        "lambda" => field(node, "body").map(|body| expr(to, body)).unwrap_or_default(),
        "integer" => Expr::Text(to.text_of(node).to_owned()),
        "type" | "float" | "none" | "true" | "false" => Expr::nothing(),
        _ => Expr::List(all(to, node)),
    }
}

fn string(to: &mut Builder<'_>, node: Node<'_>) -> Expr {
    let start = to.text_of(node);
    let prefix: String = start.chars().take_while(char::is_ascii_alphabetic).collect();
    let raw = prefix.to_ascii_lowercase().contains('r');
    let part = |to: &mut Builder<'_>, child: Node<'_>| match child.kind() {
        "string_content" => {
            let text = to.text_of(child);
            Some(Expr::Text(if raw { text.to_owned() } else { unescaped(text) }))
        }
        "interpolation" => Some(expr(to, child)),
        _ => None,
    };
    let mut parts: Vec<Expr> = children(node).into_iter().filter_map(|child| part(to, child)).collect();
    match parts.len() {
        0 => Expr::Text(String::new()),
        1 => parts.remove(0),
        _ => Expr::Join(parts, ""),
    }
}

fn call(to: &mut Builder<'_>, node: Node<'_>) -> Expr {
    let callee = field(node, "function").map(|function| expr(to, function)).unwrap_or_default();
    let (mut args, mut named) = (Vec::new(), Vec::new());
    match field(node, "arguments") {
        Some(list) if list.kind() == "argument_list" => {
            for argument in children(list) {
                if argument.kind() == "keyword_argument" {
                    let name = field(argument, "name").map_or("", |name| to.text_of(name)).to_owned();
                    named.push((name, field(argument, "value").map(|given| expr(to, given)).unwrap_or_default()));
                } else {
                    args.push(expr(to, argument));
                }
            }
        }
        Some(other) => args.push(expr(to, other)),
        None => {}
    }
    embedded::with_scripts(to, Call { callee, args, named, line: to.line_of(node) }, Language::Python)
}

/// Lowers a chain of operators iteratively, without recursion per operator.
fn binary(to: &mut Builder<'_>, node: Node<'_>) -> Expr {
    let (operator, parts) = operands(node);
    Expr::Join(parts.into_iter().map(|part| expr(to, part)).collect(), if operator == "/" { "/" } else { "" })
}

fn entry(to: &mut Builder<'_>, pair: Node<'_>) -> (String, Expr) {
    match (field(pair, "key"), field(pair, "value")) {
        (Some(key), Some(given)) => {
            let key = to.text_of(key).trim_matches(['"', '\'']).to_owned();
            (key, expr(to, given))
        }
        _ => (String::new(), expr_of_splat(to, pair)),
    }
}

fn expr_of_splat(to: &mut Builder<'_>, node: Node<'_>) -> Expr {
    Expr::List(all(to, node))
}
