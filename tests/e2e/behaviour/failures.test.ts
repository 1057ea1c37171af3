import { describe, expect } from 'vitest';

import { Answers, type Call, cutOff, loseAnswer, pass, silence } from '../support/answers';
import { within } from '../support/deadlines';
import { type PerTest, test } from '../support/fixtures';
import { changes, drawn, watchFrames } from '../support/frames';
import { Sockets } from '../support/sockets';

/** The browser's own words about requests that these tests make fail. */
const failedRequest = /Failed to load resource/;

const refusal = { message: 'this item takes no new reactions', extensions: { code: 'ITEM_CLOSED', retryable: false } };
const overload = { message: 'too busy', extensions: { code: 'OVERLOADED', retryable: true, retryAfterMs: 800 } };

function answer(status: number, body: unknown): (call: Call) => Promise<void> {
  const contentType = typeof body === 'string' ? 'text/html' : 'application/json';
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return ({ route }) => route.fulfill({ status, contentType, body: text });
}

/** Ana, who does not like the item, at a page whose requests may fail. */
async function atThePage({ open, person }: PerTest, id: string) {
  const ana = person('ana');
  const before = await ana.unlike(id);
  const answers = new Answers();
  const visit = await open({ before: answers.route });
  visit.expectConsole(failedRequest);
  const item = visit.pane().item(id);
  await item.settled();
  return { ana, before, answers, item };
}

// Each waits until the page has given up, so they run side by side.
describe.concurrent('a like that finally fails is undone with a message', () => {
  const kinds = [
    { name: 'no answer ever comes', policy: silence, id: 'post:1' },
    { name: 'the server cannot be reached', policy: cutOff, id: 'post:2' },
    { name: 'a proxy answers 503', policy: answer(503, '<h1>Service Unavailable</h1>'), id: 'post:3' },
  ];
  for (const { name, policy, id } of kinds) {
    test(`where ${name}`, async ({ open, person, expect }) => {
      const { ana, before, answers, item } = await atThePage({ open, person }, id);
      answers.let(policy);
      await item.tap();
      await expect.poll(() => item.shown(), within('tap')).toEqual({ liked: true, count: before.count + 1 });
      await expect.poll(() => item.shown(), within('givingUp')).toEqual({ liked: false, count: before.count });
      await item.root.getByText(/could not be confirmed/).waitFor();

      const tries = answers.keys.length;
      expect(tries).toBeGreaterThan(1);
      expect(new Set(answers.keys).size).toBe(1);
      expect(await ana.item(id)).toEqual(before);

      // The next tap is another wish: a key of its own, and it works.
      answers.let(pass);
      await item.tap();
      await expect.poll(() => ana.item(id), within('push')).toMatchObject({ liked: true, version: before.version + 1 });
      expect(answers.keys.length).toBe(tries + 1);
      expect(new Set(answers.keys).size).toBe(2);
      expect(await item.shown()).toEqual({ liked: true, count: before.count + 1 });
      await item.root.getByText(/could not be confirmed/).waitFor({ state: 'hidden' });
    });
  }

  test('at once where the server refuses it', async ({ open, person, expect }) => {
    const ana = person('ana');
    const before = await ana.unlike('post:4');
    const answers = new Answers();
    const visit = await open({ before: answers.route });
    const item = visit.pane().item('post:4');
    await item.settled();
    await watchFrames(item);
    answers.let(answer(200, { data: { like: null }, errors: [{ ...refusal, path: ['like'] }] }));
    await item.tap();
    await item.root.getByText(/takes no new likes/).waitFor();
    await drawn(item);
    expect(await changes(item)).toEqual([`♡${before.count}`, `♥${before.count + 1}`, `♡${before.count}`]);
    expect(answers.calls.length).toBe(1);
    expect(await ana.item('post:4')).toEqual(before);
  });

  test('and an unlike as well', async ({ open, person, expect }) => {
    const ana = person('ana');
    const before = await ana.like('post:5');
    const answers = new Answers();
    const visit = await open({ before: answers.route });
    const item = visit.pane().item('post:5');
    await item.settled();
    answers.let(answer(200, { data: { unlike: null }, errors: [{ ...refusal, path: ['unlike'] }] }));
    await item.tap();
    await item.root.getByText(/takes no new likes/).waitFor();
    expect(await item.shown()).toEqual({ liked: true, count: before.count });
    expect(await ana.item('post:5')).toEqual(before);
  });
});

describe('a retry', () => {
  test('after a lost answer sends the same key, and the like is there once', async ({ open, person }) => {
    const ana = person('ana');
    const before = await ana.unlike('game:hex');
    const answers = new Answers();
    const sockets = new Sockets();
    const visit = await open({
      before: async (page) => {
        await answers.route(page);
        await sockets.route(page);
      },
    });
    visit.expectConsole(failedRequest);
    const item = visit.pane().item('game:hex');
    await item.settled();
    await watchFrames(item);
    // Or a push would say that the like is there, and there would be nothing to send again.
    sockets.deaf = true;
    answers.let((call) => (answers.calls.length === 1 ? loseAnswer(call) : pass(call)));
    await item.tap();
    await expect.poll(() => answers.calls.length, within('push')).toBe(2);
    await answers.quiet();
    await drawn(item);
    expect(answers.operations).toEqual(['Like', 'Like']);
    expect(new Set(answers.keys).size).toBe(1);
    expect(await changes(item)).toEqual([`♡${before.count}`, `♥${before.count + 1}`]);
    expect(await ana.item('game:hex')).toEqual({ liked: true, count: before.count + 1, version: before.version + 1 });
  });

  test('is not needed where a push shows that the like is there', async ({ open, person }) => {
    const { ana, before, answers, item } = await atThePage({ open, person }, 'game:morris');
    await watchFrames(item);
    answers.let(loseAnswer);
    await item.tap();
    await expect.poll(() => item.heart.getAttribute('data-phase'), within('givingUp')).toBe('settled');
    await drawn(item);
    expect(await changes(item)).toEqual([`♡${before.count}`, `♥${before.count + 1}`]);
    expect(await item.root.getByText(/could not be confirmed/).count()).toBe(0);
    expect(await ana.item('game:morris')).toEqual({
      liked: true,
      count: before.count + 1,
      version: before.version + 1,
    });
  });

  const overloaded = answer(200, { data: { like: null }, errors: [{ ...overload, path: ['like'] }] });
  const busyProxy = ({ route }: Call) =>
    route.fulfill({ status: 503, headers: { 'retry-after': '1' }, body: '<h1>Service Unavailable</h1>' });
  for (const { who, asks, policy, id } of [
    { who: 'an overloaded server', asks: overload.extensions.retryAfterMs, policy: overloaded, id: 'game:nim' },
    { who: 'a proxy', asks: 1_000, policy: busyProxy, id: 'game:othello' },
  ]) {
    test(`waits as long as ${who} asks for`, async ({ open, person }) => {
      const { ana, before, answers, item } = await atThePage({ open, person }, id);
      answers.let((call) => (answers.calls.length === 1 ? policy(call) : pass(call)));
      await item.tap();
      await expect.poll(() => answers.calls.length, within('push')).toBe(2);
      const [first, second] = answers.calls;
      expect((second?.sentAt ?? 0) - (first?.sentAt ?? 0)).toBeGreaterThanOrEqual(asks);
      expect(new Set(answers.keys).size).toBe(1);
      await answers.quiet();
      expect(await ana.item(id)).toMatchObject({ liked: true, version: before.version + 1 });
    });
  }
});
