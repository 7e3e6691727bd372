//! Rules about the shape of a package, decided by [`crate::shape`], and about the scan itself.

use crate::{Rule, Severity};

/// The scanner failed.
pub(crate) const FAILURE: Rule = Rule {
    id: "scanner-failure",
    category: "package",
    severity: Severity::Critical,
    elsewhere: Severity::Critical,
    message: "the scan could not be finished",
    remedy: "report this with the file; until it is mended, leave the file out",
    ..Rule::DEFAULT
};

/// The step budget ran out.
pub(crate) const BUDGET: Rule = Rule {
    id: "scan-budget",
    category: "package",
    severity: Severity::Critical,
    elsewhere: Severity::Critical,
    message: "the file makes more work than a scan may do, so that not all of it was judged",
    remedy: "split the file, or move repeated data out of the skill",
    ..Rule::DEFAULT
};

/// A `SKILL.md` that is not the skill's own.
pub(crate) const SECOND: Rule = Rule {
    id: "second-skill",
    category: "package",
    severity: Severity::Medium,
    elsewhere: Severity::Low,
    message: "a second SKILL.md is a skill that nobody sees being installed",
    remedy: "publish it as a skill of its own, or keep it under evals/ or templates/ when it is a sample",
    harmful: &[("skills/helper/SKILL.md", "---\nname: helper\n---\n")],
    harmless: &[("SKILL.md", "---\nname: a\n---\n"), ("evals/fixtures/SKILL.md", "---\nname: a\n---\n")],
    ..Rule::DEFAULT
};

/// Machine code.
pub(crate) const NATIVE: Rule = Rule {
    id: "native-binary",
    category: "package",
    severity: Severity::Critical,
    elsewhere: Severity::Critical,
    message: "a native program or library, which nobody can read",
    remedy: "ship the source, or have the user install the program from its own publisher",
    harmful: &[("assets/tool", "\u{7f}ELF\u{2}\u{1}\u{1}\0\0\0")],
    harmless: &[("notes.md", "MZ and ELF are the magic of executables."), ("notes.txt", "MZ stands at the start.")],
    ..Rule::DEFAULT
};

/// Compiled Python.
pub(crate) const BYTECODE: Rule = Rule {
    id: "python-bytecode",
    category: "package",
    severity: Severity::High,
    elsewhere: Severity::Medium,
    message: "compiled Python, which may differ from its source or have none",
    remedy: "remove *.pyc and __pycache__",
    harmful: &[("scripts/helper.pyc", "\u{6f}\r\r\n\0\0\0\0")],
    harmless: &[("scripts/helper.py", "print('pyc')\n")],
    ..Rule::DEFAULT
};

/// An archive.
pub(crate) const ARCHIVE: Rule = Rule {
    id: "nested-archive",
    category: "package",
    severity: Severity::Medium,
    elsewhere: Severity::Low,
    message: "an archive, whose content is not judged",
    remedy: "put its files into the skill itself",
    harmful: &[("assets/data.zip", "PK\u{3}\u{4}\u{14}\0\0\0")],
    harmless: &[("assets/letter.docx", "PK\u{3}\u{4}\u{14}\0\0\0")],
    ..Rule::DEFAULT
};

/// An archive with a password.
pub(crate) const LOCKED: Rule = Rule {
    id: "encrypted-archive",
    category: "package",
    severity: Severity::High,
    elsewhere: Severity::High,
    message: "an encrypted archive, made so that no scanner reads it",
    remedy: "put its files into the skill itself",
    harmful: &[("assets/data.zip", "PK\u{3}\u{4}\u{14}\0\u{1}\0")],
    harmless: &[("assets/data.zip", "PK\u{3}\u{4}\u{14}\0\0\0")],
    ..Rule::DEFAULT
};

/// A file that belongs to its author alone.
pub(crate) const SENSITIVE: Rule = Rule {
    id: "sensitive-file",
    category: "package",
    severity: Severity::High,
    elsewhere: Severity::High,
    message: "a file that holds its author's credentials or history",
    remedy: "remove it, and withdraw what it held; ship a sample such as .env.example instead",
    harmful: &[(".env", "A=1\n"), ("home/.ssh/id_rsa", "x")],
    harmless: &[(".env.example", "A=\n"), ("references/env.md", "Put A into .env\n")],
    ..Rule::DEFAULT
};

/// A script under the name of a picture or font.
pub(crate) const DISGUISED: Rule = Rule {
    id: "disguised-script",
    category: "package",
    severity: Severity::High,
    elsewhere: Severity::High,
    message: "a script under the extension of a picture, font, sound or document",
    remedy: "give the script its own extension under scripts/",
    harmful: &[("assets/logo.png", "#!/bin/sh\necho\n"), ("assets/a.ttf", "import os\nos.system('id')\n")],
    harmless: &[("scripts/logo.sh", "#!/bin/sh\necho\n"), ("assets/a.jpg", "put the picture here\n")],
    ..Rule::DEFAULT
};

/// What every scanner is tried with.
const EICAR: Rule = Rule {
    id: "antivirus-test-file",
    category: "package",
    severity: Severity::High,
    elsewhere: Severity::High,
    message: "the industry's test file for virus scanners, which other scanners will refuse",
    remedy: "remove it; build it at run time when a test needs it",
    literals: &["-STANDARD-ANTIVIRUS-TEST-FILE!"],
    pattern: r"EICAR-STANDARD-ANTIVIRUS-TEST-FILE!\$H\+H\*",
    harmful: &[("assets/a.bin", "X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*")],
    harmless: &[("SKILL.md", "The EICAR file is a harmless test file.")],
    ..Rule::DEFAULT
};

/// All rules of this category.
pub(crate) const RULES: &[Rule] =
    &[FAILURE, BUDGET, SECOND, NATIVE, BYTECODE, ARCHIVE, LOCKED, SENSITIVE, DISGUISED, EICAR];
