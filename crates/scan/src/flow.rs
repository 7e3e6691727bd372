//! Data flow: what a script reads, and where that goes.
//!
//! Scripts, and blocks of code in texts, are parsed when they hold words of both ends of a flow, and
//! lowered to one form for all languages ([`program`]). There the question is which values may reach
//! which calls, over variables, functions and files, without regard to order. What reaches a network or
//! an interpreter is judged by what it is, and by whether the skill's own words name where it goes.

mod javascript;
mod judge;
mod names;
mod parse;
mod program;
mod python;
mod shell;
mod taint;

use skill::Bundle;

use crate::{engine::SearchError, role, rules::flow as rules, scanner::Finder, source::Source};

use judge::{Purpose, judge};
use parse::Language;
use program::Program;
use taint::Analysis;

/// Steps that a byte costs to parse, and a statement to follow, beside a byte that an expression reads.
const PARSE: usize = 4;
const FOLLOW: usize = 256;

/// One program of a skill and where it stands.
struct Place<'s, 'a> {
    source: &'s Source<'a>,
    program: Program,
}

/// Follows the data of all scripts of a skill and adds what is found.
pub(crate) fn check(bundle: &Bundle, sources: &[Source<'_>], finder: &mut Finder) -> Result<(), SearchError> {
    let (reads, sends) = sources.iter().fold((false, false), |(reads, sends), source| {
        let ends = names::ends_of(&source.text);
        (reads || ends.0, sends || ends.1)
    });
    if !reads || !sends {
        return Ok(());
    }
    let mut places = Vec::new();
    for source in sources {
        let (reads, sends) = names::ends_of(&source.text);
        if reads || sends {
            programs(source, finder, &mut places)?;
        }
    }
    if places.is_empty() {
        return Ok(());
    }
    let steps: usize = places.iter().map(|place| place.program.steps.len()).sum();
    finder.charge(steps * FOLLOW)?;
    let programs: Vec<&Program> = places.iter().map(|place| &place.program).collect();
    let purpose = Purpose::of(bundle);
    for flow in Analysis::new(&programs).run() {
        let Some(place) = places.get(flow.program) else { continue };
        if let Some(judgement) = judge(&flow, &purpose) {
            add(place.source, flow.line, judgement, finder);
        }
    }
    Ok(())
}

/// Adds a finding; in a text that only speaks about it, it weighs less.
fn add(source: &Source<'_>, line: usize, judgement: judge::Judgement, finder: &mut Finder) {
    let rule = judgement.rule;
    let is_talk = !source.kind().runs && role::is_lesson(source, line);
    let severity = if is_talk { rule.elsewhere } else { judgement.severity };
    let message = format!("{}: {}", rule.message, judgement.why);
    if finder.knows(rule, severity, source.path, line) {
        return;
    }
    finder.add_told(rule, severity, source, line, source.line(line).trim(), message);
}

/// Parses what of a file is code.
fn programs<'s, 'a>(
    source: &'s Source<'a>,
    finder: &mut Finder,
    places: &mut Vec<Place<'s, 'a>>,
) -> Result<(), SearchError> {
    let extension = source.path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let pieces: Vec<(Language, usize, &str)> = match Language::of_file(extension, &source.text) {
        Some(language) => vec![(language, 0, source.text.as_ref())],
        None => source.blocks().filter_map(|(tag, line, text)| Some((Language::of_word(tag)?, line, text))).collect(),
    };
    for (language, line, text) in pieces {
        finder.charge(text.len() * PARSE)?;
        match language.parse(text, line) {
            Some(program) => {
                if program.cut {
                    finder.add_file(&rules::TOO_DEEP, rules::TOO_DEEP.severity, source.path);
                }
                places.push(Place { source, program });
            }
            None => return Err(SearchError::Exhausted),
        }
    }
    Ok(())
}
