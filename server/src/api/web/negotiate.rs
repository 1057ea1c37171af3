//! What a caller says about the forms of a file: which it takes, and which it has.

use axum::http::{HeaderMap, HeaderName, header};

/// Whether the caller takes gzip: by its name, or by `*` where it is not named.
pub(super) fn takes_gzip(headers: &HeaderMap) -> bool {
    let codings: Vec<(&str, bool)> = words(headers, header::ACCEPT_ENCODING).map(coding).collect();
    let find = |name: &str| codings.iter().find(|(coding, _)| coding.eq_ignore_ascii_case(name));
    find("gzip").or_else(|| find("*")).is_some_and(|(_, welcome)| *welcome)
}

/// Whether `If-None-Match` names the file, by a tag in quotes or by `*`.
pub(super) fn has_tag(headers: &HeaderMap, tag: &str) -> bool {
    // A cache may have made the tag a weak one, which is as good here.
    words(headers, header::IF_NONE_MATCH).any(|word| word == "*" || word.strip_prefix("W/").unwrap_or(word) == tag)
}

/// Whether the caller asks for HTML by its name, as a browser does that shows a page.
pub(super) fn takes_html(headers: &HeaderMap) -> bool {
    words(headers, header::ACCEPT).map(coding).any(|(name, welcome)| welcome && name.eq_ignore_ascii_case("text/html"))
}

/// `gzip;q=0.5`: a coding, and whether its weight is above zero.
fn coding(text: &str) -> (&str, bool) {
    let (name, parameters) = text.split_once(';').unwrap_or((text, ""));
    let weight = parameters.split(';').find_map(|parameter| {
        let (name, weight) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then(|| weight.trim().parse::<f32>().unwrap_or(0.0))
    });
    (name.trim(), weight.unwrap_or(1.0) > 0.0)
}

fn words(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    headers.get_all(name).into_iter().flat_map(|value| value.to_str().unwrap_or_default().split(',')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &HeaderName, values: &[&str]) -> HeaderMap {
        values.iter().map(|value| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn gzip_is_sent_to_whoever_takes_it() {
        let takes = |values: &[&str]| takes_gzip(&headers(&header::ACCEPT_ENCODING, values));
        assert!(takes(&["gzip"]));
        assert!(takes(&["br, GZIP;q=0.5"]));
        assert!(takes(&["br", "gzip ; q=1.0"]));
        assert!(takes(&["*"]));
        assert!(takes(&["identity;q=0, *;q=0.1"]));
        assert!(!takes(&[]));
        assert!(!takes(&[""]));
        assert!(!takes(&["br, deflate"]));
        assert!(!takes(&["gzip;q=0"]));
        assert!(!takes(&["gzip;Q=0.000, *"]));
        assert!(!takes(&["*;q=0"]));
    }

    #[test]
    fn html_is_for_whoever_asks_for_it() {
        let takes = |values: &[&str]| takes_html(&headers(&header::ACCEPT, values));
        assert!(takes(&["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"]));
        assert!(takes(&["application/json", "Text/HTML;q=0.1"]));
        assert!(!takes(&["text/html;q=0"]));
        assert!(!takes(&["*/*"]));
        assert!(!takes(&[]));
    }

    #[test]
    fn a_tag_is_found_in_a_list() {
        let has = |values: &[&str]| has_tag(&headers(&header::IF_NONE_MATCH, values), "\"a\"");
        assert!(has(&["\"a\""]));
        assert!(has(&["\"b\", W/\"a\""]));
        assert!(has(&["\"b\"", "\"a\""]));
        assert!(has(&["*"]));
        assert!(!has(&["\"b\""]));
        assert!(!has(&["a"]));
        assert!(!has(&[]));
    }
}
