import type { Page, Route } from 'playwright-core';
import { expect } from 'vitest';

/** A like or an unlike that the page sent. */
export interface Call {
  readonly operation: string;
  readonly itemId: string;
  readonly key: string;
  readonly sentAt: number;
  readonly route: Route;
}

interface Request {
  readonly query?: string;
  readonly variables?: { readonly itemId: string; readonly idempotencyKey: string };
}

/** Longer than a page on a busy machine takes from a tap, or from an answer, to its next call. */
const QUIET_MS = 1_000;

type Policy = (call: Call) => Promise<void>;

/** Stands between the page's likes and the server, and writes them down. */
export class Answers {
  readonly calls: Call[] = [];
  /** The most calls that were under way at the same time. */
  mostAtOnce = 0;
  #policy: Policy = pass;
  #underWay = 0;

  /** To be given to a page. */
  readonly route = (page: Page): Promise<unknown> =>
    page.route('**/graphql', (route) => {
      const { query = '', variables } = (route.request().postDataJSON() ?? {}) as Request;
      const [, operation] = /^\s*mutation (\w+)/.exec(query) ?? [];
      if (operation === undefined || variables === undefined) return route.continue();
      const { itemId, idempotencyKey: key } = variables;
      return this.#deal({ operation, itemId, key, sentAt: performance.now(), route });
    });

  /** From now on each call is dealt with so. */
  let(policy: Policy): void {
    this.#policy = policy;
  }

  get keys(): string[] {
    return this.calls.map((call) => call.key);
  }

  get operations(): string[] {
    return this.calls.map((call) => call.operation);
  }

  /** Ends when no call is under way, nor has been for a while. */
  async quiet(): Promise<void> {
    let since = performance.now();
    const restedFor = () => {
      if (this.#underWay > 0) since = performance.now();
      return performance.now() - since;
    };
    await expect.poll(restedFor, { timeout: 20_000, interval: 10 }).toBeGreaterThan(QUIET_MS);
  }

  async #deal(call: Call): Promise<void> {
    this.calls.push(call);
    this.#underWay += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#underWay);
    await this.#policy(call).finally(() => {
      this.#underWay -= 1;
    });
  }
}

export const pass: Policy = async ({ route }) => {
  const response = await route.fetch();
  await route.fulfill({ response });
};

/** The server never hears of it. */
export const cutOff: Policy = ({ route }) => route.abort('connectionfailed');

/** The server does it, and the answer is lost on the way back. */
export const loseAnswer: Policy = async ({ route }) => {
  await route.fetch();
  await route.abort('connectionreset');
};

/** Nothing ever comes back. */
export const silence: Policy = () => new Promise(() => {});

/** The server does it at once; its answers are kept until `release`. */
export function holdAnswers(): { readonly hold: Policy; release(): void } {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const hold: Policy = async ({ route }) => {
    const response = await route.fetch();
    await released;
    await route.fulfill({ response });
  };
  return { hold, release: () => release() };
}
