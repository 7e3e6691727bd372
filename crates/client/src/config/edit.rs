//! [`add_source`] and others: changes of `config.toml` that keep the user's comments and order.

use std::io;

use library::{Durability, Home, read_bounded, write_atomically};
use skill::Limits;
use toml_edit::{DocumentMut, Item, Table, TableLike, value};

use super::{Config, ConfigError, FILE, SourceConfig};

/// Tables that hold sources by name.
const TABLES: [&str; 2] = ["sources", "registries"];

/// Adds the table `[sources.NAME]`, or replaces it.
///
/// # Errors
/// [`ConfigError`] if the file cannot be read or written, or would not be valid. It is unchanged then.
pub fn add_source(home: &Home, name: &str, source: &SourceConfig) -> Result<(), ConfigError> {
    let mut table = Table::new();
    table.insert("kind", value(source.kind.as_str()));
    table.insert("location", value(&source.location));
    change(home, |document| {
        let sources = table_of(document, TABLES[0])?;
        sources.insert(name, Item::Table(table));
        Some(())
    })
}

/// Removes the source or registry with this name. Returns whether there was one.
///
/// # Errors
/// As for [`add_source`].
pub fn remove_source(home: &Home, name: &str) -> Result<bool, ConfigError> {
    let mut is_removed = false;
    change(home, |document| {
        for table in TABLES {
            let Some(table) = document.get_mut(table).and_then(Item::as_table_like_mut) else { continue };
            is_removed |= table.remove(name).is_some();
        }
        Some(())
    })?;
    Ok(is_removed)
}

/// Records whether searches cover public sources.
///
/// # Errors
/// As for [`add_source`].
pub fn set_public_search(home: &Home, public: bool) -> Result<(), ConfigError> {
    change(home, |document| {
        let search = table_of(document, "search")?;
        search.insert("public", value(public));
        Some(())
    })
}

/// Returns a table of the document, which is created if missing. `None` if the value is not a table.
fn table_of<'d>(document: &'d mut DocumentMut, name: &str) -> Option<&'d mut dyn TableLike> {
    let new = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    document.entry(name).or_insert_with(new).as_table_like_mut()
}

/// Reads the file, changes it and writes it if the result is a valid configuration.
fn change(home: &Home, edit: impl FnOnce(&mut DocumentMut) -> Option<()>) -> Result<(), ConfigError> {
    let path = home.config();
    let io = |source| ConfigError::Io { path: path.clone(), source };
    let damaged = |message: String| ConfigError::Damaged { path: path.clone(), message };
    let dir = home.ensure()?;
    if dir.symlink_metadata(FILE).is_ok_and(|file| file.is_symlink()) {
        return Err(io(io::Error::other("it is a link, which would be replaced; edit its target by hand")));
    }
    let bytes = read_bounded(&dir, FILE, Limits::default().settings_bytes).map_err(io)?.unwrap_or_default();
    let text = String::from_utf8(bytes).map_err(|error| damaged(error.utf8_error().to_string()))?;
    Config::parse(&text, &path)?;
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| damaged(error.to_string()))?;
    edit(&mut document).ok_or_else(|| damaged("a table was expected in place of a value".to_owned()))?;
    let changed = document.to_string();
    Config::parse(&changed, &path)?;
    write_atomically(&dir, FILE, changed.as_bytes(), Durability::Durable).map_err(io)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

    use super::*;
    use crate::SourceKind;

    fn source(kind: SourceKind, location: &str) -> SourceConfig {
        SourceConfig { kind, location: location.to_owned(), owners: Vec::new(), require_signatures: false }
    }

    #[test]
    fn comments_and_order_are_kept() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("home")).unwrap();
        add_source(&home, "docs", &source(SourceKind::WellKnown, "https://h.example")).unwrap();
        let first = "[sources.docs]\nkind = \"well-known\"\nlocation = \"https://h.example\"\n";
        assert_eq!(std::fs::read_to_string(home.config()).unwrap(), first);
        let own = "# Mine.\nowner = \"acme\" # me\n\n[registries.team] # ours\nlocation = \"/srv/team\"\n";
        std::fs::write(home.config(), own).unwrap();
        add_source(&home, "hub", &source(SourceKind::ClawHub, "https://h.example")).unwrap();
        set_public_search(&home, false).unwrap();
        let text = std::fs::read_to_string(home.config()).unwrap();
        assert!(text.starts_with(own) && text.contains("[search]\npublic = false"), "{text}");
        let config = Config::read(&home).unwrap();
        assert_eq!((config.sources["hub"].kind, config.search.public), (SourceKind::ClawHub, Some(false)));
        assert!(remove_source(&home, "hub").unwrap() && !remove_source(&home, "hub").unwrap());
        assert!(remove_source(&home, "team").unwrap());
        let text = std::fs::read_to_string(home.config()).unwrap();
        assert!(text.starts_with("# Mine.\nowner = \"acme\" # me\n") && !text.contains("hub"), "{text}");
    }

    #[test]
    fn invalid_or_linked_file_is_not_written() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("home")).unwrap();
        home.ensure().unwrap();
        for text in ["sources = 7\n", "polcy = \"x\"\n", "[registries.hub]\nlocation = \"/x\"\n"] {
            std::fs::write(home.config(), text).unwrap();
            assert!(add_source(&home, "hub", &source(SourceKind::ClawHub, "https://h.example")).is_err(), "{text}");
            assert_eq!(std::fs::read_to_string(home.config()).unwrap(), text);
        }
        std::fs::rename(home.config(), temp.path().join("own.toml")).unwrap();
        std::os::unix::fs::symlink(temp.path().join("own.toml"), home.config()).unwrap();
        std::fs::write(home.config(), "").unwrap();
        assert!(set_public_search(&home, true).is_err());
        assert!(home.config().is_symlink());
    }

    #[test]
    fn registry_sources_join_the_registries() {
        let config = Config::parse(
            "[sources.team]\nkind = \"registry\"\nlocation = \"/srv\"\nowners = [\"acme\"]\n",
            std::path::Path::new("config.toml"),
        );
        let config = config.unwrap();
        assert_eq!(config.registry_of("acme"), Some("team"));
        assert!(config.registries["team"].is_source && config.sources.is_empty());
        for bad in [
            "[sources.x]\nkind = \"git\"\nlocation = \"/srv\"\nowners = [\"acme\"]\n",
            "[sources.x]\nkind = \"registry\"\nlocation = \"/a\"\n[registries.x]\nlocation = \"/b\"\n",
            "[sources.x]\nkind = \"ftp\"\nlocation = \"/a\"\n",
        ] {
            assert!(Config::parse(bad, std::path::Path::new("config.toml")).is_err(), "{bad}");
        }
    }
}
