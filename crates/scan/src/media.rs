//! [`is_program`]: detects files with the name of an image, sound or document whose content is source code.

use skill::SkillPath;

/// File extensions of images, fonts, audio, video and documents. No program is written in any of them.
const MEDIA: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "webp", "pdf", "ico", "bmp", "tif", "tiff", "avif", "heic", "mp3", "mp4", "wav",
    "ogg", "flac", "m4a", "mov", "avi", "webm", "mkv", "ttf", "otf", "eot", "woff", "woff2",
];

/// Prefixes of genuine media files and their stand-ins, such as a Git LFS pointer. They are not checked for code.
const MAGIC: &[&str] = &["%PDF", "GIF8", "RIFF", "<svg", "<?xml", "<!DOCTYPE", "<html", "version https://git-lfs"];

/// Number of lines searched for code.
const LINES: usize = 60;

/// Line prefixes that indicate code by themselves.
const BEGINS: &[&str] = &[
    "#!/", "<?php", "import os", "import sys", "import subprocess", "import socket", "import base64", "import urllib",
    "import requests", "from os ", "from urllib", "from subprocess", "@echo off", "set -e", "curl -", "curl http",
    "wget -", "wget http", "powershell -", "Invoke-WebRequest", "Invoke-Expression", "iex (", "exec(", "eval(",
    "require(", "os.system(", "subprocess.",
];

/// Line prefixes that indicate code if a call or a value follows.
const NAMES: &[&str] = &["const ", "let ", "var ", "function ", "def ", "export ", "async function ", "import {"];

/// Returns whether a file has a media extension.
pub(crate) fn is_media(path: &SkillPath) -> bool {
    MEDIA.contains(&path.extension().as_str())
}

/// Returns whether a file with a media extension contains source code.
pub(crate) fn is_program(path: &SkillPath, text: &str) -> bool {
    is_media(path) && (text.starts_with("#!") || !is_genuine(text) && text.lines().take(LINES).any(is_code))
}

/// Returns whether a text has the prefix of a genuine media file or contains zero bytes.
fn is_genuine(text: &str) -> bool {
    let bare = text.trim_start();
    MAGIC.iter().any(|magic| bare.starts_with(magic)) || text.contains('\0')
}

fn is_code(line: &str) -> bool {
    let bare = line.trim();
    let begins = |words: &[&str]| words.iter().any(|word| bare.starts_with(word));
    let is_named = begins(NAMES) && (bare.contains('=') || bare.ends_with(['{', ':', ';']));
    is_named || begins(BEGINS) || is_shell(bare)
}

/// Returns whether a line assigns the output of a command to a shell variable.
fn is_shell(bare: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    bare.split_once("=$(").is_some_and(|(name, _)| is_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &str, text: &str) -> bool {
        is_program(&SkillPath::parse(path).unwrap(), text)
    }

    #[test]
    fn programs_differ_from_picture_placeholders() {
        for text in ["#!/bin/sh\n", "K=$(cat a)\ncurl x\n", "import os\nprint(1)\n", "const fs = require('fs');\n"] {
            assert!(at("assets/a.png", text) && !at("assets/a.txt", text), "{text}");
        }
        for text in [
            "version https://git-lfs.github.com/spec/v1\n",
            "placeholder: put the picture here\n",
            "../shared/logo.png",
            "<svg><script>const a = 1;</script></svg>",
            "%PDF-1.4\nvar a = 1;\n",
            "import the picture here, or export it from the design\n",
        ] {
            assert!(!at("assets/a.png", text), "{text}");
        }
    }
}
