//! [`title`]: the titles of the techniques of MITRE ATT&CK and ATLAS that rules name.

/// Techniques and their titles, by id.
const TITLES: &[(&str, &str)] = &[
    ("AML.T0051", "LLM Prompt Injection"),
    ("AML.T0054", "LLM Jailbreak"),
    ("T1005", "Data from Local System"),
    ("T1014", "Rootkit"),
    ("T1027", "Obfuscated Files or Information"),
    ("T1027.015", "Obfuscated Files or Information: Compression"),
    ("T1036", "Masquerading"),
    ("T1040", "Network Sniffing"),
    ("T1048.003", "Exfiltration Over Alternative Protocol: Exfiltration Over Unencrypted Non-C2 Protocol"),
    ("T1053.003", "Scheduled Task/Job: Cron"),
    ("T1056.001", "Input Capture: Keylogging"),
    ("T1056.002", "Input Capture: GUI Input Capture"),
    ("T1059", "Command and Scripting Interpreter"),
    ("T1059.001", "Command and Scripting Interpreter: PowerShell"),
    ("T1059.004", "Command and Scripting Interpreter: Unix Shell"),
    ("T1070", "Indicator Removal"),
    ("T1071.001", "Application Layer Protocol: Web Protocols"),
    ("T1098", "Account Manipulation"),
    ("T1098.004", "Account Manipulation: SSH Authorized Keys"),
    ("T1102", "Web Service"),
    ("T1105", "Ingress Tool Transfer"),
    ("T1114.003", "Email Collection: Email Forwarding Rule"),
    ("T1115", "Clipboard Data"),
    ("T1137.001", "Office Application Startup: Office Template Macros"),
    ("T1140", "Deobfuscate/Decode Files or Information"),
    ("T1176", "Software Extensions"),
    ("T1190", "Exploit Public-Facing Application"),
    ("T1195.001", "Supply Chain Compromise: Compromise Software Dependencies and Development Tools"),
    ("T1195.002", "Supply Chain Compromise: Compromise Software Supply Chain"),
    ("T1221", "Template Injection"),
    ("T1480", "Execution Guardrails"),
    ("T1485", "Data Destruction"),
    ("T1486", "Data Encrypted for Impact"),
    ("T1490", "Inhibit System Recovery"),
    ("T1496", "Resource Hijacking"),
    ("T1499", "Endpoint Denial of Service"),
    ("T1537", "Transfer Data to Cloud Account"),
    ("T1543", "Create or Modify System Process"),
    ("T1546", "Event Triggered Execution"),
    ("T1546.004", "Event Triggered Execution: Unix Shell Configuration Modification"),
    ("T1547.015", "Boot or Logon Autostart Execution: Login Items"),
    ("T1548", "Abuse Elevation Control Mechanism"),
    ("T1548.001", "Abuse Elevation Control Mechanism: Setuid and Setgid"),
    ("T1548.003", "Abuse Elevation Control Mechanism: Sudo and Sudo Caching"),
    ("T1552.001", "Unsecured Credentials: Credentials In Files"),
    ("T1552.004", "Unsecured Credentials: Private Keys"),
    ("T1552.005", "Unsecured Credentials: Cloud Instance Metadata API"),
    ("T1553.004", "Subvert Trust Controls: Install Root Certificate"),
    ("T1557", "Adversary-in-the-Middle"),
    ("T1559.002", "Inter-Process Communication: Dynamic Data Exchange"),
    ("T1561", "Disk Wipe"),
    ("T1562.001", "Impair Defenses: Disable or Modify Tools"),
    ("T1562.008", "Impair Defenses: Disable or Modify Cloud Logs"),
    ("T1565.001", "Data Manipulation: Stored Data Manipulation"),
    ("T1567", "Exfiltration Over Web Service"),
    ("T1572", "Protocol Tunneling"),
    ("T1611", "Escape to Host"),
    ("T1656", "Impersonation"),
];

/// The title of a technique that one of our rules names.
pub(super) fn title(technique: &str) -> Option<&'static str> {
    TITLES.binary_search_by_key(&technique, |(id, _)| id).ok().and_then(|at| TITLES.get(at)).map(|(_, title)| *title)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn techniques_of_rules_have_titles() {
        let used: BTreeSet<_> = scan::rules().iter().map(|rule| rule.technique).filter(|id| !id.is_empty()).collect();
        let listed: BTreeSet<_> = TITLES.iter().map(|(id, _)| *id).collect();
        assert_eq!(used, listed, "a title for each, and none for nothing");
        assert!(used.iter().all(|id| title(id).is_some()), "sorted by id");
        assert!(title("T0000").is_none());
    }
}
