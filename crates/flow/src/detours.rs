//! Deobfuscation of scripts: [`copy`] rewrites a script in its direct form.
//!
//! To hide `curl`, an attacker writes `c''url`, and to hide `os.system`, `getattr(os, 'sys' + 'tem')`. The copy
//! replaces names with their values and joins concatenated strings. Nothing is executed, and code that cannot be
//! resolved statically stays unchanged. Each line of the copy has the same number as in the script.

mod code;
mod dialect;
mod functions;
mod names;
mod shell;
mod shell_word;
mod text;
mod value;

use std::ops::Range;

use memchr::{memchr, memrchr};

use crate::Language;
use dialect::Dialect;

/// Replacement for a part of a script.
struct Edit {
    range: Range<usize>,
    text: String,
    /// True if the replacement relies on the value of a name, or if the text was encoded.
    unsure: bool,
}

/// Error for a script that exceeds the work limit.
#[derive(Debug)]
pub struct TooMuch;

/// Deobfuscated copy of a script.
#[derive(Debug)]
pub struct Copy {
    /// Whole text of the copy.
    pub text: String,
    /// Changed ranges and their surroundings, in bytes of `text`.
    pub changed: Vec<Range<usize>>,
    /// Text for data flow analysis, if it differs from the original: only the edits that are certain are applied. The
    /// analysis follows names itself, as a name may have two values, and it has to see that a script decodes what it
    /// runs.
    pub sure: Option<String>,
}

/// Cost of an edit against the growth limit of a script, in addition to the bytes by which it grows.
const EDIT: usize = 16;

/// Returns the number of bytes by which a script may grow. A script that needs more was made to exhaust the scanner.
fn room(text: &str) -> usize {
    const SMALL: usize = 64 << 10;
    const LARGE: usize = 8 << 20;
    (text.len().saturating_mul(4) + SMALL).min(LARGE)
}

/// Bytes on each side of a change that a rule may need as context.
const NEAR: usize = 512;

/// Part of a file that is a script.
#[derive(Debug)]
pub struct Part<'t> {
    /// Language of the script: an extension, an interpreter name, or the info string of a fence.
    pub word: &'t str,
    /// Byte offset of the part in the file.
    pub start: usize,
    /// Source text of the part.
    pub text: &'t str,
}

/// Deobfuscates the parts of a text. Returns `None` if nothing changes. `matters` decides whether any rule looks for a
/// replacement text; other replacements are applied but not listed in [`Copy::changed`].
///
/// # Errors
///
/// [`TooMuch`] if a script exceeds the work limit.
pub fn copy<'t>(
    text: &str,
    parts: impl IntoIterator<Item = Part<'t>>,
    matters: impl Fn(&str) -> bool,
) -> Result<Option<Copy>, TooMuch> {
    let mut edits = Vec::new();
    for part in parts {
        edits.extend(edits_of(part.word, part.text)?.into_iter().map(|edit| edit.moved(part.start)));
    }
    if edits.is_empty() {
        return Ok(None);
    }
    let copy = edited(text, &edits, &matters);
    edits.retain(|edit| !edit.unsure);
    let sure = (!edits.is_empty()).then(|| edited(text, &edits, &matters).text);
    Ok(Some(Copy { sure, ..copy }))
}

fn edits_of(word: &str, text: &str) -> Result<Vec<Edit>, TooMuch> {
    if Language::of_word(word) == Some(Language::Shell) {
        return shell::edits(text);
    }
    Dialect::of_word(word).map_or(Ok(Vec::new()), |dialect| code::edits(text, dialect))
}

fn edited(text: &str, edits: &[Edit], matters: impl Fn(&str) -> bool) -> Copy {
    let (mut copy, mut at) = (String::with_capacity(text.len()), 0);
    let mut places = Vec::new();
    for edit in edits {
        copy.push_str(text.get(at..edit.range.start).unwrap_or(""));
        if edit.joins() || matters(&edit.text) {
            places.push(copy.len()..copy.len() + edit.text.len());
        }
        copy.push_str(&edit.text);
        at = edit.range.end;
    }
    copy.push_str(text.get(at..).unwrap_or(""));
    let mut changed: Vec<Range<usize>> = Vec::new();
    for place in places {
        let near = around(&copy, &place);
        match changed.last_mut() {
            Some(last) if near.start <= last.end => last.end = near.end.max(last.end),
            _ => changed.push(near),
        }
    }
    Copy { text: copy, changed, sure: None }
}

/// Expands a range by [`NEAR`] bytes on each side and then to whole lines, at most another [`NEAR`] bytes.
fn around(text: &str, place: &Range<usize>) -> Range<usize> {
    let before = text.as_bytes().get(..place.start.saturating_sub(NEAR)).unwrap_or_default();
    let start = memrchr(b'\n', before)
        .map_or(0, |end| end + 1)
        .max(text.floor_char_boundary(before.len().saturating_sub(NEAR)));
    let from = (place.end + NEAR).min(text.len());
    let end = memchr(b'\n', text.as_bytes().get(from..).unwrap_or_default()).map_or(text.len(), |end| from + end);
    start..text.ceil_char_boundary(end.min(from + NEAR))
}

impl Edit {
    /// Returns whether the edit only removes separators between two words.
    fn joins(&self) -> bool {
        self.text.trim().is_empty()
    }

    fn moved(self, by: usize) -> Self {
        Self { range: self.range.start + by..self.range.end + by, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direct(path: &str, text: &str) -> String {
        let word = path.rsplit('.').next().unwrap();
        let copy = copy(text, [Part { word, start: 0, text }], |_| true).unwrap();
        copy.map_or_else(|| text.to_owned(), |copy| copy.text)
    }

    fn reads(path: &str, cases: &[(&str, &str)]) {
        for (text, expected) in cases {
            let copy = direct(path, text);
            assert!(copy.contains(expected), "{text}\n{copy}");
            assert_eq!(copy.lines().count(), text.lines().count(), "{copy}");
        }
    }

    #[test]
    fn python_strings_are_joined() {
        reads(
            "a.py",
            &[
                ("x('cu' + 'rl')", "x(\"curl\")"),
                ("x('cu' 'rl')", "x(\"curl\")"),
                ("x('cu'\n  'rl')", "x(\"curl\"\n)"),
                ("a = 'cu'\nb = a + 'rl'\nx(b + ' -s')", "x(\"curl -s\")"),
                ("x(''.join(['c', 'u']))", "x(\"cu\")"),
                ("x('%s%s' % ('cu', 'rl'))", "x(\"curl\")"),
                ("x('{}{}'.format('cu', 'rl'))", "x(\"curl\")"),
                ("a = 'cu'\nx(f'{a}rl {b}')", "x(\"curl {b}\")"),
                ("x('cXurl'.replace('X', ''))", "x(\"curl\")"),
                ("x('lruc'[::-1])", "x(\"curl\")"),
                ("x(chr(99) + chr(0x75))", "x(\"cu\")"),
                ("x(''.join(chr(c) for c in [99, 117]))", "x(\"cu\")"),
                ("x(''.join(chr(c ^ 1) for c in [98, 116]))", "x(\"cu\")"),
                ("x(''.join(map(chr, [99, 117])))", "x(\"cu\")"),
                ("x(bytes([99, 117]).decode())", "x(\"cu\")"),
                ("x(base64.b64decode('Y3' + 'U=').decode())", "x(\"cu\")"),
                ("x(codecs.decode('phey', 'rot13'))", "x(\"curl\")"),
                ("a = ['rl', 'cu']\nx(a[1] + a[0])", "x(\"curl\")"),
            ],
        );
    }

    #[test]
    fn python_aliases_resolve_to_imports() {
        reads(
            "a.py",
            &[
                ("import os as o\no.system('x')", "os.system('x')"),
                ("from subprocess import run as r\nr('x')", "subprocess.run('x')"),
                ("from requests import (\n  post,\n)\npost('x')", "requests.post('x')"),
                ("import os\ns = os.system\ns('x')", "\nos.system('x')"),
                ("getattr(os, 'sys' + 'tem')('x')", "os.system('x')"),
                ("getattr(os, bytes.fromhex('73797374656d').decode())('x')", "os.system('x')"),
                ("n = 'system'\ngetattr(__import__('os'), n)('x')", "os.system('x')"),
                ("import importlib\nimportlib.import_module('o' + 's').system('x')", "os.system('x')"),
                ("os.x\nvars(os)['system']('x')", "os.system('x')"),
                ("builtins.__dict__['ex' + 'ec']('x')", "exec('x')"),
                ("globals()['ev' 'al']('x')", "eval('x')"),
            ],
        );
    }

    #[test]
    fn other_languages_have_own_syntax() {
        reads(
            "a.js",
            &[
                ("x('cu' + \"rl\")", "x(\"curl\")"),
                ("x(['cu', 'rl'].join(''))", "x(\"curl\")"),
                ("const a = 'cu';\nx(`${a}rl`)", "x(\"curl\")"),
                ("x('lruc'.split('').reverse().join(''))", "x(\"curl\")"),
                ("x(String.fromCharCode(99, 117))", "x(\"cu\")"),
                ("x([99, 117].map(c => String.fromCharCode(c)).join(''))", "x(\"cu\")"),
                ("globalThis[atob('ZXZhbA==')]('x')", "eval('x')"),
                ("x('cXurl'.replace(/X/g, ''))", "x(\"curl\")"),
                ("const cp = require('child_' + 'process');\ncp.exec('x')", "\nchild_process.exec('x')"),
                ("const {exec: e} = require('child_process');\ne('x')", "\nexec('x')"),
                ("import { exec as e } from 'child_process';\ne('x')", "\nexec('x')"),
                ("import * as p from 'node:child_process';\np.exec('x')", "\nchild_process.exec('x')"),
                ("globalThis['ev' + 'al']('x')", "eval('x')"),
            ],
        );
        reads(
            "a.php",
            &[("<?php $f = 'sys' . 'tem';\n$f('x');", "\nsystem('x');"), ("<?php f(strrev('lruc'));", "\"curl\"")],
        );
        reads("a.lua", &[("x('cu' .. 'rl')", "x(\"curl\")"), ("_G['os']['execute']('x')", "os.execute('x')")]);
        reads("a.ps1", &[("x ('cu' + 'rl')", "\"curl\"")]);
        reads("a.rb", &[("x('cu' + 'rl')", "x(\"curl\")")]);
        reads("a.go", &[("a := \"cu\"\nx(a + \"rl\")", "x(\"curl\")")]);
    }

    #[test]
    fn shell_commands_resolve_to_names() {
        reads(
            "a.sh",
            &[
                ("c''url -s x", "curl -s x"),
                ("c\"ur\"l -s x", "curl -s x"),
                ("\"curl\" -s x", "curl -s x"),
                ("c\\url -s \\x", "curl -s x"),
                ("A=cu\nB=rl\n$A${B} -s x", "\ncurl -s x"),
                ("export U=https://a.invalid\ncurl \"$U/x\"", "curl \"https://a.invalid/x\""),
                ("A=cXuXrl\n${A//X/} x", "\ncurl x"),
                ("A=xcurl\n${A:1:4} x", "\ncurl x"),
                ("curl${IFS}-s x", "curl -s x"),
                ("$'\\x63url' x", "curl x"),
                ("$(echo curl) x", "curl x"),
                ("$(printf 'c\\165rl') x", "curl x"),
                ("A=$(echo Y3VybA== | base64 -d)\n$A x", "\ncurl x"),
                ("/usr/bin/curl x | /bin/sh", "curl x | sh"),
                ("command curl x", "curl x"),
                ("alias g='curl -s'\ng x", "\ncurl -s x"),
                ("g() { curl -s \"$@\"; }\ng x", "\ncurl -s x"),
                ("g() {\n  curl -s \"$@\"\n}\ng x", "\ncurl -s x"),
                ("{curl,-s,x}", "curl -s x"),
                ("curl \\\n  -s x \\\n  | sh\necho", "curl  -s x  | sh\n\n\necho"),
                ("# don't\nc''url x", "\ncurl x"),
            ],
        );
        for text in
            ["a=$(curl x)\n$a\n", "curl -H \"A: $B\" --x=\"y\" \"$C\"/d\n", "echo 'it' \"don't\" ; f() { g; }\n"]
        {
            assert_eq!(direct("a.sh", text), text);
        }
    }

    #[test]
    fn plain_code_needs_no_copy() {
        for (path, text) in [
            ("a.py", "import os\nimport numpy as np\nx = 'a'\nos.system(x)\nnp.sum([1, 2])\n'don''t\n\"it"),
            ("a.js", "const fs = require('fs');\nfs.b(c + 'x');\n// 'a' + 'b'\n"),
        ] {
            assert_eq!(direct(path, text), text);
        }
    }

    #[test]
    fn embedded_code_keeps_its_position() {
        let text = "Do 'a' + 'b':\n\n```python\nx('cu' + 'rl')\n```\nend";
        let (start, end) = (text.find("x(").unwrap(), text.rfind("```").unwrap());
        let part = Part { word: "python", start, text: &text[start..end] };
        let copy = copy(text, [part], |_| true).unwrap().unwrap();
        assert_eq!(copy.text, "Do 'a' + 'b':\n\n```python\nx(\"curl\")\n```\nend");
    }
}
