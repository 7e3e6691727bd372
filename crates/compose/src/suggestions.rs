//! Spelling suggestions for composed skills ([`suggest`]).

use agent::near;

/// Returns the hint `did you mean …?`, or a list of the known names.
pub(crate) fn suggest<'a>(name: &str, names: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = near(name, names.clone()) {
        return format!("did you mean `{near}`?");
    }
    let mut all: Vec<&str> = names.into_iter().collect();
    let more = all.len().saturating_sub(12);
    all.truncate(12);
    match (all.is_empty(), more) {
        (true, _) => "none are available here".to_owned(),
        (_, 0) => format!("use one of `{}`", all.join("`, `")),
        _ => format!("use one of `{}` and {more} more", all.join("`, `")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_names_are_suggested() {
        let names = ["web_fetch", "web_search", "write_file"];
        assert_eq!(suggest("webfetch", names), "did you mean `web_fetch`?");
        assert_eq!(suggest("delete", names), "use one of `web_fetch`, `web_search`, `write_file`");
    }
}
