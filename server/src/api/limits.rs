//! What one request may cost, checked before the library looks at the document.
//!
//! The library's own limits walk through fragments as often as they are spread: thirty fragments that each spread the
//! next one twice are 2^30 steps. Here each fragment is counted once, and a document whose expansion is too large or
//! too deep, or that goes round in a circle, ends here.

use std::collections::HashMap;

use async_graphql::parser::types::{ExecutableDocument, Selection, SelectionSet};
use async_graphql::{Name, Positioned};

use crate::error::{Error, ErrorCode, Result};

/// Brackets a document may have open at once. The parser goes down once for each: past some thousands it would leave
/// the thread's stack, and the process with it.
const NESTING_MAX: usize = 200;

/// How deep fragments and selections may lie in each other, for the same reason.
const EXPANSION_DEPTH_MAX: usize = 64;

/// The bounds of one request.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Fields in each other. An explorer's introspection has about 15.
    pub depth: usize,
    /// Fields that an answer may have, with each list at the size that was asked for.
    pub complexity: usize,
    /// Selections of a document after fragments are expanded, before lists are multiplied.
    pub selections: usize,
    /// Fields at the root of a mutation: they run one after the other.
    pub mutations: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 20, complexity: 100_000, selections: 10_000, mutations: 100 }
    }
}

/// Refuses a text that is too nested to be parsed safely. Strings and comments are passed over.
pub fn check_nesting(text: &str) -> Result<()> {
    let mut open = 0_usize;
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = match byte {
            b'"' => after_string(rest),
            b'#' => after_line(after),
            _ => after,
        };
        match byte {
            b'{' | b'[' | b'(' => open += 1,
            b'}' | b']' | b')' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > NESTING_MAX {
            return Err(too_large(format!("The document has more than {NESTING_MAX} brackets open at once.")));
        }
    }
    Ok(())
}

fn after_line(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
    &text[end.unwrap_or(text.len())..]
}

/// What follows the string that `text` begins with; nothing where it does not end.
fn after_string(text: &[u8]) -> &[u8] {
    let quote: &[u8] = if text.starts_with(b"\"\"\"") { b"\"\"\"" } else { b"\"" };
    let mut rest = &text[quote.len()..];
    while !rest.starts_with(quote) {
        match rest {
            [] => return rest,
            // In a block string only `\"""` is an escape; a lone backslash there stands for itself.
            [b'\\', escaped @ ..] if quote.len() == 1 || escaped.starts_with(quote) => {
                rest = escaped.get(quote.len()..).unwrap_or_default();
            }
            // A plain string ends with its line, whatever comes; the parser refuses it.
            [b'\n' | b'\r', ..] if quote.len() == 1 => return rest,
            [_, after @ ..] => rest = after,
        }
    }
    &rest[quote.len()..]
}

/// Refuses a document whose selections, with fragments expanded, are too many or too deep, or that never end.
pub fn check_expansion(document: &ExecutableDocument, most: usize) -> Result<()> {
    let mut counter = Counter { document, fragments: HashMap::new() };
    for name in document.fragments.keys() {
        counter.fragment(name, 0)?;
    }
    let mut total = 0_usize;
    for (_, operation) in document.operations.iter() {
        total = total.saturating_add(counter.set(&operation.node.selection_set, 0)?.selections);
    }
    if total > most {
        return Err(too_large(format!("The document has more than {most} selections once fragments are expanded.")));
    }
    Ok(())
}

/// The size of a selection set with its fragments expanded.
#[derive(Clone, Copy, Default)]
struct Size {
    selections: usize,
    depth: usize,
}

struct Counter<'a> {
    document: &'a ExecutableDocument,
    /// `None` while the fragment is being counted: whoever meets it then has gone round in a circle.
    fragments: HashMap<&'a Name, Option<Size>>,
}

impl<'a> Counter<'a> {
    fn set(&mut self, set: &'a Positioned<SelectionSet>, above: usize) -> Result<Size> {
        let mut size = Size::default();
        for selection in &set.node.items {
            let inner = match &selection.node {
                Selection::Field(field) => self.set(&field.node.selection_set, above + 1)?,
                Selection::InlineFragment(fragment) => self.set(&fragment.node.selection_set, above + 1)?,
                Selection::FragmentSpread(spread) => self.fragment(&spread.node.fragment_name.node, above + 1)?,
            };
            size.selections = size.selections.saturating_add(inner.selections).saturating_add(1);
            size.depth = size.depth.max(inner.depth + 1);
        }
        if above + size.depth > EXPANSION_DEPTH_MAX {
            let message = format!("The document's selections lie more than {EXPANSION_DEPTH_MAX} deep in each other.");
            return Err(too_large(message));
        }
        Ok(size)
    }

    fn fragment(&mut self, name: &'a Name, above: usize) -> Result<Size> {
        // An unknown fragment is told by the validation that follows.
        let Some(fragment) = self.document.fragments.get(name) else {
            return Ok(Size::default());
        };
        match self.fragments.get(name) {
            Some(Some(size)) => return Ok(*size),
            Some(None) => {
                let message = format!("The fragment \"{name}\" spreads itself.");
                return Err(Error::new(ErrorCode::ValidationFailed, message));
            }
            None => {}
        }
        if above > EXPANSION_DEPTH_MAX {
            return Err(too_large(format!("Fragments spread each other more than {EXPANSION_DEPTH_MAX} deep.")));
        }
        self.fragments.insert(name, None);
        let size = self.set(&fragment.node.selection_set, above)?;
        self.fragments.insert(name, Some(size));
        Ok(size)
    }
}

fn too_large(message: String) -> Error {
    Error::new(ErrorCode::LimitExceeded, message)
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::parse_query;

    use super::*;

    const MOST: usize = 1_000;

    fn expansion(text: &str) -> Result<()> {
        check_expansion(&parse_query(text).unwrap(), MOST)
    }

    fn code(result: Result<()>) -> Option<ErrorCode> {
        result.err().map(|error| error.code())
    }

    /// Fragments 0 to `count`, each spreading the next one `times` times.
    fn chain(count: usize, times: usize) -> String {
        let links =
            (0..count).map(|n| format!("fragment F{n} on Query {{ {} }}\n", format!("...F{} ", n + 1).repeat(times)));
        format!("{{ ...F0 }}\n{}fragment F{count} on Query {{ a }}", links.collect::<String>())
    }

    #[test]
    fn fragments_that_double_are_counted_once_each() {
        assert_eq!(code(expansion(&chain(30, 2))), Some(ErrorCode::LimitExceeded));
        assert_eq!(code(expansion(&chain(5, 2))), None);
    }

    #[test]
    fn a_long_chain_of_fragments_ends_early_also_when_unused() {
        let used = chain(10_000, 1);
        assert_eq!(code(expansion(&used)), Some(ErrorCode::LimitExceeded));
        assert_eq!(code(expansion(&used.replacen("...F0", "a", 1))), Some(ErrorCode::LimitExceeded));
    }

    #[test]
    fn a_circle_is_refused_also_when_unused() {
        let circle = "fragment A on Query { ...B } fragment B on Query { a { ...A } }";
        assert_eq!(code(expansion(&format!("{{ ...A }} {circle}"))), Some(ErrorCode::ValidationFailed));
        assert_eq!(code(expansion(&format!("{{ a }} {circle}"))), Some(ErrorCode::ValidationFailed));
    }

    #[test]
    fn plain_documents_are_counted_as_they_are() {
        let fields = |count: usize| format!("{{ {} }}", "a ".repeat(count));
        assert_eq!(code(expansion(&fields(MOST))), None);
        assert_eq!(code(expansion(&fields(MOST + 1))), Some(ErrorCode::LimitExceeded));
        assert_eq!(code(expansion("{ a ...Unknown }")), None);
    }

    #[test]
    fn brackets_are_counted_outside_strings_and_comments() {
        let deep = "{a".repeat(NESTING_MAX + 1);
        assert_eq!(code(check_nesting(&deep)), Some(ErrorCode::LimitExceeded));
        assert_eq!(code(check_nesting(&"[".repeat(1_000_000))), Some(ErrorCode::LimitExceeded));
        let brackets = "{".repeat(NESTING_MAX + 1);
        for fine in [
            format!("{{ a(b: \"{brackets}\") }}"),
            format!("{{ a(b: \"\\\"{brackets}\") }}"),
            format!("{{ a(b: \"\"\"\"{brackets} \\\"\"\" \" {brackets}\"\"\") }}"),
            format!("{{ a # {brackets}\n }}"),
            "{ a { b } }".repeat(NESTING_MAX + 1),
            "{ a } }}}} ".repeat(10),
            "\"\\".to_owned(),
            "\"\"\"\\".to_owned(),
        ] {
            assert_eq!(code(check_nesting(&fine)), None, "{fine}");
        }
        // A string that does not end hides nothing behind it.
        assert!(check_nesting(&format!("\"\n{brackets}")).is_err());
        assert!(check_nesting(&format!("\"a\" {brackets}")).is_err());
        assert!(check_nesting(&format!("\"\" {brackets}")).is_err());
    }

    #[test]
    fn the_parser_survives_what_the_nesting_bound_lets_through() {
        for open in ["{a", "{a(b:[", "{a(b:{c:"] {
            let times = NESTING_MAX / open.bytes().filter(|byte| b"{[(".contains(byte)).count();
            let text = open.repeat(times);
            assert_eq!(code(check_nesting(&text)), None);
            assert!(parse_query(&text).is_err());
        }
        let list = format!("{{ a(b: {}{}) }}", "[".repeat(NESTING_MAX - 2), "]".repeat(NESTING_MAX - 2));
        assert_eq!(code(check_nesting(&list)), None);
        assert!(parse_query(&list).is_ok());
    }
}
