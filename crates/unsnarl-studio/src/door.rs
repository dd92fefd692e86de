//! The door: who may talk to the studio.
//!
//! The address is loopback only. Every path starts with a random token; the `Host` must be this machine, so that a
//! foreign name that resolves to it does not help; a WebSocket must come from the page's own origin. The number of open
//! connections is limited, and a connection that gets no answer because it never asks is closed.
//!
//! Guarantees: tokens are compared in constant time; what is refused is logged, at most some lines a second.

use crate::log::Log;
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::serve::Listener;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep_until};

/// Connections that may be open at once.
pub const MOST_CONNECTIONS: usize = 64;

/// How long a connection may be open without asking for anything.
pub const PATIENCE: Duration = Duration::from_secs(10);

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
img-src 'self' blob: data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The secret part of the studio's address.
#[derive(Clone)]
pub struct Token(String);

/// A token that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The system has no randomness to give.
    #[error("no random numbers for the token: {0}")]
    Random(getrandom::Error),
    /// It is too easy to guess, or does not fit into an address.
    #[error("the token must be 16 to 128 letters and digits")]
    Unusable,
}

impl Token {
    /// 128 random bits.
    pub fn random() -> Result<Self, TokenError> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(TokenError::Random)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// A token of the user's own.
    pub fn fixed(text: &str) -> Result<Self, TokenError> {
        let usable = (16..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if usable { Ok(Self(text.to_owned())) } else { Err(TokenError::Unusable) }
    }

    /// As it stands in the address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Compares without telling by time how much fits.
    fn is(&self, other: &str) -> bool {
        let (own, other) = (self.0.as_bytes(), other.as_bytes());
        let difference = own.iter().zip(other).fold(0, |difference, (a, b)| difference | (a ^ b));
        own.len() == other.len() && difference == 0
    }
}

/// What the door knows.
#[derive(Clone)]
pub struct Door {
    /// The secret.
    pub token: Token,
    /// The port that is listened on.
    pub port: u16,
    /// Where refusals are told.
    pub log: Log,
}

impl Door {
    fn is_this_machine(&self, host: &str) -> bool {
        ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| host == format!("{name}:{}", self.port))
    }

    /// Why a request may not pass.
    fn objection(&self, request: &Request) -> Option<(StatusCode, &'static str)> {
        let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        if !self.is_this_machine(host) {
            return Some((StatusCode::FORBIDDEN, "the studio answers to 127.0.0.1 only"));
        }
        let token = request.uri().path().trim_start_matches('/').split('/').next().unwrap_or_default();
        if !self.token.is(token) {
            return Some((StatusCode::FORBIDDEN, "wrong token: use the link that unsnarl studio printed"));
        }
        if request.method() != Method::GET {
            return Some((StatusCode::METHOD_NOT_ALLOWED, "only GET is answered"));
        }
        None
    }

    /// Whether a WebSocket comes from the page itself.
    pub fn is_own_origin(&self, headers: &HeaderMap) -> bool {
        let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok()).unwrap_or_default();
        origin.strip_prefix("http://").is_some_and(|host| self.is_this_machine(host))
    }

    /// An answer that refuses, logged. The connection is closed after it.
    pub fn refuse(&self, status: StatusCode, reason: &str) -> Response {
        self.log.refusal(reason);
        let mut response = (status, format!("{reason}\n")).into_response();
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        response
    }
}

/// Lets requests pass or refuses them, and guards every answer with headers.
pub async fn guard(State(door): State<Door>, request: Request, next: Next) -> Response {
    let mut response = match door.objection(&request) {
        Some((status, reason)) => door.refuse(status, reason),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// A listener that hands out a limited number of connections and drops the rest.
pub struct Gate {
    listener: TcpListener,
    places: Arc<Semaphore>,
    log: Log,
}

impl Gate {
    /// Around a listener.
    pub fn new(listener: TcpListener, log: Log) -> Self {
        Self { listener, places: Arc::new(Semaphore::new(MOST_CONNECTIONS)), log }
    }
}

impl Listener for Gate {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => match Arc::clone(&self.places).try_acquire_owned() {
                    Ok(place) => return (Connection::new(stream, place), address),
                    Err(_) => self.log.refusal("too many connections: one more was dropped"),
                },
                Err(error) => {
                    self.log.refusal(&format!("a connection could not be accepted: {error}"));
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that holds its place until it closes.
pub struct Connection {
    stream: TcpStream,
    _place: OwnedSemaphorePermit,
    /// Set until the first answer.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl Connection {
    fn new(stream: TcpStream, place: OwnedSemaphorePermit) -> Self {
        // Frames are small beside a round trip; waiting to fill packets would only delay them.
        let _ = stream.set_nodelay(true);
        let deadline = Some(Box::pin(sleep_until(Instant::now() + PATIENCE)));
        Self { stream, _place: place, deadline }
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if let Some(deadline) = &mut self.deadline
            && deadline.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.deadline = None;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_long_random_and_exact() {
        let token = Token::random().unwrap();
        assert_eq!(token.as_str().len(), 32);
        assert!(token.is(token.as_str()));
        assert!(!token.is(""));
        assert!(!token.is(&token.as_str()[..31]));
        assert!(!token.is(Token::random().unwrap().as_str()));
        assert!(Token::fixed("short").is_err());
        assert!(Token::fixed("0123456789abcde/").is_err());
        assert!(Token::fixed("0123456789abcdef").is_ok());
    }
}
