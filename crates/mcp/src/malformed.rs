//! [`error`]: the answer to a request that has the form of no known method.

use rmcp::{
    ErrorData,
    model::{
        CallToolRequestParams, CustomRequest, ErrorCode, GetPromptRequestParams, GetSkillRequestParams,
        PaginatedRequestParams, ReadResourceDirectoryRequestParams, ReadResourceRequestParams,
    },
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use skill::{ECHO_CHARS, shortened};

/// Returns the error for a request that the protocol library could not parse: the fault of its parameters if the method
/// exists, or else that it does not.
pub(crate) fn error(request: CustomRequest) -> ErrorData {
    let CustomRequest { method, params, .. } = request;
    let params = params.filter(|params| !params.is_null()).unwrap_or_else(|| json!({}));
    let fault = match method.as_str() {
        "tools/call" => fault::<CallToolRequestParams>(params),
        "prompts/get" => fault::<GetPromptRequestParams>(params),
        "resources/read" => fault::<ReadResourceRequestParams>(params),
        "resources/directory/read" => fault::<ReadResourceDirectoryRequestParams>(params),
        "skills/get" => fault::<GetSkillRequestParams>(params),
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" | "skills/list" => {
            fault::<PaginatedRequestParams>(params)
        }
        _ => {
            let method = shortened(&method, ECHO_CHARS);
            return ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None);
        }
    };
    ErrorData::invalid_params(format!("invalid parameters of {method}: {fault}"), None)
}

/// Returns the fault of parameters, by their type.
fn fault<T: DeserializeOwned>(params: Value) -> String {
    match serde_json::from_value::<T>(params) {
        Err(error) => shortened(&error.to_string(), 2 * ECHO_CHARS),
        Ok(_) => "they have another form".to_owned(),
    }
}
