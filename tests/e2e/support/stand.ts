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
  stop(): Promise<void>;
}

export type Backend = 'sqlite' | 'postgres';

export async function startStand(backend: Backend): Promise<Stand> {
  const process = spawn(binary(), ['--backend', backend], { stdio: ['pipe', 'pipe', 'inherit'] });
  const exit = new Promise<void>((resolve) => process.once('exit', () => resolve()));
  const { nodes } = JSON.parse(await firstLine(process)) as { nodes: Node[] };
  return {
    nodes,
    async stop() {
      // It stops what it started when its input ends, so nothing is left behind if this process is killed either.
      process.stdin?.end();
      await exit;
    },
  };
}

function binary(): string {
  const root = join(import.meta.dirname, '../../..');
  const target = process.env['CARGO_TARGET_DIR'] ?? join(root, 'target');
  const path = join(target, 'debug/stand');
  if (!existsSync(path))
    throw new Error(`${path} is missing: cargo build -p likewise-tests --bin stand --bin likewise`);
  return path;
}

async function firstLine(process: ChildProcess): Promise<string> {
  if (!process.stdout) throw new Error('the stand has no output');
  for await (const line of createInterface({ input: process.stdout })) return line;
  throw new Error('the stand ended before its servers were ready');
}
