//! Conditions on permissions that a match grants.

/// Programs that give full control of the system when run as root.
const OPEN: &[&str] = &[
    "sh", "bash", "zsh", "dash", "fish", "env", "su", "sudo", "python", "python3", "perl", "ruby", "node", "php",
    "lua", "vi", "vim", "nano", "less", "more", "man", "awk", "find", "tee", "cp", "mv", "dd", "chmod", "chown", "tar",
    "rsync", "docker", "apt", "apt-get", "pip", "npm", "git",
];

/// Returns true if passwordless rights go beyond named commands, or if such a command gives full control.
pub(crate) fn grants_more_than_a_command(matched: &str) -> bool {
    let mut grants = matched.split("NOPASSWD:").skip(1).peekable();
    grants.peek().is_none() || grants.any(|grant| !is_narrow(grant))
}

/// Returns false if a command writes a plain path to `core_pattern`: the kernel then writes its dumps there. It runs only
/// what begins with `|`, which a variable or an escape can hide.
pub(crate) fn is_no_dump_path(matched: &str) -> bool {
    let written = matched.strip_prefix("echo").filter(|_| matched.contains("core_pattern"));
    let is_in_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '%');
    let Some((value, _)) = written.and_then(|written| written.rsplit_once(['>', '|'])) else { return true };
    let value = value.trim().trim_matches(['\'', '"']);
    value.is_empty() || !value.chars().all(is_in_path)
}

fn is_narrow(grant: &str) -> bool {
    let commands = grant.split(['\'', '"', '\n', '>']).next().unwrap_or("");
    commands.split(',').all(|command| {
        let program = command.trim().split([' ', '\\']).next().unwrap_or("");
        let name = program.rsplit('/').next().unwrap_or("");
        let is_of_system = ["/usr/", "/bin/", "/sbin/", "/opt/"].iter().any(|start| program.starts_with(start));
        is_of_system && !command.contains('*') && !OPEN.contains(&name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_commands_are_narrow() {
        let narrow = ["NOPASSWD: /usr/bin/systemctl restart web' > x", "NOPASSWD:/sbin/reboot, /usr/bin/nginx -t\""];
        assert!(narrow.iter().all(|text| !grants_more_than_a_command(text)));
        let wide =
            ["NOPASSWD: ALL", "NOPASSWD: /bin/sh", "NOPASSWD: /usr/bin/*", "NOPASSWD: /tmp/x", "u ALL=(ALL) ALL"];
        assert!(wide.iter().all(|text| grants_more_than_a_command(text)));
    }
}
