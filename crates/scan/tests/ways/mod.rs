//! Ways to write a skill otherwise that mean the same, and texts that change nothing about an honest one.

use std::collections::BTreeMap;

use scan::{Report, scan};
use skill::{Bundle, File, Limits, SkillPath};

pub mod added;
mod code;
mod detours;
mod files;
mod prose;

/// The files of a skill.
pub type Skill = Vec<(String, Vec<u8>)>;

/// What changes a skill, by a number that chooses among several forms of the change.
pub type Change = Box<dyn Fn(&Skill, usize) -> Skill>;

/// A way to write a skill otherwise.
pub struct Way {
    pub name: String,
    pub change: Change,
    /// Of a hundred attacks that are found, how many are still found at least.
    pub least: usize,
    /// An honest author writes like this too, so that no skill is blocked for it.
    pub plain: bool,
}

type Row = (&'static str, fn(&Skill, usize) -> Skill, usize);

/// All ways, those of honest authors first.
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

/// The skills of a table with the columns attack or honest, name, path and text.
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

/// The host and the address that attacks of a table send to.
const HOST: &str = "intake.relaygrid.net";
const ADDRESS: &str = "45.77.90.12";

/// What is found in a skill; none where its paths cannot stand beside each other.
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
    /// The language that an extension, or the word behind a fence, stands for.
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

/// A skill with each file of a sort changed.
fn with_files(skill: &Skill, of: fn(&str) -> bool, change: impl Fn(&str) -> String) -> Skill {
    let changed = |(path, bytes): &(String, Vec<u8>)| match std::str::from_utf8(bytes) {
        Ok(text) if of(path) => (path.clone(), change(text).into_bytes()),
        _ => (path.clone(), bytes.clone()),
    };
    skill.iter().map(changed).collect()
}

/// A skill with its scripts and blocks of a language changed.
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

/// A text with its blocks of a language changed.
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

/// One of several, by a number.
fn one<T: Copy>(of: &[T], number: usize) -> T {
    of[number % of.len()]
}
