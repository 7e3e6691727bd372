//! [`transport`]: how registries are reached, and which token the environment has for which of them.

use std::{collections::BTreeMap, path::PathBuf};

use client::{GIT_CA_FILE, Registries, Transport};

use super::Context;
use crate::args::Global;

/// The variable that holds the token for the only registry on a server.
pub const SERVER_TOKEN_VARIABLE: &str = "SKILLHUB_TOKEN";

/// Variables that name certificates to trust, as OpenSSL reads them: a file, and a folder.
const CA_FILE: &str = "SSL_CERT_FILE";
const CA_DIR: &str = "SSL_CERT_DIR";

/// The certificates and tokens that flags and environment name; a flag goes before variables.
pub fn transport(global: &Global) -> Transport {
    let path = |name: &str| variable(name).and_then(|path| std::path::absolute(path).ok());
    let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let insecure = global.insecure;
    match global.ca_file.as_ref().map(absolute) {
        Some(file) => Transport { git_ca_file: Some(file.clone()), ca_file: Some(file), ca_dir: None, insecure },
        None => {
            let (ca_file, ca_dir) = (path(CA_FILE), path(CA_DIR));
            let git_ca_file = ca_file.clone().filter(|_| variable(GIT_CA_FILE).is_none());
            Transport { ca_file, ca_dir, git_ca_file, insecure }
        }
    }
}

impl Context {
    /// The registries that the flags and the configuration name.
    pub fn registries(&self) -> Registries {
        self.registries_at(self.registry.as_deref())
    }

    /// The same with another registry in place of the one that the flags name.
    pub fn registries_at(&self, given: Option<&str>) -> Registries {
        let registries = Registries::new(given, &self.config, &self.home, self.now);
        let registries = registries.accepting_rewrites(self.accepts_rewrite);
        registries.with_token(variable(SERVER_TOKEN_VARIABLE)).with_named_tokens(self.named_tokens())
    }

    /// The tokens of registries by their names. Where two names have one variable, it is for neither.
    fn named_tokens(&self) -> BTreeMap<String, String> {
        let names = || self.config.registries.keys();
        let is_shared = |variable: &str| names().filter(|name| client::token_variable(name) == variable).count() > 1;
        let of_name = |name: &String| {
            let token = Some(client::token_variable(name)).filter(|name| !is_shared(name))?;
            Some((name.clone(), variable(&token)?))
        };
        names().filter_map(of_name).collect()
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
