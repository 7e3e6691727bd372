//! Mutations of a skill that keep its meaning, and additions that do not affect an honest one.

use std::collections::BTreeMap;

use scan::{Report, scan};
use skill::{Bundle, File, Limits, SkillPath};

pub mod added;
mod code;
mod detours;
mod files;
mod prose;

/// Files of a skill, as path and content.
pub type Skill = Vec<(String, Vec<u8>)>;

/// Mutation of a skill. The number selects one of its variants.
pub type Change = Box<dyn Fn(&Skill, usize) -> Skill>;

/// Named mutation with its expected detection rate.
pub struct Way {
    pub name: String,
    pub change: Change,
    /// Minimum percentage of found attacks that are still found.
    pub least: usize,
    /// True if honest authors write like this too, so that it must not cause a block.
    pub plain: bool,
}

type Row = (&'static str, fn(&Skill, usize) -> Skill, usize);

/// Returns all mutations. Those that honest authors also use come first.
pub fn all() -> Vec<Way> {
    let row = |plain: bool| {
        move |(name, change, least): &Row| {
            let (name, change, least) = ((*name).to_owned(), Box::new(*change) as Change, *least);
            Way { name, change, least, plain }
        }
    };
    let tables = [(true, files::PLAIN), (true, prose::PLAIN), (true, code::PLAIN)];
    let hiding = [(false, files::HIDING), (false, prose::HIDING), (false, code::HIDING)];
    let of_table = |(plain, rows): (bool, &'static [Row])| rows.iter().map(row(plain));
    tables.into_iter().chain(hiding).flat_map(of_table).chain(detours()).collect()
}

fn detours() -> impl Iterator<Item = Way> {
    detours::DETOURS.iter().flat_map(|(language, hows, least)| {
        hows.iter().map(move |how| Way {
            name: format!("{language:?}: {how}"),
            change: Box::new(move |skill, _| detours::otherwise(skill, *language, how)),
            least: *least,
            plain: false,
        })
    })
}

/// Reads the skills of a table with the columns attack or honest, name, path and text.
pub fn read(table: &str, label: &str) -> Vec<(String, Skill)> {
    let mut skills: BTreeMap<String, Skill> = BTreeMap::new();
    for line in table.lines() {
        let [kind, name, path, text] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let text = text.replace("{host}", HOST).replace("{mail}", "ops@relaygrid.net").replace("{ip}", ADDRESS);
        let text = text.replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\");
        if kind == label {
            skills.entry(name.to_owned()).or_default().push((path.to_owned(), text.into_bytes()));
        }
    }
    skills.into_iter().collect()
}

/// Host to which the attacks of a table send data, followed by its address.
const HOST: &str = "intake.relaygrid.net";
const ADDRESS: &str = "45.77.90.12";

/// Scans a skill. Returns `None` if its paths conflict.
pub fn report(skill: &Skill) -> Option<Report> {
    let file = |(path, bytes): &(String, Vec<u8>)| {
        (SkillPath::parse(path).unwrap(), File { bytes: bytes.clone().into(), executable: false })
    };
    let wide = Limits { files_per_skill: 100_000, skill_bytes: 1 << 30, text_file_bytes: 1 << 30, ..Limits::default() };
    Bundle::from_files(skill.iter().map(file), &wide).ok().map(|bundle| scan(&bundle))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Shell,
    Python,
    JavaScript,
    PowerShell,
}

impl Language {
    /// Returns the language of a file extension or a code block's tag.
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "sh" | "bash" | "zsh" | "shell" => Self::Shell,
            "py" | "python" => Self::Python,
            "js" | "mjs" | "cjs" | "ts" | "javascript" | "typescript" => Self::JavaScript,
            "ps1" | "powershell" | "pwsh" => Self::PowerShell,
            _ => return None,
        })
    }
}

fn extension(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or("")
}

/// Changes the files of a skill whose path matches.
fn with_files(skill: &Skill, of: fn(&str) -> bool, change: impl Fn(&str) -> String) -> Skill {
    let changed = |(path, bytes): &(String, Vec<u8>)| match std::str::from_utf8(bytes) {
        Ok(text) if of(path) => (path.clone(), change(text).into_bytes()),
        _ => (path.clone(), bytes.clone()),
    };
    skill.iter().map(changed).collect()
}

/// Changes a skill's scripts and code blocks in a language.
fn with_code(skill: &Skill, language: Language, change: impl Fn(&str) -> String) -> Skill {
    let changed = |(path, bytes): &(String, Vec<u8>)| {
        let changed = match (extension(path), std::str::from_utf8(bytes)) {
            ("md", Ok(text)) => with_blocks(text, language, &change),
            (other, Ok(text)) if Language::of(other) == Some(language) => change(text),
            _ => return (path.clone(), bytes.clone()),
        };
        (path.clone(), changed.into_bytes())
    };
    skill.iter().map(changed).collect()
}

/// Changes the code blocks of a text in a language.
fn with_blocks(text: &str, language: Language, change: impl Fn(&str) -> String) -> String {
    let mut parts = text.split("```");
    let mut copy = parts.next().unwrap_or("").to_owned();
    for (number, part) in parts.enumerate() {
        copy.push_str("```");
        match part.split_once('\n').filter(|(tag, _)| number % 2 == 0 && Language::of(tag) == Some(language)) {
            Some((tag, code)) => copy.push_str(&format!("{tag}\n{}", change(code))),
            None => copy.push_str(part),
        }
    }
    copy
}

/// Selects an element by a number, modulo the length.
fn one<T: Copy>(of: &[T], number: usize) -> T {
    of[number % of.len()]
}
