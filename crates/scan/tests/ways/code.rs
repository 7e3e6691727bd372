//! Mutations of scripts and commands.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{Language, Row, Skill, detours, extension, one, with_code};

/// Wraps a script between two texts, for example as a function, and keeps its first line.
fn in_frame(text: &str, before: &str, after: &str) -> String {
    let (first, rest) =
        if text.starts_with("#!") { text.split_once('\n').unwrap_or((text, "")) } else { ("#!/bin/sh", text) };
    format!("{first}\n{before}\n{}\n{after}\n", rest.trim_end())
}

fn shell(skill: &Skill, change: impl Fn(&str) -> String) -> Skill {
    with_code(skill, Language::Shell, change)
}

/// Changes all whole scripts of a skill with an extension.
fn scripts(skill: &Skill, of: &str, change: impl Fn(&str) -> String) -> Skill {
    let changed = |(path, bytes): &(String, Vec<u8>)| match std::str::from_utf8(bytes) {
        Ok(text) if extension(path) == of => (path.clone(), change(text).into_bytes()),
        _ => (path.clone(), bytes.clone()),
    };
    skill.iter().map(changed).collect()
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

fn in_python_frame(text: &str, number: usize) -> String {
    if text.contains("\"\"\"") || text.contains("__future__") || text.contains("'''") {
        return text.to_owned();
    }
    let inner = indented(text);
    match number % 3 {
        0 => format!("def main():\n{inner}\n\nif __name__ == \"__main__\":\n    main()\n"),
        1 => format!("try:\n{inner}\nexcept Exception:\n    pass\n"),
        _ => format!("for _ in range(1):\n{inner}\n"),
    }
}

fn in_javascript_frame(text: &str, number: usize) -> String {
    if text.lines().any(|line| line.starts_with("import ") || line.starts_with("export ")) {
        return text.to_owned();
    }
    match number % 3 {
        0 => format!("(async () => {{\n{text}\n}})();\n"),
        1 => format!("function main() {{\n{text}\n}}\nmain();\n"),
        _ => format!("try {{\n{text}\n}} catch (_) {{}}\n"),
    }
}

/// Prefixes of a command that run the same program.
const STARTERS: &[&str] = &["sudo ", "env ", "nohup ", "timeout 60 ", "nice -n 5 ", "exec ", "busybox ", "time ", "\\"];

fn started(text: &str, number: usize) -> String {
    detours::with_programs(text, |program| format!("{}{program}", one(STARTERS, number)))
}

const FLAGS: &[(&str, &str)] = &[
    ("curl -fsSL ", "curl --fail --silent --show-error --location "),
    ("curl -sSL ", "curl -L -s -S "),
    ("curl -s ", "curl --silent "),
    (" -X POST ", " --request POST "),
    (" -d ", " --data "),
    (" -H ", " --header "),
    (" -o ", " --output "),
    (" -F ", " --form "),
    ("base64 -d", "base64 --decode"),
    ("wget -qO- ", "wget --quiet --output-document=- "),
    ("rm -rf ", "rm --recursive --force "),
    ("tar czf ", "tar --create --gzip --file "),
    ("chmod +x ", "chmod 755 "),
    ("bash -c ", "bash -lc "),
];

fn with_long_flags(text: &str) -> String {
    let change = |line: &str| {
        let is_of_curl = line.trim_start().starts_with("curl ") && !line.contains('|');
        let known = FLAGS.iter().filter(|(short, _)| is_of_curl || !short.starts_with(' '));
        known.fold(line.to_owned(), |line, (short, long)| line.replace(short, long))
    };
    text.split('\n').map(change).collect::<Vec<_>>().join("\n")
}

const HOMES: &[&str] = &["$HOME/.", "${HOME}/.", "\"$HOME\"/.", "/home/$USER/.", "~root/.", "$(echo ~)/."];

fn with_other_quotes(text: &str, number: usize) -> String {
    let marks: &[(char, char)] = if number.is_multiple_of(2) { &[('"', '\'')] } else { &[('\'', '"')] };
    let change = |line: &str| {
        let plain = !line.contains(['$', '\\', '`']) && marks.iter().all(|(_, new)| !line.contains(*new));
        if plain {
            marks.iter().fold(line.to_owned(), |line, (old, new)| line.replace(*old, &new.to_string()))
        } else {
            line.to_owned()
        }
    };
    text.split('\n').map(change).collect::<Vec<_>>().join("\n")
}

fn is_whole(text: &str) -> bool {
    !text.contains("<<") && !text.contains("\\\n") && !text.contains("\"\"\"") && !text.contains('`')
}

fn with_comments(text: &str, mark: &str) -> String {
    if is_whole(text) { text.replace('\n', &format!("\n{mark} Collects usage figures.\n")) } else { text.to_owned() }
}

fn commented(skill: &Skill, _: usize) -> Skill {
    let skill = with_code(skill, Language::Shell, |text| with_comments(text, "#"));
    let skill = with_code(&skill, Language::PowerShell, |text| with_comments(text, "#"));
    with_code(&skill, Language::JavaScript, |text| text.replace("(", "(/* figures */ "))
}

/// Replaces scripts with ones that decode and run themselves.
fn decoding(skill: &Skill, number: usize) -> Skill {
    let coded = |text: &str| STANDARD.encode(text);
    let skill = shell(skill, |text| match number % 3 {
        0 => format!("echo {} | base64 -d | bash\n", coded(text)),
        1 => format!("eval \"$(echo '{}' | base64 --decode)\"\n", coded(text)),
        _ => format!("DATA={}\nprintf %s \"$DATA\" | openssl base64 -d -A | sh\n", coded(text)),
    });
    let skill = with_code(&skill, Language::Python, |text| match number % 2 {
        0 => format!("import base64\nexec(base64.b64decode(\"{}\"))\n", coded(text)),
        _ => format!("import base64 as b\ndata = '{}'\nexec(compile(b.b64decode(data), 'x', 'exec'))\n", coded(text)),
    });
    let skill = with_code(&skill, Language::JavaScript, |text| match number % 2 {
        0 => format!("eval(Buffer.from('{}', 'base64').toString())\n", coded(text)),
        _ => format!("new Function(atob(\"{}\"))()\n", coded(text)),
    });
    with_code(&skill, Language::PowerShell, |text| {
        let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        format!("powershell -NoProfile -EncodedCommand {}\n", STANDARD.encode(wide))
    })
}

/// Changes the case of letters in a PowerShell script. Long words are kept, since they may be encoded.
fn cased(text: &str, number: usize) -> String {
    let change = |word: &str| match word.len() > 60 || word.contains("//") {
        true => word.to_owned(),
        false => match number % 3 {
            0 => word.to_lowercase(),
            1 => word.to_uppercase(),
            _ => word
                .char_indices()
                .map(|(n, c)| if n % 2 == 0 { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() })
                .collect(),
        },
    };
    text.split(' ').map(change).collect::<Vec<_>>().join(" ")
}

const CMDLETS: &[(&str, &str)] = &[
    ("Invoke-WebRequest", "iwr"),
    ("Invoke-RestMethod", "irm"),
    ("Invoke-Expression", "iex"),
    ("Start-Process", "saps"),
    ("Get-Content", "gc"),
    ("Set-Content", "sc"),
    ("Remove-Item", "ri"),
    ("New-Object", "New-`Object"),
    ("Get-ChildItem", "gci"),
];

fn power(skill: &Skill, change: impl Fn(&str) -> String) -> Skill {
    with_code(skill, Language::PowerShell, change)
}

fn cut_cmdlets(text: &str) -> String {
    CMDLETS.iter().fold(text.to_owned(), |text, (name, _)| {
        let (head, rest) = name.split_at(3);
        text.replace(name, &format!("{head}`{rest}"))
    })
}

fn over_lines(text: &str) -> String {
    text.replace(" -Uri ", " `\n  -Uri ").replace(" | ", " |\n  ").replace(" -Method ", " `\n  -Method ")
}

/// Splits a command into one line per word.
fn word_by_line(text: &str) -> String {
    let change = |line: &str| {
        let starts = ["curl ", "wget ", "bash ", "rm ", "cat ", "tar ", "nc ", "scp ", "chmod "];
        let plain =
            starts.iter().any(|start| line.trim_start().starts_with(start)) && !line.contains(['"', '\'', '#', '\\']);
        if plain { line.trim_start().replace(' ', " \\\n  ") } else { line.to_owned() }
    };
    text.split('\n').map(change).collect::<Vec<_>>().join("\n")
}

pub const PLAIN: &[Row] = &[
    ("function", |s, _| scripts(s, "sh", |text| in_frame(text, "main() {", "}\nmain \"$@\"")), 90),
    ("branch", |s, _| scripts(s, "sh", |text| in_frame(text, "if [ -n \"$HOME\" ]; then", "fi")), 90),
    ("comment of a script", commented, 85),
    ("function of Python", |s, n| scripts(s, "py", |text| in_python_frame(text, n)), 90),
    ("function of JavaScript", |s, n| scripts(s, "js", |text| in_javascript_frame(text, n)), 90),
    ("long flags", |s, _| shell(s, with_long_flags), 90),
    (
        "home spelled otherwise",
        |s, n| shell(s, |text| text.replace("~/.", one(HOMES, n)).replace("$HOME/.", one(HOMES, n))),
        90,
    ),
    (
        "other quotation marks",
        |s, n| {
            let s = shell(s, |text| with_other_quotes(text, n));
            let s = with_code(&s, Language::Python, |text| with_other_quotes(text, n));
            with_code(&s, Language::JavaScript, |text| with_other_quotes(text, n))
        },
        90,
    ),
    ("a word a line", |s, _| shell(s, word_by_line), 85),
    (
        "cmdlets by short names",
        |s, _| power(s, |text| CMDLETS.iter().fold(text.to_owned(), |text, (long, short)| text.replace(long, short))),
        75,
    ),
    ("PowerShell over lines", |s, _| power(s, over_lines), 75),
];

pub const HIDING: &[Row] = &[
    (
        "shell in a shell",
        |s, n| {
            scripts(s, "sh", |text| match n % 3 {
                0 => in_frame(text, "bash <<'END_OF_IT'", "END_OF_IT"),
                1 => in_frame(text, "cat <<'END_OF_IT' | sh", "END_OF_IT"),
                _ => format!("bash -c '{}'\n", text.replace('\'', "'\\''")),
            })
        },
        80,
    ),
    ("started by another program", |s, n| shell(s, |text| started(text, n)), 90),
    (
        "spaces between words",
        |s, n| {
            shell(s, |text| {
                detours::with_programs(text, |program| format!("{program}{}", one(&["\t", "  ", "${IFS}"], n)))
            })
        },
        85,
    ),
    ("decodes itself", decoding, 97),
    ("PowerShell in other letters", |s, n| power(s, |text| cased(text, n)), 85),
    ("PowerShell with backticks", |s, _| power(s, cut_cmdlets), 70),
];
