//! Rules about the source tree itself, each a check over a [`Tree`].
//!
//! A check is a function from a tree to all of its [`Fault`]s. Here each check runs over the checkout. Beside its
//! definition it runs over a bad sample, so that it is known to fail.

#[path = "tidy/cycles.rs"]
mod cycles;
#[path = "tidy/documents.rs"]
mod documents;
#[path = "tidy/hints.rs"]
mod hints;
#[path = "tidy/layers.rs"]
mod layers;
#[path = "tidy/modules.rs"]
mod modules;
#[path = "tidy/shape.rs"]
mod shape;
#[path = "tidy/source.rs"]
mod source;
#[path = "tidy/systems.rs"]
mod systems;
#[path = "tidy/tree.rs"]
mod tree;
#[path = "tidy/views.rs"]
mod views;
#[path = "tidy/words.rs"]
mod words;

use std::sync::LazyLock;

use tree::{Fault, Tree};

static CHECKOUT: LazyLock<Tree> = LazyLock::new(Tree::of_checkout);

fn assert_none(faults: Vec<Fault>) {
    let list: String = faults.iter().map(|fault| format!("\n  {fault}")).collect();
    assert!(faults.is_empty(), "{} faults:{list}", faults.len());
}

#[test]
fn imports_run_downwards_only() {
    assert_none(layers::upward_imports(&CHECKOUT));
}

#[test]
fn heavy_crates_stay_confined() {
    assert_none(layers::strayed_crates(&CHECKOUT));
}

#[test]
fn skill_and_scan_depend_on_no_io() {
    assert_none(layers::impure_dependencies(&CHECKOUT));
}

/// They use neither disk, clock, environment nor network.
#[test]
fn skill_and_scan_name_no_io() {
    assert_none(words::impure_names(&CHECKOUT));
}

#[test]
fn one_module_starts_child_processes() {
    assert_none(words::loose_children(&CHECKOUT));
}

#[test]
fn only_client_answers_elicit_reviewers() {
    assert_none(words::loose_reviewers(&CHECKOUT));
}

#[test]
fn only_frontmatter_uses_yaml_crate() {
    assert_none(words::yaml_outside_frontmatter(&CHECKOUT));
}

#[test]
fn nothing_is_left_unfinished() {
    assert_none(words::unfinished(&CHECKOUT));
}

#[test]
fn no_file_contains_machine_paths() {
    assert_none(words::machine_paths(&CHECKOUT));
}

#[test]
fn one_module_decides_agents_views() {
    assert_none(views::second_views(&CHECKOUT));
}

#[test]
fn system_names_stay_in_their_modules() {
    assert_none(systems::strays(&CHECKOUT));
}

/// The operations in hints are data, which each client shows in its own terms.
#[test]
fn hints_hold_operations_as_steps() {
    assert_none(hints::fixed_commands(&CHECKOUT));
}

/// A parent module and its child may import each other.
#[test]
fn source_files_form_no_cycles() {
    assert_none(cycles::cycles(&CHECKOUT));
}

#[test]
fn every_source_file_starts_with_module_docs() {
    assert_none(shape::missing_docs(&CHECKOUT));
}

#[test]
fn files_and_functions_are_short() {
    assert_none(shape::too_long(&CHECKOUT));
}

#[test]
fn every_source_file_is_compiled() {
    assert_none(modules::forgotten(&CHECKOUT));
}

#[test]
fn integration_tests_are_one_binary() {
    assert_none(modules::stray_test_binaries(&CHECKOUT));
}

#[test]
fn links_between_documents_resolve() {
    assert_none(documents::dead_links(&CHECKOUT));
}

#[test]
fn named_source_files_exist() {
    assert_none(documents::missing_sources(&CHECKOUT));
}

#[test]
fn every_invariant_names_what_holds_it() {
    assert_none(documents::unheld_invariants(&CHECKOUT));
}

#[test]
fn tests_named_in_threats_exist() {
    assert_none(documents::unheld_threats(&CHECKOUT));
}

#[test]
fn every_mission_row_names_tests() {
    assert_none(documents::unheld_rows(&CHECKOUT));
}

#[test]
fn clippy_files_agree() {
    assert_none(documents::differing_clippy_files(&CHECKOUT));
}
