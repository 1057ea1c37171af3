// Writes src/graphql/generated.ts: types and typed documents of every src/**/*.graphql, by GraphQL Code Generator.
//
// The generator's core is called directly: its command line brings 250 packages of loaders for schemas that are not files.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { codegen } from '@graphql-codegen/core';
import * as typedDocumentNode from '@graphql-codegen/typed-document-node';
import * as typescript from '@graphql-codegen/typescript';
import * as operations from '@graphql-codegen/typescript-operations';
import { buildASTSchema, parse } from 'graphql';

const root = fileURLToPath(new URL('..', import.meta.url));
const target = join(root, 'src/graphql/generated.ts');

const schema = parse(readFileSync(join(root, '../schema.graphql'), 'utf8'));
const documents = readdirSync(join(root, 'src'), { recursive: true })
  .filter((path) => path.endsWith('.graphql'))
  .sort()
  .map((path) => {
    const location = join(root, 'src', path);
    return { location, document: parse(readFileSync(location, 'utf8')) };
  });

const text = await codegen({
  filename: target,
  schema,
  schemaAst: buildASTSchema(schema),
  documents,
  config: {
    scalars: { Count: 'number', DateTime: 'string' },
    enumsAsTypes: true,
    useTypeImports: true,
    skipTypename: true,
    onlyOperationTypes: true,
    avoidOptionals: { field: true, object: true },
    immutableTypes: true,
    optimizeDocumentNode: true,
  },
  plugins: [{ typescript: {} }, { operations: {} }, { documents: {} }],
  pluginMap: { typescript, operations, documents: typedDocumentNode },
});
mkdirSync(join(root, 'src/graphql'), { recursive: true });
writeFileSync(target, `// Generated from schema.graphql and src/**/*.graphql by scripts/generate.mjs.\n\n${text}`);
