// @vitest-environment node
import { expect, it } from 'vitest';

import { ago } from './ago';

const minute = 60_000;

it.each([
  ['just now', 0],
  ['just now', minute - 1],
  ['just now', -5 * minute], // the server's clock is ahead
  ['1 minute ago', minute],
  ['59 minutes ago', 60 * minute - 1],
  ['1 hour ago', 60 * minute],
  ['yesterday', 24 * 60 * minute],
  ['3 days ago', 73 * 60 * minute],
])('%s', (text, passed) => {
  expect(ago(1_000_000_000 - passed, 1_000_000_000)).toBe(text);
});
