//! Long answers of the API are packed for those who take it.

use std::io::Read;

use flate2::read::GzDecoder;
use likewise_tests::app::App;
use likewise_tests::harness::Test;
use likewise_tests::test_on;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, VARY};
use serde_json::{Value, json};

pub(crate) fn tests() -> Vec<Test> {
    vec![test_on!([Sqlite], long_answers_are_packed_for_those_who_take_it)]
}

struct Answer {
    is_packed: bool,
    /// As it came over the wire.
    bytes: usize,
    json: Value,
}

async fn items(app: &App, count: usize, takes: Option<&str>) -> Answer {
    let ids: Vec<_> = (0..count).map(|number| format!("post:{number}")).collect();
    let query = json!({
        "query": "query ($ids: [ID!]!) { items(ids: $ids) { id likeCount likedByMe } }",
        "variables": { "ids": ids },
    });
    let request = app.http().post(format!("http://{}/graphql", app.client().address())).json(&query);
    let request = takes.into_iter().fold(request, |request, coding| request.header(ACCEPT_ENCODING, coding));
    let response = request.send().await.expect("the server answers");
    let header = |name| response.headers().get(name).map(|value| value.to_str().expect("a text").to_owned());
    assert_eq!(header(CONTENT_TYPE).as_deref(), Some("application/json; charset=utf-8"));
    let varies = response.headers().get_all(VARY).iter().any(|value| value == "accept-encoding");
    let coding = header(CONTENT_ENCODING);
    let body = response.bytes().await.expect("the whole answer");
    let json = match coding.as_deref() {
        None => serde_json::from_slice(&body),
        Some("gzip") => {
            assert!(varies, "a cache must know that there are two forms");
            let mut text = String::new();
            GzDecoder::new(&body[..]).read_to_string(&mut text).expect("a whole gzip file");
            serde_json::from_str(&text)
        }
        other => panic!("packed as {other:?}"),
    };
    Answer { is_packed: coding.is_some(), bytes: body.len(), json: json.expect("JSON") }
}

async fn long_answers_are_packed_for_those_who_take_it(app: &App) {
    let plain = items(app, 100, None).await;
    assert!(!plain.is_packed && plain.bytes > 2_000);
    assert_eq!(plain.json["data"]["items"][99]["id"], "post:99");
    for takes in ["gzip", "br, gzip;q=0.5", "gzip, deflate, br, zstd"] {
        let packed = items(app, 100, Some(takes)).await;
        assert!(packed.is_packed && packed.bytes * 5 < plain.bytes, "{takes}: {} bytes", packed.bytes);
        assert_eq!(packed.json, plain.json, "{takes}");
    }
    for (count, takes) in [(100, "br"), (100, "gzip;q=0"), (1, "gzip")] {
        assert!(!items(app, count, Some(takes)).await.is_packed, "{count} items, {takes}");
    }
}
