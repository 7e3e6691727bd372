//! The stylesheet and the script, each under a name that contains its hash ([`Asset`]).

use std::sync::LazyLock;

use axum::{
    extract::Path,
    http::header,
    response::{IntoResponse, Response},
};
use sha2::{Digest, Sha256};
use skill::hex;

use crate::error::ApiError;

/// Cache policy of assets. The content of a hashed name never changes.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

/// A static file that is compiled into the program.
pub struct Asset {
    name: &'static str,
    ending: &'static str,
    kind: &'static str,
    text: &'static str,
    file: LazyLock<String>,
}

/// The stylesheet of all pages.
pub static STYLE: Asset = Asset {
    name: "skillhub",
    ending: "css",
    kind: "text/css; charset=utf-8",
    text: include_str!("skillhub.css"),
    file: LazyLock::new(|| STYLE.named()),
};

/// The script with optional conveniences.
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

    /// Returns the path at which the file is served.
    pub fn path(&self) -> String {
        format!("/-/static/{}", *self.file)
    }
}

/// Serves an asset by its hashed name. The name of an older build is not found.
pub async fn file(Path(file): Path<String>) -> Result<Response, ApiError> {
    let asset = [&STYLE, &SCRIPT].into_iter().find(|asset| *asset.file == file);
    let asset = asset.ok_or_else(|| ApiError::not_found("the file was not found").hint("reload the page"))?;
    let headers = [(header::CONTENT_TYPE, asset.kind), (header::CACHE_CONTROL, FOR_EVER)];
    Ok((headers, asset.text).into_response())
}
