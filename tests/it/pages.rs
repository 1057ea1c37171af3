//! The pages that the binary carries, as a browser asks for them.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;

use likewise_tests::binary::ServerProcess;
use likewise_tests::harness::Test;
use likewise_tests::tokens::SECRET;
use likewise_tests::{plain, say};
use tempfile::TempDir;

/// Bytes of the first load of the demo page, packed: HTML, scripts, styles.
const FIRST_LOAD_MAX: usize = 120_000;
const GZIP: (&str, &str) = ("accept-encoding", "gzip, deflate, br");

pub(crate) fn tests() -> Vec<Test> {
    let tests = vec![
        plain!(every_file_that_a_page_names_is_served),
        plain!(the_first_load_is_small),
        plain!(pages_name_no_other_host_and_carry_no_code),
        plain!(pages_have_a_strict_policy),
        plain!(files_are_packed_for_those_who_take_it),
        plain!(a_file_that_the_caller_has_is_not_sent_again),
        plain!(a_head_has_the_headers_of_a_get),
        plain!(only_what_was_built_for_it_is_served),
        plain!(a_person_with_a_wrong_link_is_told),
        plain!(without_the_demo_there_is_a_small_page),
        plain!(graphiql_is_a_setting),
    ];
    tests.into_iter().map(Test::with_binary).collect()
}

struct Site {
    server: ServerProcess,
    _folder: TempDir,
}

struct Answer {
    status: u16,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Site {
    fn start(arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::Builder::new().prefix("likewise-pages-").tempdir().expect("a temporary folder");
        let arguments: Vec<_> = ["serve", "--listen", "127.0.0.1:0"].iter().chain(arguments).copied().collect();
        let server = ServerProcess::start_with(folder.path(), &arguments, variables);
        Self { server, _folder: folder }
    }

    /// A demo with pages; fails where the binary has none.
    fn demo() -> Self {
        let site = Self::start(&["--demo"], &[]);
        let html = site.get("/", &[]).text();
        assert!(!html.contains("make node run"), "The pages are not built: run `make pages`, then the tests again.");
        site
    }

    fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.ask("GET", path, headers)
    }

    /// Sends the path as it stands, which a client library would tidy up.
    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut stream = TcpStream::connect(&self.server.address).expect("the server listens");
        let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let host = &self.server.address;
        write!(stream, "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{lines}\r\n")
            .expect("the request is sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("the answer comes");
        let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("headers end with an empty line");
        let head = std::str::from_utf8(&answer[..end]).expect("headers are ASCII");
        let (first, rest) = head.split_once("\r\n").expect("a status and headers");
        let header = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        Answer {
            status: first.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status"),
            headers: rest.split("\r\n").filter_map(header).collect(),
            body: answer[end + 4..].to_vec(),
        }
    }
}

impl Answer {
    #[track_caller]
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name}: {} {:?}", self.status, self.headers))
    }

    fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("a text")
    }
}

/// The values of `src` and `href` in a page.
fn references(html: &str) -> Vec<String> {
    let after = |name: &str| -> Vec<String> {
        let start = format!(" {name}=\"");
        html.split(&start).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
    };
    let mut found = after("src");
    found.extend(after("href"));
    found
}

fn assets(html: &str) -> Vec<String> {
    let assets: Vec<_> = references(html).into_iter().filter(|reference| reference.starts_with("/assets/")).collect();
    assert!(assets.iter().any(|name| name.ends_with(".js")), "the page loads a script: {html}");
    assets
}

fn every_file_that_a_page_names_is_served() {
    let site = Site::demo();
    for page in ["/", "/graphiql"] {
        let answer = site.get(page, &[]);
        assert_eq!((answer.status, answer.header("content-type")), (200, "text/html; charset=utf-8"), "{page}");
        assert_eq!(answer.header("cache-control"), "no-cache", "{page}");
        for name in assets(&answer.text()) {
            let file = site.get(&name, &[]);
            assert_eq!(file.status, 200, "{name}");
            assert_eq!(file.header("cache-control"), "public, max-age=31536000, immutable", "{name}");
            let media = match name.rsplit('.').next() {
                Some("js") => "text/javascript; charset=utf-8",
                Some("css") => "text/css; charset=utf-8",
                Some("svg") => "image/svg+xml",
                other => panic!("which type has {other:?}?"),
            };
            assert_eq!(file.header("content-type"), media, "{name}");
            assert_eq!(file.header("x-content-type-options"), "nosniff", "{name}");
        }
    }
}

fn the_first_load_is_small() {
    let site = Site::demo();
    let html = site.get("/", &[]).text();
    let files = ["/".to_owned()].into_iter().chain(assets(&html));
    let sizes: Vec<_> = files.map(|name| (site.get(&name, &[GZIP]).body.len(), name)).collect();
    let sum: usize = sizes.iter().map(|(size, _)| size).sum();
    say(&format!("the first load of the demo page is {sum} bytes, packed: {sizes:?}"));
    assert!(sum < FIRST_LOAD_MAX, "{sum} bytes: {sizes:?}");
}

fn pages_name_no_other_host_and_carry_no_code() {
    let site = Site::demo();
    for page in ["/", "/graphiql"] {
        let html = site.get(page, &[]).text();
        for reference in references(&html) {
            let is_own = reference.starts_with("data:") || reference.starts_with('/') && !reference.starts_with("//");
            assert!(is_own, "{page} names {reference}");
        }
        assert!(!html.contains("<style") && !html.contains(" style="), "{page} has a style of its own: {html}");
        for script in html.split("<script").skip(1) {
            assert!(script.split('>').next().is_some_and(|tag| tag.contains(" src=\"/assets/")), "{page}: {script}");
            assert!(script.contains("></script>"), "{page}: {script}");
        }
    }
}

fn pages_have_a_strict_policy() {
    let site = Site::demo();
    let script = assets(&site.get("/", &[]).text()).into_iter().find(|name| name.ends_with(".js"));
    for path in ["/", "/graphiql", &script.expect("a script")] {
        let answer = site.get(path, &[]);
        let policy = answer.header("content-security-policy");
        let directive = |name: &str| policy.split("; ").find_map(|words| words.strip_prefix(name)).map(str::trim);
        assert_eq!(directive("default-src"), Some("'none'"), "{path}");
        assert_eq!(directive("script-src"), Some("'self'"), "{path}");
        assert_eq!(directive("frame-ancestors"), Some("'none'"), "{path}");
        assert!(
            !policy.contains("unsafe-eval") && !policy.contains("http") && !policy.contains('*'),
            "{path}: {policy}"
        );
        let styles = (path == "/graphiql").then_some("'self' 'unsafe-inline'").or(Some("'self'"));
        assert!(path.starts_with("/assets/") || directive("style-src") == styles, "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("referrer-policy"), "no-referrer", "{path}");
        assert_eq!(answer.header("cross-origin-opener-policy"), "same-origin", "{path}");
    }
}

fn files_are_packed_for_those_who_take_it() {
    let site = Site::demo();
    let html = site.get("/", &[]);
    let script = assets(&html.text()).into_iter().find(|name| name.ends_with(".js")).expect("a script");
    for path in ["/", &script] {
        let plain = site.get(path, &[]);
        let packed = site.get(path, &[GZIP]);
        assert!(!plain.headers.contains_key("content-encoding"), "{path}");
        assert_eq!(packed.header("content-encoding"), "gzip", "{path}");
        assert!(packed.body.starts_with(&[0x1f, 0x8b]) && packed.body.len() < plain.body.len(), "{path}");
        assert_eq!(packed.header("content-type"), plain.header("content-type"), "{path}");
        assert_ne!(packed.header("etag"), plain.header("etag"), "{path}");
        for answer in [&plain, &packed] {
            assert_eq!(answer.header("vary"), "accept-encoding", "{path}");
            assert_eq!(answer.header("content-length"), answer.body.len().to_string(), "{path}");
        }
        assert_eq!(site.get(path, &[("accept-encoding", "gzip;q=0, *")]).body, plain.body, "{path}");
    }
}

fn a_file_that_the_caller_has_is_not_sent_again() {
    let site = Site::demo();
    for path in ["/", "/graphiql"] {
        let first = site.get(path, &[GZIP]);
        let tag = first.header("etag");
        let again = site.get(path, &[GZIP, ("if-none-match", tag)]);
        assert_eq!((again.status, again.body.len(), again.header("etag")), (304, 0, tag), "{path}");
        for name in ["cache-control", "vary", "content-security-policy"] {
            assert_eq!(again.header(name), first.header(name), "{path}: a 304 renews what is kept");
        }
        let head = site.ask("HEAD", path, &[GZIP, ("if-none-match", tag)]);
        assert_eq!((head.status, head.header("content-length")), (304, first.header("content-length")), "{path}");
        assert_eq!(site.get(path, &[("if-none-match", tag)]).status, 200, "{path}: the other form is another file");
        assert_eq!(site.get(path, &[GZIP, ("if-none-match", "\"old\"")]).status, 200, "{path}");
    }
}

fn a_head_has_the_headers_of_a_get() {
    let site = Site::demo();
    for path in ["/", "/graphiql"] {
        let (get, head) = (site.get(path, &[GZIP]), site.ask("HEAD", path, &[GZIP]));
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
        for name in ["content-length", "content-type", "content-encoding", "etag", "content-security-policy"] {
            assert_eq!(head.header(name), get.header(name), "{path}");
        }
        assert_eq!(site.ask("POST", path, &[("content-length", "0")]).status, 405, "{path}");
    }
}

fn only_what_was_built_for_it_is_served() {
    let site = Site::demo();
    let script = assets(&site.get("/", &[]).text()).into_iter().find(|name| name.ends_with(".js")).expect("a script");
    let packed = format!("{script}.gz");
    let wrong = [
        "/assets",
        "/assets/",
        "/assets/no-such-file.js",
        "/assets/../index.html",
        "/assets/..%2findex.html",
        "/assets/%2e%2e/index.html",
        "/assets/..\\index.html",
        "/assets/..%5cindex.html",
        "/assets//index.html",
        "/assets/%2fetc/passwd",
        "/assets/index.html",
        "/assets/x%00.js",
        "/index.html",
        "/graphiql.html",
        "/favicon.ico",
        &packed,
    ];
    let refused = |method: &str, path: &str, status: u16| {
        let answer = site.ask(method, path, &[("content-length", "0")]);
        assert_eq!(answer.status, status, "{method} {path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{method} {path}");
        assert_eq!(answer.header("cache-control"), "no-store", "{method} {path}");
        assert!(answer.header("content-security-policy").starts_with("default-src 'none'"), "{method} {path}");
    };
    for path in wrong {
        refused("GET", path, 404);
    }
    refused("GET", "/assets/%ff", 400);
    for path in ["/", "/graphiql", &script, "/assets/no-such-file.js"] {
        refused("POST", path, 405);
    }
}

fn a_person_with_a_wrong_link_is_told() {
    let site = Site::start(&["--demo"], &[]);
    let answer = site.get("/no/such/page", &[("accept", "text/html,application/xhtml+xml,*/*;q=0.8")]);
    assert_eq!((answer.status, answer.header("content-type")), (404, "text/html; charset=utf-8"));
    assert!(answer.header("content-security-policy").starts_with("default-src 'none'"));
    let html = answer.text();
    assert!(html.contains("no such page") && references(&html).contains(&"/".to_owned()), "{html}");
    assert_eq!(site.get("/no/such/page", &[("accept", "*/*")]).text(), "");
    let answer = site.get("/graphiql/", &[]);
    assert_eq!((answer.status, answer.header("location")), (308, "/graphiql"));
}

fn without_the_demo_there_is_a_small_page() {
    let site = Site::start(&["--jwt-secret", SECRET], &[]);
    let page = site.get("/", &[]);
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    assert!(page.header("content-security-policy").starts_with("default-src 'none'"));
    let html = page.text();
    assert!(html.contains("/graphql") && html.contains("/schema.graphql"), "{html}");
    assert!(!html.contains("/graphiql") && !html.contains("<script") && !html.contains("make"), "{html}");
    for reference in references(&html).iter().filter(|reference| reference.starts_with('/')) {
        assert_eq!(site.get(reference, &[]).status, 200, "{reference}");
    }
    assert_eq!(site.get("/graphiql", &[]).status, 404);
}

fn graphiql_is_a_setting() {
    let secret = ["--jwt-secret", SECRET];
    for site in [
        Site::start(&["--jwt-secret", SECRET, "--graphiql"], &[]),
        Site::start(&secret, &[("LIKEWISE_GRAPHIQL", "true")]),
    ] {
        assert!(site.get("/", &[]).text().contains("href=\"/graphiql\""), "the small page leads to it");
        let page = site.get("/graphiql", &[]);
        assert_eq!(page.status, 200);
        assert_eq!(assets(&page.text()).iter().filter(|name| site.get(name, &[]).status != 200).count(), 0);
    }
    for off in [
        Site::start(&secret, &[("LIKEWISE_GRAPHIQL", "false")]),
        Site::start(&["--demo"], &[("LIKEWISE_INTROSPECTION", "false")]),
    ] {
        let answer = off.get("/graphiql", &[]);
        assert_eq!((answer.status, answer.header("content-type")), (404, "text/html; charset=utf-8"));
        let html = answer.text();
        assert!(html.contains("LIKEWISE_GRAPHIQL=true") && html.contains("LIKEWISE_INTROSPECTION=false"), "{html}");
        assert!(!html.contains("href=\"/graphiql\""), "it is not there: {html}");
    }
}
