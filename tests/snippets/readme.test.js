// Runs the code of the README as it stands, against a server.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { buildSchema, parse, print, separateOperations, validate } from 'graphql';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { breakSockets, holdAnswers, holdRequests, openNetwork } from './src/network.js';
import { openPage } from './src/page.js';
import { blocksOf } from './src/readme.js';
import { startDemo } from './src/server.js';
import { freeHost, runShell } from './src/shell.js';

const patience = { timeout: 10_000, interval: 10 };
/** What the pages of the README show first. On a demo that has just begun, neither ana nor ben likes it. */
const id = 'photo:sunrise';

const run = new Set();
const blocks = blocksOf('From your frontend');
function block(name) {
  run.add(name);
  return blocks.find((block) => block.name === name);
}

let server;
let network;
let page;
beforeEach(async () => {
  server = await startDemo();
  network = openNetwork(server.host);
  vi.resetModules();
});
afterEach(async () => {
  vi.useRealTimers();
  page?.close();
  page = undefined;
  network.close();
  await server.stop();
});

const benLikesIt = () => server.as('ben')(`mutation { like(input: {itemId: "${id}"}) { changed } }`);
const closeIt = () =>
  server.asService(`mutation { upsertItems(input: {items: [{id: "${id}", open: false}]}) { items { id } } }`);

/** What ana sees of an item once everything that was done to it is counted. */
async function stateOf(id) {
  const asked = Date.now();
  return vi.waitFor(async () => {
    const { item } = await server.as('ana')(
      `{ item(id: "${id}") { likeCount likedByMe myReactionVersion countAsOf } }`,
    );
    expect(Date.parse(item.countAsOf)).toBeGreaterThan(asked);
    return item;
  }, patience);
}

test('curl', async () => {
  const before = await stateOf('post:3');
  const [feed, first, again] = await runShell([block('curl.sh')], server.host);
  expect(feed.data.items.map(({ id }) => id)).toEqual(['post:1', 'post:3']);
  const item = { likeCount: before.likeCount + 1, likedByMe: true };
  expect(first.data.like).toEqual({ changed: true, replayed: false, item });
  expect(again.data.like).toEqual({ changed: true, replayed: true, item });
  expect(await stateOf('post:3')).toMatchObject(item);
});

describe('likewise.js', () => {
  const load = () => import(/* @vite-ignore */ `./pasted/${block('likewise.js').name}`);

  test("sends a lost answer's request again, under the same key", async () => {
    const before = await stateOf(id);
    const { request, REACT } = await load();
    const keys = [];
    network.around = async ({ variables }, go) => {
      keys.push(variables.input.idempotencyKey);
      const response = await go();
      if (keys.length === 1) throw new TypeError('the connection broke off');
      return response;
    };
    const input = { itemId: id, reaction: 'LIKE', idempotencyKey: 'one-tap' };
    const { setReaction } = await request(REACT, { input });
    expect(keys).toEqual(['one-tap', 'one-tap']);
    expect(setReaction.item.likeCount).toBe(before.likeCount + 1);
    expect(await stateOf(id)).toMatchObject({ myReactionVersion: before.myReactionVersion + 1 });
  });

  test('tries again while the server says that this may help, and gives up', async () => {
    const { request, FEED } = await load();
    let tries = 0;
    network.around = async () => {
      tries += 1;
      return Response.json({ errors: [{ message: 'Busy.', extensions: { code: 'OVERLOADED', retryable: true } }] });
    };
    await expect(request(FEED, { ids: [id] })).rejects.toMatchObject({ message: 'Busy.', code: 'OVERLOADED' });
    expect(tries).toBe(5);
  });

  test('does not repeat what is refused for good', async () => {
    const { request, FEED } = await load();
    let tries = 0;
    network.around = (_, go) => {
      tries += 1;
      return go();
    };
    await expect(request(FEED, { ids: ['not an id'] })).rejects.toMatchObject({ code: 'BAD_USER_INPUT' });
    expect(tries).toBe(1);
  });

  test('takes a new token when its own is refused', async () => {
    const { request, FEED } = await load();
    const read = () => request(FEED, { ids: [id] });
    await read();
    await server.restart();
    expect(await read()).toMatchObject({ items: [{ id }] });
  });

  test('takes a new token once', async () => {
    const { request, FEED } = await load();
    let tries = 0;
    network.around = async () => {
      tries += 1;
      const extensions = { code: 'UNAUTHENTICATED', retryable: false };
      return Response.json({ errors: [{ message: 'No.', extensions }] }, { status: 401 });
    };
    await expect(request(FEED, { ids: [id] })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    expect(tries).toBe(2);
  });

  test('connects again within six seconds after an outage of an hour', async () => {
    const outage = breakSockets();
    const { socket, WATCH } = await load();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const sink = { next() {}, error: expect.unreachable, complete() {} };
    const stop = socket.subscribe({ query: WATCH, variables: { ids: [id] } }, sink);
    await vi.advanceTimersByTimeAsync(3_600_000);
    const { tries } = outage;
    expect(tries).toBeLessThan(3_600 / 2 + 10);
    await vi.advanceTimersByTimeAsync(6_000);
    expect(outage.tries).toBeGreaterThan(tries);
    stop();
  });

  test('keeps the newest heart and the newest count', async () => {
    const { keepNewest } = await load();
    const item = (myReactionVersion, likedByMe, countVersion, likeCount) => ({
      items: [{ id: 'a', myReactionVersion, likedByMe, countVersion, likeCount }],
    });
    expect(keepNewest(item(1, true, 20, 7))).toEqual(item(1, true, 20, 7));
    expect(keepNewest(item(0, false, 30, 9))).toEqual(item(1, true, 20, 7)); // older heart: dropped whole
    expect(keepNewest(item(2, false, 10, 4))).toEqual(item(2, false, 20, 7)); // older count: heart only
    expect(keepNewest(item(2, false, 30, 8))).toEqual(item(2, false, 30, 8));
    expect(keepNewest({ items: [null] })).toEqual({ items: [null] });
  });
});

describe('feed.js', () => {
  async function follow() {
    const { follow, tap } = await import(/* @vite-ignore */ `./pasted/${block('feed.js').name}`);
    const shown = [];
    const stop = await follow([id], (item) => shown.push(item));
    const until = (state) => vi.waitFor(() => expect(shown.at(-1)).toMatchObject(state), patience);
    return { shown, tap, stop, until };
  }

  test('reads, likes and watches', async () => {
    const { likeCount } = await stateOf(id);
    const { shown, tap, stop, until } = await follow();
    expect(shown[0]).toMatchObject({ id, likedByMe: false, likeCount });
    const tapped = tap(shown[0], (item) => shown.push(item));
    expect(shown.at(-1)).toMatchObject({ likedByMe: true, likeCount: likeCount + 1 });
    await tapped;
    expect(await stateOf(id)).toMatchObject({ likedByMe: true, likeCount: likeCount + 1 });
    await benLikesIt();
    await until({ likedByMe: true, likeCount: likeCount + 2 });
    stop();
  });

  test('watches on when the server comes back and refuses the token', async () => {
    const { likeCount } = await stateOf(id);
    const { stop, until } = await follow();
    await vi.waitFor(() => expect(network.pushed).toContainEqual(expect.objectContaining({ id })), patience);
    await server.restart();
    await benLikesIt();
    await until({ likeCount: likeCount + 1 });
    stop();
  });

  test('undoes a like that is refused', async () => {
    await stateOf(id);
    const { shown, tap, stop, until } = await follow();
    await closeIt();
    const before = shown[0];
    const tapped = tap(before, (item) => shown.push(item));
    expect(shown.at(-1)).toMatchObject({ likedByMe: true, likeCount: before.likeCount + 1 });
    await expect(tapped).rejects.toMatchObject({ code: 'ITEM_CLOSED' });
    await until({ likedByMe: false, likeCount: before.likeCount });
    stop();
  });
});

describe.each(['urql.jsx', 'apollo.jsx', 'relay.jsx'])('%s', (name) => {
  let count;
  beforeEach(async () => {
    count = (await stateOf(id)).likeCount;
    const { App } = await import(/* @vite-ignore */ `./pasted/${block(name).name}`);
    page = await openPage(App);
    await page.shows({ liked: false, count, idle: true });
  });

  test('shows what others do', async () => {
    await benLikesIt();
    await page.shows({ liked: false, count: count + 1 });
  });

  test('fills the heart before the tap arrives, and takes it back with the next tap', async () => {
    const open = holdRequests(network);
    page.tap();
    await page.shows({ liked: true, count: count + 1, idle: false });
    open();
    await page.shows({ liked: true, count: count + 1, idle: true, failed: false });
    expect(await stateOf(id)).toMatchObject({ likedByMe: true, likeCount: count + 1 });
    page.tap();
    await page.shows({ liked: false, count, idle: true, failed: false });
    expect(await stateOf(id)).toMatchObject({ likedByMe: false, likeCount: count });
  });

  test('undoes a like that is refused', async () => {
    await closeIt();
    page.tap();
    await page.shows({ liked: false, count, idle: true, failed: true });
    expect(page.shown).toContainEqual({ liked: true, count: count + 1, idle: false, failed: false });
    expect(await stateOf(id)).toMatchObject({ likedByMe: false, likeCount: count });
  });

  test('is not taken back by an answer that comes late', async () => {
    const open = holdAnswers(network);
    page.tap();
    await page.shows({ liked: true, count: count + 1, idle: false });
    await benLikesIt();
    await vi.waitFor(
      () => expect(network.pushed).toContainEqual(expect.objectContaining({ id, likeCount: count + 2 })),
      patience,
    );
    open();
    await page.shows({ liked: true, count: count + 2, idle: true });
    expect(page.counts()).toEqual([count, count + 1, count + 2]);
  });

  test('is not emptied by what others do before the tap arrives', async () => {
    const open = holdRequests(network);
    page.tap();
    await page.shows({ liked: true, count: count + 1, idle: false });
    await benLikesIt();
    await vi.waitFor(
      () => expect(network.pushed).toContainEqual(expect.objectContaining({ id, likeCount: count + 1 })),
      patience,
    );
    open();
    await page.shows({ liked: true, count: count + 2, idle: true });
    expect(page.counts()).toEqual([count, count + 1, count + 2]);
    expect(page.hearts()).toEqual([false, true]);
  });
});

test('relay.jsx keeps an item apart from a user of the same id', async () => {
  const { App, environment } = await import('./pasted/relay.jsx');
  page = await openPage(App);
  await page.shows({ idle: true });
  const records = environment.getStore().getSource();
  expect(records.get('Item:photo:sunrise')).toMatchObject({ id: 'photo:sunrise' });
});

describe('Use it', () => {
  const section = blocksOf('Use it');
  const of = (language) => section.filter((block) => block.language === language);

  test('the shell, with a server of its own', async () => {
    const host = await freeHost();
    const [like, users, items, retraction, later, restored] = await runShell(of('sh'), host, { LIKEWISE_LISTEN: host });
    expect(like.data.like).toEqual({ changed: true, item: { likeCount: 1, likedByMe: true } });
    expect(users.data.upsertUsers.users).toEqual([{ id: 'ana', name: 'Ana' }]);
    expect(items.data.upsertItems.items).toEqual([{ id: 'post:43', type: 'post' }]);
    expect(retraction.data.retractReactions.retraction.status).toMatch(/^[A-Z]+$/);
    expect(later.data.retraction).toMatchObject({ status: expect.stringMatching(/^[A-Z]+$/) });
    expect(restored.data.restoreReactions.retraction.status).toMatch(/^REST[A-Z]+$/);
  });

  test('the GraphQL document', async () => {
    const [{ code }] = of('graphql');
    const schema = buildSchema(readFileSync(join(import.meta.dirname, '../../schema.graphql'), 'utf8'));
    expect(validate(schema, parse(code))).toEqual([]);
    const { request, socket } = await import('./pasted/likewise.js');
    const operation = (name) => print(separateOperations(parse(code))[name]);
    expect((await request(operation('Feed'))).items.map(({ id }) => id)).toEqual(['post:42', 'post:43']);
    expect((await request(operation('Like'))).like).toEqual({ changed: true, item: { likeCount: 1, likedByMe: true } });
    const pushes = socket.iterate({ query: operation('Watch') });
    expect((await pushes.next()).value.data.itemUpdated).toMatchObject({
      id: 'post:42',
      likeCount: 1,
      likedByMe: true,
    });
    await pushes.return();
    expect((await request(operation('Unlike'))).unlike.item).toEqual({ likeCount: 0, likedByMe: false });
  });
});

test('every block of the section has run, and no other', () => {
  expect([...run].sort()).toEqual(blocks.map(({ name }) => name).sort());
});
