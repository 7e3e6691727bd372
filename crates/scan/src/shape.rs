//! The shape of a package: files that have no place in a skill, by magic, name and extension.

use skill::{Bundle, File, SkillPath};

use crate::{
    Evidence,
    finder::Finder,
    lookalike::{is_lookalike, names},
    media::is_program,
    rules,
    source::Source,
};

/// Checks one file of a bundle by what it is, not by what it says.
pub(crate) fn check_file(bundle: &Bundle, path: &SkillPath, file: &File, source: &Source<'_>, finder: &mut Finder) {
    let name = path.as_str();
    let is_packed_up = bundle.get(path).is_none();
    if path.file_name().eq_ignore_ascii_case(SkillPath::SKILL_MD) && !path.is_skill_md() {
        let is_unseen = is_fixture(path) || is_packed_up;
        let evidence = if is_unseen { rules::SECOND_SKILL.elsewhere() } else { rules::SECOND_SKILL.evidence };
        finder.add_file(&rules::SECOND_SKILL, evidence, name);
    }
    let file_name = path.file_name().to_ascii_lowercase();
    if file_name.starts_with("requirements") && file_name.ends_with(".txt") {
        for (line, text) in source.lines().filter(|(_, text)| names(text).take(1).any(is_lookalike)) {
            finder.add(&rules::PACKAGE_LOOKALIKE, rules::PACKAGE_LOOKALIKE.evidence, source, line, text.trim());
        }
    }
    if is_native(&file.bytes) {
        // Java's programs come as archives of classes, which are no more hidden than the archive.
        let evidence = if is_packed_up && file.bytes.starts_with(&CLASS) {
            Evidence::Strong
        } else {
            rules::NATIVE_BINARY.evidence
        };
        finder.add_file(&rules::NATIVE_BINARY, evidence, name);
    }
    if is_bytecode(path, &file.bytes) {
        let evidence =
            if has_source(bundle, path) { rules::PYTHON_BYTECODE.elsewhere() } else { rules::PYTHON_BYTECODE.evidence };
        finder.add_file(&rules::PYTHON_BYTECODE, evidence, name);
    }
    if is_packed(&file.bytes) {
        finder.add_file(&rules::NESTED_ARCHIVE, rules::NESTED_ARCHIVE.evidence, name);
    }
    if file_name == "vbaproject.bin" {
        finder.add_file(&rules::DOCUMENT_MACRO, rules::DOCUMENT_MACRO.evidence, name);
    }
    if is_sensitive(&path.as_str().to_ascii_lowercase()) && !is_without_keys(name, &source.text) {
        finder.add_file(&rules::SENSITIVE_FILE, rules::SENSITIVE_FILE.evidence, name);
    }
    if is_program(path, &source.text) {
        finder.add_file(&rules::DISGUISED_SCRIPT, rules::DISGUISED_SCRIPT.evidence, name);
    }
}

/// Whether a path is in a folder of evaluation or test material.
fn is_fixture(path: &SkillPath) -> bool {
    const FIXTURES: &[&str] = &[
        "evals",
        "eval",
        "fixtures",
        "tests",
        "test",
        "testdata",
        "examples",
        "example",
        "templates",
        "template",
        "assets",
    ];
    path.segments().any(|segment| FIXTURES.contains(&segment.to_ascii_lowercase().as_str()))
}

/// What a compiled class of Java begins with.
const CLASS: [u8; 4] = [0xCA, 0xFE, 0xBA, 0xBE];

/// ELF, PE behind its DOS stub, and Mach-O in each width, order and bundle; a Java class shares the
/// last magic and counts as well.
fn is_native(bytes: &[u8]) -> bool {
    match bytes {
        [0x7F, b'E', b'L', b'F', ..] => true,
        [0xFE, 0xED, 0xFA, 0xCE | 0xCF, ..] | [0xCE | 0xCF, 0xFA, 0xED, 0xFE, ..] | [0xCA, 0xFE, 0xBA, 0xBE, ..] => {
            true
        }
        [b'M', b'Z', ..] => is_portable_executable(bytes),
        _ => false,
    }
}

/// A `PE` header where the DOS stub says that it is; a bare `MZ` also begins text.
fn is_portable_executable(bytes: &[u8]) -> bool {
    let at = bytes.get(0x3C..0x40).and_then(|field| field.try_into().ok()).map(u32::from_le_bytes);
    let header = at.and_then(|at| bytes.get(at as usize..)?.get(..4));
    header == Some(b"PE\0\0") || (bytes.len() >= 64 && bytes.iter().take(64).filter(|byte| **byte == 0).count() > 16)
}

fn is_bytecode(path: &SkillPath, bytes: &[u8]) -> bool {
    matches!(path.extension().as_str(), "pyc" | "pyo") || matches!(bytes, [_, 0x0D, b'\r', b'\n', 0, 0, 0, 0, ..])
}

/// Whether the source of a compiled file, `a.py` of `__pycache__/a.cpython-312.pyc`, is there.
fn has_source(bundle: &Bundle, path: &SkillPath) -> bool {
    let stem = path.file_name().split('.').next().unwrap_or("");
    let source = format!("{stem}.py");
    bundle.paths().any(|other| other.file_name() == source)
}

/// Whether bytes are a zip, as office documents are; its members are read.
pub(crate) fn is_zip(bytes: &[u8]) -> bool {
    matches!(bytes, [b'P', b'K', 3 | 5, 4 | 6, ..])
}

/// Whether bytes are packed in a form that is not opened.
fn is_packed(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [b'B', b'Z', b'h', b'1'..=b'9', ..]
            | [0xFD, b'7', b'z', b'X', b'Z', ..]
            | [b'7', b'z', 0xBC, 0xAF, ..]
            | [b'R', b'a', b'r', b'!', ..]
            | [0x28, 0xB5, 0x2F, 0xFD, ..]
    )
}

/// Files that hold a person's secrets, by their usual names; samples are left out.
/// Whether settings of a package manager leave each key to the environment.
fn is_without_keys(path: &str, text: &str) -> bool {
    let mut keys = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .filter(|(name, _)| ["_auth", "_password", "username"].iter().any(|key| name.contains(key)));
    path.ends_with(".npmrc") && keys.all(|(_, value)| value.trim().trim_matches('"').starts_with("${"))
}

fn is_sensitive(path: &str) -> bool {
    const NAMES: &[&str] = &[
        ".env",
        ".env.local",
        ".env.production",
        ".npmrc",
        ".netrc",
        "_netrc",
        ".pypirc",
        ".git-credentials",
        ".htpasswd",
        ".pgpass",
        ".my.cnf",
        ".dockercfg",
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
        ".vault-token",
        "terraform.tfstate",
        ".bash_history",
        ".zsh_history",
        ".python_history",
    ];
    const ENDS: &[&str] = &[
        ".aws/credentials",
        ".docker/config.json",
        ".kube/config",
        ".p12",
        ".pfx",
        ".jks",
        ".keystore",
        ".kdbx",
        ".ppk",
    ];
    let name = path.rsplit('/').next().unwrap_or(path);
    NAMES.contains(&name) || ENDS.iter().any(|end| path.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executables_are_told_by_magic() {
        let mut pe = vec![0; 200];
        pe[..2].copy_from_slice(b"MZ");
        pe[0x3C] = 0x80;
        pe[0x80..0x84].copy_from_slice(b"PE\0\0");
        assert!(is_native(&pe));
        assert!(is_native(b"\x7FELF\x02") && is_native(&[0xCF, 0xFA, 0xED, 0xFE]));
        assert!(!is_native(b"MZ is how a text may begin") && !is_native(b"ELF"));
    }

    #[test]
    fn samples_of_sensitive_files_are_fine() {
        assert!(is_sensitive("a/.env") && is_sensitive("id_rsa") && is_sensitive("x/.aws/credentials"));
        assert!(!is_sensitive(".env.example") && !is_sensitive("id_rsa.pub") && !is_sensitive("env"));
    }
}
