//! [`Server`]: one connection's side of the protocol. What is asked for is done elsewhere, and on other threads.

use std::sync::Arc;

use jiff::Timestamp;
use library::{Actor, ActorKind};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, JsonObject,
        ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, SubscriptionFilter,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use skill::failure::FailureKind;

use crate::{
    log::{Log, Weight},
    refusal::Refusal,
    tools::{Answer, Call, Spec, TOOLS},
    watchers::{List, Watcher, Watchers},
    workplace::{Open, Workplace},
};

/// What all connections share.
pub(crate) struct Shared {
    open: Box<Open>,
    watchers: Watchers,
}

/// One connection.
pub struct Server {
    shared: Arc<Shared>,
    log: Log,
}

/// Makes the server's side of each connection.
#[derive(Clone)]
pub struct Servers(Arc<Shared>);

impl Servers {
    /// Servers that open the workplace anew for each request.
    pub fn new(open: Box<Open>) -> Self {
        Self(Arc::new(Shared { open, watchers: Watchers::default() }))
    }

    /// One for a connection.
    #[must_use]
    pub fn connect(&self) -> Server {
        Server { shared: Arc::clone(&self.0), log: Log::default() }
    }
}

/// Who acts: the client, by the name that its connection gave.
fn actor(context: &RequestContext<RoleServer>) -> Actor {
    let name = context.client_info().map(|client| client.name).filter(|name| !name.trim().is_empty());
    Actor::new(ActorKind::Agent, name.unwrap_or_else(|| "mcp".to_owned()))
}

impl Server {
    /// Does work that may wait on the disk, where it holds nobody up. A fault inside it ends this request only.
    ///
    /// What was called off before it began is not done. What has begun is finished: a change is whole or none.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(&dyn Workplace) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let called_off = || Refusal::new(FailureKind::Failed, "cancelled", "the request was called off");
        let (shared, cancelled) = (Arc::clone(&self.shared), context.ct.clone());
        let task = tokio::task::spawn_blocking(move || {
            if cancelled.is_cancelled() {
                return Err(called_off());
            }
            work((shared.open)()?.as_ref())
        });
        tokio::select! {
            done = task => done.unwrap_or_else(|_| {
                let message = "the server failed inside; whether a change was made, skill_history tells";
                Err(Refusal::new(FailureKind::Failed, "internal", message))
            }),
            () = context.ct.cancelled() => {
                Err(called_off().hint("what had begun is finished; skill_history tells what was changed"))
            }
        }
    }

    async fn call(
        &self,
        spec: &'static Spec,
        arguments: JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Result<Answer, Refusal> {
        let actor = actor(context);
        self.work(context, move |place| (spec.run)(&Call { place, actor, now: Timestamp::now() }, arguments)).await
    }
}

impl ServerHandler for Server {
    #[expect(deprecated, reason = "clients of the older protocol show what is logged")]
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_logging().enable_tools().enable_tool_list_changed().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("skillhub", env!("CARGO_PKG_VERSION")).with_title("skillhub"))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.iter().map(Spec::tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let spec = Spec::find(&request.name)
            .ok_or_else(|| ErrorData::invalid_params(format!("there is no tool {:?}", request.name), None))?;
        match self.call(spec, request.arguments.unwrap_or_default(), &context).await {
            Ok(answer) => {
                if answer.changes_lists {
                    self.log.write(&context.peer, Weight::Info, &answer.document).await;
                    self.shared.watchers.tell(List::Skills).await;
                }
                let mut result = CallToolResult::structured(answer.document);
                if let Some(text) = answer.text {
                    result.content = vec![ContentBlock::text(text)];
                }
                Ok(result.into())
            }
            Err(refusal) => {
                let document = refusal.document();
                self.log.write(&context.peer, Weight::Warning, &document).await;
                Ok(CallToolResult::structured_error(document).into())
            }
        }
    }

    #[expect(deprecated, reason = "clients of the older protocol set it")]
    async fn set_level(
        &self,
        request: rmcp::model::SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.log.set(request.level);
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.shared.watchers.add(Watcher::Session(context.peer));
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let known = SubscriptionFilter::builder().tools_list_changed().prompts_list_changed().resources_list_changed();
        Some(requested.intersection(&known.build()))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.shared.watchers.add(Watcher::Subscription(context.sink().clone()));
        context.cancelled().await;
        Ok(())
    }
}

/// What a model is told about the server.
const INSTRUCTIONS: &str = "Skills are folders of instructions for kinds of work. Read the one that fits before you \
    begin such work. When a skill that you used was wrong or lacked something, mend it at once with skill_manage, by \
    a patch; every change is checked, recorded and can be taken back with skill_rollback.";
