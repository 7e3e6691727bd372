//! [`expanded`] and [`of_file_url`]: conversion of user input to paths, without file access.

use std::path::{Path, PathBuf, is_separator};

use library::System;

/// Replaces a leading `~` with the user's home folder.
pub(crate) fn expanded(text: &str, user_home: Option<&Path>) -> PathBuf {
    match (text.strip_prefix('~'), user_home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with(is_separator) => home.join(rest.trim_start_matches(is_separator)),
        _ => PathBuf::from(text),
    }
}

/// Returns the path of a `file://` URL, with `%XX` decoded; `None` for other schemes and for URLs with a host.
pub(crate) fn of_file_url(url: &str) -> Option<PathBuf> {
    path_of_file_url(url, System::this())
}

fn path_of_file_url(url: &str, system: System) -> Option<PathBuf> {
    let rest = url.strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    if !rest.starts_with('/') {
        return None;
    }
    let path = String::from_utf8(skill::uri::decoded(rest.as_bytes()).into_owned()).ok()?;
    let drive = path.strip_prefix('/').filter(|below| system.is_drive_path(below));
    Some(PathBuf::from(drive.unwrap_or(&path))).filter(|_| !path.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_local_file_urls_are_decoded() {
        assert_eq!(of_file_url("file:///a%20b/%e4%b8%ad"), Some(PathBuf::from("/a b/中")));
        assert_eq!(of_file_url("file:///100%"), Some(PathBuf::from("/100%")));
        assert_eq!(of_file_url("file://host/a"), None);
        assert_eq!(of_file_url("https://a/b"), None);
        assert_eq!(of_file_url("file:///a%00"), None);
    }

    #[test]
    fn drives_in_file_urls_exist_on_windows_only() {
        let path = |system| path_of_file_url("file:///C:/a%20b", system);
        let paths = [System::Linux, System::MacOs, System::Windows].map(path);
        assert_eq!(paths, ["/C:/a b", "/C:/a b", "C:/a b"].map(|path| Some(PathBuf::from(path))));
    }

    #[test]
    fn only_leading_tilde_is_expanded() {
        let home = Some(Path::new("/home/ann"));
        assert_eq!(expanded("~/x", home), PathBuf::from("/home/ann/x"));
        assert_eq!(expanded("~", home), PathBuf::from("/home/ann"));
        assert_eq!(expanded("a~/x", home), PathBuf::from("a~/x"));
        assert_eq!(expanded("~bob/x", home), PathBuf::from("~bob/x"));
    }
}
