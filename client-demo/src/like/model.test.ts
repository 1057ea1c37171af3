// Random runs against a model of the server: others like all the time, the viewer taps, answers and pushes are
// late, lost and out of order, and the network goes away. What is shown must make sense in every moment.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { type Asked, type FakeServer, fakeServer, item } from './fakeServer';
import type { ItemLikes } from './newest';

const RUNS = Number(import.meta.env.VITE_RUNS ?? 100);
/** Within the time that a client waits for an answer. */
const LATEST_MS = 1_500;
const SEED = Number(import.meta.env.VITE_SEED ?? Math.floor(Math.random() * 2 ** 31));

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Random numbers below `below`, the same for the same seed (mulberry32). */
function randomness(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** The server as the contract has it: rows at once, counts folded later, the viewer's own row in every answer. */
class Model {
  private others = 10;
  private foldedOthers = 10;
  private foldedOwn = false;
  private version = 100;
  private own = false;
  private ownVersion = 0;
  private readonly keys = new Map<string, boolean>();

  likeOfAnother(): void {
    this.others += 1;
  }

  fold(): void {
    if (this.others === this.foldedOthers && this.own === this.foldedOwn) return;
    this.foldedOthers = this.others;
    this.foldedOwn = this.own;
    this.version += 1;
  }

  react(liked: boolean, key: string): void {
    expect(this.keys.get(key) ?? liked, 'a key stands for one wish').toBe(liked);
    if (!this.keys.has(key) && this.own !== liked) {
      this.own = liked;
      this.ownVersion += 1;
    }
    this.keys.set(key, liked);
  }

  read(): ItemLikes {
    return item({
      likeCount: this.foldedOthers + Number(this.own),
      countVersion: this.version,
      likedByMe: this.own,
      myReactionVersion: this.ownVersion,
    });
  }

  truth() {
    return { liked: this.own, count: this.others + Number(this.own) };
  }
}

async function run(seed: number): Promise<void> {
  const random = randomness(seed);
  vi.spyOn(Math, 'random').mockImplementation(() => random(1_000) / 1_000);
  const model = new Model();
  const server: FakeServer = fakeServer();
  let offline = false;
  vi.spyOn(navigator, 'onLine', 'get').mockImplementation(() => !offline);

  let wanted = false;
  let last = { liked: false, count: 10 };
  let tapped = false;
  const wrong: string[] = [];
  const look = () => {
    const { liked, count, problem } = server.likes.state('post:1');
    if (count === null) return;
    const step = count - last.count;
    if (problem !== null) wrong.push(problem);
    if (liked !== wanted) wrong.push('the heart is not what the viewer wants');
    if (tapped && step !== (liked ? 1 : -1)) wrong.push(`a tap moved the number by ${step}`);
    if (!tapped && step < 0) wrong.push(`the number fell by ${-step}`);
    last = { liked, count };
    tapped = false;
  };
  server.likes.subscribe('post:1', look);
  await vi.advanceTimersByTimeAsync(0);
  server.push(model.read());

  /** What is on its way to the viewer, with the time at which it arrives at the latest. */
  const late: { by: number; arrive(): void }[] = [];
  const send = (arrive: () => void) => late.push({ by: Date.now() + LATEST_MS, arrive });
  const served = new Set<Asked>();
  const lost = new Set<string>();
  const serve = () => {
    for (const request of server.asked) {
      if (served.has(request) || request.kind === 'subscription') continue;
      served.add(request);
      if (offline) {
        request.loseConnection();
        continue;
      }
      if (request.kind === 'mutation') model.react(request.name === 'Like', request.variables.idempotencyKey);
      const answer = model.read();
      // Twice in a row for one tap and its client would rightly give up in the end.
      const { idempotencyKey } = request.variables;
      if (random(4) === 0 && !lost.has(idempotencyKey)) {
        lost.add(idempotencyKey);
        send(() => request.loseConnection());
      } else if (request.kind === 'query') send(() => request.answer({ items: [answer] }));
      else send(() => request.answer({ [request.name.toLowerCase()]: { item: answer } }));
    }
  };
  const deliver = () => late.splice(random(late.length), 1)[0]?.arrive();
  const deliverOverdue = () => {
    for (const { arrive } of late.filter(({ by }) => by <= Date.now())) arrive();
    late.splice(0, late.length, ...late.filter(({ by }) => by > Date.now()));
  };

  const actions: (() => void)[] = [
    () => model.likeOfAnother(),
    () => model.fold(),
    () => {
      const push = model.read();
      if (random(4) > 0) send(() => server.push(push));
    },
    deliver,
    deliver,
    () => {
      wanted = !wanted;
      tapped = true;
      server.likes.tap('post:1');
      expect(tapped, 'a tap shows at once').toBe(false);
    },
    () => {
      offline = random(4) === 0;
      if (!offline) dispatchEvent(new Event('online'));
    },
  ];
  for (let step = 0; step < 120; step++) {
    actions[random(actions.length)]?.();
    serve();
    deliverOverdue();
    expect(wrong).toEqual([]);
    await vi.advanceTimersByTimeAsync(random(300));
  }

  offline = false;
  dispatchEvent(new Event('online'));
  for (let round = 0; round < 40; round++) {
    serve();
    while (late.length > 0) deliver();
    await vi.advanceTimersByTimeAsync(500);
  }
  model.fold();
  server.push(model.read());
  expect(wrong).toEqual([]);
  expect(server.likes.state('post:1')).toMatchObject({ ...model.truth(), liked: wanted, phase: 'settled' });
  server.likes.close();
}

it(`is right in every moment of ${RUNS} random runs, VITE_SEED=${SEED}`, { timeout: 120_000 }, async () => {
  for (let index = 0; index < RUNS; index++) {
    try {
      await run(SEED + index);
    } catch (error) {
      throw new Error(`VITE_RUNS=1 VITE_SEED=${SEED + index} repeats this`, { cause: error });
    }
  }
});
