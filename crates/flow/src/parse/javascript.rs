//! Lowering of JavaScript, and of TypeScript as far as the syntax is the same, to a
//! [`Program`](super::program::Program).

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
        "function_declaration" | "generator_function_declaration" | "method_definition" => function(to, node),
        "variable_declarator" => {
            let name = field(node, "name").filter(|name| name.kind() == "identifier");
            let name = name.map_or("", |name| to.text_of(name)).to_owned();
            let given = field(node, "value").map(|given| named(to, given, name)).unwrap_or_default();
            if let Some(name) = field(node, "name") {
                bind(to, name, &given);
            }
        }
        "import_statement" => import(to, node),
        "interface_declaration" | "type_alias_declaration" => {}
        "return_statement" => {
            let given = Expr::List(all(to, node));
            to.step(Act::Return(given));
        }
        "for_in_statement" => {
            let given = field(node, "right").map(|given| expr(to, given)).unwrap_or_default();
            if let Some(left) = field(node, "left") {
                bind(to, left, &given);
            }
            field(node, "body").into_iter().for_each(|body| lower(to, body));
        }
        "expression_statement" | "throw_statement" | "parenthesized_expression" => {
            for child in children(node) {
                let given = expr(to, child);
                to.step(Act::Run(given));
            }
        }
        "field_definition" | "public_field_definition" => {
            let given = field(node, "value").map(|given| expr(to, given)).unwrap_or_default();
            let name = field(node, "property").or_else(|| field(node, "name")).map(|name| to.text_of(name).to_owned());
            to.set(name.into_iter().collect(), given);
        }
        _ => children(node).into_iter().for_each(|child| lower(to, child)),
    }
}

fn expr(to: &mut Builder<'_>, node: Node<'_>) -> Expr {
    to.deeper(|to| value(to, node))
}

fn all(to: &mut Builder<'_>, node: Node<'_>) -> Vec<Expr> {
    children(node).into_iter().map(|child| expr(to, child)).collect()
}

/// Lowers a function declaration to a scope of its own.
fn function(to: &mut Builder<'_>, node: Node<'_>) {
    let name = field(node, "name").map_or("", |name| to.text_of(name)).to_owned();
    let params = params_of(to, node);
    to.within(name, params, |to| {
        defaults(to, node);
        field(node, "body").into_iter().for_each(|body| lower(to, body));
    });
}

fn params_of(to: &mut Builder<'_>, node: Node<'_>) -> Vec<String> {
    match (field(node, "parameters"), field(node, "parameter")) {
        (Some(list), _) => children(list).into_iter().map(|param| names_in(to, param).join(",")).collect(),
        (None, Some(one)) => vec![to.text_of(one).to_owned()],
        (None, None) => Vec::new(),
    }
}

/// Sets parameters to their default values.
fn defaults(to: &mut Builder<'_>, function: Node<'_>) {
    for param in field(function, "parameters").map(children).unwrap_or_default() {
        if let Some(value) = field(param, "value").or_else(|| field(param, "right")) {
            let value = expr(to, value);
            let names = names_in(to, param);
            to.set(names, value);
        }
    }
}

/// Returns all names that a pattern sets.
fn names_in(to: &mut Builder<'_>, pattern: Node<'_>) -> Vec<String> {
    match pattern.kind() {
        "identifier" | "shorthand_property_identifier_pattern" => vec![to.text_of(pattern).to_owned()],
        "assignment_pattern" | "object_assignment_pattern" => {
            field(pattern, "left").map(|left| names_in(to, left)).unwrap_or_default()
        }
        "required_parameter" | "optional_parameter" => {
            field(pattern, "pattern").map(|inner| names_in(to, inner)).unwrap_or_default()
        }
        "type_annotation" => Vec::new(),
        "pair_pattern" => field(pattern, "value").map(|inner| names_in(to, inner)).unwrap_or_default(),
        _ => to.deeper(|to| children(pattern).into_iter().flat_map(|child| names_in(to, child)).collect()),
    }
}

/// Assigns a value to a pattern. Names in braces receive its members.
fn bind(to: &mut Builder<'_>, pattern: Node<'_>, given: &Expr) {
    match pattern.kind() {
        "object_pattern" => {
            for part in children(pattern) {
                let key = field(part, "key").unwrap_or(part);
                let key = field(key, "left").unwrap_or(key);
                let name = to.text_of(key).to_owned();
                let names = names_in(to, part);
                to.set(names, Expr::Attr(Box::new(given.clone()), name));
            }
        }
        "member_expression" => {
            let name = to.text_of(pattern).trim_start_matches("this.").to_owned();
            let base = name.split('.').next().unwrap_or(&name).to_owned();
            if let ("module.exports", Expr::Record(parts)) = (name.as_str(), given) {
                parts.iter().for_each(|(key, part)| to.set(vec![format!("{name}.{key}")], part.clone()));
            }
            match to.text_of(pattern).starts_with("this.") {
                true => to.set_shared(vec![name, base], given.clone()),
                false => to.set(vec![name, base], given.clone()),
            }
        }
        "subscript_expression" => {
            let base = field(pattern, "object").map(|object| to.text_of(object).to_owned());
            to.set(base.into_iter().collect(), given.clone());
        }
        _ => {
            let names = names_in(to, pattern);
            to.set(names, given.clone());
        }
    }
}

fn import(to: &mut Builder<'_>, node: Node<'_>) {
    let module = field(node, "source").map_or("", |source| to.text_of(source));
    let module = module.trim_matches(['"', '\'']).trim_start_matches("node:").to_owned();
    for clause in children(node).into_iter().filter(|child| child.kind() == "import_clause") {
        for part in children(clause) {
            match part.kind() {
                "named_imports" => {
                    for name in children(part) {
                        let full = field(name, "name").map_or("", |name| to.text_of(name)).to_owned();
                        let alias = field(name, "alias").map_or(full.clone(), |alias| to.text_of(alias).to_owned());
                        to.set(vec![alias], Expr::Name(format!("{module}.{full}")));
                    }
                }
                _ => {
                    let names = names_in(to, part);
                    to.set(names, Expr::Name(module.clone()));
                }
            }
        }
    }
}

fn value(to: &mut Builder<'_>, node: Node<'_>) -> Expr {
    match node.kind() {
        "identifier" | "shorthand_property_identifier" | "undefined" => Expr::Name(to.text_of(node).to_owned()),
        "string" => Expr::Text(unescaped(to.text_of(node).trim_matches(['"', '\'']))),
        "template_string" => template(to, node),
        "member_expression" => {
            let name = field(node, "property").map_or("", |name| to.text_of(name)).to_owned();
            match field(node, "object") {
                Some(object) if object.kind() == "this" => Expr::Name(name),
                Some(object) => Expr::Attr(Box::new(expr(to, object)), name),
                None => Expr::nothing(),
            }
        }
        "subscript_expression" => {
            let base = field(node, "object").map(|object| expr(to, object)).unwrap_or_default();
            let index = field(node, "index").map(|index| expr(to, index)).unwrap_or_default();
            Expr::Index(Box::new(base), Box::new(index))
        }
        "call_expression" | "new_expression" => call(to, node),
        "binary_expression" => binary(to, node),
        "object" => Expr::Record(children(node).into_iter().map(|pair| entry(to, pair)).collect()),
        "assignment_expression" | "augmented_assignment_expression" => {
            let name = field(node, "left").map_or("", |left| to.text_of(left)).to_owned();
            let name = name.rsplit('.').next().unwrap_or("").to_owned();
            let given = field(node, "right").map(|given| named(to, given, name)).unwrap_or_default();
            match field(node, "left") {
                Some(left) if left.kind() == "identifier" => to.change(to.text_of(left).to_owned(), given.clone()),
                Some(left) => bind(to, left, &given),
                None => {}
            }
            given
        }
        "arrow_function" | "function_expression" | "generator_function" => closure(to, node, String::new()),
        "as_expression" | "satisfies_expression" | "non_null_expression" => {
            children(node).first().map(|inner| expr(to, *inner)).unwrap_or_default()
        }
        "number" => Expr::Text(to.text_of(node).to_owned()),
        "true" | "false" | "null" | "regex" => Expr::nothing(),
        "class" => {
            lower(to, node);
            Expr::nothing()
        }
        _ => Expr::List(all(to, node)),
    }
}

/// Lowers a value that is assigned to a name. An anonymous function takes that name.
fn named(to: &mut Builder<'_>, node: Node<'_>, name: String) -> Expr {
    match node.kind() {
        "arrow_function" | "function_expression" | "generator_function" => to.deeper(|to| closure(to, node, name)),
        _ => expr(to, node),
    }
}

/// Lowers a function expression. Its value is the function's result.
fn closure(to: &mut Builder<'_>, node: Node<'_>, name: String) -> Expr {
    let body = field(node, "body").filter(|body| body.kind() != "statement_block");
    let params = params_of(to, node);
    let mut given = Expr::nothing();
    let scope = to.within(name, params, |to| match body {
        Some(body) => {
            defaults(to, node);
            let size = to.program.size;
            given = expr(to, body);
            to.program.size = to.program.size.saturating_add(to.program.size - size);
            to.step(Act::Return(given.clone()));
        }
        None => {
            defaults(to, node);
            field(node, "body").into_iter().for_each(|body| lower(to, body));
        }
    });
    Expr::Inside(scope, Box::new(given))
}

fn template(to: &mut Builder<'_>, node: Node<'_>) -> Expr {
    let part = |to: &mut Builder<'_>, child: Node<'_>| match child.kind() {
        "template_substitution" => Expr::List(all(to, child)),
        _ => Expr::Text(unescaped(to.text_of(child))),
    };
    Expr::Join(children(node).into_iter().map(|child| part(to, child)).collect(), "")
}

fn entry(to: &mut Builder<'_>, pair: Node<'_>) -> (String, Expr) {
    match (field(pair, "key"), field(pair, "value")) {
        (Some(key), Some(given)) => (to.text_of(key).trim_matches(['"', '\'']).to_owned(), expr(to, given)),
        _ if pair.kind() == "shorthand_property_identifier" => (to.text_of(pair).to_owned(), expr(to, pair)),
        _ if pair.kind() == "method_definition" => {
            function(to, pair);
            (String::new(), Expr::nothing())
        }
        _ => (String::new(), Expr::List(all(to, pair))),
    }
}

/// Maximum size of a call whose result is passed to its function arguments.
const HANDED: usize = 400;

/// Lowers a call and passes its result to the functions among its arguments.
fn call(to: &mut Builder<'_>, node: Node<'_>) -> Expr {
    let size = to.program.size;
    let callee = field(node, "function").or_else(|| field(node, "constructor"));
    let callee = callee.map(|callee| expr(to, callee)).unwrap_or_default();
    let list = match field(node, "arguments") {
        Some(template) if template.kind() == "template_string" => vec![template],
        arguments => arguments.map(children).unwrap_or_default(),
    };
    let is_function = |node: &Node<'_>| matches!(node.kind(), "arrow_function" | "function_expression");
    let mut args: Vec<Expr> = list.iter().filter(|arg| !is_function(arg)).map(|arg| expr(to, *arg)).collect();
    let line = to.line_of(node);
    let functions: Vec<&Node<'_>> = list.iter().filter(|arg| is_function(arg)).collect();
    let is_small = to.program.size - size < HANDED;
    let handed = (!functions.is_empty() && is_small)
        .then(|| Expr::Call(Box::new(Call { callee: callee.clone(), args: args.clone(), named: Vec::new(), line })));
    for argument in functions {
        let before = to.program.scopes.len();
        args.push(expr(to, *argument));
        if let Some(scope) = to.program.scopes.get(before) {
            let names: Vec<String> =
                scope.params.iter().flat_map(|param| param.split(',')).map(str::to_owned).collect();
            to.set_in(before, names, handed.clone().unwrap_or_default());
        }
    }
    embedded::with_scripts(to, Call { callee, args, named: Vec::new(), line }, Language::JavaScript)
}

/// Lowers a chain of operators iteratively, without recursion per operator.
fn binary(to: &mut Builder<'_>, node: Node<'_>) -> Expr {
    let (operator, parts) = operands(node);
    let parts = parts.into_iter().map(|part| expr(to, part)).collect();
    if operator == "+" { Expr::Join(parts, "") } else { Expr::List(parts) }
}
