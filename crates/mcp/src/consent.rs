//! [`Consent`]: asking the person at the client.

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

/// What came of asking.
pub(crate) enum Consent {
    /// The person agreed.
    Given,
    /// The person did not, or the client cannot ask.
    Missing,
    /// The client is to ask, and to send the request again with the answer.
    Asked(Box<InputRequiredResult>),
}

/// Whether the client speaks a revision of the protocol in which no request depends on those before it.
pub(crate) fn is_sessionless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// The keys of the questions that were agreed to earlier in the same call, as the client of the newer protocol carries them.
pub(crate) fn agreed_before(state: Option<&str>) -> Vec<String> {
    state.into_iter().flat_map(|state| state.split_whitespace()).map(str::to_owned).collect()
}

/// Asks, in the way of the protocol that the client speaks. In the newer one a question has its key as its name, so that the answer to one is none
/// to another.
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
