//! Which web pages may call: an allow-list of origins, for requests across origins and for sockets.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// How long a browser may remember a preflight's answer, in seconds.
const PREFLIGHT_SECONDS: &str = "600";

/// The origins whose pages may call, beside those of this server itself.
#[derive(Debug, Clone, Default)]
pub struct Origins {
    /// Such as `https://example.com`; `*` for any.
    allowed: Vec<String>,
}

impl Origins {
    pub fn new(allowed: Vec<String>) -> Self {
        Self { allowed }
    }

    fn lists(&self, origin: &str) -> bool {
        self.allowed.iter().any(|allowed| allowed == "*" || allowed.eq_ignore_ascii_case(origin))
    }

    /// Whether a page of the request's origin may open a socket. No `Origin` header means no browser.
    pub fn admit(&self, headers: &HeaderMap) -> bool {
        let text = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or_default());
        let Some(origin) = text(header::ORIGIN) else {
            return true;
        };
        let host = origin.split_once("://").map(|(_, host)| host);
        self.lists(origin) || (host.is_some() && host == text(header::HOST))
    }

    /// Whether the request was sent to a name that stands for this server for certain: an address, `localhost`, or the
    /// host of a listed origin. Any other name may be a stranger's, who has it lead here (DNS rebinding), and then the
    /// browser takes a page of theirs for one of this server's own.
    pub fn is_our_host(&self, headers: &HeaderMap) -> bool {
        let host = headers.get(header::HOST).and_then(|host| Authority::try_from(host.as_bytes()).ok());
        let Some(host) = host.as_ref().map(Authority::host) else {
            return false;
        };
        let is_address = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        is_address || host.eq_ignore_ascii_case("localhost") || self.allowed.iter().any(|origin| has_host(origin, host))
    }
}

/// Whether an entry of the list is of this host, whatever its scheme and port.
fn has_host(allowed: &str, host: &str) -> bool {
    let authority = allowed.split_once("://").and_then(|(_, authority)| authority.parse::<Authority>().ok());
    allowed == "*" || authority.is_some_and(|authority| authority.host().eq_ignore_ascii_case(host))
}

/// Answers preflights and names the origin in answers to those that are allowed; others get no such header, and the
/// browser keeps the answer from the page.
pub async fn cors(State(origins): State<Arc<Origins>>, request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned();
    let allowed = origin.filter(|origin| origin.to_str().is_ok_and(|text| origins.lists(text)));
    let is_preflight =
        request.method() == Method::OPTIONS && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = if is_preflight { StatusCode::NO_CONTENT.into_response() } else { next.run(request).await };
    let headers = response.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = allowed {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        if is_preflight {
            let mut say = |name, value| headers.insert(name, HeaderValue::from_static(value));
            say(header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST");
            say(header::ACCESS_CONTROL_ALLOW_HEADERS, "authorization, content-type");
            say(header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECONDS);
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(allowed: &[&str], origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static("localhost:4000"));
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        Origins::new(allowed.iter().map(|&origin| origin.to_owned()).collect()).admit(&headers)
    }

    #[test]
    fn a_socket_is_for_our_own_pages_and_the_listed() {
        assert!(admits(&[], None));
        assert!(admits(&[], Some("http://localhost:4000")));
        assert!(!admits(&[], Some("http://evil.example")));
        assert!(!admits(&[], Some("null")));
        assert!(admits(&["https://shop.example"], Some("https://shop.example")));
        assert!(!admits(&["https://shop.example"], Some("http://shop.example")));
        assert!(admits(&["*"], Some("http://any.example")));
    }

    #[test]
    fn a_name_that_may_be_a_strangers_is_none_of_ours() {
        let ours = |allowed: &[&str], host: &str| {
            let headers = HeaderMap::from_iter([(header::HOST, host.parse().unwrap())]);
            Origins::new(allowed.iter().map(|&origin| origin.to_owned()).collect()).is_our_host(&headers)
        };
        for host in ["localhost", "localhost:4000", "LOCALHOST:1", "127.0.0.1:4000", "10.1.2.3", "[::1]:4000", "[::1]"]
        {
            assert!(ours(&[], host), "{host}");
        }
        for host in
            ["", ":4000", "evil.example", "evil.example:4000", "localhost.evil.example", "127.0.0.1.evil.example"]
        {
            assert!(!ours(&["https://shop.example"], host), "{host}");
        }
        assert!(ours(&["https://shop.example"], "shop.example"));
        assert!(ours(&["https://shop.example:8443"], "Shop.example:4000"), "an origin's host, on any port");
        assert!(!ours(&["https://shop.example"], "api.shop.example"));
        assert!(ours(&["*"], "any.example"));
        assert!(!Origins::default().is_our_host(&HeaderMap::new()), "no browser leaves it out");
    }
}
