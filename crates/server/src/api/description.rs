//! Completes the OpenAPI description of the API with the parts that all handlers have in common ([`describe`]).

use serde_json::json;
use utoipa::{
    Modify, OpenApi,
    openapi::{
        Content, HttpMethod, ObjectBuilder, PathItem, Ref, RefOr, Response, ResponseBuilder, Schema, Type,
        path::{Operation, Parameter, ParameterIn},
        security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};
use web::{ErrorBody, ErrorDocument};

use crate::store::catalogue::Order;

/// The parts of the description beside the operations.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "skillhub",
        description = "A marketplace for Agent Skills. Errors are `{\"ok\":false,\"error\":{\"code\",\"message\",\"hint\",\"details\"}}`.",
        license(name = "MIT OR Apache-2.0")
    ),
    components(schemas(ErrorDocument, ErrorBody, Order)),
    modifiers(&SignIn)
)]
pub struct Description;

/// The authentication scheme of the API.
struct SignIn;

impl Modify for SignIn {
    fn modify(&self, description: &mut utoipa::openapi::OpenApi) {
        let components = description.components.get_or_insert_with(Default::default);
        let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        components.add_security_scheme("token", SecurityScheme::Http(bearer));
    }
}

/// Errors of all operations of a kind. Specific errors are described at their handlers. Failures of the server itself
/// are 500.
const FAILURES: [(u16, &str, Holds); 10] = [
    (400, "The request is malformed", |_| true),
    (401, "A token is required, or the token is unknown, expired or revoked", |_| true),
    (403, "The token or its account lacks permission, or the server is a mirror", |kind| {
        kind.is_change || kind.is_secured
    }),
    (404, "The resource does not exist", |kind| kind.has_place),
    (408, "The request timed out", |_| true),
    (413, "The body is too large", |kind| kind.has_body),
    (415, "The content type of the body is not supported", |kind| kind.has_body),
    (421, "The request names another host", |_| true),
    (422, "The content of the body is invalid", |kind| kind.has_body),
    (429, "Too many requests from this address. Retry after the time in `Retry-After`.", |kind| kind.is_costly),
];

type Holds = fn(&Kind) -> bool;

/// Properties of an operation that determine its errors.
struct Kind {
    is_change: bool,
    is_secured: bool,
    is_costly: bool,
    has_place: bool,
    has_body: bool,
}

/// Path parameters: name, pattern, maximum length in characters, and example.
const PLACES: [(&str, &str, usize, &str); 8] = [
    ("owner", NAME, skill::Owner::MAX_CHARS, "acme"),
    ("account", NAME, skill::Owner::MAX_CHARS, "ann"),
    ("name", NAME, 64, "pdf-forms"),
    ("version", VERSION, 200, "1.2.0"),
    ("from", VERSION, 200, "1.1.0"),
    ("to", VERSION, 200, "latest"),
    ("digest", "^sha256:[0-9a-f]{64}$", 71, ""),
    ("path", "^.+$", 1024, "SKILL.md"),
];
const NAME: &str = "^[a-z0-9]+(-[a-z0-9]+)*$";
const VERSION: &str = r"^(latest|(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?)$";

/// Completes the description that is generated from the handlers.
pub fn describe(description: &mut utoipa::openapi::OpenApi) {
    // OpenAPI cannot describe a parameter that spans several path segments.
    let paths = std::mem::take(&mut description.paths.paths);
    description.paths.paths = paths.into_iter().map(|(path, item)| (path.replace("{*", "{"), item)).collect();
    for (path, item) in &mut description.paths.paths {
        for (method, operation) in operations(item) {
            let is_change = !matches!(method, HttpMethod::Get | HttpMethod::Head);
            add_failures(
                operation,
                &Kind {
                    is_change,
                    is_secured: operation.security.is_some(),
                    is_costly: is_change || path == "/v1/skills" || path.contains("/diff/"),
                    has_place: path.contains('{'),
                    has_body: operation.request_body.is_some(),
                },
            );
            operation.parameters.iter_mut().flatten().for_each(say_place);
        }
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = (HttpMethod, &mut Operation)> {
    let PathItem { get, put, post, delete, head, patch, .. } = item;
    let all = [
        (HttpMethod::Get, get),
        (HttpMethod::Put, put),
        (HttpMethod::Post, post),
        (HttpMethod::Delete, delete),
        (HttpMethod::Head, head),
        (HttpMethod::Patch, patch),
    ];
    all.into_iter().filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

/// Gives all errors the same form, including those of which a handler only names the status.
fn add_failures(operation: &mut Operation, kind: &Kind) {
    let responses = &mut operation.responses.responses;
    for (status, response) in responses.iter_mut() {
        let is_failure = status.starts_with('4');
        if let (true, RefOr::T(response)) = (is_failure, response) {
            *response = failure(&response.description);
        }
    }
    let holds = FAILURES.iter().filter(|(_, _, holds)| holds(kind));
    for (status, meaning, _) in holds {
        responses.entry(status.to_string()).or_insert_with(|| RefOr::T(failure(meaning)));
    }
    responses.insert("5XX".to_owned(), RefOr::T(failure("Internal server error")));
    // The HTTP layer sends this error before our code sees the request, so it has no document.
    let large = ResponseBuilder::new().description("The head of the request is too large");
    responses.insert("431".to_owned(), RefOr::T(large.build()));
}

fn failure(meaning: &str) -> Response {
    let schema = RefOr::Ref(Ref::from_schema_name("ErrorDocument"));
    ResponseBuilder::new().description(meaning).content("application/json", Content::new(Some(schema))).build()
}

/// Describes a path parameter.
fn say_place(parameter: &mut RefOr<Parameter>) {
    let RefOr::T(parameter) = parameter else { return };
    let known = PLACES.iter().find(|(name, ..)| *name == parameter.name);
    let (ParameterIn::Path, Some((_, pattern, most, example))) = (&parameter.parameter_in, known) else { return };
    let mut text = ObjectBuilder::new().schema_type(Type::String).pattern(Some(*pattern)).max_length(Some(*most));
    if !example.is_empty() {
        text = text.examples([json!(example)]);
    }
    parameter.schema = Some(RefOr::T(Schema::Object(text.build())));
}
