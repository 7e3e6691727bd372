//! Tests that every error has a stable code, and that errors which the caller can fix have a hint.

use library::{
    CommitError, FindError, HandEditFault, LibraryError, LockError, PathAccessError, SnapshotError, StorageError,
};
use skill::edit::EditError;

use super::*;
use crate::RequestError;

fn code_of_edit(fault: EditError) -> &'static str {
    ManageError::Edit { name: name("s"), fault }.code()
}

fn locked() -> LockError {
    LockError::Locked { holder: "process 1".into() }
}

fn broken() -> std::io::Error {
    std::io::Error::other("broken")
}

#[test]
fn request_errors_have_codes() {
    let request = |fault| ManageError::Request(fault).code();
    assert_eq!(request(RequestError::Malformed("x".into())), "invalid_request");
    assert_eq!(request(RequestError::TooLarge("x".into())), "too_large");
    assert_eq!(request(RequestError::Path(SkillPath::parse("../x").unwrap_err())), "invalid_path");
    let fault = SkillName::parse("../x").unwrap_err();
    assert_eq!(request(RequestError::Name { name: "../x".into(), fault }), "invalid_skill");
    let text = || path("a.md");
    for (fault, code) in [
        (EditError::Exists, "exists"),
        (EditError::NotFound, "not_found"),
        (EditError::FileNotFound { path: text(), nearest: vec![] }, "not_found"),
        (EditError::NotText { path: text() }, "invalid_request"),
        (EditError::EmptyFind, "invalid_request"),
        (EditError::ZeroCount, "invalid_request"),
        (EditError::RemovesSkillMd, "invalid_request"),
        (EditError::AmbiguousMatch { path: text(), found: 2, matches: vec![] }, "ambiguous_match"),
        (EditError::CountMismatch { path: text(), expected: 1, found: 2, matches: vec![] }, "count_mismatch"),
        (EditError::NoMatch { path: text(), nearest: vec![] }, "no_match"),
        (EditError::FolderNotAllowed { path: text(), allowed: &[] }, "invalid_path"),
        (EditError::TooLarge { chars: 2, limit: 1 }, "too_large"),
        (EditError::Bundle(skill::BundleError::TooManyFiles { files: 2, limit: 1 }), "too_large"),
        (EditError::Bundle(skill::BundleError::Collision { first: text(), second: text() }), "invalid_path"),
    ] {
        assert_eq!(code_of_edit(fault.clone()), code, "{fault}");
    }
}

#[test]
fn library_errors_have_codes_and_hints() {
    let stale = || CommitError::Stale { skill: name("s"), head: None };
    let not_writable = CommitError::NotWritable { path: "x".into(), source: broken() };
    let foreign = LibraryError::Place(PathAccessError::Foreign { path: "x".into(), owner: 0 });
    let unreadable = HandEditFault::Unreadable(library::folder::FolderError::Link("x".into()));
    let ambiguous = FindError::Ambiguous { skill: name("s"), spec: "abcd".into() };
    let cases: [(ManageError, &str, bool); 12] = [
        (stale().into(), "stale_revision", true),
        (SnapshotError::Commit(Box::new(stale())).into(), "stale_revision", true),
        (CommitError::Lock(locked()).into(), "locked", true),
        (LibraryError::Lock(locked()).into(), "locked", true),
        (SnapshotError::Commit(Box::new(CommitError::Lock(locked()))).into(), "locked", true),
        (not_writable.into(), "io", true),
        (LockError::Io(broken()).into_library().into(), "io", true),
        (foreign.into(), "policy_denied", true),
        (SnapshotError::ExternalBlocked { skill: name("s"), fault: unreadable }.into(), "external_blocked", true),
        (SnapshotError::Storage(StorageError::Damaged("x".into())).into(), "damaged_history", true),
        (ambiguous.into(), "ambiguous_name", true),
        (FindError::NoSkill(name("s")).into(), "not_found", true),
    ];
    for (error, code, hint) in cases {
        assert_eq!((error.code(), error.hint().is_some()), (code, hint), "{error}");
        assert!(error.details().is_object());
    }
}

trait IntoLibrary {
    fn into_library(self) -> LibraryError;
}

impl IntoLibrary for LockError {
    fn into_library(self) -> LibraryError {
        LibraryError::Lock(self)
    }
}
