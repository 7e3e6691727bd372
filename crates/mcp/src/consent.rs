//! Questions to the person at the client, through MCP elicitation. See [`Consent`] and [`Answer`].

use std::collections::BTreeMap;

use ops::{Question, Refusal, Workspace};
use rmcp::{
    RoleServer,
    model::{
        ClientResult, ElicitRequest, ElicitRequestParams, ElicitationAction, ElicitationSchema, EnumSchema,
        InputRequest, InputRequiredResult, InputResponses, PrimitiveSchemaDefinition, ProtocolVersion, ServerRequest,
    },
    service::RequestContext,
};
use serde_json::Value;
use skill_manage::Reviewer;

/// Field of the form in which the person chooses.
const CHOICE: &str = "decision";

/// The outcome of a confirmation request.
pub(crate) enum Consent {
    /// The person accepted.
    Given,
    /// The person chose an answer, or declined to choose one.
    Answered(Answer),
    /// The person declined, or the client does not support elicitation.
    Missing,
    /// The client must ask its user, then resend the request with the answer attached.
    Asked(Box<InputRequiredResult>),
}

/// The choice of the person at the client for one question. Its fields are private, and only [`ask`] makes one, from
/// the client's answer to an elicitation: the arguments of a tool and the state of a request cannot.
#[derive(Clone)]
pub(crate) struct Answer {
    key: String,
    choice: Option<&'static str>,
}

impl Answer {
    fn new(question: &Question, content: &Value) -> Self {
        let chosen = content.get(CHOICE).and_then(Value::as_str);
        let choice = question.choices.iter().copied().find(|choice| Some(*choice) == chosen);
        Self { key: question.key.clone(), choice }
    }

    /// Returns the choice if it was made for exactly this question.
    pub fn choice(&self, question: &Question) -> Option<&'static str> {
        self.choice.filter(|_| self.key == question.key)
    }

    /// Returns whether the person declined to choose.
    pub fn is_declined(&self) -> bool {
        self.choice.is_none()
    }

    /// Returns the person who answered, if the user's configuration lets such answers decide.
    pub fn reviewer(&self, place: &Workspace, client: &str) -> Result<Reviewer, Refusal> {
        place.elicited_reviewer(client)
    }
}

/// Answers to the questions of one call.
#[derive(Clone, Default)]
pub(crate) struct Answers {
    /// Keys of answered questions, and the progress that the questions noted.
    pub agreed: Vec<String>,
    /// Answer to the question that was asked last.
    pub latest: Option<Answer>,
}

impl Answers {
    /// Parses what earlier requests of the same call answered. Clients of the stateless protocol send it back as
    /// request state. It holds no choice, since each takes effect before the next question.
    pub fn before(state: Option<&str>) -> Self {
        let words = state.into_iter().flat_map(str::split_whitespace);
        Self { agreed: words.map(str::to_owned).collect(), latest: None }
    }

    /// Adds the answer to a question.
    pub fn add(&mut self, question: &Question, answer: Option<Answer>) {
        self.agreed.push(question.key.clone());
        self.latest = answer;
    }
}

/// Returns whether the client speaks a stateless revision of the protocol, in which no request depends on earlier ones.
pub(crate) fn is_sessionless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Asks a question, in the form that the client's protocol revision requires. In the stateless protocol the question is
/// sent under its own key, so that the answer to one question cannot count for another.
pub(crate) async fn ask(
    question: &Question,
    agreed: &[String],
    context: &RequestContext<RoleServer>,
    responses: Option<&InputResponses>,
) -> Consent {
    let can_ask = context.client_capabilities().and_then(|can| can.elicitation);
    if !can_ask.is_some_and(|can| can.form.is_some() || can.url.is_none()) {
        return Consent::Missing;
    }
    let request = ElicitRequest::new(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question.text.clone(),
        requested_schema: form(question),
    });
    let accepted = if is_sessionless(context) {
        let Some(answer) = responses.and_then(|responses| responses.get(&question.key)) else {
            let requests = BTreeMap::from([(question.key.clone(), InputRequest::Elicitation(request))]);
            let mut asked = InputRequiredResult::from_input_requests(requests);
            asked.request_state = Some(agreed.join(" ")).filter(|state| !state.is_empty());
            return Consent::Asked(Box::new(asked));
        };
        (answer["action"] == "accept").then(|| answer["content"].clone())
    } else {
        let sent = context.peer.send_request(ServerRequest::ElicitRequest(request));
        tokio::select! {
            answer = sent => match answer {
                Ok(ClientResult::ElicitResult(result)) if result.action == ElicitationAction::Accept => {
                    Some(result.content.unwrap_or_default())
                }
                _ => None,
            },
            () = context.ct.cancelled() => return Consent::Missing,
        }
    };
    match accepted {
        content if !question.choices.is_empty() => {
            Consent::Answered(Answer::new(question, &content.unwrap_or_default()))
        }
        Some(_) => Consent::Given,
        None => Consent::Missing,
    }
}

/// Builds the form of a question: empty, or with one choice that has no default.
fn form(question: &Question) -> ElicitationSchema {
    if question.choices.is_empty() {
        return ElicitationSchema::new(BTreeMap::new());
    }
    let choices = question.choices.iter().map(|choice| (*choice).to_owned()).collect();
    let choice = PrimitiveSchemaDefinition::Enum(EnumSchema::builder(choices).title("Decision").build());
    ElicitationSchema::new(BTreeMap::from([(CHOICE.to_owned(), choice)])).with_required(vec![CHOICE.to_owned()])
}
