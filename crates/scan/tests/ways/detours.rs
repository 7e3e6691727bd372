//! Indirections in scripts: aliased names, concatenated strings, and programs called in other ways.

use super::{Language, Skill, with_code};

/// Returns the ranges of a script's string literals, with their quotation marks. Only literals on one line without
/// prefix or escapes are included.
fn literals(text: &str, comment: &str) -> Vec<std::ops::Range<usize>> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(next) = text[at..].find(['"', '\'', '`', '\n']).map(|next| at + next) {
        let line = text[..next].rfind('\n').map_or(0, |end| end + 1);
        let quote = &text[next..=next];
        if quote == "\n" || text[line..next].trim_start().starts_with(comment) {
            at = next + 1;
            continue;
        }
        let triple = quote.repeat(3);
        if text[next..].starts_with(&triple) || quote == "`" {
            let mark = if quote == "`" { quote } else { &triple };
            at = text[next + mark.len()..].find(mark).map_or(text.len(), |end| next + end + 2 * mark.len());
            continue;
        }
        let end = text[next + 1..].find([quote.chars().next().unwrap(), '\n']).map(|end| next + 1 + end);
        let Some(end) = end.filter(|end| text[*end..].starts_with(quote)) else {
            at = next + 1;
            continue;
        };
        let inner = &text[next + 1..end];
        let is_free = !text[..next].ends_with(|c: char| c.is_alphanumeric());
        if is_free && inner.len() > 3 && inner.is_ascii() && !inner.contains(['\\', '"', '\'', '{', '$']) {
            found.push(next..end + 1);
        }
        at = end + 1;
    }
    found
}

/// Rewrites the string literals of a script.
pub fn with_literals(text: &str, comment: &str, say: impl Fn(&str, usize) -> String) -> String {
    let (mut copy, mut at) = (String::new(), 0);
    for (number, range) in literals(text, comment).into_iter().enumerate() {
        let is_key = text[range.end..].trim_start().starts_with(':');
        let is_from = text[..range.start].trim_end().ends_with("from");
        copy.push_str(&text[at..range.start]);
        let inner = &text[range.start + 1..range.end - 1];
        copy.push_str(&if is_key || is_from { text[range.clone()].to_owned() } else { say(inner, number) });
        at = range.end;
    }
    copy + &text[at..]
}

fn numbers(text: &str) -> String {
    text.bytes().map(|byte| byte.to_string()).collect::<Vec<_>>().join(", ")
}

const MODULES: [&str; 7] = ["os", "subprocess", "requests", "base64", "shutil", "socket", "urllib.request"];

fn python(text: &str, how: &str) -> String {
    let literals = |say: &dyn Fn(&str, &str) -> String| {
        with_literals(text, "#", |inner, _| say(&inner[..inner.len() / 2], &inner[inner.len() / 2..]))
    };
    match how {
        "sum" => literals(&|a, b| format!("('{a}' + '{b}')")),
        "beside" => literals(&|a, b| format!("('{a}' '{b}')")),
        "join" => literals(&|a, b| format!("''.join(['{a}', '{b}'])")),
        "percent" => literals(&|a, b| format!("('%s%s' % ('{a}', '{b}'))")),
        "format" => literals(&|a, b| format!("'{{}}{{}}'.format('{a}', '{b}')")),
        "replace" => literals(&|a, b| format!("'{a}QZ{b}'.replace('QZ', '')")),
        "turned" => literals(&|a, b| format!("'{}'[::-1]", format!("{a}{b}").chars().rev().collect::<String>())),
        "letters" => literals(&|a, b| format!("''.join(chr(c) for c in [{}])", numbers(&format!("{a}{b}")))),
        "variables" => {
            let mut head = String::new();
            for (n, range) in self::literals(text, "#").into_iter().enumerate() {
                let inner = &text[range.start + 1..range.end - 1];
                let (a, b) = inner.split_at(inner.len() / 2);
                head.push_str(&format!("a{n}_ = '{a}'\nb{n}_ = '{b}'\n"));
            }
            head + &with_literals(text, "#", |_, n| format!("(a{n}_ + b{n}_)"))
        }
        "alias" => MODULES.iter().enumerate().fold(text.to_owned(), |text, (n, module)| {
            let is_there = text.lines().any(|line| line.trim() == format!("import {module}"));
            if !is_there {
                return text;
            }
            text.replace(&format!("import {module}\n"), &format!("import {module} as m{n}_\n"))
                .replace(&format!("{module}."), &format!("m{n}_."))
        }),
        _ => ["system", "run", "Popen", "post", "get", "urlopen", "b64decode", "environ"].iter().fold(
            text.to_owned(),
            |text, name| {
                MODULES.iter().fold(text, |text, module| {
                    let (a, b) = name.split_at(2);
                    text.replace(&format!("{module}.{name}("), &format!("getattr({module}, '{a}' + '{b}')("))
                })
            },
        ),
    }
}

fn javascript(text: &str, how: &str) -> String {
    let literals = |say: &dyn Fn(&str, &str) -> String| {
        with_literals(text, "//", |inner, _| say(&inner[..inner.len() / 2], &inner[inner.len() / 2..]))
    };
    match how {
        "sum" => literals(&|a, b| format!("('{a}' + '{b}')")),
        "join" => literals(&|a, b| format!("['{a}', '{b}'].join('')")),
        "turned" => literals(&|a, b| {
            format!("'{}'.split('').reverse().join('')", format!("{a}{b}").chars().rev().collect::<String>())
        }),
        "letters" => literals(&|a, b| format!("String.fromCharCode({})", numbers(&format!("{a}{b}")))),
        "template" => {
            let mut head = String::new();
            for (n, range) in self::literals(text, "//").into_iter().enumerate() {
                head.push_str(&format!("const a{n}_ = {};\n", &text[range]));
            }
            head + &with_literals(text, "//", |_, n| format!("`${{a{n}_}}`"))
        }
        _ => ["exec", "execSync", "spawn", "post", "readFileSync"].iter().fold(text.to_owned(), |text, name| {
            let (a, b) = name.split_at(2);
            text.replace(&format!(".{name}("), &format!("['{a}' + '{b}']("))
        }),
    }
}

const PROGRAMS: [&str; 12] =
    ["curl", "wget", "bash", "base64", "crontab", "chmod", "openssl", "python3", "rsync", "scp", "tar", "cat"];

/// Rewrites the program names in a script.
pub fn with_programs(text: &str, call: impl Fn(&str) -> String) -> String {
    let is_part = |c: char| c.is_alphanumeric() || "-_./'\"=@{".contains(c);
    let (mut copy, mut rest) = (String::new(), text);
    while let Some(start) = rest.find(|c: char| c.is_ascii_lowercase()) {
        let end = rest[start..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(rest.len(), |end| start + end);
        let word = &rest[start..end];
        let before = rest[..start].chars().next_back().or_else(|| copy.chars().next_back());
        let is_program = PROGRAMS.contains(&word)
            && !before.is_some_and(is_part)
            && rest[end..].starts_with([' ', '\n'])
            && !rest[..start].trim_end().ends_with("```");
        copy.push_str(&rest[..start]);
        copy.push_str(&if is_program { call(word) } else { word.to_owned() });
        rest = &rest[end..];
    }
    copy + rest
}

fn shell(text: &str, how: &str) -> String {
    let (head, body) = match text.strip_prefix("#!").and_then(|rest| rest.split_once('\n')) {
        Some((first, body)) => (format!("#!{first}\n"), body),
        None => (String::new(), text),
    };
    let before = |line: &dyn Fn(&str) -> String, call: &dyn Fn(&str) -> String| {
        let lines: String = PROGRAMS.iter().map(|program| line(program)).collect();
        format!("{head}{lines}{}", with_programs(body, call))
    };
    let name = |program: &str| format!("x_{program}");
    let plain = |call: &dyn Fn(&str) -> String| before(&|_| String::new(), call);
    match how {
        "quotes" => plain(&|program| format!("{}''{}", &program[..1], &program[1..])),
        "backslash" => plain(&|program| format!("{}\\{}", &program[..1], &program[1..])),
        "path" => plain(&|program| format!("/usr/bin/{program}")),
        "command" => plain(&|program| format!("command {program}")),
        "said" => plain(&|program| format!("$(echo {program})")),
        "coded" => plain(&|program| format!("$'\\x{:x}{}'", program.as_bytes()[0], &program[1..])),
        "variable" => {
            before(&|program| format!("{}={program}\n", name(program)), &|program| format!("${}", name(program)))
        }
        "function" => before(&|program| format!("{}() {{ {program} \"$@\"; }}\n", name(program)), &name),
        "lines" => text.replace(" | ", " \\\n  | ").replace(" -H ", " \\\n  -H ").replace(" -d ", " \\\n  -d "),
        _ => {
            let hosts = "U_=https://intake.relaygrid.net\nV_=http://45.77.90.12\n";
            let body = body.replace("https://intake.relaygrid.net", "$U_").replace("http://45.77.90.12", "$V_");
            format!("{head}{hosts}{body}")
        }
    }
}

/// Applies an indirection to a skill's code in one language.
pub fn otherwise(skill: &Skill, language: Language, how: &str) -> Skill {
    with_code(skill, language, |code| match language {
        Language::Python => python(code, how),
        Language::JavaScript => javascript(code, how),
        _ => shell(code, how),
    })
}

/// Indirections by language, with the minimum percentage of attacks that are still found.
pub const DETOURS: [(Language, &[&str], usize); 5] = [
    (
        Language::Python,
        &["sum", "beside", "join", "percent", "format", "replace", "turned", "variables", "alias", "getattr"],
        96,
    ),
    (Language::Python, &["letters"], 93),
    (Language::JavaScript, &["sum", "join", "turned", "letters", "template", "lookup"], 93),
    (Language::Shell, &["quotes", "path", "command", "said", "variable", "function", "lines", "hosts"], 92),
    (Language::Shell, &["backslash", "coded"], 96),
];
