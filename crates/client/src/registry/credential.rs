//! [`token_variable`]: the token sent to a server, and hints about a token that is withheld.
//!
//! A token is valid for one registry. Whoever runs a second registry that received it could use it at the first.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Registries, records,
    route::{FILE, place_of},
    web::Credential,
};
use crate::login::Logins;

/// Environment variable with the token for the only registry. With the suffix `_<NAME>`, for the registry of that name.
const VARIABLE: &str = "SKILLHUB_TOKEN";

/// A token from the environment. It goes before that of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentToken {
    /// Variable that has it.
    pub variable: String,
    /// The token itself.
    pub token: String,
}

impl EnvironmentToken {
    /// Returns the hint for a server that does not accept the token.
    pub fn hint(&self) -> String {
        format!("unset {0}, or set it to a valid token: the token of {0} goes before that of a login", self.variable)
    }
}

/// Returns the environment variable with the token for the registry of this name in the configuration.
pub fn token_variable(name: &str) -> String {
    let suffix = name.to_uppercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    format!("{VARIABLE}_{suffix}")
}

impl Registries {
    /// Returns the token from the environment for the server at a URL. A token for its name in the configuration is
    /// preferred. The common token is used for the registry that a flag names, or for the only one on HTTP.
    pub fn token_for(&self, url: &str) -> Option<EnvironmentToken> {
        let of_name = |name: &str| Some((token_variable(name), self.named_tokens.get(name)?));
        let common = || self.token.as_ref().filter(|_| self.takes_common_token(url));
        let found = self.configured(url).and_then(of_name);
        let (variable, token) = found.or_else(|| Some((VARIABLE.to_owned(), common()?)))?;
        Some(EnvironmentToken { variable, token: token.clone() })
    }

    /// Returns the token from the environment, otherwise that of the stored login.
    pub(super) fn credential(&self, url: &str) -> Credential {
        let of_login = || Logins::read(&self.home).ok()?.of(url).map(|login| login.token.clone());
        let given = self.token_for(url);
        let withheld = self.token.as_ref().filter(|_| given.is_none()).map(|_| self.withheld(url));
        let unaccepted = given.as_ref().map(EnvironmentToken::hint);
        Credential { token: given.map(|given| given.token).or_else(of_login), withheld, unaccepted }
    }

    fn withheld(&self, url: &str) -> String {
        let name = self.configured(url).map_or_else(|| url.to_owned(), token_variable);
        match self.configured(url) {
            Some(_) => format!("set {name} for this registry: {VARIABLE} is sent to only one registry"),
            None => format!("add --registry {name}: {VARIABLE} is sent to only one registry"),
        }
    }

    fn takes_common_token(&self, url: &str) -> bool {
        if self.given.is_some() {
            return place_of(&self.location(), &self.home).is_some_and(|place| place == url);
        }
        let is_http = |place: &String| place.starts_with("http://") || place.starts_with("https://");
        let configured =
            self.config.registries.values().filter_map(|registry| place_of(&registry.location, &self.home));
        let mut servers: BTreeSet<String> = configured.filter(is_http).collect();
        if servers.is_empty() {
            let noted: BTreeMap<String, String> = records::read(&self.home, FILE).unwrap_or_default();
            servers = noted.into_keys().chain(self.installed.iter().cloned()).collect();
            servers.retain(|place| is_http(place) && !place.ends_with(".git"));
            if let Ok(logins) = Logins::read(&self.home) {
                servers.extend(logins.servers().map(|(server, _)| server.to_owned()));
            }
        }
        servers.len() == 1 && servers.contains(url)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use jiff::Timestamp;
    use library::Home;

    use super::*;
    use crate::Config;

    const TEAM: &str = "https://skills.example.org";
    const OTHER: &str = "https://b.example.org";

    fn home() -> (tempfile::TempDir, Home) {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("home")).unwrap();
        home.ensure().unwrap();
        (temp, home)
    }

    fn registries(home: &Home, given: Option<&str>, config: &str) -> Registries {
        let config = Config::parse(config, Path::new("config.toml")).unwrap();
        Registries::new(given, &config, home, Timestamp::UNIX_EPOCH).with_token(Some("t".to_owned()))
    }

    fn token_of(registries: &Registries, url: &str) -> Option<String> {
        registries.token_for(url).map(|given| given.token)
    }

    fn two() -> String {
        format!("[registries.team]\nlocation = \"{TEAM}\"\n[registries.my-b]\nlocation = \"{OTHER}\"\n")
    }

    #[test]
    fn shared_token_goes_to_one_server() {
        let (_temp, home) = home();
        let token = |given: Option<&str>, config: &str, url: &str| token_of(&registries(&home, given, config), url);
        assert_eq!(token(Some(TEAM), "", TEAM).as_deref(), Some("t"));
        assert_eq!(token(Some(TEAM), "", OTHER), None);
        let one = format!("[registries.team]\nlocation = \"{TEAM}\"\n");
        assert_eq!(token(None, &one, TEAM).as_deref(), Some("t"));
        assert_eq!(token(None, &one, OTHER), None);
        assert_eq!(token(None, &two(), TEAM), None);
        assert_eq!(token(Some("team"), &two(), TEAM).as_deref(), Some("t"));
        assert_eq!(token(Some("team"), &two(), OTHER), None);
        assert_eq!(token(None, "", TEAM), None, "no registry on HTTP is known");
    }

    /// Without a configuration, the servers of installed skills and of logins are known.
    #[test]
    fn token_needs_one_known_server() {
        let (_temp, home) = home();
        let plain = registries(&home, None, "");
        let installed =
            |sources: &[&str]| plain.clone().for_library(sources.iter().map(|source| (*source).to_owned()).collect());
        assert_eq!(token_of(&installed(&[TEAM]), TEAM).as_deref(), Some("t"));
        assert_eq!(installed(&[TEAM, OTHER]).token_for(TEAM), None);
        let login = |url: &str| format!("format = 1\n[servers.\"{url}\"]\naccount = \"a\"\ntoken = \"k\"\n");
        library::write_private(&home.ensure().unwrap(), "logins.toml", login(OTHER).as_bytes()).unwrap();
        assert_eq!(installed(&[TEAM]).token_for(TEAM), None, "a login makes a second server");
        assert_eq!(token_of(&installed(&[]), OTHER).as_deref(), Some("t"));
    }

    #[test]
    fn named_token_goes_to_its_registry() {
        let (_temp, home) = home();
        assert_eq!(token_variable("my-b"), "SKILLHUB_TOKEN_MY_B");
        let tokens = BTreeMap::from([("my-b".to_owned(), "of-b".to_owned())]);
        let named = registries(&home, None, &two()).with_named_tokens(tokens);
        assert_eq!(token_of(&named, OTHER).as_deref(), Some("of-b"));
        assert!(named.token_for(OTHER).unwrap().hint().starts_with("unset SKILLHUB_TOKEN_MY_B,"));
        assert_eq!(named.token_for(TEAM), None);
    }

    #[test]
    fn withheld_token_is_explained() {
        let (_temp, home) = home();
        let registries = registries(&home, None, &two());
        let hint = registries.credential(OTHER).withheld.unwrap();
        assert!(hint.contains("SKILLHUB_TOKEN_MY_B"), "{hint}");
        let hint = registries.credential("https://c.example.org").withheld.unwrap();
        assert!(hint.contains("--registry https://c.example.org"), "{hint}");
    }
}
