//! One browser tab: its WebSocket on one side, its desk on the other.
//!
//! The desk works on a thread of its own; messages in both directions wait in short queues, so a page that does not
//! read, or does not stop asking, slows only itself down.

use crate::command::Message as FromPage;
use crate::desk::Desk;
use crate::folder::Folder;
use crate::log::Log;
use crate::opening::Opening;
use crate::packet::Packet;
use axum::extract::ws::{Message, WebSocket};
use std::time::{Duration, Instant};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc;
use tokio::time::{interval, timeout};

const QUEUE: usize = 32;
const FRAMES_WAITING: usize = 2;
const SLOWEST_READER: Duration = Duration::from_secs(30);
const PING_EVERY: Duration = Duration::from_secs(20);
const SILENCE: Duration = Duration::from_secs(90);

/// Serves a tab until it closes.
pub async fn serve(socket: WebSocket, opening: Opening, folder: Folder, log: Log, _place: OwnedSemaphorePermit) {
    let (ask, asked) = mpsc::channel(QUEUE);
    let (tell, told) = mpsc::channel(FRAMES_WAITING);
    let desk_log = log.clone();
    let desk = std::thread::Builder::new().name("desk".to_owned()).spawn(move || {
        Desk::new(opening, folder, desk_log, tell).work(asked);
    });
    if let Err(error) = desk {
        log.line(&format!("no thread for a tab: {error}"));
        return;
    }
    converse(socket, ask, told, &log).await;
}

async fn converse(mut socket: WebSocket, ask: mpsc::Sender<FromPage>, mut told: mpsc::Receiver<Vec<u8>>, log: &Log) {
    let mut pings = interval(PING_EVERY);
    let mut heard = Instant::now();
    loop {
        let sent = tokio::select! {
            message = socket.recv() => {
                heard = Instant::now();
                let message = match message {
                    Some(Ok(Message::Text(text))) => FromPage::from_text(&text),
                    Some(Ok(Message::Binary(bytes))) => FromPage::from_bytes(&bytes),
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                    Some(Err(error)) => {
                        log.refusal(&format!("a broken message, tab closed: {error}"));
                        break;
                    }
                    Some(Ok(Message::Close(_))) | None => break,
                };
                if let FromPage::Malformed(reason) = &message {
                    log.refusal(reason);
                }
                match ask.send(message).await {
                    Ok(()) => continue,
                    Err(_) => break,
                }
            }
            packet = told.recv() => match packet {
                Some(packet) => timeout(SLOWEST_READER, socket.send(Message::Binary(packet.into()))).await,
                None => {
                    log.line("the engine stopped in one tab; the tab was told to open its garment again");
                    let packet = Packet::new("error").field("text", "The engine stopped. Open the garment again.");
                    let _ = timeout(SLOWEST_READER, socket.send(Message::Binary(packet.encode().into()))).await;
                    break;
                }
            },
            _ = pings.tick() => {
                if heard.elapsed() > SILENCE {
                    break;
                }
                timeout(SLOWEST_READER, socket.send(Message::Ping(Vec::new().into()))).await
            }
        };
        if !matches!(sent, Ok(Ok(()))) {
            break;
        }
    }
}
