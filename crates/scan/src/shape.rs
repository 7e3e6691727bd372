//! Shape of a package: files that do not belong in a skill, detected by magic bytes, name and extension.

use skill::{Bundle, File, SkillPath};

use crate::{
    Evidence,
    finder::Finder,
    lookalike::{described, first_imitation, names},
    media::is_program,
    rules,
    source::Source,
};

/// Checks one file of a bundle by its type and name, not its text.
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
        let rule = &rules::PACKAGE_LOOKALIKE;
        for (line, text) in source.lines() {
            let Some(imitation) = first_imitation(names(text).take(1)) else { continue };
            let (message, remedy) = described(imitation);
            let signal = finder.add_told(rule, rule.evidence, source, line, text.trim(), message);
            signal.into_iter().for_each(|signal| signal.remedy = remedy.clone().into());
        }
    }
    if is_native(&file.bytes) {
        // Java programs are distributed as archives of classes, so a class inside an archive is expected.
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

/// Returns whether a path is in a folder of evaluation or test material.
fn is_fixture(path: &SkillPath) -> bool {
    const FIXTURES: &[&str] = &[
        "evals", "eval", "fixtures", "tests", "test", "testdata", "examples", "example", "templates", "template",
        "assets",
    ];
    path.segments().any(|segment| FIXTURES.contains(&segment.to_ascii_lowercase().as_str()))
}

/// Magic bytes of a compiled Java class.
const CLASS: [u8; 4] = [0xCA, 0xFE, 0xBA, 0xBE];

/// Returns whether bytes are a native executable: ELF, PE with a DOS stub, or Mach-O in any width, byte order or
/// bundle. Java classes have the magic of a Mach-O bundle and count as well.
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

/// Returns whether there is a `PE` header where the DOS stub refers to it. The prefix `MZ` alone also occurs in text.
fn is_portable_executable(bytes: &[u8]) -> bool {
    let at = bytes.get(0x3C..0x40).and_then(|field| field.try_into().ok()).map(u32::from_le_bytes);
    let header = at.and_then(|at| bytes.get(at as usize..)?.get(..4));
    header == Some(b"PE\0\0") || (bytes.len() >= 64 && bytes.iter().take(64).filter(|byte| **byte == 0).count() > 16)
}

fn is_bytecode(path: &SkillPath, bytes: &[u8]) -> bool {
    matches!(path.extension().as_str(), "pyc" | "pyo") || matches!(bytes, [_, 0x0D, b'\r', b'\n', 0, 0, 0, 0, ..])
}

/// Returns whether the source of a compiled file is in the bundle, such as `a.py` for `__pycache__/a.cpython-312.pyc`.
fn has_source(bundle: &Bundle, path: &SkillPath) -> bool {
    let stem = path.file_name().split('.').next().unwrap_or("");
    let source = format!("{stem}.py");
    bundle.paths().any(|other| other.file_name() == source)
}

/// Returns whether bytes are a zip, which includes office documents. Its members are scanned.
pub(crate) fn is_zip(bytes: &[u8]) -> bool {
    matches!(bytes, [b'P', b'K', 3 | 5, 4 | 6, ..])
}

/// Signatures of archives and compressed files that the scanner does not open: bzip2, 7z, rar, zstd, lz4, lzip, cabinets,
/// `ar` as in Debian's packages, rpm and xar.
const PACKED: &[&[u8]] = &[
    b"7z\xBC\xAF", b"Rar!", b"\x28\xB5\x2F\xFD", b"\x04\x22\x4D\x18", b"LZIP\x01", b"MSCF\0\0\0\0", b"!<arch>\n",
    b"\xED\xAB\xEE\xDB", b"xar!\0",
];

/// Returns whether bytes are packed in a format that the scanner does not open.
fn is_packed(bytes: &[u8]) -> bool {
    // A file of lzma has no signature, but nearly always these properties and an unknown length.
    let is_lzma = bytes.starts_with(&[0x5D, 0, 0]) && bytes.get(5..13).is_some_and(|size| size == [0xFF; 8]);
    let is_bzip2 = matches!(bytes, [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, ..]);
    is_lzma || is_bzip2 || PACKED.iter().any(|signature| bytes.starts_with(signature))
}

/// Returns whether the settings of a package manager take all keys from environment variables.
fn is_without_keys(path: &str, text: &str) -> bool {
    let mut keys = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .filter(|(name, _)| ["_auth", "_password", "username"].iter().any(|key| name.contains(key)));
    path.ends_with(".npmrc") && keys.all(|(_, value)| value.trim().trim_matches('"').starts_with("${"))
}

/// Returns whether a file holds a person's secrets by its usual name. Samples are excluded.
fn is_sensitive(path: &str) -> bool {
    const NAMES: &[&str] = &[
        ".env", ".env.local", ".env.production", ".npmrc", ".netrc", "_netrc", ".pypirc", ".git-credentials",
        ".htpasswd", ".pgpass", ".my.cnf", ".dockercfg", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".vault-token",
        "terraform.tfstate", ".bash_history", ".zsh_history", ".python_history",
    ];
    const ENDS: &[&str] = &[
        ".aws/credentials", ".docker/config.json", ".kube/config", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk",
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
    fn unopened_archives_are_told_from_texts() {
        for bytes in [
            &b"BZh91AY&SY"[..],
            b"LZIP\x01",
            b"!<arch>\ndebian-binary",
            b"\x5D\0\0\x80\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\0",
        ] {
            assert!(is_packed(bytes), "{bytes:?}");
        }
        for text in ["BZh9 is a code", "]", "LZIP is old", "!<arch> is a signature", "Rare birds"] {
            assert!(!is_packed(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn samples_of_sensitive_files_are_fine() {
        assert!(is_sensitive("a/.env") && is_sensitive("id_rsa") && is_sensitive("x/.aws/credentials"));
        assert!(!is_sensitive(".env.example") && !is_sensitive("id_rsa.pub") && !is_sensitive("env"));
    }
}
