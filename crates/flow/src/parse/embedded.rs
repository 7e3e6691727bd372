//! [`with_scripts`]: lowering of scripts that a program passes as strings to a shell or another interpreter.

use super::shell;
use crate::{
    language::Language,
    program::{Builder, Call, Expr},
};

/// Functions that run a command line, by the last part of their names.
const COMMANDS: &[&str] = &[
    "run", "call", "check_call", "check_output", "Popen", "system", "popen", "getoutput", "getstatusoutput",
    "create_subprocess_shell", "create_subprocess_exec", "execvp", "execv", "execlp", "execl", "spawnlp", "spawnvp",
    "exec", "execSync", "execAsync", "execPromise", "spawn", "spawnSync", "execFile", "execFileSync", "execa",
    "execaSync", "execaCommand", "$",
];

/// Functions that evaluate a string in the language of the caller.
const CODE: &[&str] =
    &["eval", "exec", "Function", "runInThisContext", "runInNewContext", "runInContext", "compile", "setTimeout"];

/// Functions that write their argument to a file.
const WRITERS: &[&str] =
    &["write", "write_text", "writelines", "writeFile", "writeFileSync", "appendFile", "appendFileSync"];

/// Number of arguments that are searched for a script.
const ARGUMENTS: usize = 3;

/// Lowers a call together with the scripts among its arguments.
pub(super) fn with_scripts(to: &mut Builder<'_>, call: Call, language: Language) -> Expr {
    let name = match &call.callee {
        Expr::Attr(_, name) => name.as_str(),
        Expr::Name(name) => name.rsplit('.').next().unwrap_or(name),
        _ => "",
    };
    let is = |names: &[&str]| names.contains(&name);
    let mut found = Vec::new();
    if is(COMMANDS) {
        found.extend(command(to, &call));
    }
    if is(CODE)
        && let Some(text) = call.args.first().and_then(|arg| to.script_of(arg))
    {
        found.push(language.embed(to, &text, call.line));
    }
    if is(WRITERS) {
        found.extend(written(to, &call));
    }
    let call = Expr::Call(Box::new(call));
    if found.is_empty() {
        return call;
    }
    found.insert(0, call);
    Expr::List(found)
}

/// Lowers a command line, given as one string or as a list of words.
fn command(to: &mut Builder<'_>, call: &Call) -> Option<Expr> {
    let given = call.args.first().or_else(|| call.named.iter().find(|(name, _)| name == "args").map(|(_, arg)| arg))?;
    let known = to.known(given).unwrap_or_else(|| given.clone());
    let words = match (&known, call.args.get(1)) {
        (Expr::List(words), _) if words.len() > 1 => words.clone(),
        (first, Some(Expr::List(rest))) => [first.clone()].into_iter().chain(rest.iter().cloned()).collect(),
        (Expr::Text(first), Some(Expr::Text(second))) if !first.contains(' ') => {
            let rest = call.args.iter().skip(1).cloned();
            let _ = second;
            [Expr::Text(first.clone())].into_iter().chain(rest).collect()
        }
        _ => {
            let text = to.script_of(&known)?;
            let text = if text.contains("${__") { text.replace('\'', "\"") } else { text };
            return Some(Language::Shell.embed(to, &text, call.line));
        }
    };
    let words = words.into_iter().map(interpreter).collect();
    let input = call.named.iter().find(|(name, _)| name == "input").map(|(_, input)| input.clone());
    Some(shell::called(to, words, input, call.line))
}

/// Lowers a script that is written to a file, if its first line indicates the language.
fn written(to: &mut Builder<'_>, call: &Call) -> Option<Expr> {
    call.args.iter().take(ARGUMENTS).find_map(|arg| {
        let text = to.script_of(arg)?;
        let text = text.trim_start();
        let language = Language::of_file("", text)?;
        Some(language.embed(to, text, call.line))
    })
}

/// Replaces an expression for the current interpreter, such as `sys.executable`, with its usual name.
fn interpreter(word: Expr) -> Expr {
    match &word {
        Expr::Attr(base, name) => match (base.as_ref(), name.as_str()) {
            (Expr::Name(module), "executable") if module == "sys" => Expr::Text("python3".to_owned()),
            (Expr::Name(module), "execPath" | "argv0") if module == "process" => Expr::Text("node".to_owned()),
            _ => word,
        },
        _ => word,
    }
}
