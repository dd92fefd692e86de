//! Who is refused at the door, and that the studio lives on.

#![allow(clippy::unwrap_used)]

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};
use unsnarl_studio::command::LARGEST_UPLOAD;
use unsnarl_studio::log::Log;
use unsnarl_studio::{MOST_TABS, Studio, StudioSettings};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const TRIANGLE: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

struct Running {
    port: u16,
    log: Arc<Mutex<Vec<String>>>,
    folder: tempfile::TempDir,
}

impl Running {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("secret.obj"), TRIANGLE).unwrap();
        std::fs::create_dir(folder.path().join("open")).unwrap();
        std::fs::write(folder.path().join("open/a.obj"), TRIANGLE).unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&log);
        let settings = StudioSettings {
            path: Some(folder.path().join("open")),
            token: Some(TOKEN.to_owned()),
            ..StudioSettings::default()
        };
        let log_lines = Log::new(move |line| sink.lock().unwrap().push(line.to_owned()));
        let studio = Studio::bind(&settings, log_lines).await.unwrap();
        let link = studio.link();
        let port = link.split(':').nth(2).unwrap().split('/').next().unwrap().parse().unwrap();
        tokio::spawn(studio.serve());
        Self { port, log, folder }
    }

    async fn get(&self, path: &str, host: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    async fn tab(&self, token: &str, origin: Option<&str>) -> Result<Tab, Error> {
        let mut request = format!("ws://127.0.0.1:{}/{token}/ws", self.port).into_client_request()?;
        if let Some(origin) = origin {
            request.headers_mut().insert("Origin", HeaderValue::from_str(origin).unwrap());
        }
        connect_async(request).await.map(|(socket, _)| Tab(socket))
    }

    async fn own_tab(&self) -> Result<Tab, Error> {
        self.tab(TOKEN, Some(&format!("http://127.0.0.1:{}", self.port))).await
    }

    fn has_logged(&self, part: &str) -> bool {
        self.log.lock().unwrap().iter().any(|line| line.contains(part))
    }

    async fn assert_alive(&self) {
        let host = format!("127.0.0.1:{}", self.port);
        assert!(self.get(&format!("/{TOKEN}/"), &host).await.starts_with("HTTP/1.1 200"));
        let mut tab = self.own_tab().await.unwrap();
        tab.say(json!({ "do": "open", "path": "a.obj" })).await;
        assert_eq!(tab.hear().await["type"], "opened");
    }
}

struct Tab(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Tab {
    async fn say(&mut self, command: Value) {
        self.0.send(Message::text(command.to_string())).await.unwrap();
    }

    async fn hear(&mut self) -> Value {
        loop {
            let message = tokio::time::timeout(Duration::from_secs(20), self.0.next()).await.unwrap().unwrap().unwrap();
            if let Message::Binary(bytes) = message {
                let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
                return serde_json::from_slice(&bytes[4..4 + length]).unwrap();
            }
        }
    }
}

fn status(refused: Result<Tab, Error>) -> u16 {
    match refused {
        Err(Error::Http(response)) => response.status().as_u16(),
        Err(other) => panic!("expected an answer, got {other}"),
        Ok(_) => panic!("it was let in"),
    }
}

#[tokio::test]
async fn a_wrong_token_is_refused() {
    let studio = Running::start().await;
    let host = format!("127.0.0.1:{}", studio.port);
    for path in ["/", "/ws", "/0123456789abcdef0123456789abcdee/", "/0123456789abcdef/", "/assets/x.js"] {
        assert!(studio.get(path, &host).await.starts_with("HTTP/1.1 403"), "{path}");
    }
    let origin = format!("http://{host}");
    assert_eq!(status(studio.tab("00000000000000000000000000000000", Some(&origin)).await), 403);
    assert!(studio.has_logged("wrong token"));
    studio.assert_alive().await;
}

#[tokio::test]
async fn another_origin_or_host_is_refused() {
    let studio = Running::start().await;
    let foreign = ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"];
    for origin in foreign.map(Some).into_iter().chain([None]) {
        assert_eq!(status(studio.tab(TOKEN, origin).await), 403, "{origin:?}");
    }
    for host in ["evil.example", &format!("evil.example:{}", studio.port), ""] {
        assert!(studio.get(&format!("/{TOKEN}/"), host).await.starts_with("HTTP/1.1 403"), "{host}");
    }
    assert!(studio.has_logged("another origin"));
    studio.assert_alive().await;
}

#[tokio::test]
async fn paths_outside_the_folder_are_refused() {
    let studio = Running::start().await;
    let mut tab = studio.own_tab().await.unwrap();
    let absolute = studio.folder.path().join("secret.obj").display().to_string();
    for path in ["../secret.obj", "a/../../secret.obj", "/etc/passwd", "..", "", &absolute] {
        tab.say(json!({ "do": "open", "path": path })).await;
        let answer = tab.hear().await;
        assert_eq!(answer["type"], "error", "{path}");
        assert!(answer["text"].as_str().unwrap().contains("outside the opened folder"), "{answer}");
    }
    tab.say(json!({ "do": "open", "path": "a.obj" })).await;
    assert_eq!([tab.hear().await["type"].clone(), tab.hear().await["type"].clone()], ["opened", "frame"]);
    for path in ["../new.obj", "/new.obj", "../open/../secret.obj"] {
        tab.say(json!({ "do": "save", "path": path, "existing": "replace" })).await;
        assert_eq!(tab.hear().await["type"], "error", "{path}");
    }
    assert!(studio.has_logged("outside the opened folder"));
    assert!(!studio.folder.path().join("new.obj").exists());
    assert_eq!(std::fs::read_to_string(studio.folder.path().join("secret.obj")).unwrap(), TRIANGLE);
    let host = format!("127.0.0.1:{}", studio.port);
    for path in ["../../secret.obj", "%2e%2e/%2e%2e/secret.obj", "..%2f..%2fsecret.obj"] {
        assert!(!studio.get(&format!("/{TOKEN}/{path}"), &host).await.starts_with("HTTP/1.1 200"), "{path}");
    }
    studio.assert_alive().await;
}

#[tokio::test]
async fn an_existing_file_is_replaced_only_on_demand() {
    let studio = Running::start().await;
    let mut tab = studio.own_tab().await.unwrap();
    tab.say(json!({ "do": "open", "path": "a.obj" })).await;
    tab.hear().await;
    tab.hear().await;
    tab.say(json!({ "do": "save", "path": "a.obj" })).await;
    assert_eq!(tab.hear().await["type"], "exists");
    tab.say(json!({ "do": "save", "path": "b.glb" })).await;
    let saved = tab.hear().await;
    assert_eq!((&saved["type"], &saved["clean"]), (&json!("saved"), &json!(true)));
    assert!(studio.folder.path().join("open/b.glb").exists());
}

#[tokio::test]
async fn an_oversized_upload_closes_the_tab_and_nothing_else() {
    let studio = Running::start().await;
    let mut tab = studio.own_tab().await.unwrap();
    let _ = tab.0.send(Message::binary(vec![0; LARGEST_UPLOAD + (2 << 10)])).await;
    let ended = tokio::time::timeout(Duration::from_secs(20), async {
        while let Some(Ok(message)) = tab.0.next().await {
            if message.is_close() {
                return;
            }
        }
    });
    assert!(ended.await.is_ok());
    assert!(studio.has_logged("broken message"));
    studio.assert_alive().await;
}

#[tokio::test]
async fn malformed_messages_are_answered_and_survived() {
    let studio = Running::start().await;
    let mut tab = studio.own_tab().await.unwrap();
    for text in ["", "{", "[1,2]", r#"{"do":"format"}"#, r#"{"do":"frame","number":-1}"#, "\u{0}"] {
        tab.0.send(Message::text(text)).await.unwrap();
        assert_eq!(tab.hear().await["type"], "error", "{text:?}");
    }
    for bytes in [&b""[..], b"\xff\xff\xff\xff", b"\x04\0\0\0a.objv 0 0", b"\x05\0\0\0a.objnot a mesh"] {
        tab.0.send(Message::binary(bytes.to_vec())).await.unwrap();
        assert_eq!(tab.hear().await["type"], "error", "{bytes:?}");
    }
    for command in [
        json!({ "do": "grab", "vertex": 4000000000u32, "radius": 1.0 }),
        json!({ "do": "drag", "by": [1e308, -1e308, 0.0] }),
        json!({ "do": "untangle", "method": "magic" }),
        json!({ "do": "frame", "number": 4000000000u32 }),
        json!({ "do": "sample", "name": "nothing" }),
    ] {
        tab.say(command.clone()).await;
        assert_eq!(tab.hear().await["type"], "error", "{command}");
    }
    let mut raw = TcpStream::connect(("127.0.0.1", studio.port)).await.unwrap();
    raw.write_all(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n").await.unwrap();
    let _ = raw.read_to_end(&mut Vec::new()).await;
    assert!(studio.has_logged("not a command"));
    studio.assert_alive().await;
}

#[tokio::test]
async fn a_thousand_connections_are_survived() {
    let studio = Running::start().await;
    let mut open = Vec::new();
    for _ in 0..1000 {
        if let Ok(stream) = TcpStream::connect(("127.0.0.1", studio.port)).await {
            open.push(stream);
        }
        if open.len() > 400 {
            open.remove(0);
        }
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(studio.has_logged("too many connections"));
    drop(open);
    tokio::time::sleep(Duration::from_millis(500)).await;
    studio.assert_alive().await;
}

#[tokio::test]
async fn more_tabs_than_places_are_refused() {
    let studio = Running::start().await;
    let mut tabs = Vec::new();
    for _ in 0..MOST_TABS {
        tabs.push(studio.own_tab().await.unwrap());
    }
    assert_eq!(status(studio.own_tab().await), 503);
    drop(tabs);
    tokio::time::sleep(Duration::from_millis(500)).await;
    studio.assert_alive().await;
}
