import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'vitest';

/** Stops a process, and ends once all its threads stand still: on a busy machine they go on for a while. */
export async function freeze(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await expect.poll(() => new Set(threadStates(pid)), { timeout: 10_000, interval: 5 }).toEqual(new Set(['T']));
}

/** Linux says the state in the word after the name, which stands in brackets. */
function threadStates(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2)[0] ?? '';
  });
}
