//! [`UreqConnector`]: the HTTP client of the object store, over the one that all other requests use.

use std::{error::Error, io::Read as _, pin::Pin};

use object_store::{
    ClientOptions,
    client::{
        HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
    },
};
use thiserror::Error;
use tokio::task::spawn_blocking;
use ureq::Agent;

use super::ObjectLimits;

/// Bytes of a response beyond the largest archive, for the documents that list objects or describe an error.
const DOCUMENT_BYTES: u64 = 1 << 20;

/// Creates the clients of one object store.
#[derive(Debug)]
pub struct UreqConnector {
    /// URL of the store.
    pub url: String,
    /// Limits on its requests.
    pub limits: ObjectLimits,
}

impl HttpConnector for UreqConnector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let agent = client::agent_within(&self.url, self.limits.attempt_time, self.limits.connect_time);
        let agent = agent.map_err(|error| object_store::Error::Generic { store: "S3", source: Box::new(error) })?;
        Ok(HttpClient::new(UreqService { agent, most_bytes: self.limits.archive_bytes + DOCUMENT_BYTES }))
    }
}

/// Sends requests on threads that may block, and reads responses of a bounded size into memory.
#[derive(Debug)]
struct UreqService {
    agent: Agent,
    most_bytes: u64,
}

/// A response is larger than anything that the store is asked for.
#[derive(Debug, Error)]
#[error("the response has more than {0} bytes")]
struct TooLarge(u64);

impl HttpService for UreqService {
    fn call<'life, 'call>(
        &'life self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'call>>
    where
        'life: 'call,
        Self: 'call,
    {
        let (agent, most_bytes) = (self.agent.clone(), self.most_bytes);
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            client::check_token_may_go(&parts.uri.to_string())
                .map_err(|error| failed(HttpErrorKind::Unknown, error))?;
            // The body is in memory already; this joins its parts.
            let body = HttpResponseBody::new(body).bytes().await?;
            let request = ureq::http::Request::from_parts(parts, body.to_vec());
            let sent = spawn_blocking(move || send(&agent, request, most_bytes));
            sent.await.map_err(|error| failed(HttpErrorKind::Interrupted, error))?
        })
    }
}

fn send(agent: &Agent, request: ureq::http::Request<Vec<u8>>, most_bytes: u64) -> Result<HttpResponse, HttpError> {
    let answer = agent.run(request).map_err(|error| failed(HttpErrorKind::Request, error))?;
    let (parts, body) = answer.into_parts();
    let mut bytes = Vec::new();
    let read = body.into_reader().take(most_bytes + 1).read_to_end(&mut bytes);
    read.map_err(|error| failed(HttpErrorKind::Interrupted, error))?;
    if bytes.len() as u64 > most_bytes {
        return Err(failed(HttpErrorKind::Decode, TooLarge(most_bytes)));
    }
    Ok(HttpResponse::from_parts(parts, bytes.into()))
}

fn failed(kind: HttpErrorKind, error: impl Error + Send + Sync + 'static) -> HttpError {
    HttpError::new(kind, error)
}
