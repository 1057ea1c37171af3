import { afterEach, expect, it, vi } from 'vitest';

import { rememberViewer } from '../api/remembered';
import { viewerHeaders } from './viewer';

const server = vi.fn<typeof fetch>();
vi.stubGlobal('fetch', server);

afterEach(() => {
  localStorage.clear();
  server.mockReset();
});

it('asks for a token of ana', async () => {
  server.mockResolvedValue(Response.json({ token: 'abc', expiresAt: '2030-01-31T09:30:00.000Z' }));
  expect(headersOf(await viewerHeaders())).toEqual({ authorization: 'Bearer abc' });
  expect(server.mock.lastCall?.[1]?.body).toBe('{"user":"ana"}');
});

it('asks for a token of the person that the demo page shows', async () => {
  rememberViewer('ben');
  server.mockResolvedValue(Response.json({ token: 'abc', expiresAt: '2030-01-31T09:30:00.000Z' }));
  expect(await viewerHeaders()).toContain('You are ben');
  expect(server.mock.lastCall?.[1]?.body).toBe('{"user":"ben"}');
});

it('is anonymous, and asks for no token, where somebody signed out on the demo page', async () => {
  rememberViewer('ben');
  rememberViewer(null);
  const headers = await viewerHeaders();
  expect(headersOf(headers)).toEqual({});
  expect(headers).toContain('choose a person');
  expect(server).not.toHaveBeenCalled();
});

it('is anonymous, and says what to do, where the server hands out no tokens', async () => {
  server.mockResolvedValue(new Response('', { status: 404 }));
  const headers = await viewerHeaders();
  expect(headersOf(headers)).toEqual({});
  expect(headers).toContain('likewise token --user ana');
});

it('is anonymous where the server cannot be reached', async () => {
  server.mockRejectedValue(new TypeError('Failed to fetch'));
  expect(headersOf(await viewerHeaders())).toEqual({});
});

/** What GraphiQL sends: the text is JSON with comments. */
function headersOf(text: string): unknown {
  return JSON.parse(text.replace(/^ *\/\/.*$/gm, ''));
}
