//! Confirmation by the person at the client, through MCP elicitation. See [`Consent`].

use std::collections::BTreeMap;

use ops::Question;
use rmcp::{
    RoleServer,
    model::{
        ClientResult, ElicitRequest, ElicitRequestParams, ElicitationAction, ElicitationSchema, InputRequest,
        InputRequiredResult, InputResponses, ProtocolVersion, ServerRequest,
    },
    service::RequestContext,
};

/// The outcome of a confirmation request.
pub(crate) enum Consent {
    /// The person accepted.
    Given,
    /// The person declined, or the client does not support elicitation.
    Missing,
    /// The client must ask its user, then resend the request with the answer attached.
    Asked(Box<InputRequiredResult>),
}

/// Returns whether the client speaks a stateless revision of the protocol, in which no request depends on earlier ones.
pub(crate) fn is_sessionless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Parses the keys of questions that were accepted earlier in the same call. Clients of the stateless protocol send
/// them back as request state.
pub(crate) fn agreed_before(state: Option<&str>) -> Vec<String> {
    state.into_iter().flat_map(|state| state.split_whitespace()).map(str::to_owned).collect()
}

/// Asks a question, in the form that the client's protocol revision requires. In the stateless protocol the question is
/// sent under its own key, so that the answer to one question cannot count for another.
pub(crate) async fn ask(
    question: &Question,
    agreed: &[String],
    context: &RequestContext<RoleServer>,
    responses: Option<&InputResponses>,
) -> Consent {
    let can_ask = context.client_capabilities().and_then(|can| can.elicitation).is_some();
    if !can_ask {
        return Consent::Missing;
    }
    let request = ElicitRequest::new(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question.text.clone(),
        requested_schema: ElicitationSchema::new(BTreeMap::new()),
    });
    if is_sessionless(context) {
        return match responses.and_then(|responses| responses.get(&question.key)) {
            Some(answer) if answer["action"] == "accept" => Consent::Given,
            Some(_) => Consent::Missing,
            None => {
                let requests = BTreeMap::from([(question.key.clone(), InputRequest::Elicitation(request))]);
                let mut asked = InputRequiredResult::from_input_requests(requests);
                asked.request_state = Some(agreed.join(" ")).filter(|state| !state.is_empty());
                Consent::Asked(Box::new(asked))
            }
        };
    }
    let sent = context.peer.send_request(ServerRequest::ElicitRequest(request));
    tokio::select! {
        answer = sent => match answer {
            Ok(ClientResult::ElicitResult(result)) if result.action == ElicitationAction::Accept => Consent::Given,
            _ => Consent::Missing,
        },
        () = context.ct.cancelled() => Consent::Missing,
    }
}
