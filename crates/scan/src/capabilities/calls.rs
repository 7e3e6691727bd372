//! Extraction of capabilities from source code in any language ([`read`]): calls that run programs, read variables or
//! access files.

use super::{COMPUTED, Collector, Kind, Piece, WHOLE_ENVIRONMENT, lines::Lines, paths, privileges};

/// Maximum number of bytes examined in an argument.
const ARGUMENT: usize = 256;

/// Calls whose first argument is a command, or a list that begins with one.
const COMMANDS: [&str; 22] = [
    "subprocess.run(", "subprocess.Popen(", "subprocess.call(", "subprocess.check_output(", "subprocess.check_call(",
    "subprocess.getoutput(", "create_subprocess_exec(", "create_subprocess_shell(", "os.system(", "os.popen(",
    "execSync(", "execFile(", "execFileSync(", "spawn(", "spawnSync(", "child_process.exec(", "exec.Command(",
    "Command::new(", "shell_exec(", "proc_open(", "Process.Start(", "ProcessBuilder(",
];

/// Expressions followed by the name of an environment variable, either quoted or as a bare word.
const VARIABLES: [&str; 14] = [
    "environ[", "environ.get(", "environ.pop(", "getenv(", "process.env.", "process.env[", "Deno.env.get(",
    "import.meta.env.", "ENV[", "ENV.fetch(", "os.Getenv(", "os.LookupEnv(", "env::var(", "$env:",
];

/// Expressions that copy or serialise the whole environment.
const WHOLE: [&str; 9] = [
    "os.environ.items", "os.environ.copy", "dict(os.environ", "dumps(os.environ", "**os.environ",
    "JSON.stringify(process.env", "Object.entries(process.env", "Object.keys(process.env", "...process.env",
];

/// Calls that write to the file in their first argument.
const WRITES: [&str; 5] = ["writeFile(", "writeFileSync(", "appendFile(", "appendFileSync(", "createWriteStream("];

/// Calls that read the file in their first argument.
const READS: [&str; 4] = ["readFile(", "readFileSync(", "createReadStream(", "read_csv("];

/// The first argument of a call.
enum Argument<'a> {
    /// A string literal: its contents, and the text after its closing quote.
    Literal(&'a str, &'a str),
    Computed,
    None,
}

/// Records the capabilities that the calls in a piece need.
pub(super) fn read(piece: &Piece<'_>, found: &mut Collector) {
    let lines = Lines::new(piece);
    for needle in COMMANDS {
        lines.each(needle, |rest, spot| match argument(rest) {
            Argument::Literal(text, _) if text.starts_with('-') => {}
            Argument::Literal(text, _) => {
                let first = text.split_whitespace().next().unwrap_or_default();
                let name = first.rsplit('/').next().filter(|_| first.starts_with('/')).unwrap_or(first);
                found.add(Kind::Command, if name.contains(['{', '$']) { COMPUTED } else { name }, spot);
                let words = words(text, rest);
                privileges::note(words.first().copied().unwrap_or_default(), words.into_iter().skip(1), spot, found);
            }
            Argument::Computed => found.add(Kind::Command, COMPUTED, spot),
            Argument::None => {}
        });
    }
    for needle in VARIABLES {
        lines.each(needle, |rest, spot| {
            let is_word = needle.ends_with(['.', ':']);
            let name = match argument(rest) {
                _ if is_word => word(rest),
                Argument::Literal(name, _) => name,
                Argument::Computed => COMPUTED,
                Argument::None => "",
            };
            found.add(Kind::Variable, name, spot);
        });
    }
    for needle in WHOLE {
        lines.each(needle, |_, spot| found.add(Kind::Variable, WHOLE_ENVIRONMENT, spot));
    }
    for (needles, kind) in [(&WRITES[..], Kind::Write), (&READS[..], Kind::Read)] {
        for needle in needles {
            lines.each(needle, |rest, spot| {
                if let Argument::Literal(path, _) = argument(rest) {
                    paths::add(found, kind, path, spot);
                }
            });
        }
    }
    privileges::of_calls(piece, &lines, found);
    lines.each("open(", |rest, spot| {
        if let Argument::Literal(path, after) = argument(rest) {
            paths::add(found, if opens_to_write(after) { Kind::Write } else { Kind::Read }, path, spot);
        }
    });
}

/// Splits a command into words. A literal without spaces begins a list, whose other literals are the arguments.
fn words<'a>(first: &'a str, rest: &'a str) -> Vec<&'a str> {
    let call = rest.get(..rest.find([')', '\n']).unwrap_or(rest.len()).min(ARGUMENT)).unwrap_or_default();
    match first.contains(char::is_whitespace) {
        true => first.split_whitespace().collect(),
        false => call.split(['"', '\'', '`']).skip(1).step_by(2).collect(),
    }
}

/// Parses the first argument of a call. For a list, this is its first element.
fn argument(rest: &str) -> Argument<'_> {
    let rest = rest.trim_start().trim_start_matches(['[', '{']).trim_start();
    let quoted = rest.trim_start_matches(['f', 'r', 'b', 'F', 'R', 'B']);
    let Some(quote) = quoted.chars().next().filter(|c| matches!(c, '"' | '\'' | '`')) else {
        let is_named = rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '*' | '&' | '$'));
        return if is_named { Argument::Computed } else { Argument::None };
    };
    let inner = quoted.get(1..).unwrap_or_default();
    match inner.char_indices().take(ARGUMENT).find(|(_, c)| *c == quote) {
        Some((end, _)) => {
            Argument::Literal(inner.get(..end).unwrap_or_default(), inner.get(end + 1..).unwrap_or_default())
        }
        None => Argument::Computed,
    }
}

fn word(rest: &str) -> &str {
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    rest.get(..end).unwrap_or_default()
}

/// Returns true if the second argument of `open` is a mode for writing.
fn opens_to_write(after: &str) -> bool {
    let Some(mode) = after.trim_start().strip_prefix(',') else { return false };
    let mode = mode.trim_start().trim_start_matches("mode").trim_start().trim_start_matches('=').trim_start();
    let mode: String = mode.chars().skip(1).take_while(|c| c.is_ascii_alphabetic() || *c == '+').take(4).collect();
    !mode.is_empty() && mode.contains(['w', 'a', 'x', '+'])
}
