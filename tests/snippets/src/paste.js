// Before the tests: writes the modules of the README to pasted/, where imports resolve, and compiles Relay's documents.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import relayCompiler from 'relay-compiler';
import { blocksOf, isModule } from './readme.js';

export default function paste() {
  const root = join(import.meta.dirname, '..');
  const pasted = join(root, 'pasted');
  rmSync(pasted, { recursive: true, force: true });
  mkdirSync(pasted);
  for (const { name, code } of blocksOf('From your frontend').filter(isModule)) writeFileSync(join(pasted, name), code);
  execFileSync(relayCompiler, [], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
}
