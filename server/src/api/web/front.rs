//! The page at `/` where there is no demo: what this server is, and where what it serves is.

/// What the page tells. It has neither script nor style, so that its policy forbids both.
#[derive(Debug, Clone, Copy)]
pub(super) struct Front {
    /// GraphiQL is there.
    pub graphiql: bool,
    /// What was asked for in vain.
    pub missing: Option<Missing>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Missing {
    /// The binary carries no pages.
    Pages,
    /// The settings leave GraphiQL out.
    Graphiql,
    /// Nothing is at this address.
    Page,
}

impl Front {
    pub(super) fn html(self) -> String {
        let missing = match self.missing {
            Some(Missing::Pages) => WITHOUT_PAGES,
            Some(Missing::Graphiql) => WITHOUT_GRAPHIQL,
            Some(Missing::Page) => NO_SUCH_PAGE,
            None => "",
        };
        let graphiql = if self.graphiql { GRAPHIQL } else { "" };
        format!("{HEAD}{missing}<ul>\n{graphiql}{PLACES}</ul>\n</html>\n")
    }
}

const HEAD: &str = r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>Likewise</title>
</head>
<h1>Likewise</h1>
<p>The like button as a service. This server is up.</p>
"#;

const WITHOUT_PAGES: &str = "<p>The demo page and GraphiQL are not in this binary: it was built without them. In \
    the folder of the sources, <code>make node run</code> brings Node where it is missing, builds the pages and serves \
    them.</p>\n";

const WITHOUT_GRAPHIQL: &str = "<p>GraphiQL is switched off here. A server has it with <code>--demo</code> or \
    <code>LIKEWISE_GRAPHIQL=true</code>, and never with <code>LIKEWISE_INTROSPECTION=false</code>: it reads the schema by \
    introspection.</p>\n";

const NO_SUCH_PAGE: &str = "<p>There is no such page. The <a href=\"/\">front page</a> is.</p>\n";

const GRAPHIQL: &str = "<li><a href=\"/graphiql\">/graphiql</a>: GraphiQL, to write and run queries\n";

const PLACES: &str = r#"<li><code>/graphql</code>: GraphQL over HTTP, and over WebSocket (graphql-transport-ws)
<li><a href="/schema.graphql">/schema.graphql</a>: the schema with its documentation
<li><a href="/readyz">/readyz</a>, <a href="/livez">/livez</a>, <a href="/metrics">/metrics</a>: for probes and scrapers
"#;
