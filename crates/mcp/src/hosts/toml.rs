//! Edits of a server entry in a TOML file that preserve comments, order and other keys.

use library::refuse_toml_flood;
use skill::Limits;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, value};

use crate::hosts::ServerEntry;

/// Name of the table that holds all servers.
const SERVERS: &str = "mcp_servers";

/// Sets the command and arguments of the server `name`.
///
/// # Errors
/// The reason, as a clause: the text is too large, is not TOML, or has another type in the table's position.
pub fn set(text: &str, name: &str, entry: &ServerEntry) -> Result<String, String> {
    let mut document = parse(text)?;
    let servers = table(document.as_table_mut(), SERVERS, true)?;
    let server = table(servers, name, false)?;
    let args = Array::from_iter(entry.args.iter().map(String::as_str));
    put(server, "command", value(entry.command.as_str()));
    put(server, "args", value(args));
    Ok(document.to_string())
}

/// Removes the server `name`. Returns the text unchanged if there is no such server.
///
/// # Errors
/// The reason, as a clause.
pub fn remove(text: &str, name: &str) -> Result<String, String> {
    let mut document = parse(text)?;
    let servers = document.get_mut(SERVERS).and_then(Item::as_table_like_mut);
    match servers.and_then(|servers| servers.remove(name)) {
        Some(_) => Ok(document.to_string()),
        None => Ok(text.to_owned()),
    }
}

/// Returns the arguments of the server `name`, none if the text cannot be read.
pub fn words(text: &str, name: &str) -> Vec<String> {
    let Ok(document) = parse(text) else { return Vec::new() };
    let args = document.get(SERVERS).and_then(|servers| servers.get(name)?.get("args")?.as_array());
    args.into_iter().flatten().filter_map(|word| word.as_str().map(str::to_owned)).collect()
}

/// Returns the names of all servers, none if the text cannot be read.
pub fn names(text: &str) -> Vec<String> {
    let document = parse(text).unwrap_or_default();
    let servers = document.get(SERVERS).and_then(Item::as_table_like);
    servers.map(|servers| servers.iter().map(|(name, _)| name.to_owned()).collect()).unwrap_or_default()
}

/// Key of the program that a host runs after each turn.
const NOTIFY: &str = "notify";

/// Returns whether the host runs a program other than ours after each turn. `ending` are the last words of ours.
pub fn has_other_notify(text: &str, ending: &[String]) -> bool {
    parse(text).is_ok_and(|document| document.contains_key(NOTIFY) && !is_notify(&document, ending))
}

/// Sets the program that the host runs after each turn, in place of any other.
///
/// # Errors
/// The reason, as a clause.
pub fn set_notify(text: &str, words: &[String]) -> Result<String, String> {
    let mut document = parse(text)?;
    put(document.as_table_mut(), NOTIFY, value(Array::from_iter(words)));
    Ok(document.to_string())
}

/// Removes our program, and leaves another one.
///
/// # Errors
/// The reason, as a clause.
pub fn remove_notify(text: &str, ending: &[String]) -> Result<String, String> {
    let mut document = parse(text)?;
    if !is_notify(&document, ending) {
        return Ok(text.to_owned());
    }
    document.remove(NOTIFY);
    Ok(document.to_string())
}

fn is_notify(document: &DocumentMut, ending: &[String]) -> bool {
    let words = document.get(NOTIFY).and_then(Item::as_array);
    let words: Vec<&str> = words.into_iter().flatten().filter_map(|word| word.as_str()).collect();
    words.ends_with(&ending.iter().map(String::as_str).collect::<Vec<_>>())
}

fn parse(text: &str) -> Result<DocumentMut, String> {
    let limit = Limits::default().settings_bytes;
    if text.len() as u64 > limit {
        return Err(format!("it is larger than {limit} bytes"));
    }
    refuse_toml_flood(text)?;
    text.parse().map_err(|error| format!("it is not valid TOML: {error}"))
}

/// Returns the table under a key, created if it is missing.
fn table<'a>(parent: &'a mut dyn TableLike, key: &str, implicit: bool) -> Result<&'a mut dyn TableLike, String> {
    let item = parent.entry(key).or_insert_with(|| {
        let mut made = Table::new();
        made.set_implicit(implicit);
        Item::Table(made)
    });
    item.as_table_like_mut().ok_or_else(|| format!("its key `{key}` is not a table"))
}

/// Sets a key unless it already has that value, and preserves the comments around an existing value.
fn put(table: &mut dyn TableLike, key: &str, new: Item) {
    let plain = |item: &Item| item.as_value().map(|value| value.clone().decorated("", "").to_string());
    if table.get(key).and_then(plain) == plain(&new) {
        return;
    }
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            if let Item::Value(mut new) = new {
                *new.decor_mut() = old.decor().clone();
                *old = new;
            }
        }
        None => {
            table.insert(key, new);
        }
    }
}
