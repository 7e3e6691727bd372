//! Identity of the machine's current boot ([`boot_id`]).

use std::sync::LazyLock;

use cap_std::fs::Dir;

/// Returns the kernel's id of this boot, or `None` where the system does not provide one.
pub(crate) fn boot_id() -> Option<&'static str> {
    static BOOT: LazyLock<Option<String>> = LazyLock::new(|| {
        let proc = Dir::open_ambient_dir("/proc/sys/kernel/random", cap_std::ambient_authority()).ok()?;
        proc.read_to_string("boot_id").ok().map(|id| id.trim().to_owned())
    });
    BOOT.as_deref()
}
