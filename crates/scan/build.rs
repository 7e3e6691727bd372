//! Compiles the rules, the lexicon's index, the hosts and the table of weights into constants. Otherwise each process
//! would have to parse them before it scans.

#![expect(clippy::disallowed_methods, reason = "a build reads its own sources")]

use std::{collections::BTreeMap, env, fmt::Write as _, fs, io, path::Path};

use rule_file::{CaseEntry, Defaults, ExampleFile, Pattern, RuleEntry, RuleFile};
use serde::Deserialize;
use stem::{BUCKETS, KNOWN, Stem};
use ways::{Key, Line, Piece};

#[path = "src/prose/address.rs"]
mod address;
#[path = "src/characters.rs"]
mod characters;
#[path = "src/rule_file.rs"]
mod rule_file;
#[path = "src/prose/stem.rs"]
mod stem;
#[path = "src/prose/ways.rs"]
mod ways;
#[path = "src/prose/weights.rs"]
mod weights;
#[path = "src/prose/words.rs"]
mod words;

/// Stub for the table of hosts. Building the lexicon's index does not look up hosts.
mod foreign {
    pub(super) fn is_foreign(_host: &str) -> bool {
        false
    }

    pub(super) fn is_foreign_at(host: &str, _path: &str) -> bool {
        is_foreign(host)
    }

    pub(super) use is_foreign as is_strangers;
}

const LEXICON: &str = "data/lexicon.txt";
const WEIGHTS: &str = "data/weights.bin";
const RULES: &str = "rules";
const HOSTS: &str = "data/hosts.toml";

fn main() -> io::Result<()> {
    for file in [LEXICON, WEIGHTS, RULES, HOSTS, "build.rs", "src/characters.rs", "src/prose", "src/rule_file.rs"] {
        println!("cargo::rerun-if-changed={file}");
    }
    let index = Index::new(&fs::read_to_string(LEXICON)?);
    let folder = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    fs::write(Path::new(&folder).join("lexicon.rs"), index.write())?;
    let hosts = HostFile::read()?;
    fs::write(Path::new(&folder).join("rules.rs"), table_of_rules(&hosts)?)?;
    fs::write(Path::new(&folder).join("hosts.rs"), hosts.write())?;
    fs::write(Path::new(&folder).join("weights.rs"), table_of_weights(&fs::read(WEIGHTS)?))
}

/// Generates the table of all rules, sorted by ID. Rules that are implemented in code also get a named constant.
fn table_of_rules(hosts: &HostFile) -> io::Result<String> {
    let mut rules = BTreeMap::new();
    for file in fs::read_dir(RULES)? {
        let path = file?.path();
        let wrong = |problem: String| io::Error::other(format!("{}: {problem}", path.display()));
        let file: RuleFile = toml::from_str(&fs::read_to_string(&path)?).map_err(|error| wrong(error.to_string()))?;
        for mut rule in file.rules {
            hosts.fill(&mut rule);
            let text = constant_of_rule(&rule, &file.defaults);
            let name = rule.id.to_uppercase().replace('-', "_");
            let is_named = rule.in_code || rule.literals.is_empty() && rule.senses.is_empty();
            if rules.insert(rule.id.clone(), (is_named.then_some(name), text)).is_some() {
                return Err(wrong(format!("the rule {} is there twice", rule.id)));
            }
        }
    }
    let mut named = String::new();
    for (name, text) in rules.values() {
        if let Some(name) = name {
            _ = writeln!(named, "pub(crate) const {name}: Rule = {text};");
        }
    }
    let all: Vec<_> = rules.values().map(|(name, text)| name.as_ref().unwrap_or(text).as_str()).collect();
    Ok(format!("{named}pub(crate) static ALL: [Rule; {}] = [\n{},\n];", all.len(), all.join(",\n")))
}

fn constant_of_rule(rule: &RuleEntry, defaults: &Defaults) -> String {
    let or = |own: &Option<String>, default: &Option<String>| own.clone().or(default.clone()).unwrap_or_default();
    let variant = |name: String| name.get(..1).unwrap_or("").to_uppercase() + name.get(1..).unwrap_or("");
    let examples = |all: &[ExampleFile]| -> Vec<(String, String)> {
        all.iter().map(|example| (example.file.clone(), example.text.clone())).collect()
    };
    let case = |case: &CaseEntry| {
        let CaseEntry { words, message, remedy, harmless_if, harm } = case;
        let texts = format!("remedy: {remedy:?}, harmless_if: {harmless_if:?}, harm: {harm:?}");
        format!("Case {{ words: &{words:?}, message: {message:?}, {texts} }}")
    };
    let condition =
        rule.condition.as_ref().map_or("None".to_owned(), |name| format!("Some(crate::conditions::{name})"));
    format!(
        "Rule {{ id: {:?}, category: {:?}, technique: {:?}, risk: {:?}, evidence: Evidence::{}, scope: Scope::{}, \
         role: Role::{}, message: {:?}, harm: {:?}, remedy: {:?}, harmless_if: {:?}, cases: &[{}], literals: &{:?}, pattern: {:?}, also: &{:?}, senses: &{:?}, \
         condition: {condition}, secret: {}, harmful: &{:?}, harmless: &{:?} }}",
        rule.id,
        or(&rule.category, &defaults.category),
        or(&rule.technique, &defaults.technique),
        or(&rule.risk, &defaults.risk),
        variant(rule.evidence.clone()),
        variant(or(&rule.scope, &defaults.scope)),
        variant(or(&rule.role, &defaults.role)),
        rule.message,
        rule.harm,
        or(&rule.remedy, &defaults.remedy),
        rule.harmless_if,
        rule.cases.iter().map(case).collect::<Vec<_>>().join(", "),
        rule.literals,
        rule.pattern.joined(),
        rule.also,
        rule.senses,
        rule.secret,
        examples(&rule.harmful),
        examples(&rule.harmless),
    )
}

/// Trust levels of hosts, and the owners, keys and files that belong to hosts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HostFile {
    vendor: Vec<String>,
    registry: Vec<String>,
    service: Vec<String>,
    tenant: Vec<String>,
    forge: Vec<String>,
    drop: Vec<String>,
    aliases: BTreeMap<String, String>,
    owners: BTreeMap<String, Vec<String>>,
    keys: BTreeMap<String, Vec<String>>,
    files: BTreeMap<String, Vec<String>>,
}

impl HostFile {
    fn read() -> io::Result<Self> {
        toml::from_str(&fs::read_to_string(HOSTS)?).map_err(|error| io::Error::other(format!("{HOSTS}: {error}")))
    }

    /// Replaces the `{drop}` placeholder in a rule with the hosts made for capturing data.
    fn fill(&self, rule: &mut RuleEntry) {
        const DROPS: &str = "{drop}";
        if rule.literals.iter().any(|literal| literal == DROPS) {
            rule.literals.clone_from(&self.drop);
            let hosts: Vec<_> = self.drop.iter().map(|host| host.replace('.', r"\.")).collect();
            rule.pattern = Pattern::One(rule.pattern.joined().replace(DROPS, &hosts.join("|")));
        }
    }

    fn classes(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("Vendor", &self.vendor),
            ("Registry", &self.registry),
            ("Service", &self.service),
            ("Tenant", &self.tenant),
            ("Forge", &self.forge),
            ("Drop", &self.drop),
        ];
        all.into_iter().flat_map(|(class, hosts)| hosts.iter().map(move |host| (class, host.as_str())))
    }

    fn write(&self) -> String {
        let (mut hosts, mut paths, mut wild) = (BTreeMap::new(), Vec::new(), Vec::new());
        for (class, entry) in self.classes() {
            if let Some((host, path)) = entry.split_once('/') {
                paths.push(format!("({host:?}, {path:?}, Trust::{class})"));
            } else if entry.contains('*') {
                wild.push(format!("({entry:?}, Trust::{class})"));
            } else if let Some(host) = entry.strip_prefix('=') {
                hosts.entry(host).or_insert((None, None)).0 = Some(class);
            } else {
                hosts.entry(entry).or_insert((None, None)).1 = Some(class);
            }
        }
        let trust = |class: Option<&str>| class.map_or("None".to_owned(), |class| format!("Some(Trust::{class})"));
        let rows = hosts.iter().map(|(host, (alone, all))| format!("({host:?}, {}, {})", trust(*alone), trust(*all)));
        let mut text = String::new();
        table(&mut text, "HOSTS", "(&str, Option<Trust>, Option<Trust>)", rows);
        table(&mut text, "WILD", "(&str, Trust)", wild.into_iter());
        table(&mut text, "PATHS", "(&str, &str, Trust)", paths.into_iter());
        table(&mut text, "ALIASES", "(&str, &str)", self.aliases.iter().map(|pair| format!("{pair:?}")));
        for (name, lists) in [("OWNERS", &self.owners), ("KEYS", &self.keys), ("FILES", &self.files)] {
            table(&mut text, name, "(&str, &[&str])", lists.iter().map(|(of, all)| format!("({of:?}, &{all:?})")));
        }
        text
    }
}

/// Tables of the lexicon's index, which refer to each other by index.
#[derive(Default)]
struct Index {
    names: BTreeMap<String, usize>,
    /// Descriptions for findings, by concept.
    meanings: Vec<String>,
    deeds: u128,
    entries: Vec<(Key, usize)>,
    /// Phrases of the lexicon, each with its concept and its pieces.
    ways: Vec<(usize, Vec<Piece>)>,
}

impl Index {
    fn new(lexicon: &str) -> Self {
        let (mut index, mut concept) = (Self::default(), 0);
        for line in lexicon.lines().filter_map(Line::parse) {
            if !line.name.is_empty() {
                let next = index.names.len();
                concept = *index.names.entry(line.name.to_owned()).or_insert(next);
                index.meanings.resize(index.names.len(), String::new());
                index.meanings.get_mut(concept).into_iter().for_each(|meaning| meaning.push_str(line.meaning));
                index.deeds |= u128::from(line.is_deed) << concept;
            }
            for pieces in line.ways().map(ways::pieces) {
                index.entries.extend(ways::keys(&pieces).into_iter().map(|key| (key, index.ways.len())));
                index.ways.push((concept, pieces));
            }
        }
        index.entries.sort_by_key(|(key, way)| (key.stem.bucket(), key.stem, *way));
        index
    }

    fn write(&self) -> String {
        let mut text = String::new();
        table(
            &mut text,
            "NAMES",
            "(&str, u32)",
            self.names.iter().map(|(name, concept)| format!("({name:?}, {concept})")),
        );
        table(&mut text, "MEANINGS", "&str", self.meanings.iter().map(|meaning| format!("{meaning:?}")));
        let place = |name: &str| self.names.get(name).copied().unwrap_or_default();
        let set = |names: &[&str]| names.iter().fold(0u128, |all, name| all | 1 << place(name));
        for name in ["never", "lest", "other", "fail"] {
            _ = writeln!(text, "pub(super) const {}: u32 = {};", name.to_uppercase(), place(name));
        }
        for (name, set) in [
            ("DEEDS", self.deeds),
            ("NEGATIONS", set(&["not", "never", "lest"])),
            ("ASKS", set(&["ask-first", "told"])),
            ("NO_OTHERS", set(&["robot", "self", "addressee", "you"])),
        ] {
            _ = writeln!(text, "pub(super) const {name}: Set = {set};");
        }
        table(
            &mut text,
            "ENTRIES",
            "Entry",
            self.entries.iter().map(|(Key { stem: Stem(stem), next, gap, whole }, way)| {
                let concept = self.ways.get(*way).map_or(0, |(concept, _)| *concept);
                let rest = format!("gap: {gap}, whole: {whole}, concept: {concept}, way: {way}");
                format!("Entry {{ stem: Stem({stem}), next: {next}, {rest} }}")
            }),
        );
        self.write_places(&mut text);
        self.write_ways(&mut text);
        text
    }

    /// Writes the start of each bucket of entries, and the bit set of stems that have an entry.
    fn write_places(&self, text: &mut String) {
        let before = |bucket| self.entries.partition_point(|(key, _)| key.stem.bucket() < bucket).to_string();
        table(text, "STARTS", "u32", (0..=BUCKETS).map(before));
        let mut known = vec![0u64; KNOWN / 64];
        for (key, _) in &self.entries {
            known[key.stem.known() / 64] |= 1 << (key.stem.known() % 64);
        }
        table(text, "KNOWN", "u64", known.iter().map(u64::to_string));
    }

    fn write_ways(&self, text: &mut String) {
        let (mut ways, mut pieces, mut choices, mut stems) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (_, all) in &self.ways {
            let start = pieces.len();
            for piece in all {
                let (start, first, gap) = (choices.len(), piece.first(), piece.gap);
                for choice in &piece.choices {
                    let start = stems.len();
                    stems.extend(choice.iter().map(|Stem(stem)| format!("Stem({stem})")));
                    let first = choice.first().map_or("None".to_owned(), |Stem(stem)| format!("Some(Stem({stem}))"));
                    choices.push(format!("({first}, {start}, {})", stems.len()));
                }
                let end = choices.len();
                pieces.push(format!("Piece {{ gap: {gap}, first: {first}, start: {start}, end: {end} }}"));
            }
            ways.push(format!("({start}, {})", pieces.len()));
        }
        table(text, "WAYS", "(u32, u32)", ways.into_iter());
        table(text, "PIECES", "Piece", pieces.into_iter());
        table(text, "CHOICES", "(Option<Stem>, u32, u32)", choices.into_iter());
        table(text, "STEMS", "Stem", stems.into_iter());
    }
}

/// Generates the tables of weights: the bias of every passage, the sorted keys, and their weights.
fn table_of_weights(bytes: &[u8]) -> String {
    let (every, rest) = bytes.split_at_checked(2).unwrap_or_default();
    let (keys, values) = rest.split_at_checked(rest.len() / 6 * 4).unwrap_or_default();
    let keys: Vec<u32> = keys.as_chunks().0.iter().map(|key| u32::from_le_bytes(*key)).collect();
    let value = |bytes: &[u8; 2]| i16::from_le_bytes(*bytes).to_string();
    let mut seen = vec![0u64; weights::SEEN / 64];
    for key in &keys {
        seen[weights::seen(*key) / 64] |= 1 << (weights::seen(*key) % 64);
    }
    let before = |bucket| keys.partition_point(|key| weights::bucket(*key) < bucket).to_string();
    let mut text = String::new();
    table(&mut text, "EVERY", "i16", every.as_chunks().0.iter().map(value));
    table(&mut text, "SEEN", "u64", seen.iter().map(u64::to_string));
    table(&mut text, "STARTS", "u16", (0..=weights::BUCKETS).map(before));
    table(&mut text, "KEYS", "u32", keys.iter().map(u32::to_string));
    table(&mut text, "VALUES", "i16", values.as_chunks().0.iter().map(value));
    text
}

/// Writes a static array of constants.
fn table(text: &mut String, name: &str, kind: &str, rows: impl Iterator<Item = String>) {
    let rows: Vec<_> = rows.collect();
    _ = writeln!(text, "pub(super) static {name}: [{kind}; {}] = [\n{},\n];", rows.len(), rows.join(",\n"));
}
