//! The studio: a page on which a person looks at a garment, sees its tangles named and coloured, watches them come
//! undone, drags cloth through itself and saves the result.
//!
//! A server on 127.0.0.1 embeds the page and runs the engine, one desk per browser tab, over a WebSocket with binary
//! packets. The interactive session follows Cha 2022, 6.4 and 6.7. See `docs/studio.md`.
//!
//! Guarantees: no algorithm in the page or here, both convert and call; who has no token, comes from another origin or
//! asks for a path outside the opened folder is refused ([`door`], [`folder`]).
//! Does not: serve other machines.

pub mod command;
mod desk;
pub mod door;
pub mod folder;
mod grip;
pub mod log;
mod opening;
pub mod packet;
pub mod page;
mod playback;
mod portrait;
mod sculpt_desk;
mod sculpture;
mod socket;
mod stages;
mod workpiece;

use crate::command::LARGEST_UPLOAD;
use crate::door::{Door, Gate, Token, TokenError, guard};
use crate::folder::{Folder, PathError};
use crate::log::Log;
use crate::opening::Opening;
use axum::Router;
use axum::extract::{Path as UrlPath, State, WebSocketUpgrade};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::get;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Browser tabs that may be open at once.
pub const MOST_TABS: usize = 8;

/// What the studio is started with.
#[derive(Clone, Debug, Default)]
pub struct StudioSettings {
    /// A mesh file, a cache or a folder to open; the current folder unless given.
    pub path: Option<PathBuf>,
    /// A body to open beside the mesh, in the same folder.
    pub body: Option<PathBuf>,
    /// Opens the mesh as a volume to sculpt, of so many samples across.
    pub resolution: Option<u32>,
    /// The port to listen on; 0 takes a free one.
    pub port: u16,
    /// A token of the user's own, so that the address stays the same; random unless given.
    pub token: Option<String>,
}

/// Why the studio cannot start.
#[derive(Debug, Error)]
pub enum StudioError {
    /// The path cannot be opened.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The token cannot be used.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The port cannot be had.
    #[error("port {port}: cannot listen: {source}; give another --port, or 0 for a free one")]
    Listen {
        /// The port.
        port: u16,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The server stopped.
    #[error("the server stopped: {0}")]
    Serve(std::io::Error),
}

/// Starts a studio, tells its link, and serves until the process ends.
pub fn run(settings: &StudioSettings, log: Log, ready: impl FnOnce(&str)) -> Result<(), StudioError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.map_err(StudioError::Serve)?.block_on(async {
        let studio = Studio::bind(settings, log).await?;
        ready(&studio.link());
        studio.serve().await
    })
}

/// A studio that listens.
pub struct Studio {
    gate: Gate,
    shared: Shared,
}

#[derive(Clone)]
struct Shared {
    door: Door,
    folder: Folder,
    opening: Opening,
    tabs: Arc<Semaphore>,
}

impl Studio {
    /// Opens the folder and starts to listen.
    pub async fn bind(settings: &StudioSettings, log: Log) -> Result<Self, StudioError> {
        let (folder, opening) = locate(settings)?;
        let token = match &settings.token {
            Some(text) => Token::fixed(text)?,
            None => Token::random()?,
        };
        let fail = |source| StudioError::Listen { port: settings.port, source };
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, settings.port));
        let listener = TcpListener::bind(address).await.map_err(fail)?;
        let port = listener.local_addr().map_err(fail)?.port();
        let door = Door { token, port, log: log.clone() };
        let tabs = Arc::new(Semaphore::new(MOST_TABS));
        Ok(Self { gate: Gate::new(listener, log), shared: Shared { door, folder, opening, tabs } })
    }

    /// The link to the page, token included.
    pub fn link(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.shared.door.port, self.shared.door.token.as_str())
    }

    /// Serves until the future is dropped.
    pub async fn serve(self) -> Result<(), StudioError> {
        let router = Router::new()
            .route("/{token}/", get(async || page::file("")))
            .route("/{token}/ws", get(tab))
            .route("/{token}/{*file}", get(async |UrlPath((_, file)): UrlPath<(String, String)>| page::file(&file)))
            .layer(from_fn_with_state(self.shared.door.clone(), guard))
            .with_state(self.shared);
        axum::serve(self.gate, router).await.map_err(StudioError::Serve)
    }
}

/// The folder to open, and what to show first.
fn locate(settings: &StudioSettings) -> Result<(Folder, Opening), StudioError> {
    let Some(path) = &settings.path else { return Ok((Folder::open(Path::new("."))?, Opening::Nothing)) };
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if path.is_dir() && !path.join("cache.json").is_file() {
        return Ok((Folder::open(path)?, Opening::Nothing));
    }
    let whole = path.canonicalize().map_err(|error| PathError::Unreadable(path.display().to_string(), error))?;
    let folder = Folder::open(if path.is_dir() { whole.parent().unwrap_or(parent) } else { parent })?;
    let body = match &settings.body {
        None => None,
        Some(body) => {
            let inside = name(body).filter(|name| folder.existing(name).ok() == body.canonicalize().ok());
            Some(inside.ok_or_else(|| PathError::Outside(body.display().to_string()))?)
        }
    };
    let file = name(if path.is_dir() { &whole } else { path }).unwrap_or_default();
    folder.existing(&file)?;
    if settings.resolution.is_some() {
        return Ok((folder, Opening::Volume { path: file, resolution: settings.resolution }));
    }
    Ok((folder, Opening::File { path: file, body }))
}

async fn tab(State(shared): State<Shared>, headers: HeaderMap, upgrade: WebSocketUpgrade) -> Response {
    let Shared { door, folder, opening, tabs } = shared;
    if !door.is_own_origin(&headers) {
        return door.refuse(StatusCode::FORBIDDEN, "a page of another origin");
    }
    let Ok(place) = tabs.try_acquire_owned() else {
        return door.refuse(StatusCode::SERVICE_UNAVAILABLE, "too many tabs are open: close one");
    };
    let log = door.log.clone();
    upgrade
        .max_message_size(LARGEST_UPLOAD + (1 << 10))
        .max_frame_size(LARGEST_UPLOAD + (1 << 10))
        .on_upgrade(move |socket| socket::serve(socket, opening, folder, log, place))
}
