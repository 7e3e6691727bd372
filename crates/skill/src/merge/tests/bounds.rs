//! Tests that the merge terminates quickly on texts that are hard to compare, with a conflict in doubt.
#![expect(clippy::disallowed_methods, reason = "the system says in a file how long a thread ran")]

use super::{replay::Random, *};

/// Environment variable that enables full-size texts. The default is smaller, since ordinary test runs are not
/// optimised.
const FULL: &str = "SKILLHUB_MERGE_FULL";

fn bytes() -> usize {
    if std::env::var_os(FULL).is_some() { (1 << 20) - 100 } else { 1 << 13 }
}

fn filled(mut line: impl FnMut(usize) -> String) -> String {
    let mut text = String::with_capacity(bytes());
    for number in 0.. {
        let line = line(number);
        if text.len() + line.len() > bytes() {
            break;
        }
        text.push_str(&line);
    }
    text
}

/// Triples of texts that are hard to compare, with a label.
fn hard_texts() -> Vec<(&'static str, [String; 3])> {
    let mut random = Random(7);
    let mut noise =
        |words: usize, end: &'static str| [0; 3].map(|_| filled(|_| format!("w{}{end}", random.below(words))));
    let (few, many, prose) = (noise(3, "\n"), noise(100_000, "\n"), noise(50, " "));
    let blank = "\n".repeat(bytes());
    let ordered = filled(|number| format!("{number}\n"));
    let reversed: String = ordered.lines().rev().flat_map(|line| [line, "\n"]).collect();
    let paragraphs = |seed: u64| {
        let mut random = Random(seed);
        filled(|number| {
            format!("# {number}\n{}\n", (0..4000).map(|_| ["a ", "b ", "c "][random.below(3)]).collect::<String>())
        })
    };
    let blocks = |seed: u64| {
        let mut random = Random(seed);
        filled(|number| {
            format!("# {number}\n{}", (0..30).map(|_| ["a\n", "b\n", "c\n"][random.below(3)]).collect::<String>())
        })
    };
    vec![
        ("few lines", few),
        ("many lines", many),
        ("one line of prose", prose),
        ("blank", [blank.clone(), format!("{blank}x\n"), blank[9..].to_owned()]),
        ("reversed", [ordered.clone(), reversed.clone(), format!("{reversed}x\n")]),
        ("paragraphs", [1, 2, 3].map(paragraphs)),
        ("blocks", [1, 2, 3].map(blocks)),
    ]
}

/// Returns the processor time of this thread in nanoseconds, independent of other load. 0 if the system does not report
/// it.
fn nanoseconds_of_this_thread() -> u64 {
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    said.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

#[test]
fn hard_texts_conflict_in_time() {
    for (name, [base, ours, theirs]) in hard_texts() {
        let [base, ours, theirs] = [base, ours, theirs].map(|text| bundle(&[("a.md", &text)]));
        let start = nanoseconds_of_this_thread();
        let done = merge(&base, &ours, &theirs, &Limits::default());
        eprintln!("{name}: {} ms of a processor", (nanoseconds_of_this_thread() - start) / 1_000_000);
        match done {
            Ok(done) => {
                assert!(!done.is_clean(), "{name}");
                assert!(done.conflicts.iter().all(|conflict| conflict.to_string().len() < 200), "{name}");
            }
            Err(error) => assert!(matches!(error, BundleError::TextTooLarge { .. }), "{name}: {error}"),
        }
    }
}

/// A skill with many hard files, many new keys, and many similar files.
#[test]
fn largest_skill_is_merged_in_time() {
    let mut random = Random(11);
    let mut noise = || (0..500).map(|_| format!("{}\n", random.below(16))).collect::<String>();
    let mut side = |name: &str| {
        let keys: String = (0..4000).map(|key| format!("{name}{key}: 1\n")).collect();
        let mut files = vec![("SKILL.md".to_owned(), format!("---\nname: a\ndescription: d\n{keys}---\n"))];
        files.extend((0..200).map(|file| (format!("f{file}"), noise())));
        files.extend((0..60).map(|file| (format!("{name}{file}"), format!("{}{name}{file}", "1\n".repeat(20_000)))));
        let files = files.into_iter().map(|(path, text)| (SkillPath::parse(&path).unwrap(), text.into_bytes()));
        let files = files.map(|(path, bytes)| (path, File { bytes: bytes.into(), executable: false }));
        Bundle::from_files(files, &Limits::default()).unwrap()
    };
    let (base, ours, theirs) = (side("a"), side("b"), side("c"));
    let begun = nanoseconds_of_this_thread();
    let rules = Rules { follows_renames: true, ..Rules::CAREFUL };
    merge_by(&rules, [&base, &ours, &theirs], &Limits { files_per_skill: 2000, ..Limits::default() }).unwrap();
    let seconds = (nanoseconds_of_this_thread() - begun) / 1_000_000_000;
    assert!(seconds < 60, "{seconds} s of processor time");
}
