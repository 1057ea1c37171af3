import { GraphiQL } from 'graphiql';

import { AnswerHint } from './AnswerHint';
import { EditorColours, editorTheme } from './EditorColours';
import { examples } from './examples';
import { createFetcher } from './fetcher';
import { SystemTheme } from './SystemTheme';
import { storageProps } from './storage';

/** Of this visit: part of the examples' idempotency keys. */
const visit = crypto.getRandomValues(new Uint32Array(1)).join();
const storage = storageProps(visit);
const fetcher = createFetcher('/graphql');

/** Nothing is added to GraphiQL's plugins: its history would keep the headers, and with them tokens, in local storage. */
const plugins: [] = [];

export function Explorer({ headers }: { headers: string }) {
  return (
    <GraphiQL
      fetcher={fetcher}
      {...storage}
      defaultTabs={examples(visit)}
      defaultHeaders={headers}
      shouldPersistHeaders={false}
      defaultEditorToolsVisibility="variables"
      editorTheme={editorTheme}
      plugins={plugins}
    >
      <GraphiQL.Logo>
        <a className="graphiql-logo-link" href="/">
          Likewise
        </a>
      </GraphiQL.Logo>
      <SystemTheme />
      <EditorColours />
      <AnswerHint />
    </GraphiQL>
  );
}
