import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface Node {
  readonly url: string;
  readonly pid: number;
  readonly log: string;
}

/** Servers of a test file's own: `sqlite` is one node on a temporary file, `postgres` two on PostgreSQL and Redis. */
export interface Stand {
  readonly nodes: readonly Node[];
  /** Stops PostgreSQL as a crash does, or starts it again. */
  database(what: 'stop' | 'start'): Promise<void>;
  stop(): Promise<void>;
}

export type Backend = 'sqlite' | 'postgres';

export async function startStand(backend: Backend): Promise<Stand> {
  const stand = spawn(binary('stand'), ['--backend', backend], {
    stdio: ['pipe', 'pipe', 'inherit'],
    // Or it would have cargo look whether the server is built, once for each test file.
    env: { ...process.env, LIKEWISE_TEST_BINARY: binary('likewise') },
  });
  const exit = new Promise<void>((resolve) => stand.once('exit', () => resolve()));
  const lines = linesOf(stand);
  const { nodes } = JSON.parse(await lines.next()) as { nodes: Node[] };
  return {
    nodes,
    async database(what) {
      const line = `${what} database`;
      stand.stdin?.write(`${line}\n`);
      const answer = await lines.next();
      if (answer !== line) throw new Error(`the stand says ${answer}`);
    },
    async stop() {
      // It stops what it started when its input ends, so nothing is left behind if this process is killed either.
      stand.stdin?.end();
      await exit;
    },
  };
}

function binary(name: string): string {
  const target = process.env['CARGO_TARGET_DIR'] ?? join(import.meta.dirname, '../../../target');
  const path = join(target, 'debug', name);
  if (!existsSync(path)) throw new Error(`${path} is missing: cargo build --workspace --bin stand --bin likewise`);
  return path;
}

function linesOf(stand: ChildProcess): { next(): Promise<string> } {
  if (!stand.stdout) throw new Error('the stand has no output');
  const lines = createInterface({ input: stand.stdout })[Symbol.asyncIterator]();
  return {
    async next() {
      const { value, done } = await lines.next();
      if (done) throw new Error('the stand has ended');
      return value;
    },
  };
}
