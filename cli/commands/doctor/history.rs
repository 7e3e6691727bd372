//! Check of the history, which reads every revision down to its files, and every head.

use library::{DamagedRevision, HeadFault, HistoryFault, Library};
use skill::counted;

use super::Findings;
use crate::{context::Context, exit::CliError};

/// Maximum number of damaged revisions of one skill that are reported one by one.
const NAMED: usize = 20;

/// Number of revisions between two progress updates.
const STEP: usize = 100;

/// Reads the whole history. Returns whether every head is readable.
pub fn check(context: &Context, library: &mut Library, findings: &mut Findings) -> Result<bool, CliError> {
    let path = library.history_path();
    let (mut read, before) = look(context, library)?;
    if before.is_empty() {
        findings.ok("references", &path, "every skill has its newest revision");
        findings.ok("history", &path, format!("{} intact", counted(read, "revision")));
        return Ok(true);
    }
    let mut left = Vec::new();
    let mut mended = Ok(());
    if findings.fix {
        mend_packs(library, &before);
        *library = context.library_to_inspect()?;
        mended = mend(library, &before).map_err(|error| error.to_string());
        *library = context.library_to_inspect()?;
        (read, left) = look(context, library)?;
    }
    let why_not = mended.err().unwrap_or_else(|| "neither the journal nor the folders have the content".to_owned());
    for fault in &before {
        let is_left = left.iter().any(|other| same(fault, other));
        tell(findings, fault, &path.display().to_string(), if is_left { Err(why_not.clone()) } else { Ok(()) });
    }
    findings.close("references", &path, "every skill has its newest revision");
    findings.close("history", &path, format!("{} intact", counted(read, "revision")));
    let open = if findings.fix { &left } else { &before };
    Ok(!open.iter().any(|fault| matches!(fault, HistoryFault::Head(_) | HistoryFault::Whole(_)))
        && library.skills().is_ok())
}

fn look(context: &Context, library: &Library) -> Result<(usize, Vec<HistoryFault>), CliError> {
    let working = context.out.working("reading the history");
    let mut read = 0;
    let faults = library.check_history(&mut || {
        read += 1;
        if read % STEP == 0 {
            working.say(format!("reading the history: {}", counted(read, "revision")));
        }
    })?;
    Ok((read, faults))
}

/// Rebuilds the indexes of packs. A broken pack is skipped, and remains as a fault.
fn mend_packs(library: &mut Library, faults: &[HistoryFault]) {
    for fault in faults {
        if let HistoryFault::Pack(name) = fault {
            let _told_as_left = library.repair_pack(name);
        }
    }
}

/// Restores lost objects from the journal and the folders, then the heads.
fn mend(library: &mut Library, faults: &[HistoryFault]) -> Result<(), library::LibraryError> {
    let objects = faults.iter().flat_map(|fault| match fault {
        HistoryFault::Revision(_, damage) => damage.objects.clone(),
        HistoryFault::Head(head) => vec![head.holds.clone()],
        HistoryFault::Pack(_) | HistoryFault::Whole(_) => Vec::new(),
    });
    let objects: Vec<String> = objects.filter(|id| !id.is_empty()).collect();
    let is_lost = |fault: &HistoryFault| matches!(fault, HistoryFault::Head(head) if head.last_whole.is_none());
    if !objects.is_empty() || faults.iter().any(is_lost) {
        library.repair_objects(&objects)?;
    }
    for fault in library.check_history(&mut || {})? {
        if let HistoryFault::Head(head) = fault {
            library.repair_head(&head)?;
        }
    }
    Ok(())
}

fn same(one: &HistoryFault, other: &HistoryFault) -> bool {
    match (one, other) {
        (HistoryFault::Revision(a, x), HistoryFault::Revision(b, y)) => a == b && x.revision == y.revision,
        (HistoryFault::Head(a), HistoryFault::Head(b)) => a.skill == b.skill,
        (HistoryFault::Pack(a), HistoryFault::Pack(b)) => a == b,
        (HistoryFault::Whole(_), HistoryFault::Whole(_)) => true,
        _ => false,
    }
}

fn tell(findings: &mut Findings, fault: &HistoryFault, place: &str, mended: Result<(), String>) {
    let backup = "restore the history from a backup; the skill folders are not affected";
    let told = findings.list.iter().filter(|finding| finding.check == "history").count();
    match fault {
        HistoryFault::Whole(error) => {
            findings.cannot("history", "history_damaged", place, format!("{error}; {backup}"));
        }
        HistoryFault::Pack(name) => {
            let message = format!("{name}.pack has no index and cannot be read without one; {backup}");
            findings.mendable("history", "history_damaged", place, message, || {
                mended.map(|()| "rebuilt the index".to_owned())
            });
        }
        HistoryFault::Revision(..) if told > NAMED => {}
        HistoryFault::Revision(skill, damage) => {
            let message = format!("{}; {backup}", describe(damage));
            findings.mendable("history", "history_damaged", skill, message, || mended.map(|()| String::new()));
        }
        HistoryFault::Head(head) => {
            findings.mendable("references", "history_damaged", &head.skill, describe_head(head), || {
                mended.map(|()| String::new())
            });
        }
    }
}

fn describe(damage: &DamagedRevision) -> String {
    let number = damage.number.map(|number| format!(" (number {number})")).unwrap_or_default();
    let id = damage.revision.short();
    match damage.number {
        Some(_) => format!("revision {id}{number} is damaged: {}", damage.what),
        None => format!("revision {id} is damaged, and earlier ones cannot be reached: {}", damage.what),
    }
}

fn describe_head(head: &HeadFault) -> String {
    let holds = match head.holds.as_str() {
        "" => "the reference to its newest revision is missing".to_owned(),
        id if id.len() == 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            format!("its newest revision {id} is missing or incomplete")
        }
        fault => format!("the reference to its newest revision cannot be read ({fault})"),
    };
    match &head.last_whole {
        Some(id) if head.is_newest => format!("{holds}; the log names revision {}, which is intact", id.short()),
        Some(id) => format!(
            "{holds}; the newest intact revision is {}, and later ones are lost from the history; \
             the folder is unchanged, and its differences count as a hand edit",
            id.short()
        ),
        None => format!("{holds}, and the log names no intact revision"),
    }
}
