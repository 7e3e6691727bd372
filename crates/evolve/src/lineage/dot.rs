//! [`graph`]: a [`Lineage`] in the DOT language of Graphviz.

use super::{Lineage, Link, Node, Relation};

/// Returns the graph. An arrow points from a derived node to its source.
pub(super) fn graph(lineage: &Lineage) -> String {
    let mut nodes: Vec<&Node> = Vec::new();
    for node in lineage.links.iter().flat_map(|link| [&link.from, &link.to]) {
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    }
    let own = Node::Skill(lineage.name.clone());
    if !nodes.contains(&&own) {
        nodes.push(&own);
    }
    let mut text = format!("digraph {} {{\n  rankdir=LR;\n", quoted(&lineage.name));
    for node in nodes {
        let shape = match node {
            Node::Skill(_) => "box",
            Node::Release(_) => "ellipse",
        };
        text.push_str(&format!("  {} [shape={shape}, label={}];\n", quoted(&id(node)), quoted(&title(node))));
    }
    for Link { relation, from, to, number, .. } in &lineage.links {
        let label = number.map_or_else(|| relation.as_str().to_owned(), |n| format!("{} (r{n})", relation.as_str()));
        let style = if *relation == Relation::AbsorbedInto { ", style=dashed" } else { "" };
        text.push_str(&format!("  {} -> {} [label={}{style}];\n", quoted(&id(from)), quoted(&id(to)), quoted(&label)));
    }
    text.push_str("}\n");
    text
}

fn id(node: &Node) -> String {
    match node {
        Node::Skill(name) => format!("skill {name}"),
        Node::Release(release) => format!("release {} {}", release.name, release.digest),
    }
}

fn title(node: &Node) -> String {
    match node {
        Node::Skill(name) => name.clone(),
        Node::Release(release) => release.title(),
    }
}

/// Quotes a text for DOT, so that its content cannot end the string or act as a command.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_in_quotes() {
        assert_eq!(quoted("a\" -> \"b\\\n"), "\"a\\\" -> \\\"b\\\\ \"");
    }
}
