// Runs shell blocks of the README as one script, in an empty folder, with the address of the README leading to `host`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

import { binary, environment, newFolder } from './server.js';

/** What the script printed, and the JSON documents in that. */
export async function runShell(blocks, host, settings = {}) {
  const { folder, remove } = newFolder();
  mkdirSync(join(folder, 'bin'));
  symlinkSync(binary, join(folder, 'bin/likewise'));
  writeFileSync(join(folder, '.curlrc'), `connect-to = "127.0.0.1:4000:${host}"\n`);
  const stopServers = "trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT";
  const script = [stopServers, ...blocks.map(({ code }) => code)].join('\necho\n');
  const { PATH } = process.env;
  const env = environment({ PATH: `${join(folder, 'bin')}:${PATH}`, CURL_HOME: folder, ...settings });
  const shell = spawn('bash', ['-eu', '-c', script], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  let complaints = '';
  shell.stdout.on('data', (text) => {
    printed += text;
  });
  shell.stderr.on('data', (text) => {
    complaints += text;
  });
  const [code] = await once(shell, 'close');
  remove();
  if (code !== 0) throw new Error(`The shell ended with ${code}:\n${printed}\n${complaints}`);
  const lines = printed.replaceAll('}{', '}\n{').split('\n');
  return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
}

/** An address that nobody listened on a moment ago, for a server that must know its port before it starts. */
export async function freeHost() {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address();
  await once(server.close(), 'close');
  return `127.0.0.1:${port}`;
}
