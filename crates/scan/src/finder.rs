//! [`Finder`]: collects the signals of one scan, within its steps.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use crate::{
    Case, Evidence, Related, Rule,
    conditions::supply_chain::{imitation, impostor_described},
    engine::{Hit, SearchError, Steps, engine},
    excerpt::{Excerpt, brief, visible, whole_words},
    judgement::{Signal, Why},
    local,
    lookalike::described,
    normal::Shadow,
    role, rules,
    source::Source,
    wording,
};

/// Findings of one rule and severity listed for one file; a further one changes no verdict.
const LISTED_PER_FILE: usize = 20;

/// Collector for the signals of one scan, with its step budget.
pub(crate) struct Finder {
    pub signals: Vec<Signal>,
    pub steps: Steps,
    /// Number of signals in the current file, by rule and evidence.
    counts: BTreeMap<(&'static str, Evidence), usize>,
    /// Lines of the current file on which rules fired, as rule ID and line index.
    places: BTreeSet<(&'static str, usize)>,
    /// True if a check was not finished.
    has_failed: bool,
}

impl Finder {
    /// Creates a collector with a full step budget.
    pub fn new() -> Self {
        let (signals, counts, places) = Default::default();
        Self { signals, steps: Steps::new(), counts, places, has_failed: false }
    }

    /// Takes the steps of a separate scan of one file from this budget. Returns true if that scan finished and the
    /// budget covers it, so that its signals would also be found here.
    pub fn takes_over(&mut self, own: &Self) -> bool {
        !own.has_failed && self.steps.take_all(own.steps.used())
    }

    /// Starts the next file by resetting the counts and lines.
    pub fn begin(&mut self) {
        self.counts.clear();
        self.places.clear();
    }

    /// Returns the matches of all text rules in a text, built-in and local.
    pub fn hits(&mut self, text: &str) -> Result<Vec<Hit>, SearchError> {
        self.hits_within(text, 0..text.len())
    }

    /// Returns the matches of all text rules that have a literal within a byte range of the text.
    pub fn hits_within(&mut self, text: &str, within: Range<usize>) -> Result<Vec<Hit>, SearchError> {
        let mut hits = engine().search(text, within.clone(), &mut self.steps)?;
        if let Some(local) = local::current() {
            hits.extend(local.engine.search(text, within, &mut self.steps)?);
        }
        Ok(hits)
    }

    /// Returns whether the line (an index from 0) has a signal of the same category with at least this evidence.
    pub fn knows(&self, rule: &Rule, evidence: Evidence, path: &str, line: usize) -> bool {
        self.signals.iter().any(|known| {
            known.line == line + 1
                && known.path == path
                && known.rule.category == rule.category
                && known.evidence >= evidence
        })
    }

    /// Returns whether a line (an index from 0) has a blocking signal of any rule.
    pub fn blocks_at(&self, path: &str, line: usize) -> bool {
        let blocks = |known: &Signal| known.evidence >= Evidence::Hard && known.path == path;
        self.signals.iter().any(|known| known.line == line + 1 && blocks(known))
    }

    /// Returns the signals collected so far.
    pub fn signals(&self) -> &[Signal] {
        &self.signals
    }

    /// Returns the signals for a later check to reweigh in the light of other files.
    pub fn signals_mut(&mut self) -> &mut [Signal] {
        &mut self.signals
    }

    /// Returns whether the file has reached its limit of listed findings for this rule and evidence.
    pub fn has_enough(&self, rule: &Rule, evidence: Evidence) -> bool {
        self.counts.get(&(rule.id, evidence)).is_some_and(|count| *count >= LISTED_PER_FILE)
    }

    /// Takes steps from the budget for work outside the regular expressions.
    pub fn charge(&mut self, bytes: usize) -> Result<(), SearchError> {
        Ok(self.steps.take(bytes)?)
    }

    /// Adds a finding on a line. The excerpt is escaped and cut, with no part marked as the match.
    pub fn add(
        &mut self,
        rule: &'static Rule,
        evidence: Evidence,
        source: &Source<'_>,
        line: usize,
        excerpt: &str,
    ) -> Option<&mut Signal> {
        self.push(rule, evidence, source.path, line, Excerpt::plain(excerpt), rule.message.to_owned())
    }

    /// Adds a finding about a whole file.
    pub fn add_file(&mut self, rule: &'static Rule, evidence: Evidence, path: &str) {
        self.push(rule, evidence, path, 0, Excerpt::plain(path), rule.message.to_owned());
    }

    /// Adds a finding about a file that was not read, with the reason.
    pub fn add_unread(&mut self, path: &str, rule: &'static Rule, reason: &str) {
        self.push(rule, rule.evidence, path, 0, Excerpt::plain(path), format!("{}: {reason}", rule.message));
    }

    /// Adds a finding on a line with a custom message. Returns `None` if the file's limit is reached or the rule is
    /// off.
    pub fn add_told(
        &mut self,
        rule: &'static Rule,
        evidence: Evidence,
        source: &Source<'_>,
        line: usize,
        excerpt: &str,
        message: String,
    ) -> Option<&mut Signal> {
        self.push(rule, evidence, source.path, line, Excerpt::plain(excerpt), message)
    }

    /// Adds a text rule's match, weighed by its surroundings.
    pub fn add_hit(&mut self, hit: &Hit, source: &Source<'_>) {
        let (line, start) = place_of(hit, source);
        self.add_at(hit, source, line, start, "");
    }

    /// Adds a match found only in the copy with indirections resolved. The message says so unless the file has the same
    /// words on this line.
    pub fn add_direct(&mut self, hit: &Hit, copy: &Source<'_>, source: &Source<'_>) {
        let (line, start) = place_of(hit, copy);
        let matched = copy.text.get(start..hit.range.end).unwrap_or("").trim_end();
        let is_written = source.line(line).contains(matched);
        let how = if is_written { "" } else { " (quoted with its variables and joined strings filled in)" };
        if !self.places.contains(&(hit.rule.id, line)) {
            self.add_at(hit, copy, line, start, how);
        }
    }

    /// Adds a match with its message, to which `how` is appended.
    fn add_at(&mut self, hit: &Hit, source: &Source<'_>, line: usize, start: usize, how: &str) {
        // Search patterns are no two places of one program. A reduced match counts for no verdict.
        let is_of_two = !hit.rule.also.is_empty() && hit.rule.evidence > Evidence::Weak;
        if is_of_two && role::is_searched(hit.rule, source, line) {
            self.places.insert((hit.rule.id, line));
            return;
        }
        let (evidence, why) = role::weigh(hit.rule, source, line, start);
        let matched = source.text.get(start..hit.range.end).unwrap_or("").trim_end();
        let (excerpt, related) = if hit.rule.secret {
            let at = start.saturating_sub(source.line_start(line));
            (Excerpt::redacted(source.line(line), at, matched), Vec::new())
        } else {
            (excerpt_at(source, start..start + matched.len()), other_ends(hit, source, start..start + matched.len()))
        };
        let words = whole_words(source.text.get(start..).unwrap_or(""), matched);
        let Explained { message, remedy, harm } =
            explained(hit.rule, matched, words, role::is_in_sentence(source, line, start));
        let is_of_one_line = !matched.contains('\n');
        let place = || role::place(hit.rule, source, line, start, &message, is_of_one_line);
        let likeness = || if why.is_some() { role::likeness(hit.rule, source, line, start, &message) } else { "" };
        // The parts of a program that a text shows in two places were never one, so what matters is the likeness.
        let (first, second) = match hit.rule.also.is_empty() {
            true => (place(), likeness()),
            false => (likeness(), place()),
        };
        let place = if first.is_empty() { second } else { first };
        let message = format!("{place}{message}{how}");
        let way_out = role::way_out(hit.rule, source, line, start..start + matched.len());
        if let Some(signal) = self.push(hit.rule, evidence, source.path, line, excerpt, message) {
            *signal = Signal { why, harm, remedy, related, way_out, ..signal.clone() };
        }
    }

    /// Adds a match found only in the normalised copy of a line.
    pub fn add_shadow(&mut self, hit: &Hit, source: &Source<'_>, shadow: &Shadow<'_>) {
        let (line, start) = place_of(hit, &shadow.source);
        if self.places.contains(&(hit.rule.id, line)) {
            return;
        }
        let ((evidence, why), how) = match shadow.hidden.contains(&line) {
            true => {
                ((role::evidence_in(hit.rule, source, line), None), "disguised by look-alike or invisible characters")
            }
            false => (role::weigh(hit.rule, &shadow.source, line, start), "split by formatting or spacing"),
        };
        let plain = shadow.source.text.get(hit.range.clone()).unwrap_or("");
        let Explained { message, remedy, harm } = explained(hit.rule, plain, plain, false);
        let read = if hit.rule.secret { String::new() } else { format!("“{}”, ", brief(&visible(plain), None)) };
        let message = format!("{message} ({read}{how})");
        let excerpt = Excerpt::plain(source.line(line));
        if let Some(signal) = self.push(hit.rule, evidence, source.path, line, excerpt, message) {
            (signal.why, signal.remedy, signal.harm) = (why, remedy, harm);
        }
    }

    /// Adds a match found only in a value of a configuration file or table. `known` is the reason for which an
    /// address counts as trusted, which caps the evidence.
    pub fn add_value(&mut self, hit: &Hit, value: &str, known: Option<Why>, source: &Source<'_>, line: usize) {
        if self.places.contains(&(hit.rule.id, line)) {
            return;
        }
        let (evidence, why) = match (role::weigh(hit.rule, source, line, source.line_start(line)), known) {
            ((evidence, _), Some(known)) if evidence > Evidence::Strong => (Evidence::Strong, Some(known)),
            (weighed, _) => weighed,
        };
        let Explained { message, remedy, harm } = explained(hit.rule, value, value, false);
        let excerpt = Excerpt::plain(source.line(line));
        if let Some(signal) = self.push(hit.rule, evidence, source.path, line, excerpt, message.into_owned()) {
            (signal.why, signal.remedy, signal.harm) = (why, remedy, harm);
        }
    }

    fn push(
        &mut self,
        rule: &'static Rule,
        evidence: Evidence,
        path: &str,
        line: usize,
        excerpt: Excerpt,
        message: String,
    ) -> Option<&mut Signal> {
        self.places.insert((rule.id, line));
        let count = self.counts.entry((rule.id, evidence)).or_default();
        *count += 1;
        if *count > LISTED_PER_FILE {
            return None;
        }
        let (evidence, path) = (local::weighed(rule, evidence)?, path.to_owned());
        let (remedy, related) = (rule.remedy.into(), Vec::new());
        self.signals.push(Signal {
            rule,
            evidence,
            path,
            line: line + 1,
            excerpt,
            message,
            harm: rule.harm,
            remedy,
            related,
            why: None,
            harmless_if: rule.harmless_if.into(),
            way_out: None,
        });
        self.signals.last_mut()
    }

    /// Adds a finding with the reason for which a file was not searched to its end.
    pub fn failed(&mut self, source: &Source<'_>, error: &SearchError) {
        self.has_failed = true;
        match error {
            SearchError::Exhausted => {
                self.add_file(&rules::SCAN_BUDGET, rules::SCAN_BUDGET.evidence, source.path);
            }
            SearchError::Broken(rule, error) => {
                self.signals.push(failure(source.path, &format!("rule {rule} failed: {error}")));
            }
        }
    }
}

/// Texts of a finding that depend on its match.
struct Explained {
    message: Cow<'static, str>,
    remedy: Cow<'static, str>,
    harm: &'static str,
}

/// Instead of a pinned download from a host for collecting data, whose name the scan reports too.
const SHIPPED: &str = "ship the script in the skill, and delete the download";

/// Returns the texts for a match. `words` is the match up to the end of its last word, which a remedy quotes, with its
/// sentence if it is of one. The texts about a name that resembles a known one give both names.
fn explained(rule: &Rule, matched: &str, words: &str, is_of_sentence: bool) -> Explained {
    let Case { message, remedy, harm, .. } = rule.case_of(matched);
    let named = match rule.id {
        id if id == rules::PACKAGE_LOOKALIKE.id => imitation(matched).map(described),
        id if id == rules::EXTENSION_POSES_AS_KNOWN.id => impostor_described(matched),
        _ => None,
    };
    if let Some((message, remedy)) = named {
        return Explained { message: message.into(), remedy: remedy.into(), harm };
    }
    let message = wording::with_host(message, matched);
    let remedy = match () {
        _ if rule.secret => remedy.into(),
        _ if rule.id == rules::REMOTE_PIPE_TO_SHELL.id && wording::names_drop(matched) => SHIPPED.into(),
        _ => wording::with_words(remedy, words, is_of_sentence),
    };
    Explained { message, remedy, harm }
}

/// Returns the excerpt around a match, given as a byte range of the text. It has both ends of a match on several lines.
pub(crate) fn excerpt_at(source: &Source<'_>, matched: Range<usize>) -> Excerpt {
    let first = source.passage(source.line_at(matched.start));
    let last = source.line_at(matched.end.saturating_sub(1));
    let end = first.end.max(source.line_start(last) + source.line(last).len());
    let text = source.text.get(first.start..end).unwrap_or("");
    Excerpt::around(text, matched.start.saturating_sub(first.start)..matched.end.saturating_sub(first.start))
}

/// Returns the last line of a match that ends outside the passage of its first line (an index from 0).
pub(crate) fn last_line(source: &Source<'_>, line: usize, end: usize) -> Option<Related> {
    let last = end.saturating_sub(1);
    let is_outside = !source.passage(line).contains(&last);
    is_outside.then(|| related_at("ends in", source, source.line_at(last), last))?
}

/// Returns the last line of a match on several lines, and the place of what the rule requires elsewhere.
fn other_ends(hit: &Hit, source: &Source<'_>, matched: Range<usize>) -> Vec<Related> {
    let line = source.line_at(matched.start);
    let last = line_of_run(hit, source, matched.end).or_else(|| last_line(source, line, matched.end));
    let also = hit.also.filter(|at| !source.passage(line).contains(at));
    let also = also.and_then(|at| related_at(together_with(source, at), source, source.line_at(at), at));
    let also = also.filter(|also| last.as_ref().is_none_or(|last| last.line != also.line));
    last.into_iter().chain(also).collect()
}

/// Returns the line that runs a program of a cloned repository, which a paragraph joins with that of the clone.
fn line_of_run(hit: &Hit, source: &Source<'_>, end: usize) -> Option<Related> {
    let line = source.line_at(end.saturating_sub(1));
    let is_clone = hit.rule.id == rules::CLONE_AND_RUN.id || hit.rule.id == rules::CLONE_AND_RUN_UNKNOWN_HOST.id;
    is_clone.then(|| related_at("runs it in", source, line, source.line_start(line)))?
}

/// Maximum length of a word that a label names, in characters.
const NAMED_WORD: usize = 24;

/// Minimum length of such a word. After a shorter one, what follows up to the next space is named too.
const WHOLE_WORD: usize = 3;

/// Returns the label of what a rule requires besides its match, with the word that begins there.
fn together_with(source: &Source<'_>, at: usize) -> String {
    let is_part = |c: &char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '/');
    let rest = || source.text.get(at..).unwrap_or("").chars().take(NAMED_WORD);
    let word: String = rest().take_while(is_part).collect();
    let word: String = if word.len() < WHOLE_WORD { rest().take_while(|c| !c.is_whitespace()).collect() } else { word };
    if word.is_empty() { "together with".to_owned() } else { format!("together with “{word}” in") }
}

/// Returns another place of a finding, with an excerpt around a byte of the text. A blank line is not worth showing.
pub(crate) fn related_at(
    label: impl Into<Cow<'static, str>>,
    source: &Source<'_>,
    line: usize,
    at: usize,
) -> Option<Related> {
    let text = source.line(line).trim_end();
    let indent = text.len() - text.trim_start().len();
    let from = at.saturating_sub(source.line_start(line)).max(indent);
    let excerpt = Excerpt::around(text, from..from).text;
    let (label, path) = (label.into(), source.path.to_owned());
    (!excerpt.is_empty()).then(|| Related { label, path, line: line + 1, excerpt })
}

/// Returns the line of a match and the byte at which it begins, without leading white space.
pub(crate) fn place_of(hit: &Hit, source: &Source<'_>) -> (usize, usize) {
    let matched = source.text.get(hit.range.clone()).unwrap_or("");
    let start = hit.range.start + (matched.len() - matched.trim_start().len());
    (source.line_at(start), start)
}

pub(crate) fn failure(path: &str, message: &str) -> Signal {
    let rule = &rules::SCANNER_FAILURE;
    let (path, message) = (path.to_owned(), message.to_owned());
    let (excerpt, remedy, related) = (Excerpt::default(), rule.remedy.into(), Vec::new());
    let Rule { evidence, harm, .. } = *rule;
    let (line, why, harmless_if, way_out) = (1, None, rule.harmless_if.into(), None);
    Signal { rule, evidence, path, line, excerpt, message, harm, remedy, related, why, harmless_if, way_out }
}
