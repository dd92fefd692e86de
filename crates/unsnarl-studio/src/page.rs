//! The page, embedded at build time from `page/dist/site`, or a notice that says how to build it.

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page_files.rs"));

const NOTICE: &str = "<!doctype html><meta charset=utf-8><title>Unsnarl studio</title>\
<body style=\"font:16px system-ui;max-width:36em;margin:4em auto\"><h1>The page is not built</h1>\
<p>This program was compiled without its page. Run <code>./demo</code>, or \
<code>npm --prefix crates/unsnarl-studio/page ci</code> and \
<code>npm --prefix crates/unsnarl-studio/page run build</code>, then compile again.</p>";

/// Whether the page was built before this program.
pub fn is_built() -> bool {
    !FILES.is_empty()
}

/// The file with a name; the empty name is the page itself.
pub fn file(name: &str) -> Response {
    let name = if name.is_empty() { "index.html" } else { name };
    if let Some((_, bytes)) = FILES.iter().find(|(own, _)| *own == name) {
        return typed(content_type(name), bytes);
    }
    if name == "index.html" {
        return typed("text/html; charset=utf-8", NOTICE.as_bytes());
    }
    (StatusCode::NOT_FOUND, "no such file\n").into_response()
}

fn typed(content_type: &'static str, bytes: &'static [u8]) -> Response {
    let headers =
        [(CONTENT_TYPE, HeaderValue::from_static(content_type)), (CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (headers, bytes).into_response()
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}
