//! Data flow: what a script reads, and where that goes.
//!
//! Scripts, and blocks of code in texts, are parsed when they hold words of both ends of a flow, and
//! lowered to one form for all languages ([`program`]). There the question is which values may reach
//! which calls, over variables, functions and files, without regard to order. What reaches a network or
//! an interpreter is judged by what it is, and by whether the skill's own words name where it goes.

mod embedded;
mod gate;
mod holders;
mod javascript;
mod judge;
mod marks;
mod names;
mod parse;
mod paths;
mod program;
mod python;
mod shell;
mod shell_words;
mod taint;
mod words;

use skill::Bundle;

use crate::{commands::Format, engine::SearchError, role, rules::flow as rules, scanner::Finder, source::Source};

pub(crate) use judge::is_strange;
pub(crate) use program::unescaped;

use gate::Ends;
use judge::{Purpose, judge};
use parse::Language;
use program::Program;
use taint::Analysis;

/// Steps that a byte costs to parse, and a part of a statement to follow, beside a byte that an expression reads.
const PARSE: usize = 64;
const FOLLOW: usize = 16;

/// Files from which scripts read what to do.
const DATA: &[&str] = &[".json", ".yaml", ".yml", ".toml", ".ini", ".txt", ".cfg"];

/// One program of a skill and where it stands.
struct Place<'s, 'a> {
    source: &'s Source<'a>,
    program: Program,
}

/// Follows the data of all scripts of a skill and adds what is found.
pub(crate) fn check(bundle: &Bundle, sources: &[Source<'_>], finder: &mut Finder) -> Result<(), SearchError> {
    let ends: Vec<Option<Ends>> =
        sources.iter().map(|source| (!source.kind().reads).then(|| Ends::of(&source.text))).collect();
    let far = ends.iter().flatten().fold(Ends::default(), |all, ends| all.and(ends.far()));
    let mut places = Vec::new();
    for (source, ends) in sources.iter().zip(ends) {
        programs(source, ends, far, finder, &mut places)?;
    }
    if places.is_empty() {
        return Ok(());
    }
    for place in &places {
        finder.charge(place.program.size.saturating_mul(FOLLOW))?;
    }
    let programs: Vec<&Program> = places.iter().map(|place| &place.program).collect();
    let mut analysis = Analysis::new(&programs);
    for source in sources.iter().filter(|source| DATA.iter().any(|end| source.path.ends_with(end))) {
        finder.charge(source.text.len())?;
        analysis = analysis.with_data(source.path, &source.text);
    }
    let (flows, cut) = analysis.run();
    for place in cut.iter().filter_map(|at| places.get(*at)) {
        finder.add_file(&rules::TOO_MUCH, rules::TOO_MUCH.severity, place.source.path);
    }
    if flows.is_empty() {
        return Ok(());
    }
    let purpose = Purpose::of(bundle);
    for flow in flows {
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

/// Parses what of a file is code, if a flow may run through it.
fn programs<'s, 'a>(
    source: &'s Source<'a>,
    ends: Option<Ends>,
    far: Ends,
    finder: &mut Finder,
    places: &mut Vec<Place<'s, 'a>>,
) -> Result<(), SearchError> {
    let extension = source.path.rsplit_once('.').map_or("", |(_, extension)| extension);
    if let Some(language) = Language::of_file(extension, &source.text) {
        let ends = ends.unwrap_or_else(|| Ends::of(&source.text));
        if ends.may_flow(far, language) {
            place(source, language, 0, &source.text, finder, places)?;
        }
        return Ok(());
    }
    if let Some((language, code)) = holders::held(extension, &source.text) {
        if Ends::of(&code).may_flow(far, language) {
            place(source, language, 0, &code, finder, places)?;
        }
        return Ok(());
    }
    let is_data = DATA.iter().any(|end| source.path.ends_with(end));
    let may_flow = !is_data || ends.is_none_or(|ends| ends.may_flow(far, Language::Shell));
    if may_flow
        && let Some(script) = source.commands()
        && Ends::of(script).may_flow(far, Language::Shell)
    {
        place(source, Language::Shell, 0, script, finder, places)?;
    }
    for (tag, line, text) in source.blocks() {
        if let Some(script) = Format::of_word(tag).map(|format| format.script(text)) {
            if Ends::of(&script).may_flow(Ends::default(), Language::Shell) {
                place(source, Language::Shell, line, &script, finder, places)?;
            }
            continue;
        }
        let Some(language) = Language::of_word(tag) else { continue };
        if Ends::of(text).may_flow(Ends::default(), language) {
            place(source, language, line, text, finder, places)?;
        }
    }
    Ok(())
}

/// Parses a piece of code that begins on a line of a file.
fn place<'s, 'a>(
    source: &'s Source<'a>,
    language: Language,
    line: usize,
    text: &str,
    finder: &mut Finder,
    places: &mut Vec<Place<'s, 'a>>,
) -> Result<(), SearchError> {
    finder.charge(text.len().saturating_mul(PARSE))?;
    let program = language.parse(text, line).ok_or(SearchError::Exhausted)?;
    if program.cut {
        finder.add_file(&rules::TOO_DEEP, rules::TOO_DEEP.severity, source.path);
    }
    places.push(Place { source, program });
    Ok(())
}
