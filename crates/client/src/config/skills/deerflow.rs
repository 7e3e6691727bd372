//! Directory layout of DeerFlow's skills.

use super::Layout;

/// DeerFlow: the class name of local folders in its configuration, and the names of its two folders.
pub(super) const DEERFLOW: Layout = Layout {
    class: "deerflow.skills.storage.local_skill_storage:LocalSkillStorage",
    public: "public",
    custom: "custom",
};
