//! [`run`]: a plan of requests, rollbacks, hand edits, swapped files and lost notes against a library, with
//! files beside it that nothing may touch.

use std::{fs, path::Path};

use arbitrary::{Result, Unstructured};
use library::{
    Library, Revision, RevisionId, TemporaryKind,
    folder::{self, ToolFiles},
};
use serde_json::{Value, json};
use skill::{Bundle, Limits, SkillName};
use skill_manage::{ChangeRequest, Notes, Preset, Rollback, Status, manage, roll_back};

use super::place::{Place, SECRET, holds_secret};

const SKILLS: [&str; 2] = ["a", "b"];
/// Paths for requests, good and bad.
const PATHS: [&str; 16] = [
    "SKILL.md", "scripts/run.sh", "references/notes.md", "references/deep/er/notes.md", "assets/x.bin", "notes.md",
    "../outside/secret.txt", "scripts/../../../outside/secret.txt", "/etc/hosts", "~/x", "scripts/CON",
    "references/NOTES.md", "assets/e\u{301}", "references", "references/notes.md/below", ".git/config",
];
const TEXTS: [&str; 8] =
    ["", "one\n", "one\r\n", "one\ntwo\nthree\n", "two\nlines\n", "drei \u{2602}\n", "\0bytes", "# S\n\nFirst.\n"];

/// A library at work, and what it once answered for.
struct Run {
    place: Place,
    library: Library,
    /// The revisions of each skill, oldest first, as they were first seen.
    seen: [Vec<(Revision, Bundle)>; 2],
}

/// Takes the bytes as a plan, carries it out, and holds the library to its promises.
pub fn run(bytes: &[u8]) {
    let mut plan = Unstructured::new(bytes);
    let place = Place::new();
    let library = place.open();
    let mut run = Run { place, library, seen: [Vec::new(), Vec::new()] };
    for _ in 0..30 {
        if plan.is_empty() || run.step(&mut plan).is_err() {
            break;
        }
        run.check();
    }
    run.finish();
}

impl Run {
    fn step(&mut self, plan: &mut Unstructured<'_>) -> Result<()> {
        let skill = plan.choose_index(SKILLS.len())?;
        match plan.int_in_range(0..=15)? {
            0..=5 => self.request(skill, plan)?,
            6 | 7 => self.roll_back(skill, plan)?,
            8 | 9 => self.place.write_by_hand(SKILLS[skill], plan)?,
            10 => self.place.remove_by_hand(SKILLS[skill], plan)?,
            11 | 12 => self.place.swap(SKILLS[skill], plan)?,
            13 => self.look(skill),
            14 => self.reopen(false),
            _ => self.reopen(true),
        }
        Ok(())
    }

    fn request(&mut self, skill: usize, plan: &mut Unstructured<'_>) -> Result<()> {
        let request = planned_request(SKILLS[skill], plan)?;
        let Ok(request) = ChangeRequest::from_json(request.to_string().as_bytes(), &Limits::default()) else {
            return Ok(());
        };
        let preset = if plan.ratio(1, 8)? { Preset::Balanced } else { Preset::Open };
        match manage(&mut self.library, &request, &Place::context(preset)) {
            Ok(report) => {
                assert_told_nothing(&serde_json::to_string(&report).expect("a report is JSON"));
                if report.status == Status::Applied {
                    self.assert_head(skill, report.revision.as_ref());
                }
            }
            Err(error) => assert_good_refusal(error.code(), &format!("{error} {error:?}")),
        }
        Ok(())
    }

    fn roll_back(&mut self, skill: usize, plan: &mut Unstructured<'_>) -> Result<()> {
        let to = match plan.int_in_range(0..=4)? {
            0 => None,
            1 => Some("head".to_owned()),
            _ => Some(plan.int_in_range(1..=6)?.to_string()),
        };
        let rollback = rollback(SKILLS[skill], to, plan.ratio(1, 8)?);
        match roll_back(&mut self.library, &rollback, &Place::context(Preset::Open)) {
            Ok(report) => {
                assert_told_nothing(&serde_json::to_string(&report).expect("a report is JSON"));
                if report.status == Status::Applied {
                    self.assert_head(skill, report.revision.as_ref());
                }
            }
            Err(error) => assert_good_refusal(error.code(), &format!("{error} {error:?}")),
        }
        Ok(())
    }

    /// What was reported is what the history has.
    fn assert_head(&self, skill: usize, reported: Option<&RevisionId>) {
        let head = self.library.head(&name(SKILLS[skill])).expect("the history reads");
        assert_eq!(head.map(|head| head.id).as_ref(), reported);
    }

    /// Reads in every way that changes nothing.
    fn look(&self, skill: usize) {
        let skill = name(SKILLS[skill]);
        if let Ok(state) = self.library.folder_state(&skill) {
            assert_told_nothing(&format!("{state:?}"));
        }
        let _as_it_is = self.library.folders();
        let Ok(root) = folder::open_at(&self.place.library()) else { return };
        for tool_files in [ToolFiles::Skip, ToolFiles::Read] {
            if let Ok(bundle) = folder::read(&root, skill.as_str(), tool_files, &Limits::default()) {
                assert!(!holds_secret(&bundle), "a secret was read from outside");
            }
        }
        if let Ok(dir) = folder::open(&root, skill.as_str())
            && let Ok(survey) = folder::survey(dir, &Limits::default())
        {
            assert!(survey.skill_md.is_none_or(|bytes| !bytes.windows(SECRET.len()).any(|part| part == SECRET)));
        }
        for found in folder::find_skills(&self.place.library(), 4, &[]).unwrap_or_default() {
            assert!(found.canonicalize().is_ok_and(|found| found.starts_with(self.place.library())));
        }
    }

    /// Opens the library anew, perhaps without the note how far the journal was applied.
    fn reopen(&mut self, forget: bool) {
        if forget {
            let _absent = fs::remove_file(self.library.own_path().join("journal.applied"));
        }
        self.library = self.place.open();
    }

    /// The histories only grew, hold nothing from outside, and outside all is as it was.
    fn check(&mut self) {
        for (skill, seen) in SKILLS.iter().zip(&mut self.seen) {
            let mut revisions = self.library.revisions(&name(skill), usize::MAX).expect("the history reads");
            revisions.reverse();
            assert!(revisions.len() >= seen.len(), "a revision of {skill} is gone");
            for (old, new) in seen.iter().zip(&revisions) {
                assert_eq!(old.0, *new, "a revision changed");
            }
            for revision in revisions.drain(seen.len()..) {
                let bundle = self.library.bundle(&revision.id).expect("a revision reads");
                assert_eq!(bundle.digest(), revision.digest);
                assert_eq!(bundle.is_empty(), revision.tombstone);
                assert!(!holds_secret(&bundle), "a secret came into the history");
                seen.push((revision, bundle));
            }
        }
        self.place.assert_untouched();
    }

    /// Clears the folders away and brings revisions back.
    fn finish(mut self) {
        self.place.clear();
        self.reopen(true);
        self.check();
        for (at, skill) in SKILLS.iter().enumerate() {
            for (revision, bundle) in &self.seen[at] {
                assert_eq!(self.library.bundle(&revision.id).as_ref().expect("a revision reads"), bundle);
            }
            let good = self.seen[at].iter().filter(|(revision, _)| !revision.tombstone && revision.was_cleared());
            let Some((revision, bundle)) = good.min_by_key(|(revision, _)| revision.id.clone()) else { continue };
            let rollback = rollback(skill, Some(revision.id.to_string()), false);
            let restored = roll_back(&mut self.library, &rollback, &Place::context(Preset::Open));
            assert!(restored.is_ok(), "revision {} is not restored: {restored:?}", revision.number);
            self.place.assert_holds(skill, bundle);
        }
        self.check();
        for name in self.library.temporary_names().expect("the library is listed") {
            let kind = self.library.temporary_kind(&name).expect("the library is listed");
            assert_eq!(kind, Some(TemporaryKind::Kept), "{name} was left behind");
        }
    }
}

/// A refusal is one of the documented ones, and says nothing of what stands outside.
fn assert_good_refusal(code: &str, message: &str) {
    assert!(!code.starts_with("damaged"), "{code}: {message}");
    assert_told_nothing(message);
}

fn assert_told_nothing(text: &str) {
    assert!(!text.as_bytes().windows(SECRET.len()).any(|part| part == SECRET), "a secret was told: {text}");
}

fn name(skill: &str) -> SkillName {
    SkillName::parse(skill).expect("a name")
}

fn rollback(skill: &str, to: Option<String>, dry_run: bool) -> Rollback {
    Rollback { skill: name(skill), to, expected_revision: None, notes: Notes::default(), dry_run }
}

/// A request of one edit or several.
fn planned_request(skill: &str, plan: &mut Unstructured<'_>) -> Result<Value> {
    let mut edits = vec![planned_edit(skill, plan)?];
    while edits.len() < 5 && plan.ratio(1, 4)? {
        edits.push(planned_edit(skill, plan)?);
    }
    let name = if plan.ratio(1, 30)? { "../outside" } else { skill };
    Ok(json!({"name": name, "operations": edits, "dry_run": plan.ratio(1, 10)?}))
}

fn planned_edit(skill: &str, plan: &mut Unstructured<'_>) -> Result<Value> {
    let path = *plan.choose(&PATHS)?;
    let text = planned_text(plan)?;
    let whole = format!("---\nname: {skill}\ndescription: Does a thing. Use when a thing is to be done.\n---\n{text}");
    Ok(match plan.int_in_range(0..=8)? {
        0..=2 => json!({"action": "create", "content": whole}),
        3 => json!({"action": "edit", "content": whole}),
        4 | 5 => {
            json!({"action": "write_file", "path": path, "content": text, "executable": plan.arbitrary::<Option<bool>>()?})
        }
        6 => json!({"action": "patch", "path": path, "find": plan.choose(&TEXTS)?, "replace": text}),
        7 => json!({"action": "remove_file", "path": path}),
        _ => json!({"action": "delete"}),
    })
}

/// A harmless text, one of the scanner's examples of a harmful one, or any.
pub(super) fn planned_text(plan: &mut Unstructured<'_>) -> Result<String> {
    Ok(match plan.int_in_range(0..=9)? {
        0 => {
            let rule = plan.choose(scan::rules())?;
            rule.harmful.first().map_or_else(String::new, |(_, text)| (*text).to_owned())
        }
        1 => plan.arbitrary()?,
        _ => (*plan.choose(&TEXTS)?).to_owned(),
    })
}

/// Whether a path is the library's own, all the way without a link.
pub(super) fn is_real(root: &Path, path: &Path) -> bool {
    let below = path.strip_prefix(root).unwrap_or(path);
    let mut at = root.to_owned();
    std::iter::once(None).chain(below.parent().into_iter().flatten().map(Some)).all(|part| {
        at.extend(part);
        fs::symlink_metadata(&at).is_ok_and(|metadata| metadata.is_dir())
    })
}
