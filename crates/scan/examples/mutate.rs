//! Mutates labelled skills and compares the verdicts: `mutate SEED SECONDS TABLE…`.
//!
//! A table has the columns label, kind and path, as for `measure`, or attack or honest, name, path and text. For each
//! mutation it prints how many attacks are still found, with this mutation alone and with up to three others. It also
//! prints how many honest skills become blocked, with examples.
//!
//! `--only WAY` tries that mutation alone, once per skill, and prints the lost skills with their mutated text.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "an example for the desk, not for users")]

use std::{collections::BTreeMap, fs, path::Path, process::ExitCode};

use rustix::time::{ClockId, clock_gettime};
use scan::{Report, Verdict};
use ways::{Change, Skill, Way, report};

#[path = "../tests/ways/mod.rs"]
mod ways;

/// Duration in seconds from which a scan counts as slow.
const SLOW: f64 = 1.0;
/// Maximum number of example skills printed per mutation.
const NAMED: usize = 3;
/// Maximum size in bytes of a skill to mutate.
const LARGEST: usize = 400_000;

struct Case {
    id: String,
    skill: Skill,
    is_attack: bool,
    verdict: Verdict,
}

impl Case {
    /// Returns whether the verdict misses an attack or blocks an honest skill.
    fn is_wrong(&self, verdict: Verdict) -> bool {
        if self.is_attack { verdict == Verdict::Allow } else { verdict == Verdict::Block }
    }
}

/// Outcomes of the skills that a mutation changed.
#[derive(Default)]
struct Tally {
    tried: usize,
    warned: usize,
    blocked: usize,
    examples: Vec<String>,
}

/// Outcomes for attacks or for honest skills, per mutation: applied alone, and together with others.
#[derive(Default)]
struct Side {
    alone: BTreeMap<String, Tally>,
    together: BTreeMap<String, Tally>,
}

/// Pseudorandom number generator (SplitMix64), whose sequence depends only on the seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) >> 1).unwrap() % end
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("mutate: {reason}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<(), String> {
    let usage = || "usage: mutate SEED SECONDS TABLE... [--only WAY]".to_owned();
    let at = arguments.iter().position(|argument| argument == "--only").unwrap_or(arguments.len());
    let ([seed, seconds, tables @ ..], only) = arguments.split_at(at) else { return Err(usage()) };
    let (Ok(seed), Ok(seconds)) = (seed.parse(), seconds.parse::<f64>()) else { return Err(usage()) };
    let (attacks, honest) = cases(tables)?;
    println!("{} attacks that are found, {} honest skills that are not blocked", attacks.len(), honest.len());
    match only {
        [] => draw_mutants(&attacks, &honest, Draw(seed), seconds),
        [_, name] => return show_way(name, &attacks, &honest),
        _ => return Err(usage()),
    }
    Ok(())
}

/// Tries one mutation alone on each skill.
fn show_way(name: &str, attacks: &[Case], honest: &[Case]) -> Result<(), String> {
    let mut all = ways::all().into_iter().map(|way| (way.name, way.change)).chain(ways::added::all());
    let (_, change) = all.find(|(there, _)| *there == name).ok_or_else(|| format!("no way is called {name}"))?;
    attacks.iter().chain(honest).enumerate().for_each(|(number, case)| show(case, &change, number));
    Ok(())
}

fn draw_mutants(attacks: &[Case], honest: &[Case], mut draw: Draw, seconds: f64) {
    let end = spent() + seconds;
    let all = ways::all();
    let least: BTreeMap<String, usize> = all.iter().map(|way| (way.name.clone(), way.least)).collect();
    let (hiding, plain) = (of_attacks(&all), of_honest(&all));
    let added = ways::added::all();
    let plain: Vec<_> = plain.into_iter().chain(added.iter().map(|(name, change)| (name.as_str(), change))).collect();
    let (mut lost, mut turned, mut tried) = (Side::default(), Side::default(), 0);
    while spent() < end {
        tried += usize::from(!attacks.is_empty() && mutate(attacks, &hiding, &mut draw, &mut lost));
        if !honest.is_empty() && (attacks.is_empty() || draw.below(4) == 0) {
            tried += usize::from(mutate(honest, &plain, &mut draw, &mut turned));
        }
        if attacks.is_empty() && honest.is_empty() {
            break;
        }
    }
    println!("{tried} mutants in {:.0} s of CPU", spent());
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

/// Loads the attacks that are found and the honest skills that are not blocked without a mutation.
fn cases(tables: &[String]) -> Result<(Vec<Case>, Vec<Case>), String> {
    let (mut attacks, mut honest) = (Vec::new(), Vec::new());
    for table in tables {
        let name = Path::new(table).file_stem().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(table).map_err(|error| format!("{table}: {error}"))?;
        let skills = skills(Path::new(table), &text).map_err(|reason| format!("{table}: {reason}"))?;
        for (is_attack, id, skill) in skills {
            let Some(verdict) = report(&skill).map(|report| report.verdict()) else {
                return Err(format!("{table}: {id} is no skill"));
            };
            let case = Case { id: format!("{name} {id}"), skill, is_attack, verdict };
            match is_attack {
                true if verdict >= Verdict::Warn => attacks.push(case),
                false if verdict < Verdict::Block => honest.push(case),
                _ => {}
            }
        }
    }
    Ok((attacks, honest))
}

/// Reads the skills of a table. Returns for each whether it is an attack, and its name.
fn skills(table: &Path, text: &str) -> Result<Vec<(bool, String, Skill)>, String> {
    if text.starts_with("label\t") {
        return labelled(table.parent().unwrap_or(Path::new(".")), text);
    }
    check_form(text)?;
    let of = |label| ways::read(text, label).into_iter().map(move |(id, skill)| (label == "attack", id, skill));
    Ok(of("attack").chain(of("honest")).collect())
}

/// Rejects a table that does not have the columns attack or honest, name, path and text.
fn check_form(text: &str) -> Result<(), String> {
    let is_row = |line: &str| {
        let columns: Vec<_> = line.split('\t').collect();
        columns.len() == 4 && matches!(columns[0], "attack" | "honest")
    };
    match text.lines().position(|line| !line.is_empty() && !is_row(line)) {
        Some(at) => Err(format!(
            "line {} is neither attack or honest, name, path and text, nor is the first line label, kind and path",
            at + 1
        )),
        None => Ok(()),
    }
}

/// Reads the skills of a table that names their folders.
fn labelled(base: &Path, table: &str) -> Result<Vec<(bool, String, Skill)>, String> {
    let mut skills = Vec::new();
    for (number, line) in table.lines().enumerate().skip(1) {
        let (is_attack, path) = match *line.split('\t').collect::<Vec<_>>() {
            ["malicious", _, path, ..] => (true, path),
            ["benign", _, path, ..] => (false, path),
            _ => return Err(format!("line {} is neither malicious or benign, kind and path", number + 1)),
        };
        let skill = folder(&base.join(path)).map_err(|error| format!("{path}: {error}"))?;
        if !skill.is_empty() && skill.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() < LARGEST {
            skills.push((is_attack, path.to_owned(), skill));
        }
    }
    Ok(skills)
}

fn folder(root: &Path) -> std::io::Result<Skill> {
    let (mut skill, mut open) = (Skill::new(), vec![root.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap_or("\0");
            match path.is_dir() {
                _ if path.is_symlink() || skill::SkillPath::parse(name).is_err() => {}
                true => open.push(path),
                false => skill.push((name.to_owned(), fs::read(&path)?)),
            }
        }
    }
    skill.sort();
    Ok(skill)
}

/// Applies up to four mutations to a random skill and counts the outcome. Returns false if nothing changed.
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

/// Formats names by descending frequency.
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

/// Prints a skill that a mutation turned into an error, with its findings before and after.
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

/// Returns the CPU time of this process in seconds.
fn spent() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}
