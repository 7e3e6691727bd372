//! Writes labelled skills in other ways and says what becomes of the verdicts: `mutate SEED SECONDS TABLE…`, where a table has the
//! columns label, kind and path as for `measure`, or attack or honest, name, path and text. Of each way it prints how
//! many attacks are still found, alone and with up to three others, and how many honest skills it turns, with examples. `--only WAY` tries
//! that way alone, once on each skill, and prints what was lost and how it then read.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "an example for the desk, not for users")]

use std::{collections::BTreeMap, fs, path::Path};

use rustix::time::{ClockId, clock_gettime};
use scan::{Report, Verdict};
use ways::{Change, Skill, Way, report};

#[path = "../tests/ways/mod.rs"]
mod ways;

/// Seconds of a slow scan.
const SLOW: f64 = 1.0;
/// Skills that are named for each way.
const NAMED: usize = 3;
/// Bytes of the largest skill that is changed.
const LARGEST: usize = 400_000;

struct Case {
    id: String,
    skill: Skill,
    is_attack: bool,
    verdict: Verdict,
}

impl Case {
    /// Whether an attack is lost with a verdict, or an honest skill blocked.
    fn is_wrong(&self, verdict: Verdict) -> bool {
        if self.is_attack { verdict == Verdict::Allow } else { verdict == Verdict::Block }
    }
}

/// What became of the skills that a way changed.
#[derive(Default)]
struct Tally {
    tried: usize,
    warned: usize,
    blocked: usize,
    examples: Vec<String>,
}

/// The outcomes of one side: of each way alone, and of it with others.
#[derive(Default)]
struct Side {
    alone: BTreeMap<String, Tally>,
    together: BTreeMap<String, Tally>,
}

/// Numbers that only a seed decides (SplitMix64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) >> 1).unwrap() % end
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let only = arguments.iter().position(|argument| argument == "--only").map(|at| arguments[at + 1].clone());
    let tables = arguments[2..].iter().take_while(|argument| *argument != "--only");
    let (attacks, honest) = cases(tables);
    println!("{} attacks that are found, {} honest skills that are not blocked", attacks.len(), honest.len());
    let all = ways::all();
    if let Some(name) = only {
        let way = all.into_iter().map(|way| (way.name, way.change)).chain(ways::added::all());
        let way = way.into_iter().find(|(there, _)| *there == name).unwrap();
        attacks.iter().chain(&honest).enumerate().for_each(|(number, case)| show(case, &way.1, number));
        return;
    }
    let end = spent() + arguments[1].parse::<f64>().unwrap();
    let mut draw = Draw(arguments[0].parse().unwrap());
    let least: BTreeMap<String, usize> = all.iter().map(|way| (way.name.clone(), way.least)).collect();
    let (hiding, plain) = (of_attacks(&all), of_honest(&all));
    let added = ways::added::all();
    let plain: Vec<_> = plain.into_iter().chain(added.iter().map(|(name, change)| (name.as_str(), change))).collect();
    let (mut lost, mut turned, mut tried) = (Side::default(), Side::default(), 0);
    while spent() < end {
        tried += usize::from(mutate(&attacks, &hiding, &mut draw, &mut lost));
        if !honest.is_empty() && draw.below(4) == 0 {
            tried += usize::from(mutate(&honest, &plain, &mut draw, &mut turned));
        }
    }
    println!("{tried} mutants");
    print_attacks(&lost, &least);
    print_honest(&turned);
}

type Named<'a> = (&'a str, &'a Change);

fn of_attacks(all: &[Way]) -> Vec<Named<'_>> {
    all.iter().map(|way| (way.name.as_str(), &way.change)).collect()
}

fn of_honest(all: &[Way]) -> Vec<Named<'_>> {
    all.iter().filter(|way| way.plain).map(|way| (way.name.as_str(), &way.change)).collect()
}

/// The attacks that are found and the honest skills that are not blocked, as they stand.
fn cases<'a>(tables: impl Iterator<Item = &'a String>) -> (Vec<Case>, Vec<Case>) {
    let (mut attacks, mut honest) = (Vec::new(), Vec::new());
    for table in tables {
        let name = Path::new(table).file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(table).unwrap();
        let (bad, good) = if text.starts_with("label\t") {
            let of = |label: &str| labelled(Path::new(table).parent().unwrap(), &text, label);
            (of("malicious"), of("benign"))
        } else {
            (ways::read(&text, "attack"), ways::read(&text, "honest"))
        };
        let case = |is_attack: bool| {
            move |(id, skill): (String, Skill)| {
                let verdict = report(&skill).unwrap().verdict();
                Case { id: format!("{name} {id}"), skill, is_attack, verdict }
            }
        };
        attacks.extend(bad.into_iter().map(case(true)).filter(|case| case.verdict >= Verdict::Warn));
        honest.extend(good.into_iter().map(case(false)).filter(|case| case.verdict < Verdict::Block));
    }
    (attacks, honest)
}

/// The skills with a label, of which a table names the folders.
fn labelled(base: &Path, table: &str, label: &str) -> Vec<(String, Skill)> {
    let rows = table.lines().map(|line| line.split('\t').collect::<Vec<_>>()).filter(|columns| columns[0] == label);
    let mut skills: Vec<_> = rows.map(|columns| (columns[2].to_owned(), folder(&base.join(columns[2])))).collect();
    skills
        .retain(|(_, skill)| !skill.is_empty() && skill.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() < LARGEST);
    skills
}

fn folder(root: &Path) -> Skill {
    let (mut skill, mut open) = (Skill::new(), vec![root.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap_or("\0");
            match path.is_dir() {
                _ if path.is_symlink() || skill::SkillPath::parse(name).is_err() => {}
                true => open.push(path),
                false => skill.push((name.to_owned(), fs::read(&path).unwrap())),
            }
        }
    }
    skill.sort();
    skill
}

/// Changes one of the skills in up to four ways and counts what becomes of it; false where nothing changed.
fn mutate(cases: &[Case], ways: &[Named<'_>], draw: &mut Draw, side: &mut Side) -> bool {
    let case = &cases[draw.below(cases.len())];
    let (mut skill, mut names, wanted) = (case.skill.clone(), Vec::new(), 1 + draw.below(4));
    for _ in 0..wanted * 4 {
        let (name, change) = ways[draw.below(ways.len())];
        let changed = change(&skill, draw.below(60));
        if names.len() < wanted && !names.contains(&name) && changed != skill {
            skill = changed;
            names.push(name);
        }
    }
    if names.is_empty() {
        return false;
    }
    let start = spent();
    let Some(report) = report(&skill) else { return false };
    let took = spent() - start;
    if took > SLOW || report.findings.iter().any(|finding| finding.rule == "scanner-failure") {
        println!("slow or failed: {took:.1} s, {} by {names:?}", case.id);
    }
    let tallies = if names.len() == 1 { &mut side.alone } else { &mut side.together };
    names.iter().for_each(|name| count(tallies.entry((*name).to_owned()).or_default(), case, report.verdict()));
    true
}

fn count(tally: &mut Tally, case: &Case, verdict: Verdict) {
    tally.tried += 1;
    tally.warned += usize::from(verdict == Verdict::Warn && case.verdict != Verdict::Warn);
    tally.blocked += usize::from(verdict == Verdict::Block);
    tally.examples.extend(case.is_wrong(verdict).then(|| case.id.clone()));
}

fn share(part: usize, all: usize) -> f64 {
    part as f64 / all.max(1) as f64
}

/// Names, those most often met first.
fn worst(examples: &[String]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    examples.iter().for_each(|id| *counts.entry(id).or_default() += 1);
    let mut ids: Vec<_> = counts.into_iter().collect();
    ids.sort_by_key(|(id, count)| (std::cmp::Reverse(*count), *id));
    ids.iter().take(NAMED).map(|(id, _)| *id).collect::<Vec<_>>().join("; ")
}

fn print_attacks(side: &Side, least: &BTreeMap<String, usize>) {
    println!("attacks: way, mutants and share still found, alone and with others; share blocked alone; least; lost");
    let nothing = Tally::default();
    for (name, least) in least {
        let [alone, together] = [&side.alone, &side.together].map(|tallies| tallies.get(name).unwrap_or(&nothing));
        let found = |tally: &Tally| share(tally.tried - tally.examples.len(), tally.tried);
        println!(
            "{name:32} {:6} {:.3}  {:6} {:.3}  {:.3}  {least}  {}",
            alone.tried,
            found(alone),
            together.tried,
            found(together),
            share(alone.blocked, alone.tried),
            worst(&alone.examples)
        );
    }
}

fn print_honest(side: &Side) {
    println!("honest: way, mutants, shares that are blocked or newly warned of, alone; blocked with others; blocked");
    let nothing = Tally::default();
    for (name, alone) in &side.alone {
        let together = side.together.get(name).unwrap_or(&nothing);
        println!(
            "{name:32} {:6} {:.4} {:.4}  {:6} {:.4}  {}",
            alone.tried,
            share(alone.blocked, alone.tried),
            share(alone.warned, alone.tried),
            together.tried,
            share(together.blocked, together.tried),
            worst(&alone.examples)
        );
    }
}

/// Prints a skill that a way makes lost or blocked, with what is found in it before and after.
fn show(case: &Case, change: &Change, number: usize) {
    let changed = change(&case.skill, number);
    let Some(after) = report(&changed) else { return };
    if changed == case.skill || !case.is_wrong(after.verdict()) {
        return;
    }
    let rules = |report: &Report| {
        report.findings.iter().map(|f| format!("{} {} {}:{}", f.severity, f.rule, f.path, f.line)).collect::<Vec<_>>()
    };
    println!(
        "=== {} ({number})\nbefore {:?}\nafter {:?}",
        case.id,
        rules(&report(&case.skill).unwrap()),
        rules(&after)
    );
    for (path, bytes) in changed.iter().filter(|file| !case.skill.contains(file)) {
        println!("--- {path}\n{}", String::from_utf8_lossy(bytes));
    }
}

/// CPU time of this process in seconds.
fn spent() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}
