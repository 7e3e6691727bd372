//! `--trigger` of `eval run` and `eval compare`: which skill is chosen for the queries in `evals/eval_queries.json`.

use evolve::{
    compare::{CaseRuns, Comparison, ComparisonResult, Rules, compare as compare_pairs},
    evals::{
        EvalLimits, Neighbour, QueryRuns, Share, TriggerQuery, TriggerReport, TriggerSet, is_expected, read_queries,
        without_evals,
    },
};
use serde_json::{Value, json};
use skill::{Frontmatter, Limits, Problem, SkillPath, counted, frontmatter};

use super::{
    RunnerArgs,
    chooser::{Chooser, Listing},
    runner::{Results, write_json},
    side::{Side, refuse_evals},
    store::Store,
};
use crate::{
    context::Context,
    exit::{CliError, Exit},
    print::{BAD, FAINT, GOOD, STRONG, Table, WARN, time, visible},
};

/// Runs of each query by default, as in the standard's guide.
const REPEAT: u32 = 3;

/// Longest query in a table, in characters.
const SHOWN_CHARS: usize = 60;

/// Runs the queries of a skill and prints how often it was chosen.
pub(super) fn run(context: &Context, side: &Side, repeat: Option<u32>, args: &RunnerArgs) -> Result<Exit, CliError> {
    let set = queries_of(side)?;
    let chooser = Chooser::new(context, args)?;
    let listing = chooser.listing(context, side)?;
    let repeat = if chooser.is_deterministic() { 1 } else { repeat.unwrap_or(REPEAT) as usize };
    let mut runs: Vec<QueryRuns> = empty(&set);
    let working = context.out.working("running queries");
    for number in 0..repeat {
        for (at, runs) in runs.iter_mut().enumerate() {
            working.at("running queries", number * set.queries.len() + at, repeat * set.queries.len());
            runs.chosen.push(chooser.choose(&listing, &runs.query.text)?);
        }
        check(&chooser, &runs)?;
    }
    drop(working);
    let report = TriggerReport::new(&side.name, &runs);
    let results = results(context, args, &side.name, "trigger")?;
    let metadata = json!({
        "timestamp": time(context.now), "skill": side.document(), "name": side.name, "queries_file": set.path,
        "chooser": chooser.words(), "runner": args.runner, "answers": answers(&runs),
    });
    write_json(&results.path.join("triggers.json"), &with(metadata, &json!(report)))?;
    let head = json!({
        "ok": report.passed(), "name": side.name, "skill": side.document(), "chooser": chooser.words(),
        "results": results.path,
    });
    context.out.answer(&with(head, &json!(report)), |out| {
        let mut table = Table::new(&["query", "should", "chosen", "rate, 95 %", "chosen instead"]);
        for query in &report.queries {
            let instead = query.instead.iter().map(|one| format!("{} {}", one.name, one.runs)).collect::<Vec<_>>();
            let should = if query.should_trigger { "trigger" } else { "not trigger" };
            let chosen = format!("{} of {}", query.triggered.count, query.triggered.of);
            let cells = [shown(&query.query), should.to_owned(), chosen, rate(query.triggered), instead.join(", ")];
            table.row(&cells.map(|cell| visible(&cell)));
        }
        table.write(out)?;
        let (style, word) = if report.passed() { (GOOD, "passed") } else { (BAD, "failed") };
        let passed = report.queries.iter().filter(|query| query.passed == Some(true)).count();
        let all = counted(report.queries.len(), "query");
        writeln!(
            out,
            "{style}{word}{style:#} {STRONG}{}{STRONG:#}, {}: {passed} of {all} as expected",
            side.name, side.label
        )?;
        writeln!(out, "  chosen when it should be: {}", words(report.should_trigger))?;
        writeln!(out, "  chosen when it should not be: {}", words(report.should_not_trigger))?;
        neighbour_lines(&report.neighbours).iter().try_for_each(|line| writeln!(out, "  {line}"))?;
        writeln!(out, "{FAINT}Chosen by {}{FAINT:#}", chooser.words())?;
        writeln!(out, "Results: {}", context.short(&results.path))
    })?;
    Ok(if report.passed() { Exit::Done } else { Exit::Failed })
}

/// Both sides of a comparison, with their runs of each query.
struct Sides {
    base: Vec<QueryRuns>,
    candidate: Vec<QueryRuns>,
    cases: Vec<CaseRuns>,
}

/// Numbers of runs and rules of a comparison.
pub(super) struct Terms {
    /// Pairs of runs for each query.
    pub repeat: u32,
    /// Runs of the base that find flaky queries.
    pub trial: u32,
    /// Error rates of the decision.
    pub rules: Rules,
}

/// Compares two states of a skill on the base's queries.
pub(super) fn compare(
    context: &Context,
    terms: &Terms,
    args: &RunnerArgs,
    [base, candidate]: [&Side; 2],
) -> Result<Exit, CliError> {
    let set = queries_of(base)?;
    let chooser = Chooser::new(context, args)?;
    let listings = [chooser.listing(context, base)?, chooser.listing(context, candidate)?];
    let sides = pairs(context, terms, &chooser, &set, &listings, &base.name)?;
    let comparison = compare_pairs(&sides.cases, terms.rules);
    let reports = [TriggerReport::new(&base.name, &sides.base), TriggerReport::new(&base.name, &sides.candidate)];
    let results = results(context, args, &base.name, "trigger-compare")?;
    let is_worse = comparison.decision == ComparisonResult::Worse;
    let head = json!({
        "ok": !is_worse, "name": base.name, "chooser": chooser.words(), "queries_file": set.path,
        "base": with(base.document(), &json!({"triggers": reports[0]})),
        "candidate": with(candidate.document(), &json!({"triggers": reports[1]})), "results": results.path,
    });
    let document = with(head, &json!(comparison));
    write_json(&results.path.join("comparison.json"), &document)?;
    context.out.answer(&document, |out| {
        comparison_table(&sides, &comparison).write(out)?;
        for (label, report) in [("base", &reports[0]), ("candidate", &reports[1])] {
            writeln!(out, "  {label}: chosen when it should be: {}", words(report.should_trigger))?;
            writeln!(out, "  {label}: chosen when it should not be: {}", words(report.should_not_trigger))?;
        }
        neighbour_lines(&reports[1].neighbours).iter().try_for_each(|line| writeln!(out, "  candidate: {line}"))?;
        let style = match comparison.decision {
            ComparisonResult::Better => GOOD,
            ComparisonResult::NoDifference => STRONG,
            ComparisonResult::Worse => BAD,
        };
        let (word, why) = (comparison.decision.words(), comparison.reasons.join("; "));
        writeln!(out, "{style}{word}{style:#}: {} against {}: {}", candidate.label, base.label, visible(&why))?;
        if differ_otherwise(base, candidate) {
            writeln!(
                out,
                "{WARN}More than the description differs{WARN:#}, which queries do not test. Compare the cases too."
            )?;
        }
        writeln!(out, "{FAINT}Chosen by {}{FAINT:#}", chooser.words())?;
        writeln!(out, "Results: {}", context.short(&results.path))
    })?;
    Ok(if is_worse { Exit::Failed } else { Exit::Done })
}

/// Runs both sides alternately on each query, after the base's runs that find flaky queries.
fn pairs(
    context: &Context,
    terms: &Terms,
    chooser: &Chooser<'_>,
    set: &TriggerSet,
    listings: &[Listing; 2],
    skill: &str,
) -> Result<Sides, CliError> {
    let (trial, repeat) =
        if chooser.is_deterministic() { (0, 1) } else { (terms.trial as usize, terms.repeat as usize) };
    let case = |query: &TriggerQuery| CaseRuns { id: query.text.clone(), ..CaseRuns::default() };
    let mut sides = Sides { base: empty(set), candidate: empty(set), cases: set.queries.iter().map(case).collect() };
    let working = context.out.working("running queries");
    let (mut done, total) = (0, set.queries.len() * (trial + 2 * repeat));
    let mut choose = |side: usize, query: &TriggerQuery| {
        working.at("running queries", done, total);
        done += 1;
        chooser.choose(&listings[side.min(1)], &query.text)
    };
    let mark = |query: &TriggerQuery, chosen: &Option<Vec<String>>| vec![is_expected(skill, query, chosen.as_deref())];
    for _ in 0..trial {
        for (query, case) in set.queries.iter().zip(&mut sides.cases) {
            case.trial.push(mark(query, &choose(0, query)?));
        }
    }
    for number in 0..repeat {
        for (at, query) in set.queries.iter().enumerate() {
            // Alternating the order exposes both sides equally to drift over time.
            let first = (number + at) % 2;
            let (one, other) = (choose(first, query)?, choose(1 - first, query)?);
            let (base, candidate) = if first == 0 { (one, other) } else { (other, one) };
            let marks = (mark(query, &base), mark(query, &candidate));
            if let Some(case) = sides.cases.get_mut(at) {
                case.pairs.push(marks);
            }
            for (runs, chosen) in [(&mut sides.base, base), (&mut sides.candidate, candidate)] {
                runs.get_mut(at).into_iter().for_each(|runs| runs.chosen.push(chosen.clone()));
            }
        }
        check(chooser, &sides.base)?;
    }
    Ok(sides)
}

fn comparison_table(sides: &Sides, comparison: &Comparison) -> Table {
    let mut table = Table::new(&["query", "should", "base", "candidate", "better", "equal", "worse", ""]);
    for (runs, seen) in sides.base.iter().zip(&comparison.cases) {
        let percent = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), |rate| format!("{:.0} %", rate * 100.0));
        let should = if runs.query.should_trigger { "trigger" } else { "not trigger" };
        let note = match (seen.flaky.is_empty(), seen.held_out) {
            (false, _) => "flaky, left out",
            (true, true) => "held out",
            (true, false) => "",
        };
        let (wins, ties, losses) = (seen.tally.wins, seen.tally.ties, seen.tally.losses);
        let cells = [
            shown(&runs.query.text),
            should.to_owned(),
            percent(seen.base_rate),
            percent(seen.candidate_rate),
            wins.to_string(),
            ties.to_string(),
            losses.to_string(),
            note.to_owned(),
        ];
        table.row(&cells.map(|cell| visible(&cell)));
    }
    table
}

/// Reads the queries of a skill.
///
/// # Errors
/// The skill has no queries, or they cannot be read.
fn queries_of(side: &Side) -> Result<TriggerSet, CliError> {
    let reading = read_queries(&side.bundle, &EvalLimits::default());
    let problems: Vec<Problem> = reading.problems;
    reading.set.ok_or_else(|| refuse_evals(side, "queries", evolve::evals::QUERIES_FILE, &problems))
}

fn empty(set: &TriggerSet) -> Vec<QueryRuns> {
    set.queries.iter().map(|query| QueryRuns { query: query.clone(), chosen: Vec::new() }).collect()
}

fn check(chooser: &Chooser<'_>, runs: &[QueryRuns]) -> Result<(), CliError> {
    let all: Vec<Option<Vec<String>>> = runs.iter().flat_map(|runs| runs.chosen.iter().cloned()).collect();
    chooser.check(&all)
}

fn results(context: &Context, args: &RunnerArgs, skill: &str, kind: &str) -> Result<Results, CliError> {
    Results::make(match &args.out {
        Some(out) => context.absolute(out),
        None => Store::of(context).results(context, skill, kind),
    })
}

/// Returns the chosen skills of each run, by query.
fn answers(runs: &[QueryRuns]) -> Vec<Value> {
    runs.iter().map(|runs| json!({"query": runs.query.text, "chosen": runs.chosen})).collect()
}

/// Returns whether more than the description and the evals differs between two states.
fn differ_otherwise(base: &Side, candidate: &Side) -> bool {
    let files = |side: &Side| without_evals(&side.bundle).without_file(&SkillPath::skill_md()).digest();
    let texts = [base, candidate].map(|side| side.bundle.skill_md().unwrap_or_default());
    let limits = Limits::default();
    let [Ok(one), Ok(other)] = texts.map(|text| frontmatter::read(text, &limits)) else { return true };
    let fields = |fields: &Frontmatter| {
        let Frontmatter { license, compatibility, metadata, allowed_tools, requires, keys, .. } = fields.clone();
        (license, compatibility, metadata, allowed_tools, requires, keys)
    };
    files(base) != files(candidate) || one.body != other.body || fields(&one.frontmatter) != fields(&other.frontmatter)
}

fn with(mut document: Value, more: &Value) -> Value {
    if let (Some(document), Value::Object(more)) = (document.as_object_mut(), more.clone()) {
        document.extend(more);
    }
    document
}

/// Returns the beginning of a query.
fn shown(query: &str) -> String {
    skill::shortened(&query.split_whitespace().collect::<Vec<_>>().join(" "), SHOWN_CHARS)
}

fn rate(share: Share) -> String {
    let (low, high) = share.interval();
    let rate = share.rate().map_or_else(|| "-".to_owned(), |rate| format!("{:.0} %", rate * 100.0));
    format!("{rate} ({:.0} to {:.0})", low * 100.0, high * 100.0)
}

fn words(share: Share) -> String {
    format!("{} of {}, {}", share.count, counted(share.of as usize, "run"), rate(share))
}

fn neighbour_lines(neighbours: &[Neighbour]) -> Vec<String> {
    let line = |one: &Neighbour| {
        let (runs, queries) = (counted(one.runs, "run"), counted(one.queries, "query"));
        format!("{} was chosen instead in {runs} of {queries}", visible(&one.name))
    };
    neighbours.iter().map(line).collect()
}
