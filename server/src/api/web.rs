//! The pages that the binary carries: the demo at `/`, GraphiQL at `/graphiql`, and what they load from `/assets`.
//!
//! A binary that was built without them carries none. It says so at `/`, and everything else works.

mod front;
mod negotiate;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Router, middleware};
use rust_embed::{EmbeddedFile, RustEmbed};

use front::{Front, Missing};
use negotiate::{has_tag, takes_gzip, takes_html};

/// The demo page: its own scripts and styles, and calls to this server. `'self'` covers its WebSocket.
const DEMO_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    font-src 'self'; connect-src 'self'; worker-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// GraphiQL: the editor in it, Monaco, writes its themes into style elements, and runs the languages in workers.
const GRAPHIQL_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";
/// What pages load. It matters for workers, which live under the policy of their own file and not under their page's.
const ASSET_POLICY: &str = "default-src 'none'; script-src 'self'; frame-ancestors 'none'";
/// The page without script or style.
const FRONT_POLICY: &str =
    "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The names of assets have a hash of their content in them.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
/// Kept, and asked for again each time: a page names the assets of its own build.
const ASK_AGAIN: &str = "no-cache";
/// What is not there now may be there after the next build.
const NOT_KEPT: &str = "no-store";

const DEMO: &str = "index.html";
const GRAPHIQL: &str = "graphiql.html";

/// What Vite built, each file also as `.gz` where that is smaller.
#[derive(RustEmbed)]
#[folder = "../client-demo/build/pages"]
#[allow_missing = true]
struct Built;

/// Which pages are served, and from where.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site {
    pub demo: bool,
    pub graphiql: bool,
    built: fn(&str) -> Option<EmbeddedFile>,
}

/// Whether this binary was built with its pages.
pub fn has_pages() -> bool {
    Built::get(DEMO).is_some()
}

impl Site {
    pub(super) fn new(demo: bool, graphiql: bool) -> Self {
        Self { demo, graphiql, built: Built::get }
    }

    pub(super) fn router(self) -> Router {
        Router::new()
            .route("/", get(front))
            .route("/graphiql", get(graphiql))
            .route("/graphiql/", get(|| async { Redirect::permanent("/graphiql") }))
            .route("/assets/{*path}", get(asset))
            .fallback(nothing)
            .layer(middleware::map_response(refusal))
            .with_state(self)
    }

    fn front(self, asked: &HeaderMap) -> Response {
        let demo = self.demo.then(|| self.file(DEMO, asked, ASK_AGAIN, DEMO_POLICY)).flatten();
        let missing = (self.demo || self.graphiql) && !self.is_built();
        demo.unwrap_or_else(|| self.small_page(StatusCode::OK, missing.then_some(Missing::Pages)))
    }

    fn graphiql(self, asked: &HeaderMap) -> Response {
        if !self.graphiql {
            return self.small_page(StatusCode::NOT_FOUND, Some(Missing::Graphiql));
        }
        let page = self.file(GRAPHIQL, asked, ASK_AGAIN, GRAPHIQL_POLICY);
        page.unwrap_or_else(|| self.small_page(StatusCode::NOT_FOUND, Some(Missing::Pages)))
    }

    fn asset(self, path: &str, asked: &HeaderMap) -> Response {
        // A `.gz` is another form of a file, and no file of its own.
        let file =
            (!path.ends_with(".gz")).then(|| self.file(&format!("assets/{path}"), asked, FOR_EVER, ASSET_POLICY));
        file.flatten().unwrap_or_else(|| StatusCode::NOT_FOUND.into_response())
    }

    /// Says what this server is, and what it lacks.
    fn small_page(self, status: StatusCode, missing: Option<Missing>) -> Response {
        let front = Front { graphiql: self.graphiql && self.is_built(), missing };
        let mut response = (status, front.html()).into_response();
        let headers = response.headers_mut();
        set(headers, header::CONTENT_TYPE, "text/html; charset=utf-8");
        secure(headers, ASK_AGAIN, FRONT_POLICY);
        response
    }

    fn is_built(self) -> bool {
        (self.built)(DEMO).is_some()
    }

    /// A file that was built, packed where the caller takes it so; 304 where the caller has it.
    fn file(self, name: &str, asked: &HeaderMap, cache: &'static str, policy: &'static str) -> Option<Response> {
        let plain = (self.built)(name)?;
        let media = media_type(&plain);
        let packed = takes_gzip(asked).then(|| (self.built)(&format!("{name}.gz"))).flatten();
        let encoding = packed.is_some().then_some("gzip");
        let file = packed.unwrap_or(plain);
        let tag = tag(&file);
        let length = file.data.len();

        let mut response = if has_tag(asked, &tag) {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            let mut response = Body::from(file.data).into_response();
            response.headers_mut().insert(header::CONTENT_TYPE, media);
            if let Some(encoding) = encoding {
                set(response.headers_mut(), header::CONTENT_ENCODING, encoding);
            }
            response
        };
        let headers = response.headers_mut();
        // Of the file, also where it is not sent. Without it the 304 of a HEAD would say 0.
        headers.insert(header::CONTENT_LENGTH, length.into());
        headers.insert(header::ETAG, HeaderValue::try_from(tag).expect("hexadecimal digits in quotes"));
        set(headers, header::VARY, "accept-encoding");
        secure(headers, cache, policy);
        Some(response)
    }
}

async fn front(State(site): State<Site>, headers: HeaderMap) -> Response {
    site.front(&headers)
}

async fn graphiql(State(site): State<Site>, headers: HeaderMap) -> Response {
    site.graphiql(&headers)
}

async fn asset(State(site): State<Site>, Path(path): Path<String>, headers: HeaderMap) -> Response {
    site.asset(&path, &headers)
}

/// A person who follows a wrong link is told where they are, with a page.
async fn nothing(State(site): State<Site>, headers: HeaderMap) -> Response {
    if takes_html(&headers) {
        site.small_page(StatusCode::NOT_FOUND, Some(Missing::Page))
    } else {
        StatusCode::NOT_FOUND.into_response()
    }
}

/// Whatever is no page and no file, such as a path or a method that does not exist.
async fn refusal(mut response: Response) -> Response {
    if !response.headers().contains_key(header::CONTENT_SECURITY_POLICY) {
        secure(response.headers_mut(), NOT_KEPT, ASSET_POLICY);
    }
    response
}

fn secure(headers: &mut HeaderMap, cache: &'static str, policy: &'static str) {
    set(headers, header::CACHE_CONTROL, cache);
    set(headers, header::CONTENT_SECURITY_POLICY, policy);
    set(headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(headers, header::REFERRER_POLICY, "no-referrer");
    set(headers, HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.insert(name, HeaderValue::from_static(value));
}

fn media_type(file: &EmbeddedFile) -> HeaderValue {
    let name = file.metadata.mimetype();
    let full = if name.starts_with("text/") { format!("{name}; charset=utf-8") } else { name.to_owned() };
    HeaderValue::try_from(full).expect("media types are ASCII")
}

/// The first half of the content's SHA-256. The packed form has another content, hence another tag.
fn tag(file: &EmbeddedFile) -> String {
    let hash = file.metadata.sha256_hash();
    let digits: String = hash[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{digits}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn text(response: Response) -> String {
        let body = axum::body::to_bytes(response.into_body(), 100_000).await.unwrap();
        String::from_utf8(body.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn a_binary_without_pages_says_how_to_get_them() {
        let site = Site { demo: true, graphiql: true, built: |_| None };
        let front = site.front(&HeaderMap::new());
        assert_eq!(front.status(), StatusCode::OK);
        assert_eq!(front.headers()[header::CONTENT_SECURITY_POLICY], FRONT_POLICY);
        let html = text(front).await;
        assert!(html.contains("make node run") && html.contains("/graphql"), "{html}");
        assert!(!html.contains("href=\"/graphiql\""), "it is not there: {html}");
        let graphiql = site.graphiql(&HeaderMap::new());
        assert_eq!(graphiql.status(), StatusCode::NOT_FOUND);
        assert!(text(graphiql).await.contains("make node run"));
        assert_eq!(site.asset("index.js", &HeaderMap::new()).status(), StatusCode::NOT_FOUND);
    }

    #[tokio::test]
    async fn without_the_demo_nothing_is_missing() {
        let site = Site { demo: false, graphiql: false, built: |_| None };
        let html = text(site.front(&HeaderMap::new())).await;
        assert!(html.contains("/schema.graphql") && !html.contains("make"), "{html}");
    }
}
