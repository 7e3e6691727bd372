//! Context of a match, which determines its weight.
//!
//! The same sentence can be an instruction in one place and a quotation, a warning or a lesson in another. A rule's
//! [`Role`] selects the contexts that count.

mod sample;
mod words;

use std::{borrow::Cow, ops::Range};

use skill::SkillPath;

use crate::{Evidence, Role, Rule, Scope, judgement::Why, source::Source};

use sample::{is_attack_lesson, is_bad_sample, is_listed, is_plain_block, is_shown, is_tested};
pub(crate) use sample::{is_illustration, is_taught, may_teach};
use words::{Words, has};

/// Bytes before and after a match that are considered as its context.
const CONTEXT: usize = 160;

/// Words that make a sentence forbid the rest of it.
const FORBIDS: &[&str] = &[
    "不要", "请勿", "切勿", "never", "not ", "n't ", "avoid", "refus", "forbid", "prohibit", "prevent", "block",
    "reject", "without", "禁止", "不得", "n’t ",
];

/// Returns the evidence of a match that starts at a byte offset on a line.
pub(crate) fn evidence(rule: &Rule, source: &Source<'_>, line: usize, offset: usize) -> Evidence {
    weigh(rule, source, line, offset).0
}

/// Returns the evidence of a match, and the reason if it is lower than the rule's.
pub(crate) fn weigh(rule: &Rule, source: &Source<'_>, line: usize, offset: usize) -> (Evidence, Option<Why>) {
    if is_searched(rule, source, line) {
        return (rule.evidence.min(Evidence::Weak), Some(SEARCHED));
    }
    let is_here = source.covers(rule.scope, line) || rule.scope == Scope::Code && runs_on_load(source, line, offset);
    let why = match is_here {
        false => Some(outside(rule.scope)),
        true if source.is_test_data && is_about_instructions(rule) => Some(Why::fact("it is test data of the skill")),
        true => talk(rule, source, line, offset),
    };
    (if why.is_none() { rule.evidence } else { rule.elsewhere() }, why)
}

/// Returns whether a line is a pattern of code that a search tool such as Semgrep looks for. Nothing runs it.
pub(crate) fn is_searched(rule: &Rule, source: &Source<'_>, line: usize) -> bool {
    let key = source.line(line).trim_start().trim_start_matches("- ").split_once(": ").map_or("", |(key, _)| key);
    let is_pattern = key.starts_with("pattern") && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    is_pattern && !source.kind().runs && matches!(rule.scope, Scope::Script | Scope::Code)
}

/// Returns the reason for a match outside its rule's scope.
fn outside(scope: Scope) -> Why {
    let (reason, harmless_if) = match scope {
        Scope::Any => ("it is outside the rule's scope", "it is only mentioned"),
        Scope::Script => ("it is not in a script", "it is only shown and nobody is told to run it"),
        Scope::Code => ("it is in prose, not in a script or a code block", "the text tells nobody to run it"),
        Scope::Machine => ("it is in prose, which no program reads", "the text tells nobody to use it"),
        Scope::Prose => ("it is in a script, which does not instruct an agent", "the script only handles this text"),
    };
    Why { reason, harmless_if }
}

const SEARCHED: Why = Why::fact("it is a pattern that a search tool looks for");
const SHOWN: Why =
    Why { reason: "it is shown as an example", harmless_if: "it is only an example and nobody is told to use it" };
const LOOKED_UP: Why = Why {
    reason: "it is in a reference, and SKILL.md tells nobody to run or follow that file",
    harmless_if: "the file only explains or shows this",
};
pub(crate) const LESSON: Why =
    Why { reason: "the surrounding text describes attacks", harmless_if: "the text only describes the attack" };
const FORBIDDEN: Why = Why {
    reason: "its sentence forbids it or warns against it",
    harmless_if: "the sentence tells its reader not to do this",
};
const QUOTED: Why = Why { reason: "it is quoted", harmless_if: "the text only quotes it" };
const TESTED: Why = Why::fact("it is part of a text or list of security tests");

/// Returns the reason for a sample in a file.
pub(crate) fn illustration(source: &Source<'_>) -> Why {
    if source.is_looked_up { LOOKED_UP } else { SHOWN }
}

/// Parts of a path by which a file belongs to the tests of a program.
const TESTS: &[&str] = &["test", "tests", "__tests__", "fixtures", "testdata", "spec", "mocks"];

/// Returns the change by which a match weighs less or disappears if it is a sample, as a clause. Its line counts from 0.
pub(crate) fn way_out(
    rule: &Rule,
    source: &Source<'_>,
    line: usize,
    matched: Range<usize>,
) -> Option<Cow<'static, str>> {
    let is_of_tests = source.path.split('/').any(|part| TESTS.contains(&part)) || is_test_file(source.path);
    let is_code = !source.kind().reads || source.kind().runs;
    let way_out = match rule.role {
        _ if rule.secret => Some("if it is made up, write a placeholder such as <key> in its place"),
        _ if is_of_tests => Some("if only tests use the file, leave it out of the skill"),
        Role::Fact if is_plain_block(source, line) => {
            Some("if it is only a bad example, begin the line above its block with “Bad:”")
        }
        Role::Fact => None,
        _ if is_code && !is_text_of_code(source, line, matched.start) => None,
        _ if is_code && source.text.get(matched).is_some_and(|text| text.contains(['\n', '"', '('])) => {
            Some(ACCEPTED_TEXT)
        }
        _ if is_code => return Some(placeholder(rule).into()),
        Role::Command | Role::Test if source.is_fenced(line) => {
            Some("if it is only shown, name it in a sentence that forbids it (“Never use …”), not in a block")
        }
        Role::Command | Role::Test => Some("if the text only warns of it, put “Never use” before it in its sentence"),
        Role::Speech => Some("if the text only quotes it, put it in quotation marks"),
        Role::Planted => Some("if the text only shows it, put it in quotation marks or a code block"),
    };
    way_out.map(Cow::Borrowed)
}

/// Way out for a text in code that nothing runs, of which no part can be replaced.
const ACCEPTED_TEXT: &str =
    "if nothing runs this text (a comment, a pattern, sample data), have a person accept the finding";

/// Returns the way out for a text in code that nothing runs. The placeholder says what it stands for, so that a list of
/// commands or a comment keeps its sense.
fn placeholder(rule: &Rule) -> String {
    format!(
        "if nothing runs this text (a comment, a pattern, sample data), replace it by <{}>, or have a \
         person accept the finding",
        rule.id
    )
}

/// Returns whether a match in a script or a data file is in a comment or a string, or in a file that is not run.
fn is_text_of_code(source: &Source<'_>, line: usize, offset: usize) -> bool {
    let (before, _) = around(source, line, offset);
    let is_comment = ["#", "//", "*", ";", "--"].iter().any(|mark| before.trim_start().starts_with(mark));
    !source.kind().runs || is_comment || is_in_comment(before) || is_in_plain_string(before)
}

/// Returns whether a match is part of a sentence of running text.
pub(crate) fn is_in_sentence(source: &Source<'_>, line: usize, offset: usize) -> bool {
    let (before, _) = around(source, line, offset);
    let is_of_table = source.line(line).trim_start().starts_with('|');
    source.kind().reads && !source.is_command(line) && !source.is_fenced(line) && !is_of_table && !is_quoted(before)
}

/// Categories whose rules are about commands, whatever their scope.
const OF_COMMANDS: &[&str] = &["destructive", "remote-code", "resources", "reverse-shell"];

/// Keys of data whose values are run.
const RUN_KEYS: &[&str] = &["arg", "cmd", "command", "entry", "exec", "hook", "install", "run", "script", "shell"];

/// Returns the beginning of a message about a match in a comment, in a value of data, or in a string that no call on its
/// line is given, so that the message does not claim an act.
pub(crate) fn place(
    rule: &Rule,
    source: &Source<'_>,
    line: usize,
    offset: usize,
    message: &str,
    is_of_one_line: bool,
) -> &'static str {
    let is_data = !source.kind().runs && !source.kind().reads;
    let is_code = is_data || source.kind().runs || source.is_fenced(line) && !is_plain_block(source, line);
    if !is_code || !is_of_act(rule, message) || rule.scope == Scope::Prose {
        return "";
    }
    let (before, _) = around(source, line, offset);
    let is_of_commands = matches!(rule.scope, Scope::Script | Scope::Code) || OF_COMMANDS.contains(&rule.category);
    let is_run = is_of_commands && !is_statement(message) && !message.contains("the agent ");
    match (is_in_comment(before) && is_of_one_line, is_run) {
        (true, true) => "contains a comment that, if run, ",
        (true, false) => "contains a comment that ",
        (false, true) if is_data && !is_of_run_key(before) => "contains a value that, if run, ",
        _ if is_data => "",
        (false, true) if is_in_plain_string(before) => "contains a string that, if run, ",
        _ => "",
    }
}

/// Returns whether a message says what a text has or names, not what it does.
fn is_statement(message: &str) -> bool {
    message.starts_with("names ") || message.starts_with("has ")
}

/// Returns whether a message begins with the verb of an act. That of a user's rule may not begin with a verb.
fn is_of_act(rule: &Rule, message: &str) -> bool {
    crate::rule(rule.id).is_some() && !message.starts_with("contains ")
}

/// Returns the beginning of a message about a match with reduced weight in a text for readers, which only shows or
/// resembles what the rule is about.
pub(crate) fn likeness(rule: &Rule, source: &Source<'_>, line: usize, offset: usize, message: &str) -> &'static str {
    if !is_of_act(rule, message) || !source.kind().reads {
        return "";
    }
    let (before, after) = around(source, line, offset);
    let is_in_span = before.matches('`').count() % 2 == 1 || after.starts_with('`');
    match rule.role {
        Role::Fact => "",
        Role::Speech | Role::Planted => "has words like those of a text that ",
        Role::Command | Role::Test if source.is_fenced(line) || source.is_command(line) => "shows code that ",
        Role::Command | Role::Test if is_in_span => "names code that ",
        Role::Command | Role::Test => "has words like those of code that ",
    }
}

/// Returns whether the text up to a match on a line of data begins a value that programs run, by its key, or has none.
fn is_of_run_key(before: &str) -> bool {
    let Some((key, _)) = before.split_once([':', '=']) else { return true };
    let key = key.to_ascii_lowercase();
    RUN_KEYS.iter().any(|word| key.contains(word))
}

/// Returns whether the text up to a match begins a comment.
fn is_in_comment(before: &str) -> bool {
    let start = before.trim_start();
    // A line of a schedule begins with `* *`.
    let is_line = ["# ", "//", "* "].iter().any(|mark| start.starts_with(mark)) && !start.starts_with("* *");
    let is_closed = |mark| before.matches(mark).count() % 2 == 0;
    is_line || [" # ", " // "].iter().any(|mark| before.contains(mark)) && is_closed('"') && is_closed('\'')
}

/// Returns whether the text up to a match opens a string that is a value, an entry or printed.
fn is_in_plain_string(before: &str) -> bool {
    let open = ['"', '\''].into_iter().find(|mark| before.matches(*mark).count() % 2 == 1);
    let Some((head, _)) = open.and_then(|mark| before.rsplit_once(mark)) else { return false };
    let is_call = |(at, _): (usize, &str)| head.get(..at).is_some_and(|name| name.ends_with(char::is_alphanumeric));
    let is_printed = ["echo", "printf"].iter().any(|name| head.trim_end().ends_with(name));
    let value = head.trim_end_matches(|c: char| "rbfu".contains(c)).trim_end();
    let is_value = value.is_empty() || value.ends_with(['(', '[', '{', ',', '=', ':']);
    is_printed || is_value && !head.contains("-c") && !head.match_indices('(').any(is_call)
}

/// Returns whether a file name has the form of a test, such as `test_a.py`, `a_test.go` and `a.spec.ts`.
fn is_test_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or("");
    name.starts_with("test_") || ["_test.", ".test.", ".spec."].iter().any(|mark| name.contains(mark))
}

/// Returns whether a rule is about instructions to an agent. Test data never instructs an agent.
fn is_about_instructions(rule: &Rule) -> bool {
    rule.scope == Scope::Prose || rule.role == Role::Speech || rule.category == "prompt-injection"
}

/// Returns whether a match is in a code span that agents execute when they load a skill, as in ``!`git status` ``.
fn runs_on_load(source: &Source<'_>, line: usize, offset: usize) -> bool {
    let (before, _) = around(source, line, offset);
    before.matches('`').count() % 2 == 1 && before.rsplit_once('`').is_some_and(|(front, _)| front.ends_with('!'))
}

/// Returns the evidence of a match found only in the normalised copy of a line. Disguising a phrase shows intent, so
/// only the scope counts, not the context.
pub(crate) fn evidence_in(rule: &Rule, source: &Source<'_>, line: usize) -> Evidence {
    if source.covers(rule.scope, line) { rule.evidence } else { rule.elsewhere() }
}

/// Returns the reason for which a text only mentions the match, or a file of any kind lists it as test input. Scripts
/// are considered for the latter only.
fn talk(rule: &Rule, source: &Source<'_>, line: usize, offset: usize) -> Option<Why> {
    let role = rule.role;
    if role == Role::Test && is_listed(source, line) {
        return Some(TESTED);
    }
    if source.kind().runs && !source.kind().reads || source.is_command(line) {
        return None;
    }
    let (before, after) = around(source, line, offset);
    match role {
        Role::Planted => is_on_show(source, line, before).then_some(SHOWN),
        Role::Fact => {
            let is_sample = is_bad_sample(source, line) || rule.scope != Scope::Any && is_illustration(source, line);
            is_sample.then_some(illustration(source))
        }
        Role::Command | Role::Test if forbids(before) || has(Words::Bad, before) || calls_bad(after) => Some(FORBIDDEN),
        Role::Speech if forbids_deed(before, after) => Some(FORBIDDEN),
        _ if is_taught(source, line) => Some(LESSON),
        _ if is_illustration(source, line) => Some(illustration(source)),
        Role::Command if is_row(before) && is_lesson(source, line) => Some(LESSON),
        Role::Test if is_tested(source) => Some(TESTED),
        Role::Test if source.path != SkillPath::SKILL_MD && is_lesson(source, line) => Some(LESSON),
        Role::Command | Role::Test => {
            let is_sample = is_example(before) || is_quoted_example(source, line, before);
            (is_sample || is_shown(source, line) || is_bad_sample(source, line)).then_some(SHOWN)
        }
        Role::Speech if is_quoted(before) => Some(QUOTED),
        Role::Speech => {
            let is_lesson = is_attack_lesson(source) || has(Words::Teaching, &previous(source, line, before));
            (is_lesson || is_quoted_lesson(source, line)).then_some(LESSON)
        }
    }
}

/// Returns whether a text only shows words that are meant to be planted for agents. In data, quotation marks do not
/// count as quoting.
fn is_on_show(source: &Source<'_>, line: usize, before: &str) -> bool {
    let is_among_others =
        if source.kind().reads { is_quoted(before) || source.is_fenced(line) } else { is_listed(source, line) };
    is_among_others
        || is_taught(source, line)
        || is_attack_lesson(source)
        || has(Words::Teaching, &previous(source, line, before))
        || is_quoted_lesson(source, line)
}

/// Lines above a code block that may introduce its content.
const INTRODUCTION: usize = 6;

/// Returns whether the lines above call this line bad or teach about attacks.
pub(crate) fn is_lesson(source: &Source<'_>, line: usize) -> bool {
    let above = (line.saturating_sub(INTRODUCTION)..line).map(|at| source.line(at));
    above.into_iter().any(|text| has(Words::Teaching, text) || has(Words::Bad, text) && !has(Words::Hides, text))
}

/// Returns the text on the line before and after a byte offset, each within [`CONTEXT`] bytes.
fn around<'a>(source: &'a Source<'_>, line: usize, offset: usize) -> (&'a str, &'a str) {
    let text = source.text.as_ref();
    let start = source.line_start(line).max(offset.saturating_sub(CONTEXT));
    let from = (start..=offset).find(|at| text.is_char_boundary(*at)).unwrap_or(offset);
    let rest = text.get(offset..).unwrap_or("");
    let to = rest
        .char_indices()
        .take_while(|(at, c)| *at < CONTEXT && *c != '\n')
        .last()
        .map_or(0, |(at, c)| at + c.len_utf8());
    (text.get(from..offset).unwrap_or(""), rest.get(..to).unwrap_or(""))
}

/// Returns whether a line is in a block quotation that the last line of text above it calls an attack.
fn is_quoted_lesson(source: &Source<'_>, line: usize) -> bool {
    said_above_quotation(source, line).is_some_and(|said| has(Words::Teaching, said))
}

/// Returns whether a match is in a code span of a block quotation that the line of text above it names as an example.
fn is_quoted_example(source: &Source<'_>, line: usize, before: &str) -> bool {
    let is_span = before.trim_start_matches(['>', ' ']).starts_with('`');
    is_span && said_above_quotation(source, line).is_some_and(ends_in_example)
}

/// Returns the last line of text above the block quotation that a line belongs to.
fn said_above_quotation<'s>(source: &'s Source<'_>, line: usize) -> Option<&'s str> {
    let is_quotation = |text: &str| text.trim_start().starts_with('>');
    let is_said = |text: &&str| !text.trim().is_empty() && !is_quotation(text);
    let mut above = (line.saturating_sub(INTRODUCTION)..line).rev().map(|at| source.line(at));
    above.find(is_said).filter(|_| is_quotation(source.line(line)))
}

/// Returns the text before a match, preceded by the end of the line above.
fn previous(source: &Source<'_>, line: usize, before: &str) -> String {
    let above = line.checked_sub(1).map_or("", |above| source.line(above));
    let tail: Vec<char> = above.chars().rev().take(CONTEXT).collect();
    tail.into_iter().rev().chain([' ']).chain(before.chars()).collect()
}

/// Returns whether the sentence up to the match forbids the rest of it.
fn forbids(before: &str) -> bool {
    let lower = before.to_ascii_lowercase();
    forbids_by(&lower, FORBIDS.iter())
}

fn forbids_by<'w>(before: &str, mut words: impl Iterator<Item = &'w &'static str>) -> bool {
    let sentence = before.rsplit(['.', ',', '!', '?', ':', ';', '—', '。', '，']).next().unwrap_or("");
    words.any(|word| sentence.contains(word))
}

/// Words that forbid only a following gerund such as `ignoring`. They forbid nothing in `without delay`.
const BEFORE_ING: &[&str] = &["avoid", "without"];

/// Conjunctions that end the effect of a prohibition.
const BREAKS: &[&str] = &[" but ", " then ", " so ", " because "];

/// Returns whether the clause up to the match forbids the action after it.
fn forbids_deed(before: &str, after: &str) -> bool {
    let lower = before.to_ascii_lowercase();
    let clause = BREAKS.iter().fold(lower.as_str(), |rest, word| rest.rsplit(word).next().unwrap_or(rest));
    let deed = after.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty()).unwrap_or("");
    let is_left_over = |word: &&&str| !BEFORE_ING.contains(word);
    let is_ing = deed.to_ascii_lowercase().ends_with("ing");
    if is_ing { forbids(clause) } else { forbids_by(clause, FORBIDS.iter().filter(is_left_over)) }
}

/// Returns whether the match is in a code span of a table row.
fn is_row(before: &str) -> bool {
    before.trim_start().starts_with('|') && before.contains('`')
}

/// Returns whether the match is named as an example in running text.
fn is_example(before: &str) -> bool {
    let is_inside = before.matches('`').count() % 2 == 1;
    let before = before.rfind('`').filter(|_| is_inside).and_then(|span| before.get(..=span)).unwrap_or(before);
    before.ends_with(['`', '"', '“']) && ends_in_example(before.trim_end_matches(['`', '"', '“', ' ']))
}

/// Returns whether a text announces an example with its last words.
fn ends_in_example(said: &str) -> bool {
    let said = said.trim_end().to_ascii_lowercase();
    ["such as", " like", "e.g.", "for example", "例如", "比如"].iter().any(|word| said.ends_with(word))
}

/// Returns whether a comment after a command calls it bad.
fn calls_bad(after: &str) -> bool {
    after.split_once(" #").or_else(|| after.split_once("//  ")).is_some_and(|(_, comment)| has(Words::Bad, comment))
        || after.contains("// DANGEROUS")
}

/// Returns whether a quotation or code span is open before the match. The quotation marks of a value, as in `key:
/// "text"`, do not count.
fn is_quoted(before: &str) -> bool {
    let odd = |mark: char| before.matches(mark).count() % 2 == 1;
    let open = |left: char, right: char| before.matches(left).count() > before.matches(right).count();
    let value = before.trim_start().split_once([':', '=']).is_some_and(|(key, rest)| {
        key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '"' | '\'' | ' '))
            && rest.trim_start().starts_with(['"', '\''])
    });
    odd('`') || open('“', '”') || open('「', '」') || (!value && (odd('"') || before.ends_with('\'')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_plain_strings_are_told_from_calls() {
        for before in ["# ", "// see ", " * ", "date # "] {
            assert!(is_in_comment(before), "{before}");
        }
        for before in ["* * * * * ", "#!", "echo '# ", "date; "] {
            assert!(!is_in_comment(before), "{before}");
        }
        for before in ["(r'a', 'Delete (", "BAD = ['", "    \"", "echo \"", "x = f\""] {
            assert!(is_in_plain_string(before), "{before}");
        }
        for before in ["os.system('", "bash -c \"", "run([\"bash\", \"-c\", \"", "git commit -m '", "date; "] {
            assert!(!is_in_plain_string(before), "{before}");
        }
    }

    fn before(line: &str) -> &str {
        line.split_once("ignore").unwrap().0
    }

    #[test]
    fn a_quotation_is_told_from_an_instruction() {
        for line in ["Say \"please ignore", "`ignore", "a “ignore", "“a” “ignore", "'ignore"] {
            assert!(is_quoted(before(line)), "{line}");
        }
        for line in ["ignore", "\"a\" ignore", "“a” ignore", "description: \"ignore", "\"text\": \"now ignore"] {
            assert!(!is_quoted(before(line)), "{line}");
        }
    }

    #[test]
    fn a_lesson_is_told_from_an_instruction() {
        assert!(has(Words::Teaching, "A prompt injection says"));
        assert!(!has(Words::Teaching, "Send it to https://attacker.invalid and"), "a host's name teaches nothing");
        assert!(forbids("Never ") && !forbids("Never mind. Now "));
    }

    #[test]
    fn a_clause_forbids_only_its_own_deed() {
        for (before, after) in
            [("Never ", "ignore it"), ("Do it without ", "ignoring it"), ("Not so fast but never ", "x")]
        {
            assert!(forbids_deed(before, after), "{before}{after}");
        }
        for (before, after) in
            [("Without delay ", "ignore it"), ("Do not wait but ", "ignore it"), ("To avoid harm ", "x")]
        {
            assert!(!forbids_deed(before, after), "{before}{after}");
        }
    }
}
