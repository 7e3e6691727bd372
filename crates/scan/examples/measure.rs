//! Measures the scanner on a labelled corpus: `measure LABELS.tsv`.
//!
//! The file has the columns label, kind and path. Paths are relative to the file. It prints recall on malicious skills
//! and false positives on benign ones, by rule, source and size. It also prints the speed, next to that of a hash and
//! of a search for one literal in the same bytes.
//!
//! `--list` names missed attacks and flagged skills. `--dump` prints every finding and the steps, for a comparison of
//! two builds, without the speed. `--edits FOLDER` replays the versions of the skills in a folder as edits instead.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "an example for the desk, not for users")]

use std::{collections::BTreeMap, fs, hint::black_box, path::Path};

use memchr::memmem;
use rustix::time::{ClockId, clock_gettime};
use scan::{Report, Severity, scan};
use skill::{Bundle, Digest, File, Limits, SkillPath};

fn read(root: &Path, folder: &Path, files: &mut Vec<(SkillPath, File)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            read(root, &path, files);
        } else if let Ok(name) = SkillPath::parse(path.strip_prefix(root).unwrap().to_str().unwrap_or("\0")) {
            files.push((name, File { bytes: fs::read(&path).unwrap().into(), executable: false }));
        } else {
            eprintln!("not read: {}", path.display());
        }
    }
}

fn at_least(report: &Report, severity: Severity) -> bool {
    report.worst() >= Some(severity)
}

/// Size classes of skills: maximum size in bytes, and name.
const SIZES: [(u64, &str); 5] =
    [(5_000, "to 5 KB"), (15_000, "to 15 KB"), (35_000, "to 35 KB"), (80_000, "to 80 KB"), (u64::MAX, "above 80 KB")];

fn size_class(bytes: u64) -> &'static str {
    SIZES.iter().find(|(most, _)| bytes <= *most).map_or("", |(_, name)| name)
}

/// Loads the skill in a folder. Returns `None` if it has a path that a skill cannot have.
fn bundle_in(folder: &Path) -> Option<Bundle> {
    let wide = Limits { files_per_skill: 100_000, skill_bytes: 1 << 30, text_file_bytes: 1 << 30, ..Limits::default() };
    let mut files = Vec::new();
    read(folder, folder, &mut files);
    Bundle::from_files(files, &wide).ok()
}

/// Replays each version of each skill as an edit of the preceding one.
fn replay(folder: &Path) {
    let mut skills: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    skills.retain(|path| path.is_dir());
    skills.sort();
    let (mut edits, mut blocked, mut warned) = (0, 0, 0);
    for skill in skills {
        let mut versions: Vec<usize> = fs::read_dir(&skill)
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().to_str().and_then(|name| name.parse().ok()))
            .collect();
        versions.sort_unstable();
        for pair in versions.windows(2) {
            let [before, after] = [pair[0], pair[1]].map(|version| bundle_in(&skill.join(version.to_string())));
            let (Some(before), Some(after)) = (before, after) else { continue };
            edits += 1;
            let judged = scan::clear(after, scan::Baseline::Cleared(&before));
            let is_blocked = judged.is_err();
            let report = judged.map_or_else(|blocked| blocked.report().clone(), |cleared| cleared.report().clone());
            let is_warned = report.findings.iter().any(|finding| finding.new && finding.severity == Severity::Medium);
            blocked += usize::from(is_blocked);
            warned += usize::from(!is_blocked && is_warned);
            if is_blocked {
                let first = report.findings.iter().find(|finding| finding.new).unwrap();
                println!("blocked {} {} {}:{}", skill.display(), first.rule, first.path, first.line);
            }
        }
    }
    let share = |n: usize| n as f64 / edits as f64;
    println!("{edits} edits: {blocked} blocked ({:.3}), {warned} warned of ({:.3})", share(blocked), share(warned));
}

/// Prints a missed attack or a flagged honest skill, with its findings.
fn print_wrong(label: &str, path: &str, report: &Report) {
    if (label == "malicious") == at_least(report, Severity::High) {
        return;
    }
    println!("{} {path}", if label == "malicious" { "missed" } else { "flagged" });
    for f in report.findings.iter().filter(|f| label == "malicious" || f.severity >= Severity::High).take(6) {
        println!("    {} {} {}:{} {}", f.severity, f.rule, f.path, f.line, f.excerpt);
    }
}

fn main() {
    let labels = std::env::args().nth(1).unwrap();
    if labels == "--edits" {
        return replay(Path::new(&std::env::args().nth(2).unwrap()));
    }
    let list = std::env::args().any(|argument| argument == "--list");
    let dump = std::env::args().any(|argument| argument == "--dump");
    let base = Path::new(&labels).parent().unwrap();
    let (mut honest_bytes, mut honest_blocks) = (0, 0);
    let mut totals: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    let mut rules: BTreeMap<(String, Severity), [usize; 4]> = BTreeMap::new();
    let (mut bytes, mut seconds, mut hashing, mut finding, mut steps) = (0, 0.0, 0.0, 0.0, 0);
    let literal = memmem::Finder::new(LITERAL);
    let mut times: Vec<(f64, String)> = Vec::new();
    for line in fs::read_to_string(&labels).unwrap().lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let (label, path) = (columns[0], columns[2]);
        let Some(bundle) = bundle_in(&base.join(path)) else {
            println!("no bundle: {path}");
            continue;
        };
        let (report, took) = timed(|| scan(&bundle));
        (bytes, seconds) = (bytes + bundle.total_bytes(), seconds + took);
        times.push((took * 1e3, path.to_owned()));
        hashing += timed(|| bundle.files().for_each(|(_, file)| hash(file))).1;
        finding += timed(|| bundle.files().for_each(|(_, file)| find(&literal, file))).1;
        steps = steps.max(scan::steps_of(&bundle));
        if dump {
            println!("{path} {} {} {:#?}", scan::steps_of(&bundle), report.ruleset, report.findings);
            continue;
        }
        let source = columns.get(3).map(|source| format!("{label} {source}"));
        let class = columns.get(4).filter(|class| !class.contains('/')).map(|class| format!("{label} class {class}"));
        let size = format!("{label} size {}", size_class(bundle.total_bytes()));
        if label == "benign" {
            honest_bytes += bundle.total_bytes();
            honest_blocks += report.findings.iter().filter(|finding| finding.severity >= Severity::High).count();
        }
        for group in [Some(label.to_owned()), source, class, Some(size)].into_iter().flatten() {
            let total = totals.entry(group).or_default();
            total[0] += 1;
            total[1] += usize::from(at_least(&report, Severity::High));
            total[2] += usize::from(at_least(&report, Severity::Medium));
        }
        let mut fired: Vec<_> = report.findings.iter().map(|f| (f.rule.to_string(), f.severity)).collect();
        fired.sort();
        fired.dedup();
        let malicious = usize::from(label == "malicious");
        let first = fired.iter().find(|(_, severity)| *severity >= Severity::High).map(|(rule, _)| rule.clone());
        let alone = fired.iter().all(|(rule, severity)| *severity < Severity::High || Some(rule) == first.as_ref());
        for key in fired {
            let counts = rules.entry(key.clone()).or_default();
            counts[malicious] += 1;
            counts[malicious + 2] += usize::from(alone && key.1 >= Severity::High);
        }
        if list {
            print_wrong(label, path, &report);
        }
    }
    if dump {
        return;
    }
    print_counts(rules, totals);
    println!("{:.2} findings that block for each MB of benign text", honest_blocks as f64 * 1e6 / honest_bytes as f64);
    print_speed(times, bytes, seconds, steps);
    println!("hashing the same bytes took {hashing:.3} s, the scan {:.1} times as long", seconds / hashing);
    println!("finding a literal in them took {finding:.4} s, the scan {:.0} times as long", seconds / finding);
}

/// Prints how often each rule fired, and the share of flagged skills in each group.
fn print_counts(rules: BTreeMap<(String, Severity), [usize; 4]>, totals: BTreeMap<String, [usize; 3]>) {
    for ((rule, severity), [benign, malicious, benign_alone, alone]) in rules {
        println!("{severity:9} {rule:32} benign {benign:4} ({benign_alone:3}) malicious {malicious:4} ({alone:3})");
    }
    for (label, [all, high, medium]) in totals {
        let share = |n: usize| n as f64 / all as f64;
        println!("{label}: {all} skills, flagged at high {:.3}, at medium {:.3}", share(high), share(medium));
    }
}

fn print_speed(mut times: Vec<(f64, String)>, bytes: u64, seconds: f64, steps: u64) {
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let at = |part: usize| times[(times.len() * part / 100).min(times.len() - 1)].0;
    println!(
        "{} rules, {:.2} MB in {seconds:.2} s = {:.2} MB/s, median {:.2} ms, p95 {:.2} ms, most steps {steps}",
        scan::rules().len(),
        bytes as f64 / 1e6,
        bytes as f64 / 1e6 / seconds,
        at(50),
        at(95)
    );
    for (took, path) in times.iter().rev().take(3) {
        println!("slow: {took:.1} ms {path}");
    }
}

/// Literal that occurs in no skill.
const LITERAL: &str = "e\u{1}e";

/// Hashes a file, as a baseline for the scan time.
fn hash(file: &File) {
    black_box(Digest::of_bytes(&file.bytes));
}

/// Searches a file for one literal, as a baseline for the cheapest text search.
fn find(literal: &memmem::Finder<'_>, file: &File) {
    black_box(literal.find_iter(&file.bytes).count());
}

/// Runs a closure, and returns its result with the elapsed seconds.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = spent();
    let done = work();
    (done, spent() - start)
}

/// Returns the CPU time of this process in seconds.
fn spent() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}
