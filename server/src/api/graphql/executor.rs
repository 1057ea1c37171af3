//! Runs requests: checks what they cost, gives each its scope, and finishes every response.

use std::any::TypeId;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_graphql::parser::types::OperationType;
use async_graphql::{Data, Request, Response};
use futures_util::FutureExt;
use futures_util::stream::{self, BoxStream, Stream, StreamExt};

use super::document::prepare;
use super::errors::{code_of, finish, refused};
use super::loaders::Scope;
use super::schema::{LikewiseSchema, schema};
use super::subscription::EventGate;
use crate::api::gauges::{Gauges, take};
use crate::api::limits::Limits;
use crate::error::{Error, ErrorCode};
use crate::service::{Service, Viewer};

/// Most operations running on one socket; one more answers LIMIT_EXCEEDED. Each costs the loaders of an answer and, if
/// it is a subscription, its watches.
const SOCKET_OPERATIONS_MAX: u64 = 500;

/// Codes that mean an event was not read whole: it is held back and tried again.
const HELD_BACK: [ErrorCode; 4] =
    [ErrorCode::Unavailable, ErrorCode::Internal, ErrorCode::Overloaded, ErrorCode::RateLimited];

/// Runs the operations of all callers.
#[derive(Clone)]
pub struct Executor(Arc<Parts>);

struct Parts {
    schema: LikewiseSchema,
    service: Arc<Service>,
    limits: Limits,
    introspection: bool,
    gauges: Arc<Gauges>,
}

/// A request whose document was read and found within its bounds.
pub struct Prepared {
    request: Request,
    kind: OperationType,
}

impl Prepared {
    pub fn is_query(&self) -> bool {
        self.kind == OperationType::Query
    }

    pub fn is_subscription(&self) -> bool {
        self.kind == OperationType::Subscription
    }
}

/// Who speaks on a socket, kept for as long as it is open. No loader is ever kept that long.
#[derive(Clone, Default)]
pub struct Caller {
    pub viewer: Option<Viewer>,
    operations: Arc<AtomicU64>,
}

impl Caller {
    pub fn new(viewer: Option<Viewer>) -> Self {
        Self { viewer, operations: Arc::default() }
    }

    fn operation(&self) -> Option<OperationSlot> {
        take(&self.operations, SOCKET_OPERATIONS_MAX).then(|| OperationSlot(Arc::clone(&self.operations)))
    }
}

/// One running operation of a socket.
struct OperationSlot(Arc<AtomicU64>);

impl Drop for OperationSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Executor {
    pub fn new(service: Arc<Service>, limits: Limits, introspection: bool, gauges: Arc<Gauges>) -> Self {
        let schema = schema(&limits, introspection);
        Self(Arc::new(Parts { schema, service, limits, introspection, gauges }))
    }

    /// Reads the document; the error is the response to send where it cannot run.
    pub fn prepare(&self, mut request: Request) -> Result<Prepared, Error> {
        let kind = prepare(&mut request, &self.0.limits, self.0.introspection)?;
        Ok(Prepared { request, kind })
    }

    pub fn service(&self) -> &Arc<Service> {
        &self.0.service
    }

    /// Runs a query or a mutation; UNAUTHENTICATED where the caller's account was deleted.
    pub async fn run(&self, prepared: Prepared, viewer: Option<Viewer>) -> Result<Response, Error> {
        if prepared.is_query() {
            // A query changes nothing, so it need not wait for the answer; only its own must.
            let admitted = async {
                match &viewer {
                    Some(viewer) => self.0.service.check_reader_not_erased(viewer).await,
                    None => Ok(()),
                }
            };
            let (admitted, response) = tokio::join!(admitted, self.execute(prepared, viewer.clone()));
            return admitted.map(|()| response);
        }
        // Others may only react, and the lanes see to these themselves, under a lock.
        if let Some(viewer) = viewer.as_ref().filter(|viewer| viewer.is_service) {
            self.0.service.check_not_erased(viewer).await?;
        }
        Ok(self.execute(prepared, viewer).await)
    }

    async fn execute(&self, prepared: Prepared, viewer: Option<Viewer>) -> Response {
        let scope = Scope::new(Arc::clone(&self.0.service), viewer);
        let mut response = self.0.schema.execute(prepared.request.data(scope)).await;
        finish(&mut response);
        response
    }

    /// Runs a subscription: events that could not be read whole are given back to their source, through the gate.
    fn subscribe(&self, prepared: Prepared, viewer: Option<Viewer>) -> BoxStream<'static, Response> {
        let gate = EventGate::default();
        let slot = self.0.gauges.subscription();
        let scope = Scope::new(Arc::clone(&self.0.service), viewer);
        let events = self.0.schema.execute_stream(prepared.request.data(scope).data(gate.clone()));
        let gauges = Arc::clone(&self.0.gauges);
        let whole = events.filter_map(move |mut response| {
            finish(&mut response);
            let is_whole = !response.errors.iter().any(is_held_back);
            if is_whole {
                gauges.pushes.fetch_add(1, Ordering::Relaxed);
            } else {
                gate.drop_event();
            }
            ready(is_whole.then_some(response))
        });
        holding(slot, until_refused(whole))
    }

    /// Runs an operation of a socket within that socket's bound.
    fn stream(&self, request: Request, caller: Caller) -> BoxStream<'static, Response> {
        let Some(slot) = caller.operation() else {
            let message = format!("At most {SOCKET_OPERATIONS_MAX} operations may run on one socket.");
            return once(refused(Error::new(ErrorCode::LimitExceeded, message)));
        };
        let responses = match self.prepare(request) {
            Ok(prepared) if prepared.is_subscription() => {
                let executor = self.clone();
                let admitted = async move {
                    let known = match &caller.viewer {
                        Some(viewer) => executor.0.service.wait_until_known_not_erased(viewer).await,
                        None => Ok(()),
                    };
                    match known {
                        Ok(()) => executor.subscribe(prepared, caller.viewer),
                        Err(error) => once(refused(error)),
                    }
                };
                admitted.flatten_stream().boxed()
            }
            Ok(prepared) => {
                let executor = self.clone();
                stream::once(async move { executor.run(prepared, caller.viewer).await.unwrap_or_else(refused) }).boxed()
            }
            Err(error) => once(refused(error)),
        };
        holding(slot, responses)
    }
}

/// Ends after an answer with errors: what was asked for can never be read, so it is refused once and sent without data.
fn until_refused(responses: impl Stream<Item = Response> + Send + 'static) -> impl Stream<Item = Response> + Send {
    stream::unfold(Some(responses.boxed()), async |responses| {
        let mut responses = responses?;
        let mut response = responses.next().await?;
        if response.errors.is_empty() {
            return Some((response, Some(responses)));
        }
        response.data = async_graphql::Value::Null;
        Some((response, None))
    })
}

fn is_held_back(error: &async_graphql::ServerError) -> bool {
    code_of(error).is_some_and(|code| HELD_BACK.iter().any(|held| held.word() == code))
}

/// Keeps `slot` for as long as the stream is kept.
fn holding<S: Send + 'static>(
    slot: S,
    responses: impl Stream<Item = Response> + Send + 'static,
) -> BoxStream<'static, Response> {
    responses.inspect(move |_| _ = &slot).boxed()
}

fn once(response: Response) -> BoxStream<'static, Response> {
    stream::once(ready(response)).boxed()
}

impl async_graphql::Executor for Executor {
    async fn execute(&self, request: Request) -> Response {
        match self.prepare(request) {
            Ok(prepared) => self.run(prepared, None).await.unwrap_or_else(refused),
            Err(error) => refused(error),
        }
    }

    fn execute_stream(&self, request: Request, session: Option<Arc<Data>>) -> BoxStream<'static, Response> {
        let caller = session.as_ref().and_then(|data| data.get(&TypeId::of::<Caller>())?.downcast_ref::<Caller>());
        self.stream(request, caller.cloned().unwrap_or_default())
    }
}
