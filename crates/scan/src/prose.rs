//! [`Judge`]: detects instructions against the reader's user in a text, by the concepts that meet in one passage and
//! not by exact wording.
//!
//! A text is split into passages, sentences and words. Words map to concepts of the lexicon. A [`Sense`] of a rule
//! names the concepts that have to meet. Two weak senses in neighbouring passages count as much as a strong one.
//! Passages that forbid, quote or teach something, or act only with the user's consent, weigh little. Passages that
//! match no sense are weighed by their words and concepts ([`weigh`]).
//!
//! In a file that is not a page of text, the comments, strings and cells are read as one page ([`written`]).
//!
//! Texts that instruct nobody are skipped: licences ([`licence`]), test data under `evals/`, and the help of flags
//! ([`flag`]).

mod address;
mod flag;
mod foreign;
mod lexicon;
mod licence;
mod passage;
mod quote;
mod sayings;
mod sense;
mod stem;
mod texts;
#[cfg(test)]
mod ways;
mod weigh;
mod weights;
mod words;
mod written;

use std::{borrow::Cow, cmp::Ordering, collections::BTreeSet, sync::LazyLock};

use crate::{
    Case, Evidence, Rule,
    engine::SearchError,
    excerpt::Excerpt,
    finder::{Finder, excerpt_at, last_line},
    judgement::Why,
    role, rules,
    source::Source,
};

#[cfg(test)]
pub(crate) use lexicon::fingerprint;
use lexicon::{Concept, Concepts, Set, Term};
use passage::{Passage, Place, passages};
use quote::{Quote, end_of_word, word_at};
use sayings::{GUARDS, Sayings};
use sense::{Sense, Senses, Strength};
use stem::Stem;
use texts::{LESS, harmless_if, message_of, more, remedy_of};
use weigh::{Feature, Room, Weighed};
use words::{Reader, Word};
use written::Page;

/// Number of words covered by one step.
const WORDS_PER_STEP: usize = 4;

/// Lexicon search work covered by one step.
const WORK_PER_STEP: usize = 8;

/// Steps charged for each occurrence of a concept.
const STEPS_PER_TERM: usize = 2;

/// Length after which a part of a passage ends with its sentence. A Chinese character counts 1 and any other word 2.
const PART: usize = 120;

/// Limit that replaces [`PART`] for the rows of a table.
const ROW: usize = 40;

/// Maximum distance in passages between two weak senses that count together.
const NEAR: usize = 2;

/// Adds findings for the instructions in a text. A comment in a script yields at most strong evidence, since a script is
/// run and not obeyed. Weak evidence becomes a note: a sentence that resembles an instruction only in its words is more
/// frequent in honest skills than in attacks.
pub(crate) fn check(source: &Source<'_>, finder: &mut Finder) -> Result<(), SearchError> {
    let is_script = source.kind().runs && !source.kind().reads;
    let mut places = BTreeSet::new();
    for said in said_in(source, finder)? {
        let evidence = if is_script { said.evidence.min(Evidence::Strong) } else { said.evidence };
        let why = match evidence.cmp(&said.rule.evidence) {
            Ordering::Less => Some(LESS),
            Ordering::Equal => None,
            Ordering::Greater => Some(said.more),
        };
        let evidence = if evidence == Evidence::Weak { Evidence::Note } else { evidence };
        let is_known = !places.insert((said.rule.id, evidence, said.at));
        if is_known || finder.has_enough(said.rule, evidence) {
            continue;
        }
        let line = source.line_at(said.at);
        let (message, remedy) = (message_of(&said, evidence), remedy_of(&said, evidence));
        let end = end_of_word(source, said.quote.last);
        let marked = said.quote.from.min(said.quote.last)..end;
        let excerpt = excerpt_at(source, marked.clone());
        if let Some(signal) = finder.add_told(said.rule, evidence, source, line, &excerpt.text, message) {
            (signal.why, signal.harmless_if, signal.harm) = (why, harmless_if(&said), said.case().harm);
            let column = if source.line_at(marked.start) == line { excerpt.column } else { 0 };
            (signal.excerpt, signal.remedy) = (Excerpt { column, ..excerpt }, remedy);
            signal.related.extend(last_line(source, line, end));
        }
    }
    Ok(())
}

/// Returns a rule that fires with its full evidence in a text found inside another one, such as decoded text.
pub(crate) fn strongest(source: &Source<'_>, finder: &mut Finder) -> Result<Option<&'static str>, SearchError> {
    let said = said_in(source, finder)?.into_iter().filter(|said| said.evidence >= said.rule.evidence);
    Ok(said.map(|said| said.rule.id).max())
}

/// Returns the weighed features of each passage with their names, for training the weights.
pub(crate) fn features(source: &Source<'_>, finder: &mut Finder) -> Result<Vec<Vec<(u32, String)>>, SearchError> {
    let page = page_of(source);
    let page = page.as_ref().map(|page| page.source(source));
    let mut judge = Judge { features: Some(Vec::new()), ..Judge::new(page.as_ref().unwrap_or(source)) };
    judge.read_all(finder)?;
    Ok(judge.features.unwrap_or_default())
}

/// Returns the features of a passage with readable names: its words as written, its concepts and its marks.
fn named(weighed: &Weighed<'_>, source: &Source<'_>) -> Vec<(u32, String)> {
    let word = |word: &Word| match word.stem {
        Stem::HOST => " HOST".to_owned(),
        Stem::MAIL => " MAIL".to_owned(),
        _ if word.wide => source.text.get(word.at..).unwrap_or("").chars().take(1).collect(),
        _ => format!(" {}", word_at(source, word.at)),
    };
    let mut all = Vec::new();
    weighed.features(&mut |feature| {
        let name = match feature {
            Feature::Words(words) => words.iter().map(word).collect::<String>(),
            Feature::Concept(concept, false) => format!("@{}", lexicon::name(concept)),
            Feature::Concept(concept, true) => format!("@-{}", lexicon::name(concept)),
            Feature::Mark(mark) => format!("#{mark}"),
        };
        all.push((feature.key(), name));
    });
    all
}

fn said_in(source: &Source<'_>, finder: &mut Finder) -> Result<Vec<Said>, SearchError> {
    let Some(page) = page_of(source) else {
        let mut judge = Judge::new(source);
        judge.read_all(finder)?;
        return Ok(judge.said);
    };
    let text = page.source(source);
    let mut judge = Judge::new(&text);
    judge.read_all(finder)?;
    for said in &mut judge.said {
        for at in [&mut said.at, &mut said.quote.from, &mut said.quote.last] {
            *at = page.origin(&text, source, *at);
        }
    }
    Ok(judge.said)
}

/// Collects the text embedded in a file that is not itself a page of text, such as comments and strings.
fn page_of(source: &Source<'_>) -> Option<Page> {
    let is_other = !source.kind().reads && !source.is_binary() && !source.is_test_data;
    is_other.then(|| written::page(source))?
}

/// Senses of all rules, parsed on first use.
static SENSES: LazyLock<Senses> = LazyLock::new(|| {
    let all = rules::ALL
        .iter()
        .filter(|rule| !rule.senses.is_empty())
        .flat_map(|rule| rule.senses.iter().map(move |text| (rule, *text)));
    Senses::new(all.filter_map(|(rule, text)| Sense::parse(rule, text)).collect())
});

/// Match of a rule's sense in a text.
struct Said {
    rule: &'static Rule,
    evidence: Evidence,
    /// Names of the concepts that met.
    sense: Cow<'static, str>,
    /// Words of the text that stand for them, or the heaviest words.
    quote: Quote,
    /// Reason for evidence above the rule's own.
    more: Why,
    /// Byte offset of the first word that counts.
    at: usize,
}

impl Said {
    /// Returns the texts for the concepts that met.
    fn case(&self) -> Case {
        self.rule.case_of(&self.sense)
    }

    /// Returns whether the passage was found by the weights of its words.
    fn is_weighed(&self) -> bool {
        self.rule.id == rules::PROSE_WEIGHT.id
    }
}

/// Weak sense that counts fully if another one follows nearby.
struct Weak {
    passage: usize,
    rule: &'static str,
    said: usize,
}

/// State of the analysis of one text.
struct Judge<'a> {
    source: &'a Source<'a>,
    words: Vec<Word>,
    terms: Vec<Term>,
    sayings: Sayings,
    passage: usize,
    weak: Vec<Weak>,
    said: Vec<Said>,
    room: Room,
    /// Features of all passages. `None` unless they were requested.
    features: Option<Vec<Vec<(u32, String)>>>,
    /// True if the heading above discusses attacks or forbidden actions. `lead` is the same for the sentence that
    /// introduces a list.
    heading: bool,
    lead: bool,
    lesson: bool,
    /// True if the last paragraph that is not a quotation discusses attacks.
    teaches: bool,
    /// True if the file is a well-known licence.
    licence: bool,
    /// Place in which people do not see the current passage ([`Passage::unseen`]).
    unseen: &'static str,
}

impl<'a> Judge<'a> {
    fn new(source: &'a Source<'a>) -> Self {
        let (words, terms, sayings, weak, said, room) = Default::default();
        let (features, passage, heading, lead, lesson, teaches) = Default::default();
        let licence = licence::is_licence(source.path, &source.text);
        Self {
            source,
            words,
            terms,
            sayings,
            passage,
            weak,
            said,
            room,
            features,
            heading,
            lead,
            lesson,
            teaches,
            licence,
            unseen: "",
        }
    }

    fn read_all(&mut self, finder: &mut Finder) -> Result<(), SearchError> {
        if !self.source.kind().reads || self.source.is_test_data {
            return Ok(());
        }
        passages(self.source, &mut |passage| {
            let work = self.read(&passage);
            let steps = self.words.len() / WORDS_PER_STEP + self.terms.len() * STEPS_PER_TERM + work / WORK_PER_STEP;
            finder.charge(steps)
        })
    }

    /// Analyses a passage. Returns the work of the lexicon search, for the step budget.
    fn read(&mut self, passage: &Passage) -> usize {
        let mut reader = Reader::new(&mut self.words);
        for part in &passage.parts {
            reader.read(&self.source.text, part.clone());
            if passage.place == Place::Table {
                reader.end();
            }
        }
        let hidden = passage.place == Place::Hidden || reader.disguised;
        self.unseen = passage.unseen(self.source, reader.disguised);
        let words = std::mem::take(&mut self.words);
        let work = lexicon::find(&words, passage.place != Place::Code, &mut self.terms);
        let said = self.terms.iter().fold(0, |all, term| all | 1 << term.concept);
        let meant = self.terms.iter().filter(|term| !term.negated).fold(0, |all, term| all | 1 << term.concept);
        let teaches = said & GUARDS.teach != 0;
        let addressed = said & GUARDS.addressee != 0;
        let start = passage.parts.first().map_or(0, |part| part.start);
        let is_quotation = self.source.text.get(start..).is_some_and(|text| text.trim_start().starts_with('>'));
        self.note(passage, said, is_quotation);
        let is_instruction = passage.place != Place::Heading && (addressed || passage.place != Place::Code);
        if is_instruction && !self.is_legal(passage, said) {
            let listed = passage.place == Place::Item && self.lead;
            let is_shown = is_quotation && self.teaches;
            let taught =
                is_shown || passage.place != Place::Code && role::is_taught(self.source, self.source.line_at(start));
            let talk = self.heading || listed || self.lesson || taught;
            let asks = meant & (GUARDS.asked | GUARDS.told) != 0 && said & GUARDS.waived == 0;
            let hidden = hidden || passage.place == Place::Code;
            let terms = std::mem::take(&mut self.terms);
            let longest = if passage.place == Place::Table { ROW } else { PART };
            let marks =
                u32::from(talk || teaches) | u32::from(asks) << 1 | u32::from(hidden) << 2 | 8 << passage.place as u32;
            for (spoken, part) in parts(&words, &terms, longest) {
                self.passage += 1;
                self.sayings.gather(part, hidden);
                let concepts = Concepts::together(&self.sayings.whole);
                let weighed = Weighed { words: spoken, concepts, marks };
                let before = self.said.len();
                self.judge(part, concepts, passage.place, talk && (!hidden || taught));
                let is_talk = talk || teaches || self.sayings.forbids();
                self.weigh(&weighed, part, before, is_talk && (!hidden || is_shown));
            }
            self.terms = terms;
        }
        self.words = words;
        work
    }

    /// Updates the context that a heading or a paragraph sets for the passages after it.
    fn note(&mut self, passage: &Passage, said: Set, is_quotation: bool) {
        let teaches = said & GUARDS.teach != 0;
        match passage.place {
            Place::Heading => {
                (self.heading, self.lead, self.teaches) = (said & GUARDS.lesson != 0, false, false);
                // A reference can be a lesson as a whole. A skill cannot declare itself one.
                self.lesson |= self.passage == 0 && self.source.path != "SKILL.md" && said & GUARDS.lesson != 0;
            }
            Place::Paragraph => {
                let end = passage.parts.last().map_or(0, |part| part.end);
                let text = self.source.text.get(..end).unwrap_or("").trim_end_matches(['*', ' ']);
                self.lead = text.ends_with([':', '：']) && said & (GUARDS.teach | GUARDS.forbid | GUARDS.not) != 0;
                self.teaches = if is_quotation { self.teaches } else { teaches || self.heading };
            }
            _ => {}
        }
    }

    /// Returns whether a passage is part of a licence or a copyright notice and addresses no agent.
    fn is_legal(&self, passage: &Passage, said: Set) -> bool {
        let start = passage.parts.first().map_or(0, |part| part.start);
        let end = passage.parts.last().map_or(start, |part| part.end);
        let text = self.source.text.get(start..end).unwrap_or("");
        said & (GUARDS.robot | GUARDS.addressee) == 0
            && (self.licence || licence::is_notice(text))
            && !licence::names_a_place(text)
    }

    /// Weighs a passage by its words and concepts.
    ///
    /// Above the threshold, the senses found in the passage become strong evidence. They become hard if the passage is
    /// an order to act, or also names a secret, an agent's file, a foreign host or a hidden place. A passage without a
    /// fully weighted sense yields a match of its own.
    fn weigh(&mut self, weighed: &Weighed<'_>, terms: &[Term], before: usize, talk: bool) {
        if let Some(features) = &mut self.features {
            features.push(named(weighed, self.source));
        }
        let Some(heaviest) = weighed.heaviest(talk, &mut self.room) else { return };
        let is_meant = |said: &Said| said.evidence >= said.rule.evidence;
        let is_explained = self.said.iter().skip(before).any(is_meant);
        let names_a_target = weighed.concepts.said & GUARDS.target != 0;
        let is_order = !talk && self.sayings.orders();
        // Agents are not instructed to read a licence.
        let is_hard = (is_explained && names_a_target || is_order) && !self.licence;
        let evidence = if is_hard { Evidence::Hard } else { Evidence::Strong };
        for said in self.said.iter_mut().skip(before).filter(|said| is_meant(said)) {
            (said.evidence, said.more) = (evidence, more(weighed.concepts.said));
        }
        if !is_explained {
            let (rule, more) = (&rules::PROSE_WEIGHT, more(weighed.concepts.said));
            let concepts = weighed.heaviest_concepts();
            let names: Vec<_> = concepts.iter().map(|(weight, concept)| (*weight, lexicon::name(*concept))).collect();
            let class = self.piped_case(weighed.words).or_else(|| rule.heaviest_case(&names));
            let is_of_class = |concept| class.is_some_and(|class| class.words.contains(&lexicon::name(concept)));
            let (of_class, others): (Vec<_>, Vec<_>) =
                concepts.iter().map(|(_, concept)| *concept).partition(|concept| is_of_class(*concept));
            let targets = lexicon::each_of(weighed.concepts.said & GUARDS.target);
            let terms = first_terms(terms, of_class.into_iter().chain(targets).chain(others));
            let quote = Quote::around(weighed.words, &heaviest, &terms, self.source);
            let sense = class.and_then(|class| class.words.first()).copied().unwrap_or_default().into();
            let at = heaviest.first().map_or(0, |run| run.0);
            self.said.push(Said { rule, evidence, sense, quote, more, at });
        }
    }

    /// Returns the case of a passage with a download that a shell runs. The word “curl” alone can also mean sending.
    fn piped_case(&self, words: &[Word]) -> Option<&'static Case> {
        let (first, last) = (words.first()?, words.last()?);
        let text = self.source.text.get(first.at..end_of_word(self.source, last.at))?;
        let is_piped = ["| sh", "|sh", "| bash", "|bash", "| sudo"].iter().any(|pipe| text.contains(pipe));
        let cases = rules::PROSE_WEIGHT.cases;
        cases.iter().find(|case| case.words.contains(&"install")).filter(|_| is_piped)
    }

    fn judge(&mut self, terms: &[Term], all: Concepts, place: Place, talk: bool) {
        if terms.len() < 2 {
            return;
        }
        let [meant, freely] = [&self.sayings.meant, &self.sayings.freely].map(|all| Concepts::together(all));
        let mut fired: Vec<(&'static str, Strength, bool)> = Vec::new();
        for sense in SENSES.meeting(all, &self.sayings.whole) {
            let low = talk
                || match sense.strength {
                    Strength::Hard => !sense.meets(meant, &self.sayings.meant),
                    _ => !sense.meets(freely, &self.sayings.freely),
                };
            let covers = |(id, strength, was_low): &(&str, Strength, bool)| {
                *id == sense.rule.id && *strength >= sense.strength && *was_low <= low
            };
            if fired.iter().any(covers) {
                continue;
            }
            fired.push((sense.rule.id, sense.strength, low));
            let counts_little = low || sense.strength == Strength::Weak;
            let evidence = if counts_little { sense.rule.elsewhere() } else { sense.rule.evidence };
            let at = place_of(terms, sense);
            let quote = Quote::of(sense, terms, at, self.source, self.unseen);
            let (sense_text, more) = (sense.text.into(), more(0));
            self.said.push(Said { rule: sense.rule, evidence, sense: sense_text, quote, more, at });
            if sense.strength == Strength::Weak && !low && place != Place::Table {
                self.add_weak(sense.rule, if place == Place::Item { 0 } else { NEAR });
            }
        }
    }

    /// Records a weak sense. If a weak sense of another rule is near, both get their rule's full evidence.
    fn add_weak(&mut self, rule: &'static Rule, near: usize) {
        let (passage, said) = (self.passage, self.said.len() - 1);
        self.weak.retain(|weak| weak.passage + near >= passage);
        for other in self.weak.iter().filter(|weak| weak.rule != rule.id) {
            for at in [other.said, said] {
                if let Some(said) = self.said.get_mut(at) {
                    said.evidence = said.evidence.max(said.rule.evidence);
                }
            }
        }
        self.weak.push(Weak { passage, rule: rule.id, said });
    }
}

/// Returns the first term of each concept that has a meaning, in the order of the concepts.
fn first_terms(terms: &[Term], concepts: impl Iterator<Item = Concept>) -> Vec<&Term> {
    let mut found: Vec<&Term> = Vec::new();
    for concept in concepts.filter(|concept| !lexicon::meaning(*concept).is_empty()) {
        let is_known = found.iter().any(|known| known.concept == concept);
        found.extend(terms.iter().find(|term| term.concept == concept).filter(|_| !is_known));
    }
    found
}

/// Returns the byte offset of the first concept of a sense in a passage.
fn place_of(terms: &[Term], sense: &Sense) -> usize {
    let wanted = sense.concepts();
    let first = terms.iter().find(|term| wanted & (1 << term.concept) != 0);
    first.or(terms.first()).map_or(0, |term| term.at)
}

/// Splits a passage into parts of whole sentences. Each part ends with the sentence that exceeds `longest`.
fn parts<'t>(words: &'t [Word], terms: &'t [Term], longest: usize) -> Vec<(&'t [Word], &'t [Term])> {
    let (mut parts, mut rest, mut spoken, mut length) = (Vec::new(), terms, words, 0);
    for pair in words.windows(2) {
        let [word, next] = pair else { continue };
        length += if word.wide { 1 } else { 2 };
        if word.sentence != next.sentence && length > longest {
            let (part, others) = rest.split_at(rest.partition_point(|term| term.sentence < next.sentence));
            let (here, later) = spoken.split_at(spoken.partition_point(|word| word.sentence < next.sentence));
            parts.push((here, part));
            (rest, spoken, length) = (others, later, 0);
        }
    }
    parts.push((spoken, rest));
    parts
}
