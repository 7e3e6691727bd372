//! What words cannot hold: rules about the source tree itself, each a check over a [`Tree`].
//!
//! A check is a function from a tree to its [`Fault`]s, all of them at once. Here each one runs
//! over the checkout; beside its definition each one runs over a bad sample, so that it can fail.

#[path = "tidy/circles.rs"]
mod circles;
#[path = "tidy/documents.rs"]
mod documents;
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
fn heavy_crates_stay_where_the_design_has_them() {
    assert_none(layers::strayed_crates(&CHECKOUT));
}

#[test]
fn skill_and_scan_depend_on_nothing_that_does_io() {
    assert_none(layers::impure_dependencies(&CHECKOUT));
}

#[test]
fn skill_and_scan_name_no_disk_clock_environment_or_network() {
    assert_none(words::impure_names(&CHECKOUT));
}

#[test]
fn children_are_started_in_one_place() {
    assert_none(words::loose_children(&CHECKOUT));
}

#[test]
fn only_frontmatter_names_the_yaml_crate() {
    assert_none(words::yaml_outside_frontmatter(&CHECKOUT));
}

#[test]
fn nothing_is_left_unfinished() {
    assert_none(words::unfinished(&CHECKOUT));
}

#[test]
fn no_file_names_a_folder_of_one_machine() {
    assert_none(words::machine_paths(&CHECKOUT));
}

#[test]
fn one_module_decides_agents_views() {
    assert_none(views::second_views(&CHECKOUT));
}

#[test]
fn names_of_other_systems_stay_in_their_modules() {
    assert_none(systems::strays(&CHECKOUT));
}

#[test]
fn no_circles_of_files_but_parents_and_children() {
    assert_none(circles::circles(&CHECKOUT));
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
fn links_between_documents_lead_somewhere() {
    assert_none(documents::dead_links(&CHECKOUT));
}

#[test]
fn every_invariant_names_what_holds_it() {
    assert_none(documents::unheld_invariants(&CHECKOUT));
}

#[test]
fn every_threat_that_names_a_test_has_it() {
    assert_none(documents::unheld_threats(&CHECKOUT));
}

#[test]
fn every_row_of_the_mission_names_its_tests() {
    assert_none(documents::unheld_rows(&CHECKOUT));
}

#[test]
fn clippy_files_repeat_each_other() {
    assert_none(documents::differing_clippy_files(&CHECKOUT));
}
