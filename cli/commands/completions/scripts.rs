//! [`script`]: clap's completion scripts, which know commands and options, with a function that adds values.
//!
//! The function runs `skillhub completions -- WORDS`. Its output has only words without special characters, one in a line.

use clap::{Command, builder::Resettable};
use clap_complete::{Shell, generate};

/// Addition for bash, which completes file names where skillhub has no values. bash treats `@` as the start of a word.
const BASH: &str = r#"
_skillhub_with_values() {
    _skillhub "$@"
    local value values=()
    while IFS= read -r value; do
        values+=("$value")
    done < <(command skillhub completions -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    [[ $2 != @* ]] || values=("${values[@]/#*@/@}")
    [[ ${#values[@]} -eq 0 ]] || COMPREPLY=("${values[@]}")
}
"#;

/// Put before the end of the script for zsh.
const ZSH: &str = r#"(( $+functions[_skillhub_values] )) ||
_skillhub_values() {
    local -a values
    values=(${(f)"$(command skillhub completions -- "${(@Q)_skillhub_words}" 2>/dev/null)"})
    if (( $#values )); then compadd "$@" -a values; else _default "$@"; fi
}

"#;

/// The words before `_arguments` reduces them to those of a subcommand.
const ZSH_WORDS: &str = "    local -a _skillhub_words\n    _skillhub_words=(\"${(@)words[2,CURRENT]}\")\n";

/// Appended for fish.
const FISH: &str = r#"
function __skillhub_values
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    command skillhub completions -- $words[2..] "$last" 2>/dev/null
end

complete -c skillhub -a '(__skillhub_values)'
"#;

/// Makes the aliases of commands visible, so that their flags are completed as well.
fn show_aliases(command: &mut Command) {
    let names: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    for name in names {
        *command = std::mem::take(command).mut_subcommand(name, |below| {
            let aliases: Vec<String> = below.get_all_aliases().map(str::to_owned).collect();
            below.alias(Resettable::Reset).visible_aliases(aliases)
        });
    }
}

/// Returns the script for a shell. Shells other than bash, zsh and fish get commands and options only.
pub fn script(shell: Shell, command: &mut Command) -> String {
    let mut script = Vec::new();
    show_aliases(command);
    generate(shell, command, "skillhub", &mut script);
    let script = String::from_utf8_lossy(&script);
    match shell {
        Shell::Bash => script.replace("complete -F _skillhub ", "complete -F _skillhub_with_values ") + BASH,
        Shell::Zsh => {
            let (start, end) = ("    local ret=1\n", "if [ \"$funcstack[1]\" = \"_skillhub\" ]");
            let script = script.replacen(start, &format!("{start}{ZSH_WORDS}"), 1);
            script.replace(":_default'", ":_skillhub_values'").replacen(end, &format!("{ZSH}{end}"), 1)
        }
        Shell::Fish => {
            let line = |line: &str| match line.starts_with("complete ") && line.ends_with(" -r") {
                true => format!("{line} -a '(__skillhub_values)'\n"),
                false => format!("{line}\n"),
            };
            script.lines().map(line).collect::<String>() + FISH
        }
        _ => script.into_owned(),
    }
}
