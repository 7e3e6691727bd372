//! Names of Crab Claw, which have dots that some hosts do not take: `skills.codegen` is our `skills_codegen`.

use super::System;

/// Crab Claw.
pub(super) const CRAB_CLAW: System =
    System { own_name: |name| name.contains('.').then(|| name.replace('.', "_")), ..System::PLAIN };
