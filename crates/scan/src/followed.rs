//! [`check`]: findings from the data flows of a skill's scripts.
//!
//! The code in each file is passed to [`flow`]. A flow into the network or an interpreter is judged by its source and
//! sink, and by whether the skill's own text names the destination.

mod judge;

use std::ops::Range;

use flow::{
    Analysis, CLONED, End, Ends, Flow, Format, Hosts, Kind, Language, Program, Taint, held, holds, names_secret,
};
use skill::Bundle;

use crate::{
    Related,
    conditions::hosts::{is_no_registry, is_unknown_forge},
    engine::SearchError,
    excerpt::{Excerpt, visible},
    finder::{Finder, related_at},
    hosts::is_unchecked,
    role, rules,
    source::Source,
};

pub(crate) use judge::is_strange;

use judge::{COMPUTED, Judgement, Purpose, judge, private};

/// Host classification used by the data-flow analysis.
const KNOWN: Hosts = Hosts { is_no_registry, is_unknown_forge, is_unchecked };

/// Steps charged per byte parsed, and per part of a statement followed. A byte read by an expression costs one step.
const PARSE: usize = 64;
const FOLLOW: usize = 16;

/// Maximum number of origins that a finding quotes.
const ORIGINS: usize = 3;

/// File extensions of data from which scripts may read instructions.
const DATA: &[&str] = &[".json", ".yaml", ".yml", ".toml", ".ini", ".txt", ".cfg"];

/// Parsed program of a skill and its source file.
struct Place<'s, 'a> {
    source: &'s Source<'a>,
    program: Program,
}

/// Analyses the data flow of all scripts in a skill and adds the findings.
pub(crate) fn check(bundle: &Bundle, sources: &[&Source<'_>], finder: &mut Finder) -> Result<(), SearchError> {
    let ends: Vec<Option<Ends>> = sources.iter().map(|source| ends_of(source)).collect();
    let far_of = |(source, ends): (&&Source<'_>, &Option<Ends>)| ends.map(|ends| far(source, ends)).unwrap_or_default();
    let far = sources.iter().zip(&ends).map(far_of).fold(Ends::default(), Ends::and);
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
    let mut analysis = Analysis::new(&programs, KNOWN);
    for source in sources.iter().filter(|source| is_data(source)) {
        finder.charge(source.text.len())?;
        analysis = analysis.with_data(source.path, &source.text);
    }
    let (flows, cut) = analysis.run();
    for place in cut.iter().filter_map(|at| places.get(*at)) {
        finder.add_file(&rules::FLOW_TOO_MUCH, rules::FLOW_TOO_MUCH.evidence, place.source.path);
    }
    if flows.is_empty() {
        return Ok(());
    }
    let purpose = Purpose::of(bundle);
    for flow in flows {
        let Some(place) = places.get(flow.program) else { continue };
        if let Some(judgement) = judge(&flow, &purpose) {
            let is_elsewhere = |from: &Related| (from.path.as_str(), from.line) != (place.source.path, flow.line + 1);
            let from = judgement.from.iter().filter_map(|taint| origin(&places, taint)).filter(is_elsewhere);
            add(place.source, &flow, &judgement, from.take(ORIGINS).collect(), finder);
        }
    }
    Ok(())
}

/// Returns the place at which data of a flow was introduced.
fn origin(places: &[Place<'_, '_>], taint: &Taint) -> Option<Related> {
    let label = match taint.kind {
        Kind::Remote => "received in".to_owned(),
        Kind::Decoded => "decoded in".to_owned(),
        Kind::Database => format!("{} runs in", taint.what),
        _ if taint.what.is_empty() => "read in".to_owned(),
        _ => format!("{} is read in", visible(&private(&taint.what))),
    };
    let from = taint.from?;
    let source = places.get(from.program)?.source;
    let (path, excerpt) = (source.path.to_owned(), visible(source.statement(from.line)));
    (!excerpt.is_empty()).then(|| Related { label: label.into(), path, line: from.line + 1, excerpt })
}

/// Returns the flow sources and sinks in a file that is code or that scripts may read. Returns `None` for any other
/// file.
fn ends_of(source: &Source<'_>) -> Option<Ends> {
    let may_count =
        !source.kind().reads && (is_data(source) || is_script(source) || Format::of_file(source.path).is_some());
    may_count.then(|| Ends::of(&source.text))
}

/// Returns the sources and sinks that a file contributes to flows of other files. A script contributes all of them,
/// configuration the ones in its shell commands, and data the paths of secrets that it names.
fn far(source: &Source<'_>, ends: Ends) -> Ends {
    let language = Language::of_file(extension_of(source.path), &source.text).unwrap_or(Language::Python);
    if ends == Ends::default() || is_script(source) {
        return ends.far(language);
    }
    let commands = source.commands().map(|script| Ends::of(script).far(Language::Shell)).unwrap_or_default();
    let secrets = ends.far(language).secrets();
    let is_told = secrets != Ends::default() && is_data(source) && names_secret(&source.text);
    if is_told { commands.and(secrets) } else { commands }
}

/// Returns whether a file is parsed as code, in whole or for the code embedded in it.
fn is_script(source: &Source<'_>) -> bool {
    let extension = extension_of(source.path);
    Language::of_file(extension, &source.text).is_some() || holds(extension)
}

/// Returns whether scripts may read instructions from a file.
fn is_data(source: &Source<'_>) -> bool {
    DATA.iter().any(|end| source.path.ends_with(end))
}

fn extension_of(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// Adds a finding. It weighs less in a text that only discusses the behaviour.
fn add(source: &Source<'_>, flow: &Flow, judgement: &Judgement<'_>, from: Vec<Related>, finder: &mut Finder) {
    let (rule, line) = (judgement.rule, flow.line);
    let talk = match role::is_lesson(source, line) && role::may_teach(source) {
        _ if source.kind().runs => None,
        true => Some(role::LESSON),
        false => role::is_illustration(source, line).then(|| role::illustration(source)),
    };
    let less = (judgement.evidence, judgement.less);
    let (evidence, why) = talk.map_or(less, |why| (rule.elsewhere(), Some(why)));
    if finder.knows(rule, evidence, source.path, line) {
        return;
    }
    let (mut message, excerpt) = (judgement.message.clone(), excerpt_of(source, flow));
    if let Some(name) = address_in(source.statement(line), flow) {
        message = message.replace(COMPUTED, &format!("the address in `{name}`, which the code computes"));
    }
    let steers_agents = flow.end == End::Steered && message.contains("agent");
    if let Some(signal) = finder.add_told(rule, evidence, source, line, &excerpt.text, message) {
        (signal.excerpt, signal.why) = (excerpt, why);
        signal.harm = if steers_agents { STEERED } else { signal.harm };
        if judgement.from.iter().any(|taint| taint.what.starts_with(CLONED)) {
            signal.remedy = PINNED.into();
        }
        let passed = from
            .first()
            .filter(|origin| origin.path == source.path)
            .and_then(|origin| passed_in(source, flow, origin).or_else(|| used_in(source, flow, origin)));
        let taken = from.first().and_then(|origin| taken_from(source, flow, origin));
        signal.related.extend(from);
        signal.related.extend(passed.or(taken));
        let is_of_key = [rules::FLOW_KEY_TO_STRANGER.id, rules::FLOW_SECRET_SENT.id].contains(&rule.id);
        signal.related.extend(is_of_key.then(|| header_line(source, flow)).flatten());
    }
}

/// Loss from text that a skill writes into a file of an agent.
const STEERED: &str = "every later session of the agent follows what this skill wrote there";

/// Advice for code of a cloned repository.
const PINNED: &str =
    "name a full commit hash (`git checkout HASH` after a clone, `@HASH` in an address), or ship the code in the skill";

/// Calls whose first argument is an address.
const ADDRESSED: &[&str] = &["fetch", "get", "patch", "post", "put", "urlopen"];

/// Returns the variable that holds the address of data that is sent, if the call has one as its first argument.
fn address_in<'s>(statement: &'s str, flow: &Flow) -> Option<&'s str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let (_, arguments) = statement.split_once(&format!("{}(", flow.call))?;
    let name = arguments.split([',', ')']).next()?.trim();
    let is_name = name.starts_with(char::is_alphabetic) && name.chars().all(is_part);
    (flow.end == End::Sent && is_name && ADDRESSED.contains(&flow.call.as_str())).then_some(name)
}

/// Options of commands and the operator of shells before a file that is written.
const WRITES: &[&str] = &["-out ", "-o ", "--output ", "> ", ">"];

/// Lines before a call in which the step before it is looked for, the length in bytes of those that are read, and the
/// number of names in the call.
const STEP_LINES: usize = 60;
const STEP_BYTES: usize = 1000;
const STEP_NAMES: usize = 40;

/// Returns the line between the origin of data and the call that uses it, in which the variable or file in the call
/// gets the data.
fn passed_in(source: &Source<'_>, flow: &Flow, origin: &Related) -> Option<Related> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '-' | '~');
    let statement = source.statement(flow.line);
    let names: Vec<&str> = statement.split(|c| !is_part(c)).filter(|name| name.len() > 2).take(STEP_NAMES).collect();
    let sets = |line: usize| {
        let text = Some(source.line(line)).filter(|text| text.len() <= STEP_BYTES)?;
        let set = text.split_once('=').and_then(|(left, _)| left.split_whitespace().next_back());
        let is_written = |name: &str| WRITES.iter().any(|sign| text.contains(&format!("{sign}{name}")));
        names.iter().copied().find(|name| set == Some(*name) || name.contains(['.', '/']) && is_written(name))
    };
    let (line, name) = (origin.line.max(flow.line.saturating_sub(STEP_LINES))..flow.line)
        .rev()
        .find_map(|line| Some((line, sets(line)?)))?;
    let label = format!("“{}” comes from", visible(name));
    (!origin.excerpt.contains(name)).then(|| related_at(label, source, line, source.line_start(line)))?
}

/// Returns the line above a call that names the other file in which the data is read, such as an import.
fn taken_from(source: &Source<'_>, flow: &Flow, origin: &Related) -> Option<Related> {
    let file = origin.path.rsplit('/').next().filter(|_| origin.path != source.path)?;
    let stem = file.split('.').next()?;
    let is_named = |line: &usize| {
        let text = source.line(*line);
        text.len() <= STEP_BYTES && words(text).any(|word| word == stem)
    };
    let line = (0..flow.line).find(is_named)?;
    related_at(format!("takes it from {} in", visible(file)), source, line, source.line_start(line))
}

/// Lines after the first one of a call in which its arguments are looked for.
const ARGUMENTS: usize = 12;

/// Returns the line below that of a call in which the variable is used that gets the data.
fn used_in(source: &Source<'_>, flow: &Flow, origin: &Related) -> Option<Related> {
    let name = origin.excerpt.split_once(" = ")?.0.split_whitespace().next_back()?;
    let is_used = |line: &usize| words(source.line(*line)).any(|word| word == name);
    let mut below = flow.line + 1..=flow.line + ARGUMENTS;
    let line = below.find(is_used).filter(|_| !words(source.statement(flow.line)).any(|word| word == name))?;
    related_at(format!("“{}” is used in", visible(name)), source, line, source.line_start(line))
}

/// Returns the names and numbers in a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// Lines before and after a call in which the headers of its request are set.
const HEADERS: usize = 8;

/// Returns the line that sets a header of the request that a call creates or sends, as in `req.add_header(…)`.
fn header_line(source: &Source<'_>, flow: &Flow) -> Option<Related> {
    let statement = source.statement(flow.line);
    let created = statement.split_once(" = ").and_then(|(left, _)| left.split_whitespace().next_back());
    let request = address_in(statement, flow).or(created)?;
    let sets = |line: &usize| {
        let set = source.line(*line).trim_start().strip_prefix(request);
        set.is_some_and(|set| set.starts_with(['.', '[']) && set.to_ascii_lowercase().contains("header"))
    };
    let line = (flow.line.saturating_sub(HEADERS)..=flow.line + HEADERS).find(sets)?;
    related_at("the request gets a header in", source, line, source.line_start(line))
}

/// Returns the statement of a flow, in which the call that sends, runs, writes or deletes is marked.
fn excerpt_of(source: &Source<'_>, flow: &Flow) -> Excerpt {
    let statement = source.statement(flow.line);
    let Some(call) = called_in(statement, &flow.call) else { return Excerpt::plain(statement) };
    let line = source.line(flow.line);
    let indent = line.len() - line.trim_start().len();
    let excerpt = Excerpt::around(statement, call.clone());
    let is_on_line = call.start < line.len() - indent;
    let column = if is_on_line { excerpt.column + line.chars().count() - line.trim_start().chars().count() } else { 0 };
    Excerpt { column, ..excerpt }
}

/// Returns the range of a call in a statement: the name with its object and its arguments in parentheses, or a command
/// up to the next one.
fn called_in(statement: &str, name: &str) -> Option<Range<usize>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_whole = |at: &usize| {
        let (before, after) = statement.split_at_checked(*at).unwrap_or_default();
        let rest = after.strip_prefix(name).unwrap_or_default();
        !(name.starts_with(is_word) && before.ends_with(is_word)
            || name.ends_with(is_word) && rest.starts_with(is_word))
    };
    let mut places = statement.match_indices(name).map(|(at, _)| at).filter(is_whole);
    let is_call = |at: &usize| statement.get(at + name.len()..).is_some_and(|rest| rest.starts_with('('));
    let at = places.clone().find(is_call).or_else(|| places.next()).filter(|_| !name.is_empty())?;
    let is_object = |c: char| is_word(c) || matches!(c, '.' | '$' | ':' | '/' | '~');
    let start = statement.get(..at).map_or(at, |before| before.trim_end_matches(is_object).len());
    let rest = statement.get(at + name.len()..).unwrap_or_default();
    let length = if rest.starts_with('(') { in_brackets(rest) } else { rest.find(['|', ';', '`']) };
    Some(start..at + name.len() + length.unwrap_or(rest.len()))
}

/// Returns the length of the part in parentheses with which a text begins, if it ends there.
fn in_brackets(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    let closes = |(_, c): &(usize, char)| {
        open = match c {
            '(' => open + 1,
            ')' => open.saturating_sub(1),
            _ => open,
        };
        open == 0
    };
    text.char_indices().find(closes).map(|(at, _)| at + 1)
}

/// Parses the code in a file if a flow may pass through it.
fn programs<'s, 'a>(
    source: &'s Source<'a>,
    ends: Option<Ends>,
    far: Ends,
    finder: &mut Finder,
    places: &mut Vec<Place<'s, 'a>>,
) -> Result<(), SearchError> {
    let extension = extension_of(source.path);
    if let Some(language) = Language::of_file(extension, &source.text) {
        let ends = ends.unwrap_or_else(|| Ends::of(&source.text));
        if ends.may_flow(far, language) {
            place(source, language, 0, &source.text, finder, places)?;
        }
        return Ok(());
    }
    if let Some((language, code)) = held(extension, &source.text) {
        if Ends::of(&code).may_flow(far, language) {
            place(source, language, 0, &code, finder, places)?;
        }
        return Ok(());
    }
    let may_flow = !is_data(source) || ends.is_none_or(|ends| ends.may_flow(far, Language::Shell));
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

/// Parses a piece of code that begins on the given line of a file.
fn place<'s, 'a>(
    source: &'s Source<'a>,
    language: Language,
    line: usize,
    text: &str,
    finder: &mut Finder,
    places: &mut Vec<Place<'s, 'a>>,
) -> Result<(), SearchError> {
    finder.charge(text.len().saturating_mul(PARSE))?;
    let mut program = language.parse(text, line).ok_or(SearchError::Exhausted)?;
    if !source.kind().reads {
        source.path.clone_into(&mut program.path);
    }
    if program.cut {
        finder.add_file(&rules::FLOW_TOO_DEEP, rules::FLOW_TOO_DEEP.evidence, source.path);
    }
    places.push(Place { source, program });
    Ok(())
}
