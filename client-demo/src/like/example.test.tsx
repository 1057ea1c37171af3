import { readFileSync } from 'node:fs';

import { act, cleanup, render, screen } from '@testing-library/react';
import { afterEach, expect, it } from 'vitest';

import { App } from './example';
import { fakeServer, item } from './fakeServer';

afterEach(cleanup);

it('is in the README as it stands here', () => {
  const readme = readFileSync('../README.md', 'utf8');
  expect(readme).toContain(readFileSync('src/like/example.tsx', 'utf8'));
});

it('shows what is known, what is wanted, and what went wrong', async () => {
  const { client, likes, push, mutations, asked } = fakeServer();
  render(<App client={client} likes={likes} />);
  const button = screen.getByRole('button');
  const shows = (text: string, pressed: boolean) => {
    expect(button.textContent).toBe(text);
    expect(button.getAttribute('aria-pressed')).toBe(String(pressed));
  };
  shows('♡ –', false);
  await expect.poll(() => asked.length).toBeGreaterThan(0);
  act(() => push(item({ id: 'photo:sunrise' })));
  shows('♡ 10', false);
  act(() => button.click());
  shows('♥ 11', true);
  await act(async () => mutations()[0]?.refuse('ITEM_CLOSED'));
  shows('♡ 10', false);
  expect(screen.getByRole('status').textContent).toBe('This takes no new likes.');
  likes.close();
});
