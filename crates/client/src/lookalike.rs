//! [`is_similar`]: detection of names that a reader may confuse, and the warnings about them.
//!
//! Similar names are never an error, because they are often legitimate. Skills of the same owner are not compared, and
//! in a registry the skill that was published first gets no warning.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use registry_index::{Entry, Index, ReadError};
use skill::{QualifiedName, SkillName};
use strsim::levenshtein;
use unicode_normalization::UnicodeNormalization;

use crate::{
    lock_file::LockFile,
    registry::{Registry, RegistryError},
};

/// Minimum length in characters of names in which one typo, or two typos, count as similar.
const ONE_SLIP: usize = 5;
const TWO_SLIPS: usize = 9;

/// Minimum length of owners' names for one typo. It is lower because owners' names are read less carefully.
const OWNER_SLIP: usize = 4;

/// Maximum difference in bytes between the lengths of similar names.
const MOST_BYTES: usize = 8;

/// Letters of other alphabets, and signs, that look like a Latin letter.
const LOOKS: [(&str, char); 12] = [
    ("аɑα", 'a'),
    ("сϲ", 'c'),
    ("еε", 'e'),
    ("һ", 'h'),
    ("іıι1l|!", 'i'),
    ("ј", 'j'),
    ("к", 'k'),
    ("оοσ0", 'o'),
    ("рρ", 'p'),
    ("ѕ5", 's'),
    ("хχ", 'x'),
    ("уγ", 'y'),
];

/// Pairs of letters that look like a single letter.
const PAIRS: [(&str, &str); 3] = [("rn", "m"), ("vv", "w"), ("cl", "d")];

/// Returns whether two different names look or read alike: one or two typos in a longer name, other separators between
/// the words, or confusable characters. Names that differ only in their numbers are not alike.
pub(crate) fn is_similar(a: &str, b: &str) -> bool {
    are_alike(a, b, ONE_SLIP)
}

fn is_alike_owner(a: &str, b: &str) -> bool {
    are_alike(a, b, OWNER_SLIP)
}

fn are_alike(a: &str, b: &str, shortest: usize) -> bool {
    if a == b || a.len().abs_diff(b.len()) > MOST_BYTES || differ_in_numbers(a, b) {
        return false;
    }
    is_slip(a, b, shortest) || skeleton(a) == skeleton(b)
}

/// Returns whether both names have digits and are otherwise equal.
fn differ_in_numbers(a: &str, b: &str) -> bool {
    let is_numbered = |name: &str| name.bytes().any(|byte| byte.is_ascii_digit());
    is_numbered(a) && is_numbered(b) && letters(a).eq(letters(b))
}

fn letters(name: &str) -> impl Iterator<Item = u8> {
    name.bytes().filter(|byte| !byte.is_ascii_digit())
}

/// Reduces a name to its visual skeleton: names that look alike have the same skeleton.
fn skeleton(name: &str) -> String {
    let plain = name.nfkd().flat_map(char::to_lowercase).filter(|c| c.is_alphanumeric() || matches!(c, '|' | '!'));
    let mut text: String = plain.collect();
    for (pair, one) in PAIRS {
        text = text.replace(pair, one);
    }
    let look = |c: char| LOOKS.iter().find(|(others, _)| others.contains(c)).map_or(c, |(_, look)| *look);
    text.chars().map(look).collect()
}

fn is_slip(a: &str, b: &str, shortest: usize) -> bool {
    let length = a.chars().count().min(b.chars().count());
    let most = if length >= TWO_SLIPS { 2 } else { 1 };
    let is_far = a.chars().count().abs_diff(b.chars().count()) > most;
    length >= shortest && !is_far && (levenshtein(a, b) <= most || is_exchange(a, b))
}

/// Returns whether the names differ by two adjacent letters that were swapped.
fn is_exchange(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let differ: Vec<usize> = a.iter().zip(&b).enumerate().filter(|(_, (x, y))| x != y).map(|(at, _)| at).collect();
    match differ.as_slice() {
        [first, second] if a.len() == b.len() && first + 1 == *second => {
            a[*first] == b[*second] && a[*second] == b[*first]
        }
        _ => false,
    }
}

/// Returns whether one skill may be mistaken for the other, by its own name or by its owner's.
fn is_mistakable(one: &QualifiedName, other: &QualifiedName) -> bool {
    let (owner, name) = ((one.owner.as_str(), other.owner.as_str()), (one.name.as_str(), other.name.as_str()));
    let is_same_name = name.0 == name.1;
    owner.0 != owner.1 && (is_similar(name.0, name.1) || (is_same_name && is_alike_owner(owner.0, owner.1)))
}

/// Names and owners of the installed skills, indexed for comparison.
pub(crate) struct InstalledNames<'l> {
    names: Known<'l>,
    owners: Known<'l>,
}

/// Names with the skills that have them, and indexes that find similar names quickly.
#[derive(Default)]
struct Known<'l> {
    skills: BTreeMap<&'l str, Vec<&'l str>>,
    by_skeleton: HashMap<String, Vec<&'l str>>,
    looks: Vec<(Look, &'l str)>,
}

/// Length and letters of a name, as a fast filter. Letters are a bit set; a single typo changes at most two bits.
#[derive(Clone, Copy)]
struct Look {
    count: usize,
    letters: u64,
}

impl Look {
    fn of(name: &str) -> Self {
        let letters = name.chars().fold(0, |letters, c| letters | 1 << (u32::from(c) % 64));
        Self { count: name.chars().count(), letters }
    }

    fn may_be_slip_of(self, other: Self) -> bool {
        self.count.abs_diff(other.count) <= 2 && (self.letters ^ other.letters).count_ones() <= 4
    }
}

impl<'l> Known<'l> {
    fn add(&mut self, name: &'l str, skill: &'l str) {
        let skills = self.skills.entry(name).or_default();
        if skills.is_empty() {
            self.by_skeleton.entry(skeleton(name)).or_default().push(name);
            self.looks.push((Look::of(name), name));
        }
        skills.push(skill);
    }

    /// Returns the skills with similar names.
    fn alike(&self, name: &str, shortest: usize) -> impl Iterator<Item = &'l str> {
        let look = Look::of(name);
        let slips = self.looks.iter().filter(move |(other, _)| other.may_be_slip_of(look)).map(|(_, other)| other);
        let near = slips.chain(self.by_skeleton.get(&skeleton(name)).into_iter().flatten());
        let alike = near.filter(move |other| are_alike(name, other, shortest));
        alike.filter_map(|other| self.skills.get(other)).flatten().copied()
    }
}

impl<'l> InstalledNames<'l> {
    /// Builds the index of the skills in a lock file.
    pub fn of(lock: &'l LockFile) -> Self {
        let mut here = Self { names: Known::default(), owners: Known::default() };
        // A person chose the name of a skill that has another one in its source.
        let is_named_by_source = |skill: &&str| {
            lock.get(skill).is_none_or(|locked| locked.alias.is_none() || locked.origin.as_registry().is_some())
        };
        for skill in lock.names().filter(is_named_by_source) {
            here.names.add(bare(skill), skill);
            if let Some((owner, _)) = skill.split_once('/') {
                here.owners.add(owner, skill);
            }
        }
        here
    }

    /// Returns the warnings about a skill that is about to be installed, one for each similar installed skill.
    pub fn warnings_for(&self, name: &str) -> Vec<String> {
        let owner = name.split_once('/').map(|(owner, _)| owner);
        let of_owners = owner.into_iter().flat_map(|owner| self.owners.alike(owner, OWNER_SLIP));
        let near: BTreeSet<&str> = self.names.alike(bare(name), ONE_SLIP).chain(of_owners).collect();
        let told = near.into_iter().filter(|other| *other != name && is_near(name, other));
        told.map(|other| {
            format!("{name} is not {other}, which is already installed; check that it is the skill you want")
        })
        .collect()
    }
}

fn bare(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn is_near(name: &str, other: &str) -> bool {
    match (name.parse::<QualifiedName>(), other.parse::<QualifiedName>()) {
        (Ok(one), Ok(other)) => is_mistakable(&one, &other) || is_alike_owner(one.owner.as_str(), other.owner.as_str()),
        _ => is_similar(bare(name), bare(other)),
    }
}

/// Returns the warnings about a skill of a registry, one for each similar skill published earlier. Errors while reading
/// other skills are ignored.
pub(crate) fn in_registry(registry: &Registry, name: &QualifiedName) -> Vec<String> {
    earlier(registry, name).unwrap_or_default()
}

fn earlier(registry: &Registry, name: &QualifiedName) -> Result<Vec<String>, RegistryError> {
    let first = |entries: &[Entry]| entries.iter().map(|entry| entry.published_at).min();
    let Some(since) = first(&registry.with_skill(name)?.releases(name)?) else { return Ok(Vec::new()) };
    let mut told = Vec::new();
    for other in near(registry, name)? {
        let Ok(releases) = registry.with_skill(&other)?.releases(&other) else { continue };
        if first(&releases).is_some_and(|at| at < since) {
            told.push(format!(
                "{name} is not {other}, which was published in {registry} before it {}",
                releases_of(&releases)
            ));
        }
    }
    Ok(told)
}

/// Returns the warnings about a skill that is about to be published for the first time.
pub(crate) fn of_new(registry: &Registry, name: &QualifiedName) -> Vec<String> {
    let near = near(registry, name).unwrap_or_default().into_iter();
    near.map(|other| format!("{name} is easily mistaken for {other}, which is already in {registry}")).collect()
}

fn releases_of(entries: &[Entry]) -> String {
    match entries.len() {
        1 => "(1 release)".to_owned(),
        count => format!("({count} releases)"),
    }
}

/// Finds the skills of other owners that a skill may be mistaken for. Candidates are names with the same beginning, and
/// names with a typo in their first letters.
fn near(registry: &Registry, name: &QualifiedName) -> Result<Vec<QualifiedName>, RegistryError> {
    let index = registry.with_owners_of(&name.name)?;
    let mut names: BTreeSet<SkillName> = index.names_near(&name.name, |other| is_similar(name.name.as_str(), other))?;
    names.extend(
        slips_at_the_beginning(name.name.as_str()).into_iter().filter(|other| has(index, other).unwrap_or(false)),
    );
    names.insert(name.name.clone());
    let mut found = Vec::new();
    for other in names {
        let owners = registry.with_owners_of(&other)?.owners_of(&other)?;
        let all = owners.into_iter().map(|owner| QualifiedName { owner, name: other.clone() });
        found.extend(all.filter(|other| is_mistakable(name, other)));
    }
    Ok(found)
}

/// Returns whether the local part of the index has a skill of this name.
fn has(index: &Index, name: &SkillName) -> Result<bool, ReadError> {
    Ok(!index.owners_of(name)?.is_empty())
}

/// Returns the names with a typo in the first four characters: one letter missing, one hyphen added, or two letters
/// swapped. The index keeps them in other folders.
fn slips_at_the_beginning(name: &str) -> Vec<SkillName> {
    let letters: Vec<char> = name.chars().collect();
    let mut slips = Vec::new();
    for at in 0..letters.len().min(4) {
        let mut less = letters.clone();
        less.remove(at);
        slips.push(less);
        let mut parted = letters.clone();
        parted.insert(at + 1, '-');
        slips.push(parted);
        if at + 1 < letters.len() {
            let mut exchanged = letters.clone();
            exchanged.swap(at, at + 1);
            slips.push(exchanged);
        }
    }
    let names = slips.into_iter().map(|letters| letters.into_iter().collect::<String>());
    names.filter(|other| is_similar(name, other)).filter_map(|other| SkillName::parse(&other).ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn similar_names_are_lookalikes() {
        for (a, b) in [
            ("pdf-forms", "pdf_forms"),
            ("pdf-forms", "pdfforms"),
            ("pdf-forms", "pdf-form"),
            ("pdf-forms", "pdf-fomrs"),
            ("release-notes", "release-notse"),
            ("release-notes", "relase-notas"),
            ("modern", "modem"),
            ("tools", "t00ls"),
            ("list", "1ist"),
            ("notes", "nоtes"),
            ("skill", "ѕkill"),
            ("résumé", "resume"),
        ] {
            assert!(is_similar(a, b) && is_similar(b, a), "{a} {b}");
        }
        for (a, b) in [
            ("pdf", "pdf"),
            ("pdf", "pdx"),
            ("one", "two"),
            ("lesson-1", "lesson-2"),
            ("python-311", "python-312"),
            ("pdf-forms", "pdf-tables"),
            ("release-notes", "meeting-notes"),
            ("docx", "pptx"),
        ] {
            assert!(!is_similar(a, b) && !is_similar(b, a), "{a} {b}");
        }
    }

    #[test]
    fn lookup_agrees_with_pairwise_comparison() {
        let words =
            ["notes", "motes", "rnotes", "ontes", "n0tes", "release-notes", "relase-nots", "notes-2", "notes-3"];
        let owners = ["", "acme/", "acrne/", "acem/", "zoe/"];
        let names: Vec<String> =
            owners.iter().flat_map(|owner| words.iter().map(move |word| format!("{owner}{word}"))).collect();
        let mut lock = LockFile::default();
        for name in &names {
            let (kind, version) =
                if name.contains('/') { ("registry", "version = \"1.0.0\"\n") } else { ("folder", "") };
            let digest = format!("sha256:{}", "0".repeat(64));
            let text = format!(
                "format = 1\n[[skill]]\nname = \"{name}\"\n{version}kind = \"{kind}\"\narchive = \"\"\n\
                 digest = \"{digest}\"\n"
            );
            let one = LockFile::parse(&text, Path::new("skillhub.lock")).unwrap();
            one.skills().for_each(|skill| lock.insert(skill.clone()));
        }
        let here = InstalledNames::of(&lock);
        for name in &names {
            let near: Vec<_> = lock.names().filter(|other| other != name && is_near(name, other)).collect();
            let told = here.warnings_for(name);
            assert!(near.len() == told.len() && (!told.is_empty() || name.contains("notes-")), "{name}: {told:?}");
            let is_told = |(other, told): (&str, &String)| told.contains(&format!(" not {other}, "));
            assert!(near.into_iter().zip(&told).all(is_told), "{name}: {told:?}");
        }
    }

    #[test]
    fn similar_name_or_owner_is_mistakable() {
        let of = |name: &str| name.parse::<QualifiedName>().unwrap();
        for (a, b) in [("acme/pdf-forms", "zoe/pdf-form"), ("acme/pdf", "acne/pdf"), ("acme/pdf", "acrne/pdf")] {
            assert!(is_mistakable(&of(a), &of(b)), "{a} {b}");
        }
        for (a, b) in [("acme/pdf-forms", "acme/pdf-form"), ("acme/pdf", "zoe/pdf"), ("acme/pdf", "acne/notes")] {
            assert!(!is_mistakable(&of(a), &of(b)), "{a} {b}");
        }
    }
}
