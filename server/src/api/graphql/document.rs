//! Reads a request's document before the library does: its bounds, its operation, its variables.

use async_graphql::parser::types::{
    DocumentOperations, ExecutableDocument, Field, OperationDefinition, OperationType, Selection, SelectionSet,
};
use async_graphql::parser::{self, parse_query};
use async_graphql::{Positioned, Request, Value, Variables};

use crate::api::limits::{Limits, check_expansion, check_nesting};
use crate::error::{Error, ErrorCode, Result};

/// Parses the request's document, once, and readies its variables; answers what kind of operation will run.
pub fn prepare(request: &mut Request, limits: &Limits, introspection: bool) -> Result<OperationType> {
    check_nesting(&request.query)?;
    let mut document = parse_query(&request.query).map_err(|error| syntax(&error))?;
    check_expansion(&document, limits.selections)?;
    let operation = operation(&document, request.operation_name.as_deref())?;
    let kind = operation.ty;
    check_root(&document, operation, limits, introspection)?;
    fill_variables(operation, &mut request.variables)?;
    if kind == OperationType::Subscription {
        one_root_field(&mut document, request.operation_name.as_deref())?;
    }
    request.set_parsed_query(document);
    Ok(kind)
}

/// Sees that a mutation is no batch in disguise, and that the schema is read only where it may be.
fn check_root(
    document: &ExecutableDocument,
    operation: &OperationDefinition,
    limits: &Limits,
    introspection: bool,
) -> Result<()> {
    let mut fields = Vec::new();
    root_fields(document, &operation.selection_set.node, &mut fields)?;
    if operation.ty == OperationType::Mutation && fields.len() > limits.mutations {
        let message = format!("At most {} mutations in one request; these are {}.", limits.mutations, fields.len());
        return Err(Error::new(ErrorCode::LimitExceeded, message));
    }
    let reads_schema = |field: &Positioned<Field>| ["__schema", "__type"].contains(&field.node.name.node.as_str());
    if !introspection && fields.iter().any(reads_schema) {
        return Err(Error::new(ErrorCode::ValidationFailed, "This server does not answer introspection."));
    }
    Ok(())
}

/// Where the parser stopped. Its own text names the rules of its grammar, which help nobody.
fn syntax(error: &parser::Error) -> Error {
    let place = error.positions().next();
    let message = match place {
        Some(place) => format!("Syntax error in the document at line {}, column {}.", place.line, place.column),
        None => "Syntax error in the document.".to_owned(),
    };
    Error::new(ErrorCode::ParseFailed, message)
}

/// The operation that the request names, or the only one.
fn operation<'a>(document: &'a ExecutableDocument, name: Option<&str>) -> Result<&'a OperationDefinition> {
    let found = match (&document.operations, name) {
        (DocumentOperations::Single(operation), None) => Some(operation),
        (DocumentOperations::Single(_), Some(_)) => None,
        (DocumentOperations::Multiple(operations), Some(name)) => operations.get(name),
        (DocumentOperations::Multiple(operations), None) if operations.len() == 1 => operations.values().next(),
        (DocumentOperations::Multiple(_), None) => {
            let message = "The document has several operations: say in `operationName` which to run.";
            return Err(Error::new(ErrorCode::ValidationFailed, message));
        }
    };
    let unknown = || format!("The document has no operation named {:?}.", name.unwrap_or_default());
    found.map(|operation| &operation.node).ok_or_else(|| Error::new(ErrorCode::ValidationFailed, unknown()))
}

/// Gives every nullable variable that was left out its null, which means the same here, since the library's cost rule
/// takes an absent one for undeclared; an absent non-null one is refused by name.
fn fill_variables(operation: &OperationDefinition, variables: &mut Variables) -> Result<()> {
    for definition in &operation.variable_definitions {
        let name = &definition.node.name.node;
        if definition.node.default_value.is_some() || variables.contains_key(name) {
            continue;
        }
        if !definition.node.var_type.node.nullable {
            return Err(Error::bad_input(name.as_str(), format!("The variable `${name}` is required.")));
        }
        variables.insert(name.clone(), Value::Null);
    }
    Ok(())
}

/// Sees that a subscription has one field at its root, and puts it there beside the fragment that may hold it: the
/// library starts no stream for a field inside a fragment, and one for each where there are several.
fn one_root_field(document: &mut ExecutableDocument, name: Option<&str>) -> Result<()> {
    let root = &operation(document, name)?.selection_set.node;
    let mut fields = Vec::new();
    root_fields(document, root, &mut fields)?;
    let [field] = fields.as_slice() else {
        let message = "A subscription has exactly one field at its root.";
        return Err(Error::new(ErrorCode::ValidationFailed, message));
    };
    if root.items.iter().any(|selection| matches!(selection.node, Selection::Field(_))) {
        return Ok(());
    }
    let selection = Positioned::new(Selection::Field(field.clone()), field.pos);
    let operation = match (&mut document.operations, name) {
        (DocumentOperations::Single(operation), _) => Some(operation),
        (DocumentOperations::Multiple(operations), Some(name)) => operations.get_mut(name),
        (DocumentOperations::Multiple(operations), None) => operations.values_mut().next(),
    };
    operation.into_iter().for_each(|operation| operation.node.selection_set.node.items.push(selection.clone()));
    Ok(())
}

fn root_fields(document: &ExecutableDocument, set: &SelectionSet, fields: &mut Vec<Positioned<Field>>) -> Result<()> {
    for selection in &set.items {
        match &selection.node {
            Selection::Field(field) => fields.push(field.clone()),
            Selection::InlineFragment(fragment) => {
                root_fields(document, &fragment.node.selection_set.node, fields)?;
            }
            Selection::FragmentSpread(spread) => {
                let name = &spread.node.fragment_name.node;
                let fragment = document
                    .fragments
                    .get(name)
                    .ok_or_else(|| Error::new(ErrorCode::ValidationFailed, format!("Unknown fragment: \"{name}\"")))?;
                root_fields(document, &fragment.node.selection_set.node, fields)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(text: &str, name: Option<&str>, variables: serde_json::Value) -> Result<(OperationType, Request)> {
        let mut request = Request::new(text).variables(Variables::from_json(variables));
        request.operation_name = name.map(str::to_owned);
        prepare(&mut request, &Limits::default(), true).map(|kind| (kind, request))
    }

    fn plain(text: &str) -> Result<OperationType> {
        prepared(text, None, serde_json::json!({})).map(|(kind, _)| kind)
    }

    fn code(result: Result<OperationType>) -> ErrorCode {
        result.expect_err("an error").code()
    }

    #[test]
    fn a_syntax_error_says_where() {
        let error = plain("{ item(id: }").unwrap_err();
        assert_eq!(error.code(), ErrorCode::ParseFailed);
        assert_eq!(error.message(), "Syntax error in the document at line 1, column 12.");
        assert_eq!(code(plain("")), ErrorCode::ParseFailed);
    }

    #[test]
    fn the_operation_is_the_named_or_the_only_one() {
        let two = "query A { a } mutation B { b }";
        let kind = |name| prepared(two, name, serde_json::json!({})).map(|(kind, _)| kind);
        assert_eq!(kind(Some("A")).unwrap(), OperationType::Query);
        assert_eq!(kind(Some("B")).unwrap(), OperationType::Mutation);
        assert_eq!(code(kind(Some("C"))), ErrorCode::ValidationFailed);
        assert_eq!(code(kind(None)), ErrorCode::ValidationFailed);
        assert_eq!(plain("query A { a }").unwrap(), OperationType::Query);
    }

    #[test]
    fn an_absent_variable_is_null_or_refused() {
        let text = "query($a: Int, $b: Int = 3, $c: ID!) { a }";
        let error = prepared(text, None, serde_json::json!({})).unwrap_err();
        assert_eq!((error.code(), error.argument()), (ErrorCode::BadUserInput, Some("c")));
        let (_, request) = prepared(text, None, serde_json::json!({ "c": "x" })).unwrap();
        let given: Vec<_> = request.variables.keys().map(async_graphql::Name::as_str).collect();
        assert_eq!(given, ["a", "c"]);
    }

    #[test]
    fn a_subscription_has_one_root_field_in_a_fragment_or_not() {
        let good = [
            "subscription { a }",
            "subscription { ... { a } }",
            "subscription { ...F } fragment F on Subscription { ... on Subscription { a } }",
        ];
        for text in good {
            assert_eq!(plain(text).unwrap(), OperationType::Subscription, "{text}");
            let (_, mut request) = prepared(text, None, serde_json::json!({})).unwrap();
            let document = request.parsed_query().unwrap();
            let (_, operation) = document.operations.iter().next().unwrap();
            let items = &operation.node.selection_set.node.items;
            let fields = items.iter().filter(|item| matches!(item.node, Selection::Field(_)));
            assert_eq!(fields.count(), 1, "{text}");
        }
        for text in ["subscription { a b }", "subscription { a ...F } fragment F on Subscription { b }"] {
            assert_eq!(code(plain(text)), ErrorCode::ValidationFailed, "{text}");
        }
    }
}
