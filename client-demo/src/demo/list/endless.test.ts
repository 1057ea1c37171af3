// @vitest-environment node

import { CombinedError } from 'urql';
import { expect, it } from 'vitest';
import { Endless, type Page } from './endless';
import { problemOf, Refusal } from './problem';

/** The numbers from 1 on, three to a page; `answer` lets a test hold a page back or refuse it. */
function numbers(last: number, answer: (page: Page<number>) => Promise<Page<number>> = async (page) => page) {
  const asked: (string | null)[] = [];
  const list = new Endless<number>((after) => {
    asked.push(after);
    const start = Number(after ?? 0);
    const end = Math.min(start + 3, last);
    const rows = Array.from({ length: end - start }, (_, n) => start + n + 1);
    return answer({ rows, next: end < last ? String(end) : null });
  });
  return { list, asked };
}

it('grows by a page at a time until its end', async () => {
  const { list, asked } = numbers(7);
  await list.restart();
  expect(list.state()).toEqual({ rows: [1, 2, 3], phase: 'more', problem: null });
  await list.more();
  await list.more();
  expect(list.state()).toEqual({ rows: [1, 2, 3, 4, 5, 6, 7], phase: 'over', problem: null });
  await list.more();
  expect(asked).toEqual([null, '3', '6']);
});

it('is over at once where there is nothing', async () => {
  const { list } = numbers(0);
  await list.restart();
  expect(list.state()).toEqual({ rows: [], phase: 'over', problem: null });
});

it('asks for a page once, however often the end comes into sight', async () => {
  const { list, asked } = numbers(7);
  await list.restart();
  await Promise.all([list.more(), list.more(), list.more()]);
  expect(list.state().rows).toEqual([1, 2, 3, 4, 5, 6]);
  expect(asked).toEqual([null, '3']);
});

it('says why a page did not come, keeps the rows, and asks for the same page again', async () => {
  let refuse = false;
  const { list, asked } = numbers(7, async (page) => {
    if (refuse) throw new Error('the store is away');
    return page;
  });
  await list.restart();
  refuse = true;
  await list.more();
  expect(list.state()).toEqual({ rows: [1, 2, 3], phase: 'failed', problem: 'the store is away' });
  refuse = false;
  await list.more();
  expect(list.state()).toEqual({ rows: [1, 2, 3, 4, 5, 6], phase: 'more', problem: null });
  expect(asked).toEqual([null, '3', '3']);
});

it('starts anew where a start did not come, before rows or behind them', async () => {
  let refuse = true;
  const { list, asked } = numbers(7, async (page) => {
    if (refuse) throw new Error('the store is away');
    return page;
  });
  await list.restart();
  refuse = false;
  await list.more();
  await list.more();
  refuse = true;
  await list.restart();
  expect(list.state()).toEqual({ rows: [1, 2, 3, 4, 5, 6], phase: 'failed', problem: 'the store is away' });
  refuse = false;
  await list.more();
  expect(list.state()).toEqual({ rows: [1, 2, 3], phase: 'more', problem: null });
  expect(asked).toEqual([null, null, '3', null, null]);
});

it('drops a page that was asked for before a restart', async () => {
  const held: (() => void)[] = [];
  let hold = false;
  const { list } = numbers(7, (page) =>
    hold ? new Promise((resolve) => held.push(() => resolve(page))) : Promise.resolve(page),
  );
  await list.restart();
  hold = true;
  const late = list.more();
  hold = false;
  await list.restart();
  held[0]?.();
  await late;
  expect(list.state()).toEqual({ rows: [1, 2, 3], phase: 'more', problem: null });
});

it('keeps its rows in sight while it starts anew', async () => {
  const { list } = numbers(4);
  await list.restart();
  const seen: number[] = [];
  list.subscribe(() => seen.push(list.state().rows.length));
  await list.restart();
  expect(seen).toEqual([3, 3]);
});

it('does not offer to try again what the server will not show', async () => {
  const refusal = {
    message: 'This server does not show who liked.',
    extensions: { code: 'FORBIDDEN', retryable: false },
  };
  const { list } = numbers(7, async () => {
    throw problemOf(new CombinedError({ graphQLErrors: [refusal] }));
  });
  await list.restart();
  expect(list.state()).toEqual({ rows: [], phase: 'refused', problem: 'This server does not show who liked.' });
});

it('offers it where the server could not be reached, or is busy', async () => {
  const busy = { message: 'Too busy.', extensions: { code: 'OVERLOADED', retryable: true } };
  expect(problemOf(new CombinedError({ graphQLErrors: [busy] }))).not.toBeInstanceOf(Refusal);
  expect(problemOf(new CombinedError({ networkError: new Error('Failed to fetch') }))).not.toBeInstanceOf(Refusal);
});

it('tries a page that failed again without showing it, until it comes', async () => {
  let away = true;
  const { list, asked } = numbers(4, async (page) => {
    if (away) throw new Error('the store is away');
    return page;
  });
  await list.restart();
  const phases: string[] = [];
  list.subscribe(() => phases.push(list.state().phase));
  await Promise.all([list.retry(), list.retry()]);
  away = false;
  await list.retry();
  expect(list.state()).toEqual({ rows: [1, 2, 3], phase: 'more', problem: null });
  await list.retry();
  expect(asked).toEqual([null, null, null]);
  expect(phases).toEqual(['failed', 'more']);
});

it('shows a page once that is tried again and asked for by hand at the same time', async () => {
  const answers: (() => void)[] = [];
  const { list, asked } = numbers(4, (page) => {
    if (asked.length === 1) return Promise.reject(new Error('the store is away'));
    return new Promise((resolve) => answers.push(() => resolve(page)));
  });
  await list.restart();
  const both = Promise.all([list.retry(), list.more()]);
  for (const answer of answers) answer();
  await both;
  expect(asked).toEqual([null, null, null]);
  expect(list.state()).toEqual({ rows: [1, 2, 3], phase: 'more', problem: null });
});
