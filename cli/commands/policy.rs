//! `skillhub policy` shows the rules for changes, and the file of each.

use clap::Args;
use serde_json::json;
use skill_manage::{Layer, Rule, Ruling};

use crate::{
    context::Context,
    exit::{CliError, Exit},
    print::{BAD, FAINT, GOOD, STRONG, WARN, visible},
};

/// Flags of `policy`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub policy                                the rules that apply here
  skillhub manage patch my-skill --find a --replace b --dry-run
                                                 what they mean for one change

To change the policy, edit `policy` and `[[rules]]` in config.toml (`skillhub where` shows the file).
/etc/skillhub/policy.toml, and a file that SKILLHUB_POLICY names, can only tighten it: the strictest
decision wins (apply, hold, deny). A project cannot set a policy.

  policy = \"balanced\"              preset: open, balanced or strict

  [[rules]]                        the first matching rule overrides the preset
  decision = \"hold\"                apply, hold or deny
  changes = [\"scripts\"]            text, scripts, allowed-tools, tool_schema, executables, evals,
                                   any
  actions = [\"write_file\"]         create, edit, patch, write_file, remove_file, delete, rollback;
                                   only if listed: install, update, adopt, uninstall
  actor = \"agent\"                  agent, optimizer, person, or an id such as agent:ci-*
  origin = \"installed\"             authored or installed
  skill = \"team-*\"
  verdict = \"warn\"                 scan verdict from which the rule matches: allow or warn
  why = \"scripts are reviewed\"     reason to show for a held or denied change")]
pub struct PolicyArgs {}

/// Prints the policy layers with their rules.
pub fn run(context: &Context, _args: &PolicyArgs) -> Result<Exit, CliError> {
    let policy = context.policy_of_actor()?;
    let layers: Vec<_> = policy.layers().iter().map(document).collect();
    context.out.answer(&json!({"ok": true, "layers": layers}), |out| {
        for layer in policy.layers() {
            writeln!(out, "{STRONG}{}{STRONG:#}", visible(&layer.file))?;
            for (at, rule) in layer.rules.iter().enumerate() {
                let style = match rule.decision {
                    Ruling::Apply => GOOD,
                    Ruling::Hold => WARN,
                    Ruling::Deny => BAD,
                };
                let word = json!(rule.decision);
                writeln!(
                    out,
                    "  {}. {style}{:<5}{style:#} {}",
                    at + 1,
                    word.as_str().unwrap_or_default(),
                    describe_conditions(rule)
                )?;
            }
            match layer.preset {
                Some(preset) if layer.rules.is_empty() => writeln!(out, "  {preset}")?,
                Some(preset) => writeln!(out, "  else {preset}")?,
                None => writeln!(out, "  {FAINT}no preset{FAINT:#}")?,
            }
        }
        Ok(())
    })
}

fn document(layer: &Layer) -> serde_json::Value {
    json!({"file": layer.file, "preset": layer.preset.map(|preset| preset.to_string()), "rules": layer.rules})
}

/// Formats the conditions of a rule in one line.
fn describe_conditions(rule: &Rule) -> String {
    let value = json!(rule);
    let conditions = value.as_object().into_iter().flatten().filter(|(key, _)| *key != "decision");
    let words: Vec<String> = conditions
        .map(|(key, value)| {
            let list =
                value.as_array().map(|list| list.iter().filter_map(|one| one.as_str()).collect::<Vec<_>>().join(", "));
            format!("{key}: {}", list.or_else(|| value.as_str().map(str::to_owned)).unwrap_or_default())
        })
        .collect();
    if words.is_empty() { "everything".to_owned() } else { visible(&words.join("; ")) }
}
