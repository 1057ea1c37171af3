import { readFileSync } from 'node:fs';
import { buildSchema, getOperationAST, getVariableValues, parse, validate } from 'graphql';
import { describe, expect, it } from 'vitest';

import catalogue from '../demo/catalogue.json';
import { examples } from './examples';

const schema = buildSchema(readFileSync('../schema.graphql', 'utf8'));
const items = new Set(catalogue.items.map((item) => item.id));
const named = examples('visit-1').map((example) => [nameOf(example.query), example] as const);

describe.each(named)('%s', (_name, { query, variables = '{}' }) => {
  it('is valid against the schema, with its variables', () => {
    const document = parse(query);
    expect(validate(schema, document)).toEqual([]);
    const definitions = getOperationAST(document)?.variableDefinitions ?? [];
    const values: Record<string, unknown> = JSON.parse(variables);
    expect(getVariableValues(schema, definitions, values).errors).toBeUndefined();
    expect(Object.keys(values)).toEqual(definitions.map((definition) => definition.variable.name.value));
  });

  it('is about items of the demo', () => {
    const ids = [...`${query} ${variables}`.matchAll(/"([a-z]+:\w+)"/g)].map((match) => match[1] ?? '');
    expect(ids.filter((id) => !items.has(id))).toEqual([]);
  });

  it('fits the editor', () => {
    expect(query.split('\n').filter((line) => line.length > 50)).toEqual([]);
  });
});

it('is what the tabs are called', () => {
  expect(named.map(([name]) => name)).toEqual(['Feed', 'Like', 'Unlike', 'Watch', 'MyLikedItems']);
});

it('opens with a tab without variables, which GraphiQL would leave out', () => {
  expect(examples('visit-1')[0]?.variables).toBeUndefined();
});

it('takes new idempotency keys with each visit', () => {
  const keys = ['1', '2'].flatMap((visit) => examples(visit).map(keyOf)).filter((key) => key !== undefined);
  expect(keys).toHaveLength(4);
  expect(new Set(keys).size).toBe(4);
  for (const key of keys) expect(key).toMatch(/^[A-Za-z0-9_.:-]{1,128}$/);
});

function nameOf(query: string): string | undefined {
  return getOperationAST(parse(query))?.name?.value;
}

function keyOf({ variables = '{}' }: { readonly variables?: string }): string | undefined {
  return JSON.parse(variables).idempotencyKey;
}
