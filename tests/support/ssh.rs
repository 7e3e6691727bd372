//! [`SshKey`]: test keys, in the file format of `ssh-keygen`.
//!
//! They are the examples of RFC 8032: public, and in use by nobody.

use std::{
    fs,
    path::{Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::STANDARD};

const KIND: &str = "ssh-ed25519";

/// Characters per line of a key file.
const WIDTH: usize = 70;

/// An Ed25519 key: the secret and the public half, in hexadecimal.
pub struct SshKey(&'static str, &'static str);

/// First of three test keys.
pub const ANN: SshKey = SshKey(
    "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
);
/// Second of three test keys.
pub const BOB: SshKey = SshKey(
    "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
);

/// Third of three test keys.
pub const EVE: SshKey = SshKey(
    "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
    "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
);

impl SshKey {
    /// Writes the private key file, and the `.pub` file beside it.
    pub fn write(&self, folder: &Path, name: &str) -> PathBuf {
        fs::create_dir_all(folder).unwrap();
        let path = folder.join(name);
        fs::write(&path, self.secret_file()).unwrap();
        fs::write(folder.join(format!("{name}.pub")), format!("{}\n", self.public_line())).unwrap();
        path
    }

    /// Returns the line of a `.pub` file.
    pub fn public_line(&self) -> String {
        format!("{KIND} {} test@example.org", STANDARD.encode(self.public_blob()))
    }

    fn public_blob(&self) -> Vec<u8> {
        [text(KIND.as_bytes()), text(&bytes(self.1))].concat()
    }

    /// Encodes the format `openssh-key-v1`, without a passphrase.
    fn secret_file(&self) -> String {
        let both = [bytes(self.0), bytes(self.1)].concat();
        let mut secret = [&[7; 8][..], &self.public_blob(), &text(&both), &text(b"test@example.org")].concat();
        let padding = (8 - secret.len() % 8) % 8;
        secret.extend((1..=padding).map(|n| n as u8));
        let head = [&b"openssh-key-v1\0"[..], &text(b"none"), &text(b"none"), &text(b""), &[0, 0, 0, 1]].concat();
        let whole = STANDARD.encode([head, text(&self.public_blob()), text(&secret)].concat());
        let lines: Vec<&str> = whole.as_bytes().chunks(WIDTH).map(|line| std::str::from_utf8(line).unwrap()).collect();
        let mark = |word: &str| format!("-----{word} OPENSSH PRIVATE KEY-----\n");
        format!("{}{}\n{}", mark("BEGIN"), lines.join("\n"), mark("END"))
    }
}

/// Encodes a string as SSH does, with its length first.
fn text(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_be_bytes()[..], bytes].concat()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}
