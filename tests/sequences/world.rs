//! [`World`]: the state of a random sequence.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{hosts::Host, kills::run_killed, number};
use crate::{
    crash::{tracer::Order, trial::is_skipped},
    support::{Answer, Layout, Random, Snapshot, snapshot},
};

/// Skills that may exist.
pub const NAMES: [&str; 7] = ["tables", "letters", "charts", "invoices", "recipes", "slides", "minutes"];

/// Timeout of a command.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// One command in this many is killed.
const KILLED: u64 = 5;

/// Assumed number of boundaries of a command that has not run yet.
const BOUNDARIES: usize = 25;

/// Number of steps that are printed for a failure.
const SHOWN: usize = 60;

/// Exit codes of refusals that may occur in a sequence: invalid, blocked, refused by policy, conflict, not found. Exit
/// codes 1, 2 or 9 would be a bug in the program or the test.
const REFUSALS: [i32; 5] = [3, 4, 5, 6, 7];

/// A layout with the state of its sequence.
pub struct World {
    name: &'static str,
    seed: u64,
    pub layout: Layout,
    pub random: Random,
    pub hosts: Vec<Host>,
    /// A person's token, for actions that an agent may not perform.
    pub token: String,
    /// Newest version of any skill. Each text is written once.
    version: u32,
    /// Number of boundaries by kind of command.
    boundaries: BTreeMap<String, usize>,
    pub tally: Tally,
    log: Vec<String>,
    /// True from a kill until the next command.
    pub is_killed: bool,
    /// Skills without hand edits at the time of a kill.
    pub unedited: BTreeSet<String>,
    /// While set, no command is killed: the files against which `undo` is compared.
    pub steady: Option<Files>,
}

/// Files that an operation may change for agents, by folder.
pub type Files = BTreeMap<&'static str, Snapshot>;

/// Statistics of a sequence.
#[derive(Debug, Default)]
pub struct Tally {
    pub steps: usize,
    pub commands: usize,
    pub kills: usize,
    pub undone: usize,
    /// Number of named differences, by kind.
    pub named: BTreeMap<String, usize>,
    /// Exit codes by kind of command.
    pub exits: BTreeMap<String, BTreeMap<String, usize>>,
    /// Number of `doctor`'s findings, by code.
    pub findings: BTreeMap<String, usize>,
}

impl World {
    pub fn new(name: &'static str, layout: Layout, agents: &[&str]) -> Self {
        let seed = number("SKILLHUB_SEQUENCES_SEED").unwrap_or(1);
        let token = layout.sandbox.token();
        layout.commit();
        Self {
            name,
            seed,
            layout,
            random: Random::new(seed.wrapping_mul(31).wrapping_add(name.len() as u64)),
            hosts: agents.iter().map(|id| Host::of(id)).collect(),
            token,
            version: 1,
            boundaries: BTreeMap::new(),
            tally: Tally::default(),
            log: Vec::new(),
            is_killed: false,
            unedited: BTreeSet::new(),
            steady: None,
        }
    }

    /// Returns true with a chance of one in `of`.
    pub fn chance(&mut self, of: u64) -> bool {
        self.random.below(of) == 0
    }

    /// Returns a random item of a list.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        let at = self.random.below(from.len().max(1) as u64);
        from.get(usize::try_from(at).unwrap()).cloned()
    }

    /// Returns an unused version number.
    pub fn next_version(&mut self) -> u32 {
        self.version += 1;
        self.version
    }

    /// Returns the folder of a skill in the library.
    pub fn skill(&self, name: &str) -> PathBuf {
        self.layout.folder(".agents/skills").join(name)
    }

    /// Returns the path of a skill's `SKILL.md` in the library.
    pub fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.skill(name).join("SKILL.md")).ok()
    }

    /// Returns the skills with a folder in the library.
    pub fn present(&self) -> Vec<&'static str> {
        NAMES.into_iter().filter(|name| self.skill(name).is_dir()).collect()
    }

    /// Returns a random skill with a folder.
    pub fn present_one(&mut self) -> Option<&'static str> {
        let present = self.present();
        self.pick(&present)
    }

    /// Returns the skills that `list` shows as disabled.
    pub fn disabled(&mut self) -> Vec<&'static str> {
        let list = self.run(&["list"], b"").json();
        let is_disabled = |name: &str| {
            let rows = list["skills"].as_array().unwrap();
            rows.iter().any(|row| row["enabled"] == false && row["name"].as_str().unwrap().ends_with(name))
        };
        NAMES.into_iter().filter(|name| is_disabled(name)).collect()
    }

    /// Records that a skill is about to be edited by hand.
    pub fn touch(&mut self, name: &str) {
        self.unedited.remove(name);
    }

    /// Restarts the comparison of `undo` after a hand edit.
    pub fn begin(&mut self) {
        self.steady = self.steady.is_some().then(|| self.files());
    }

    /// Returns names without a folder in the library or an entry in an agent's folder.
    pub fn free(&self) -> Vec<&'static str> {
        let is_free = |name: &&str| {
            let places = [".agents/skills", ".claude/skills", ".opencode/skills"];
            places.iter().all(|place| self.layout.folder(place).join(name).symlink_metadata().is_err())
        };
        NAMES.into_iter().filter(is_free).collect()
    }

    /// Returns the project, in layouts that have one.
    pub fn project(&self) -> Option<PathBuf> {
        (!self.layout.global).then(|| self.layout.sandbox.cwd())
    }

    /// Returns everything that an operation may change for agents. Links in their folders are resolved, because a copy
    /// is as good as a link.
    pub fn files(&self) -> Files {
        let library = [(".agents/skills", snapshot(&self.layout.folder(".agents/skills")))];
        let folders = [".claude/skills", ".opencode/skills"].map(|folder| {
            let children = fs::read_dir(self.layout.folder(folder)).into_iter().flatten();
            let children = children.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
            let files = children.flat_map(|path| {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                snapshot(&path).into_iter().map(move |(below, entry)| (format!("{name}/{below}"), entry))
            });
            (folder, files.collect::<Snapshot>())
        });
        let mut files: Files = library.into_iter().chain(folders).collect();
        files.values_mut().for_each(|files| files.retain(|path, _| path != "skillhub.lock"));
        files
    }

    pub fn note(&mut self, line: impl Into<String>) {
        self.log.push(format!("{:4} {}", self.tally.steps, line.into()));
    }

    /// Runs a command that changes something, sometimes killing it. Returns `None` if it was killed.
    pub fn change(&mut self, args: &[&str], stdin: &[u8]) -> Option<Answer> {
        if self.steady.is_none() && !is_skipped() && self.chance(KILLED) {
            self.kill(args, stdin)
        } else {
            Some(self.run(args, stdin))
        }
    }

    fn kill(&mut self, args: &[&str], stdin: &[u8]) -> Option<Answer> {
        self.note_unedited();
        let kind = kind(args);
        let most = self.boundaries.get(&kind).copied().unwrap_or(BOUNDARIES);
        let at = usize::try_from(self.random.below(most as u64)).unwrap();
        let order = [Order::Kill, Order::GoThenKill, Order::HalfThenKill];
        let order = order[usize::try_from(self.random.below(3)).unwrap()];
        let scoped = self.layout.scoped(args);
        let (answer, seen) = run_killed(&self.layout.sandbox, &scoped, stdin, (at, order));
        self.tally.commands += 1;
        match answer {
            Some(answer) => {
                self.boundaries.insert(kind, seen.max(1));
                Some(self.judge(args, answer))
            }
            None => {
                self.note(format!("{}: killed at boundary {at}, {order:?}", args.join(" ")));
                self.count_exit(args, "killed");
                self.tally.kills += 1;
                self.is_killed = true;
                None
            }
        }
    }

    /// Runs a command without killing it.
    pub fn run(&mut self, args: &[&str], stdin: &[u8]) -> Answer {
        self.run_as(None, args, stdin)
    }

    /// Runs a command with a person's token.
    pub fn run_as_person(&mut self, args: &[&str]) -> Answer {
        let token = self.token.clone();
        self.run_as(Some(&token), args, b"")
    }

    fn run_as(&mut self, token: Option<&str>, args: &[&str], stdin: &[u8]) -> Answer {
        let scoped = [&self.layout.scoped(args)[..], &["--json"]].concat();
        let mut command = self.layout.sandbox.command(&scoped);
        if let Some(token) = token {
            command.env("SKILLHUB_REVIEWER_TOKEN", token);
        }
        let begun = Instant::now();
        let answer = self.layout.sandbox.finish_with(command, &scoped, stdin);
        let took = begun.elapsed();
        assert!(took < TIME_LIMIT, "{took:?}: {answer}");
        self.tally.commands += 1;
        self.judge(args, answer)
    }

    /// Records an answer, and checks its exit code and document.
    fn judge(&mut self, args: &[&str], answer: Answer) -> Answer {
        let document = answer.json();
        let is_view = matches!(args[0], "list" | "status" | "doctor" | "read");
        if !is_view {
            let why = document["error"]["message"].as_str().map(|why| format!(" ({why})")).unwrap_or_default();
            self.note(format!("{}: exit {}{why}", args.join(" "), answer.exit));
            self.count_exit(args, &answer.exit.to_string());
            self.is_killed = false;
        }
        let is_of_view = is_view && [1, 8].contains(&answer.exit);
        let is_doctor = args[0] == "doctor" && answer.exit == 1;
        // A random number may be that of a deletion, to which no rollback is possible.
        let is_deletion = args[0] == "rollback" && answer.exit == 2;
        let is_listed = answer.exit == 0 || REFUSALS.contains(&answer.exit) || is_of_view || is_doctor || is_deletion;
        assert!(is_listed, "an exit that no command should have here: {answer}");
        answer
    }

    fn count_exit(&mut self, args: &[&str], exit: &str) {
        let exits = self.tally.exits.entry(kind(args)).or_default();
        *exits.entry(exit.to_owned()).or_default() += 1;
    }

    /// Runs git as the user would.
    pub fn git(&mut self, args: &[&str]) -> String {
        self.note(format!("git {}", args.join(" ")));
        self.layout.git(args)
    }

    /// Formats the statistics for people.
    pub fn summary(&self) -> String {
        let Tally { steps, commands, kills, undone, named, exits, findings } = &self.tally;
        let total: usize = named.values().sum();
        format!(
            "{}, seed {}: {steps} steps, {commands} commands, {kills} kills, {undone} undone, {total} differences \
             named\n  {named:?}\n  {exits:?}\n  {findings:?}",
            self.name, self.seed
        )
    }
}

/// Returns the words of a command that determine its number of boundaries.
fn kind(args: &[&str]) -> String {
    let words = if args[0] == "manage" { 2 } else { 1 };
    args[..words.min(args.len())].join(" ")
}

/// Removes a skill's folder, whether it is a link, a file or a folder.
pub fn remove(path: &Path) {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        eprintln!("{}\nthe last steps:", self.summary());
        for line in self.log.iter().rev().take(SHOWN).rev() {
            eprintln!("{line}");
        }
        if number("SKILLHUB_SEQUENCES_KEEP").is_some() {
            self.layout.sandbox.keep();
            eprintln!("kept: {}", self.layout.sandbox.path("").display());
        }
        eprintln!("SKILLHUB_SEQUENCES_SEED={} repeats it", self.seed);
    }
}
