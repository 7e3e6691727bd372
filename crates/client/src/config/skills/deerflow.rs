//! How DeerFlow names and lays out its folders of skills.

use super::Layout;

/// DeerFlow: the class of local folders in its configuration, and the folders below one.
pub(super) const DEERFLOW: Layout = Layout {
    class: "deerflow.skills.storage.local_skill_storage:LocalSkillStorage",
    public: "public",
    custom: "custom",
};
