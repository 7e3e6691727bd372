//! Extracts the archive of an install from a thread's folder or a form ([`translate`]).

use axum::{
    body::Bytes,
    http::{StatusCode, header},
};
use ops::Upload;
use serde_json::Value;
use web::ApiError;

use super::{Call, schema};
use crate::gateway::{RequestCredentials, Shared, run_blocking};

/// Path at which a sandbox sees the folder of its thread.
const VIRTUAL: &str = "mnt/user-data";

/// Maximum length of a thread's id, in bytes.
const THREAD_BYTES: usize = 200;

/// File extension of an archive.
const SUFFIX: &str = ".skill";

/// Replaces the body, a form or a path, by the bytes of the archive.
///
/// # Errors
/// The file does not exist or may not be read, or the form has no file.
pub async fn translate(call: &mut Call, gateway: &Shared) -> Result<(), ApiError> {
    let content_type = call.parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default();
    let is_json = call.body.is_empty() || call.body.trim_ascii_start().starts_with(b"{");
    let (archive, upload) = if let Some(boundary) = boundary(content_type) {
        let (file, archive) = file_of(&call.body, boundary).ok_or_else(|| {
            ApiError::bad_request("the form has no file").hint("send a .skill file in a field of the form")
        })?;
        (call.body.slice(archive), Upload { file: stem(&file).to_owned(), ..Upload::default() })
    } else if is_json {
        let object = schema::read(&call.body, schema::INSTALL)?;
        let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
        let place = below_thread(text("thread_id"), text("path"))?;
        let is_new = object.get("update").and_then(Value::as_bool) != Some(true);
        let upload = Upload { file: stem(&place).to_owned(), thread: Some(text("thread_id").to_owned()), is_new };
        let archive =
            run_blocking(gateway, RequestCredentials::of(&call.parts)?, move |work| Ok(work.place.upload(&place)?))
                .await?;
        (Bytes::from(archive), upload)
    } else {
        return Ok(());
    };
    call.replace_body(archive);
    call.parts.extensions.insert(upload);
    Ok(())
}

/// Returns the path of a file below the folder of all threads.
fn below_thread(thread: &str, path: &str) -> Result<String, ApiError> {
    let is_id = (1..=THREAD_BYTES).contains(&thread.len())
        && thread.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if !is_id {
        return Err(ApiError::bad_request("`thread_id` must have at most 200 letters, digits, - and _"));
    }
    let below = path.trim_start_matches('/').strip_prefix(VIRTUAL).filter(|rest| rest.starts_with('/'));
    let below = below.ok_or_else(|| ApiError::bad_request(format!("`path` must begin with /{VIRTUAL}/")))?;
    if below.split(['/', '\\']).any(|part| part == "..") {
        return Err(ApiError::new(StatusCode::FORBIDDEN, "invalid_path", "`path` leads outside the thread's folder"));
    }
    if !below.ends_with(SUFFIX) {
        return Err(ApiError::bad_request(format!("`path` must end with {SUFFIX}")));
    }
    Ok(format!("{thread}/user-data{below}"))
}

fn stem(path: &str) -> &str {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    file.strip_suffix(SUFFIX).unwrap_or(file)
}

fn boundary(content_type: &str) -> Option<&str> {
    let (kind, parameters) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    parameters.split(';').find_map(|parameter| {
        let (key, value) = parameter.split_once('=')?;
        key.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"'))
    })
}

/// Returns the name of a form's first file, and the range of its bytes.
fn file_of(form: &[u8], boundary: &str) -> Option<(String, std::ops::Range<usize>)> {
    let delimiter = format!("--{boundary}");
    let mut at = find(form, delimiter.as_bytes())? + delimiter.len();
    loop {
        let rest = form.get(at..)?;
        let head = rest.strip_prefix(b"\r\n")?;
        let head_ends = find(head, b"\r\n\r\n")?;
        let begins = at + 2 + head_ends + 4;
        let length = find(form.get(begins..)?, format!("\r\n{delimiter}").as_bytes())?;
        if let Some(file) = file_name(head.get(..head_ends)?) {
            return Some((file, begins..begins + length));
        }
        at = begins + length + 2 + delimiter.len();
    }
}

fn file_name(head: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(head);
    let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with("content-disposition:"))?;
    let (_, rest) = line.split_once("filename=\"")?;
    rest.split('"').next().map(str::to_owned)
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len().max(1)).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    // DF10
    #[test]
    fn virtual_paths_stay_below_their_thread() {
        let place = |thread, path| below_thread(thread, path).map_err(|error| error.status.as_u16());
        assert_eq!(place("t-1", "/mnt/user-data/outputs/a.skill"), Ok("t-1/user-data/outputs/a.skill".to_owned()));
        assert_eq!(place("t_1", "mnt/user-data/a.skill"), Ok("t_1/user-data/a.skill".to_owned()));
        for (thread, path, status) in [
            ("../t", "mnt/user-data/a.skill", 400),
            ("", "mnt/user-data/a.skill", 400),
            ("t", "/etc/a.skill", 400),
            ("t", "mnt/user-database/a.skill", 400),
            ("t", "mnt/user-data/a.zip", 400),
            ("t", "mnt/user-data/../../u/user-data/a.skill", 403),
            ("t", "mnt/user-data/..\\a.skill", 403),
        ] {
            assert_eq!(place(thread, path), Err(status), "{thread} {path}");
        }
    }

    // DF10
    #[test]
    fn first_file_of_a_form_is_found() {
        let form = "--b\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nhello\r\n--b\r\n\
            content-disposition: form-data; name=\"file\"; filename=\"C:\\x\\a.skill\"\r\nContent-Type: a/b\r\n\r\nPK\r\n--\r\n--b--\r\n";
        let (file, range) = file_of(form.as_bytes(), "b").unwrap();
        assert_eq!((stem(&file), &form[range]), ("a", "PK\r\n--"));
        assert_eq!(boundary("Multipart/Form-Data; charset=x; boundary=\"b\""), Some("b"));
        assert_eq!(boundary("application/json"), None);
        for bad in ["", "--b", "--b--\r\n", "--b\r\n\r\n", "--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--"] {
            assert_eq!(file_of(bad.as_bytes(), "b"), None, "{bad:?}");
        }
    }
}
