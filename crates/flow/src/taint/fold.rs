//! Constant folding: functions whose result follows from the text of their arguments.

use std::rc::Rc;

use base64::{Engine, prelude::BASE64_STANDARD};

use super::{
    super::{names::keeps_text, paths::is_public_key},
    value::{Kind, Value, joined},
};

/// Minimum length in bytes of an encoded text that counts as hidden.
pub(super) const HIDDEN: usize = 16;

/// Returns the module or object that a call looks up by a string.
pub(super) fn module(name: &str, args: &[Value]) -> Option<String> {
    let text = |at: usize| args.get(at).and_then(|arg| arg.text.clone());
    match name.rsplit('.').next().unwrap_or(name) {
        "require" | "__import__" | "import_module" | "import" => {
            text(0).filter(|module| !module.contains('\0')).map(|module| module.trim_start_matches("node:").to_owned())
        }
        "vars" => args.first()?.name.clone(),
        "getattr" => Some(format!("{}.{}", args.first()?.name.clone()?, text(1).filter(|name| !name.contains('\0'))?)),
        _ => None,
    }
}

/// Functions that return the user's screen, clipboard, input or credentials (by the end of their names).
const SEEN: &[&str] = &[
    "pyperclip.paste", "ImageGrab.grab", "ImageGrab.grabclipboard", "pyautogui.screenshot", "pyscreenshot.grab",
    "clipboard.readText", "clipboard.paste", "clipboardy.read", "clipboardy.readSync", "clipboard.read",
    "clipboard_get", "GetClipboardData", "keyring.get_password", "keyring.get_credential", "keytar.getPassword",
    "keytar.findCredentials", "keytar.findPassword", "netrc.netrc", "CryptUnprotectData", "sounddevice.rec",
    "screenshot", "screenshot-desktop", "navigator.clipboard.readText", "storage_state", "storageState",
    "desktopCapturer.getSources", "get_frozen_credentials", "getHistory", "get_history_item",
];

/// Parts of names of further functions of this kind.
const HELD: &[&str] = &[
    "mss().grab", "mss().shot", "mss().save", "browser_cookie3.", "browsercookie.", "rookiepy.", "secretstorage.",
    "document.cookie", "VideoCapture().read",
];

/// Returns whether a function captures user data, see [`SEEN`] and [`HELD`].
pub(super) fn is_seen(name: &str) -> bool {
    let is = |end: &str| name.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('.'));
    let has = |part: &str| name.contains(part);
    SEEN.iter().copied().any(is) || HELD.iter().copied().any(has)
}

/// Returns the items of a call's result, if it is a list of known strings.
pub(super) fn items(last: &str, receiver: &Value, args: &[Value]) -> Option<Rc<[String]>> {
    match last {
        "reversed" | "reverse" => {
            let list = args.first().and_then(|arg| arg.items.clone()).or_else(|| receiver.items.clone())?;
            Some(list.iter().rev().cloned().collect())
        }
        "list" | "tuple" | "map" | "concat" | "join" => None,
        _ => None,
    }
}

/// Converts character codes to text. The first result is their number; the text is `None` if one is unknown.
fn of_numbers(args: &[Value]) -> Option<(usize, Option<String>)> {
    let numbers: Vec<String> = match args.first()?.items.as_ref() {
        Some(items) => items.to_vec(),
        None => args.iter().filter_map(|arg| arg.text.clone()).collect(),
    };
    let codes: Option<Vec<char>> = numbers.iter().map(|number| number_of(number).and_then(char::from_u32)).collect();
    Some((numbers.len(), codes.map(|codes| codes.into_iter().collect())))
}

fn number_of(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Returns the environment variable that a call reads, or the whole environment if its name is unknown.
pub(super) fn variable(name: &str, receiver: &Value, args: &[Value]) -> Option<Value> {
    let last = name.rsplit('.').next().unwrap_or(name);
    let of_environment = receiver.taints.iter().any(|taint| taint.kind == Kind::Environment);
    let by_name =
        matches!(last, "getenv") || (of_environment && matches!(last, "get" | "pop" | "__getitem__" | "setdefault"));
    if !by_name {
        return None;
    }
    let variable = args.first().and_then(|arg| arg.text.as_deref()).filter(|text| !text.contains('\0'));
    Some(match variable {
        Some(home @ ("HOME" | "USERPROFILE")) => {
            Value { text: Some("~".to_owned()), ..Value::of(Kind::Variable, home) }
        }
        Some(variable) => Value::of(Kind::Variable, variable),
        None => Value::of(Kind::Environment, name),
    })
}

/// Returns the result of a decoder. It is marked as decoded if the text has at least [`HIDDEN`] bytes.
pub(super) fn decoded(name: &str, receiver: &Value, args: &[Value]) -> Option<Value> {
    let last = name.rsplit('.').next().unwrap_or(name);
    let nothing = Value::default();
    let given = args.first().unwrap_or(&nothing);
    let text = given.text.as_deref().or(receiver.text.as_deref()).unwrap_or("");
    let plain = match last {
        "reverse" | "reversed" if text.len() >= HIDDEN => Some(text.chars().rev().collect()),
        "unescape" | "decodeURIComponent" | "decodeURI" | "unquote" if text.contains('%') => Some(percent(text)),
        "b64decode" | "atob" | "urlsafe_b64decode" | "decodebytes" => base64(text),
        "from" if name.ends_with("Buffer.from") => match args.get(1).and_then(|kind| kind.text.as_deref()) {
            Some("base64") => base64(text),
            Some("hex") => hex(text),
            _ => return None,
        },
        "fromhex" | "unhexlify" => hex(text),
        "decompress" | "b32decode" | "b85decode" | "a85decode" | "inflateSync" | "gunzipSync" | "decrypt" => None,
        "decode" if args.get(1).and_then(|kind| kind.text.as_deref()).is_some_and(|kind| kind.contains("rot")) => {
            Some(text.chars().map(rot13).collect())
        }
        "map" if args.first().and_then(|arg| arg.name.as_deref()) == Some("chr") => {
            let text = of_numbers(args.get(1..)?).and_then(|(_, text)| text).unwrap_or_default();
            return Some(Value::of_text(&text).or(&Value::of(Kind::Decoded, "chr")));
        }
        "chr" | "fromCharCode" | "bytes" | "bytearray" | "fromCharCodes" => {
            let is_open = args.first().is_some_and(|arg| arg.text.is_none() && arg.items.is_none());
            let (count, text) = of_numbers(args)
                .filter(|(count, _)| *count >= HIDDEN || matches!(last, "chr" | "fromCharCode") || is_open)?;
            let value = Value::of(Kind::Decoded, last).or(args.first().unwrap_or(&Value::default()));
            let text = text.filter(|_| count >= HIDDEN);
            return Some(text.map_or_else(|| value.clone(), |text| Value::of_text(&text).or(&value)));
        }
        _ => return None,
    };
    let mut value = given.clone().without_name().or(receiver);
    if text.len() >= HIDDEN || matches!(last, "chr" | "fromCharCode" | "decompress") {
        value = value.or(&Value::of(Kind::Decoded, last));
    }
    value.text = None;
    Some(match plain {
        Some(plain) => Value::of_text(&plain).or(&value),
        None => value,
    })
}

/// Returns the text of a function's result.
pub(super) fn text(last: &str, receiver: &Value, args: &[Value]) -> Option<String> {
    let first = args.first().and_then(|arg| arg.text.clone());
    let of_all = |list: &[String], between: &str| Some(joined(list, between));
    match last {
        "join" if args.len() == 1 && args.first().is_some_and(|arg| arg.items.is_some()) => {
            let list = args.first().and_then(|arg| arg.items.as_ref())?;
            of_all(list, receiver.text.as_deref().unwrap_or("/"))
        }
        "join" if receiver.items.is_some() => of_all(receiver.items.as_ref()?, &first.unwrap_or_default()),
        "reversed" => Some(first?.chars().rev().collect()),
        "iterdir" | "readdir" | "readdirSync" | "listdir" | "scandir" | "walk" => {
            Some(format!("{}/*", receiver.text.clone().or(first)?))
        }
        "glob" | "rglob" | "iglob" | "globSync" => match receiver.text.clone() {
            Some(folder) => Some(format!("{folder}/{}", first?)),
            None => first,
        },
        "split" if first.as_deref() == Some("") => receiver.text.clone(),
        "reverse" => Some(receiver.text.as_ref()?.chars().rev().collect()),
        "join" if receiver.items.is_none() && receiver.text.is_some() && first.as_deref() == Some("") => {
            receiver.text.clone()
        }
        "replace" | "replaceAll" | "replace_all" => {
            let whole = receiver.text.clone()?;
            let new = args.get(1).and_then(|arg| arg.text.clone()).unwrap_or("\0".to_owned());
            Some(first.filter(|old| !old.is_empty()).map_or_else(|| whole.clone(), |old| whole.replace(&old, &new)))
        }
        "with_name" => Some(format!("\0/{}", first?)),
        "map" | "filter" | "sorted" | "list" => first.or_else(|| receiver.text.clone()),
        "join" if receiver.text.is_some() && args.len() == 1 => first.filter(|text| !text.ends_with('\0')),
        "join" | "joinpath" if args.len() > 1 || receiver.text.is_some() => {
            let parts =
                receiver.text.iter().cloned().chain(args.iter().map(|a| a.text.clone().unwrap_or("\0".to_owned())));
            Some(joined(&parts.collect::<Vec<_>>(), "/"))
        }
        "Path" | "PurePath" | "URL" if args.len() > 1 => {
            let parts = args.iter().map(|arg| arg.text.clone().unwrap_or("\0".to_owned()));
            Some(joined(&parts.collect::<Vec<_>>(), "/"))
        }
        "homedir" | "home" => Some("~".to_owned()),
        "concat" => Some(format!("{}{}", receiver.text.clone()?, first?)),
        "open" if receiver.text.is_some() && first.as_ref().is_some_and(|mode| mode.len() < 4) => receiver.text.clone(),
        "strip" | "trim" if first.is_some() && receiver.text.as_deref().is_some_and(is_public_key) => None,
        last if keeps_text(last) => match last {
            "open" | "str" | "Path" | "bytes" | "String" | "File" | "expanduser" | "createWriteStream" => {
                first.or_else(|| receiver.text.clone())
            }
            _ => receiver.text.clone().or(first),
        },
        _ => None,
    }
}

fn base64(text: &str) -> Option<String> {
    let plain: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    String::from_utf8(BASE64_STANDARD.decode(plain).ok()?).ok()
}

fn hex(text: &str) -> Option<String> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    let bytes = digits.chunks_exact(2).filter_map(|pair| match pair {
        [high, low] => u8::try_from(high * 16 + low).ok(),
        _ => None,
    });
    String::from_utf8(bytes.collect()).ok()
}

/// Decodes text with percent-encoded bytes.
fn percent(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or("").as_bytes().to_vec();
    for part in parts {
        let code = part.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.extend(code);
        bytes.extend(part.get(if code.is_some() { 2 } else { 0 }..).unwrap_or("").bytes());
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn rot13(c: char) -> char {
    let turn = |base: u8, c: char| char::from(base + (c as u8 - base + 13) % 26);
    match c {
        'a'..='z' => turn(b'a', c),
        'A'..='Z' => turn(b'A', c),
        other => other,
    }
}
