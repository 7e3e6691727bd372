//! Tool names of Crab Claw, which contain dots that some hosts reject: `skills.codegen` maps to `skills_codegen`.

use super::System;

/// Adapter for Crab Claw.
pub(super) const CRAB_CLAW: System =
    System { own_name: |name| name.contains('.').then(|| name.replace('.', "_")), ..System::PLAIN };
