//! [`Asset`]: the stylesheet and the script, each under a name that changes with it.

use std::sync::LazyLock;

use axum::{
    extract::Path,
    http::header,
    response::{IntoResponse, Response},
};
use sha2::{Digest, Sha256};
use skill::hex;

use crate::error::ApiError;

/// What a name stands for never changes.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

/// A file that comes with the program.
pub struct Asset {
    name: &'static str,
    ending: &'static str,
    kind: &'static str,
    text: &'static str,
    file: LazyLock<String>,
}

/// How pages look.
pub static STYLE: Asset = Asset {
    name: "skillhub",
    ending: "css",
    kind: "text/css; charset=utf-8",
    text: include_str!("skillhub.css"),
    file: LazyLock::new(|| STYLE.named()),
};

/// What pages do besides.
pub static SCRIPT: Asset = Asset {
    name: "skillhub",
    ending: "js",
    kind: "text/javascript; charset=utf-8",
    text: include_str!("skillhub.js"),
    file: LazyLock::new(|| SCRIPT.named()),
};

impl Asset {
    fn named(&self) -> String {
        let hash = Sha256::digest(self.text.as_bytes());
        format!("{}.{}.{}", self.name, hex(hash.get(..8).unwrap_or_default()), self.ending)
    }

    /// Where it is fetched.
    pub fn path(&self) -> String {
        format!("/-/static/{}", *self.file)
    }
}

/// One of them; an older name is gone.
pub async fn file(Path(file): Path<String>) -> Result<Response, ApiError> {
    let asset = [&STYLE, &SCRIPT].into_iter().find(|asset| *asset.file == file);
    let asset = asset.ok_or_else(|| ApiError::not_found("there is no such file").hint("load the page again"))?;
    let headers = [(header::CONTENT_TYPE, asset.kind), (header::CACHE_CONTROL, FOR_EVER)];
    Ok((headers, asset.text).into_response())
}
