//! [`World`]: a layout in the middle of a random sequence.

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

/// Skills that exist at times.
pub const NAMES: [&str; 7] = ["tables", "letters", "charts", "invoices", "recipes", "slides", "minutes"];

/// No command takes longer.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// One command in so many is killed.
const KILLED: u64 = 5;

/// Boundaries of a command that has not run yet.
const BOUNDARIES: usize = 25;

/// Steps that are shown of a failure.
const SHOWN: usize = 60;

/// Exit codes of refusals that a sequence may come to: invalid, blocked, refused by policy, conflict, not found. An
/// exit of 1, 2 or 9 would be a fault of the program or of the test.
const REFUSALS: [i32; 5] = [3, 4, 5, 6, 7];

/// A layout in the middle of a sequence.
pub struct World {
    name: &'static str,
    seed: u64,
    pub layout: Layout,
    pub random: Random,
    pub hosts: Vec<Host>,
    /// The token of a person, for what an agent may not do.
    pub token: String,
    /// The newest version of any skill; each text is written once.
    version: u32,
    /// The number of boundaries that commands of a kind came to.
    boundaries: BTreeMap<String, usize>,
    pub tally: Tally,
    log: Vec<String>,
    /// A command was killed, and none has run since.
    pub is_killed: bool,
    /// Skills that were not edited by hand when a command was killed.
    pub unedited: BTreeSet<String>,
    /// No command is killed, and the files from which `undo` is compared.
    pub steady: Option<Files>,
}

/// Everything that an operation may change for agents, folder by folder.
pub type Files = BTreeMap<&'static str, Snapshot>;

/// Statistics of a sequence.
#[derive(Debug, Default)]
pub struct Tally {
    pub steps: usize,
    pub commands: usize,
    pub kills: usize,
    pub undone: usize,
    /// Differences that were named, by kind.
    pub named: BTreeMap<String, usize>,
    /// Exits of each kind of command.
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

    /// Chance of one in `of`.
    pub fn chance(&mut self, of: u64) -> bool {
        self.random.below(of) == 0
    }

    /// One of a list.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        let at = self.random.below(from.len().max(1) as u64);
        from.get(usize::try_from(at).unwrap()).cloned()
    }

    /// The number of a version that no skill had.
    pub fn next_version(&mut self) -> u32 {
        self.version += 1;
        self.version
    }

    /// The folder of a skill in the library.
    pub fn skill(&self, name: &str) -> PathBuf {
        self.layout.folder(".agents/skills").join(name)
    }

    /// The `SKILL.md` of a skill in the library.
    pub fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.skill(name).join("SKILL.md")).ok()
    }

    /// Skills with a folder in the library.
    pub fn present(&self) -> Vec<&'static str> {
        NAMES.into_iter().filter(|name| self.skill(name).is_dir()).collect()
    }

    /// One of them.
    pub fn present_one(&mut self) -> Option<&'static str> {
        let present = self.present();
        self.pick(&present)
    }

    /// Skills that are disabled, by `list`.
    pub fn disabled(&mut self) -> Vec<&'static str> {
        let list = self.run(&["list"], b"").json();
        let is_disabled = |name: &str| {
            let rows = list["skills"].as_array().unwrap();
            rows.iter().any(|row| row["enabled"] == false && row["name"].as_str().unwrap().ends_with(name))
        };
        NAMES.into_iter().filter(|name| is_disabled(name)).collect()
    }

    /// Notes that a hand is about to change a skill.
    pub fn touch(&mut self, name: &str) {
        self.unedited.remove(name);
    }

    /// Begins the comparison of `undo` anew, as a hand has just changed something.
    pub fn begin(&mut self) {
        self.steady = self.steady.is_some().then(|| self.files());
    }

    /// Names without a folder in the library or anything in an agent's.
    pub fn free(&self) -> Vec<&'static str> {
        let is_free = |name: &&str| {
            let places = [".agents/skills", ".claude/skills", ".opencode/skills"];
            places.iter().all(|place| self.layout.folder(place).join(name).symlink_metadata().is_err())
        };
        NAMES.into_iter().filter(is_free).collect()
    }

    /// The project, for layouts that have one.
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

    /// Runs a command that changes something, at times killed on the way. `None` where it was killed.
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

    /// Runs a command to its end.
    pub fn run(&mut self, args: &[&str], stdin: &[u8]) -> Answer {
        self.run_as(None, args, stdin)
    }

    /// Runs a command that a person has to allow.
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

    /// Notes an answer and checks its exit code and document.
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
        // A number by chance may be that of a deletion, which is no revision to go back to.
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

/// The words of a command that its number of boundaries depends on.
fn kind(args: &[&str]) -> String {
    let words = if args[0] == "manage" { 2 } else { 1 };
    args[..words.min(args.len())].join(" ")
}

/// Writes a skill's folder away, whatever it is: a link, a file or a folder.
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
