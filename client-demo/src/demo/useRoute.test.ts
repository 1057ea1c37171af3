import { act, cleanup, renderHook } from '@testing-library/react';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { feed } from './route';
import { go, replace, useRoute } from './useRoute';

beforeEach(() => history.replaceState(null, '', '/'));
afterEach(cleanup);

it.each([
  ['#/nobody/item/post:1', '#/ana'],
  ['#/ana+/nobody', '#/ana'],
  ['#/ana/elsewhere', '#/ana'],
  ['#/ben/item/a+b', '#/ben/item/a%2Bb'],
  ['#/ben/item/a/b', '#/ben/item/a%2Fb'],
])('%s becomes %s, and Back leads to where one was before', (wrong, right) => {
  history.replaceState(null, '', wrong);
  const entries = history.length;
  renderHook(useRoute);
  expect(location.hash).toBe(right);
  expect(history.length).toBe(entries);
});

it('leaves an address alone that says what is shown', () => {
  for (const hash of ['', '#/ana+/ben/item/post:1', '#/signed-out/liked']) {
    history.replaceState('kept', '', `/${hash}`);
    renderHook(useRoute);
    expect(location.hash).toBe(hash);
    expect(history.state).toBe('kept');
  }
});

it('puts an address right that somebody types while the page is open', async () => {
  const { result } = renderHook(useRoute);
  await act(async () => {
    location.hash = '#/nobody';
    await new Promise((resolve) => addEventListener('hashchange', resolve, { once: true }));
  });
  expect(location.hash).toBe('#/ana');
  expect(result.current).toEqual([{ viewer: 'ana', view: feed }]);
  act(() => go([{ viewer: 'ben', view: feed }]));
  expect(location.hash).toBe('#/ben');
});

it('shows another viewer without an entry in the history', () => {
  history.replaceState(null, '', '#/ana/liked');
  const { result } = renderHook(useRoute);
  const entries = history.length;
  act(() => replace([{ viewer: 'ben', view: feed }]));
  expect(location.hash).toBe('#/ben');
  expect(result.current).toEqual([{ viewer: 'ben', view: feed }]);
  expect(history.length).toBe(entries);
});
