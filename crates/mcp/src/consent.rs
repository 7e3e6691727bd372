//! [`Consent`]: asking the person at the client.

use std::collections::BTreeMap;

use rmcp::{
    RoleServer,
    model::{
        ClientResult, ElicitRequest, ElicitRequestParams, ElicitationAction, ElicitationSchema, InputRequest,
        InputRequiredResult, InputResponses, ServerRequest,
    },
    service::RequestContext,
};

use crate::server::is_sessionless;

/// Under which name the question is asked in the newer protocol.
const KEY: &str = "consent";

/// What came of asking.
pub(crate) enum Consent {
    /// The person agreed.
    Given,
    /// The person did not, or the client cannot ask.
    Missing,
    /// The client is to ask, and to send the request again with the answer.
    Asked(Box<InputRequiredResult>),
}

/// Asks, in the way of the protocol that the client speaks.
pub(crate) async fn ask(
    question: &str,
    context: &RequestContext<RoleServer>,
    responses: Option<&InputResponses>,
) -> Consent {
    let can_ask = context.client_capabilities().and_then(|can| can.elicitation).is_some();
    if !can_ask {
        return Consent::Missing;
    }
    let request = ElicitRequest::new(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question.to_owned(),
        requested_schema: ElicitationSchema::new(BTreeMap::new()),
    });
    if is_sessionless(context) {
        return match responses.and_then(|responses| responses.get(KEY)) {
            Some(answer) if answer["action"] == "accept" => Consent::Given,
            Some(_) => Consent::Missing,
            None => {
                let requests = BTreeMap::from([(KEY.to_owned(), InputRequest::Elicitation(request))]);
                Consent::Asked(Box::new(InputRequiredResult::from_input_requests(requests)))
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
