//! The command that installs a skill for the visitor's agent ([`install`]).

use library::agents;
use maud::{Markup, html};
use registry_index::Entry;

use super::visitor::Visitor;

/// Placeholder for the agent's id in the command that the script completes.
const PLACEHOLDER: &str = "AGENT";

/// Renders the command and a menu of agents. Without scripts, the menu is a form that reloads the page.
pub fn install(visitor: &Visitor, entry: &Entry, is_newest: bool) -> Markup {
    let texts = visitor.texts;
    let version = if is_newest { String::new() } else { format!("@{}", entry.version) };
    let line =
        |agent: &str| format!("skillhub --registry {} install {}{version} --agent {agent}", visitor.base, entry.name);
    let chosen = visitor.agent.map_or("claude-code", |agent| agent.id);
    html! {
        section.install aria-labelledby="install" {
            h2 #install { (texts.install) }
            form.agent method="get" action={ "/" (entry.name) } {
                @if !is_newest { input type="hidden" name="version" value=(entry.version); }
                label for="agent" { (texts.for_agent) }
                select #agent name="agent" data-agents {
                    @for agent in agents() { option value=(agent.id) selected[agent.id == chosen] { (agent.name) } }
                }
                button.without-script { (texts.show) }
            }
            div.copied {
                pre tabindex="0" { code #line data-line=(line(PLACEHOLDER)) { (line(chosen)) } }
                button.with-script type="button" hidden data-copy="line" data-done=(texts.copied) { (texts.copy) }
            }
        }
    }
}
