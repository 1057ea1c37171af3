import { act, cleanup, renderHook } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { useAnnouncements } from './useAnnouncements';

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

function listen() {
  const { result } = renderHook(() => useAnnouncements());
  return {
    say: (text: string) => act(() => result.current[1](text)),
    said: () => result.current[0],
  };
}

it('says together what comes together, and the same once', () => {
  const { say, said } = listen();
  say('Chess: failed');
  say('Go: failed.');
  say('Chess: failed');
  expect(said()).toBe('Chess: failed. Go: failed.');
  vi.advanceTimersByTime(600);
  say('Connection: Live');
  expect(said()).toBe('Connection: Live');
});

it('says the same again, in a way that is noticed', () => {
  const { say, said } = listen();
  say('Chess: failed');
  vi.advanceTimersByTime(600);
  say('Chess: failed');
  expect(said()).toBe('Chess: failed\u00a0');
  vi.advanceTimersByTime(600);
  say('Chess: failed');
  expect(said()).toBe('Chess: failed');
});
