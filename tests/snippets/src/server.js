// A demo server of its own for each test, on a free port and a new SQLite file, and what another person does on it.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

// As it is before a test puts the page's in its place.
const { fetch } = globalThis;

const target = process.env.CARGO_TARGET_DIR ?? join(import.meta.dirname, '../../../target');
export const binary = resolve(process.env.LIKEWISE_TEST_BINARY ?? join(target, 'debug/likewise'));

/** Everything that a server or a shell needs, and nothing of the settings of who runs the tests. */
export function environment(more) {
  const { PATH, HOME } = process.env;
  return { PATH, HOME, ...more };
}

export function newFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'likewise-snippets-'));
  return { folder, remove: () => rmSync(folder, { recursive: true }) };
}

export async function startDemo() {
  const { folder, remove } = newFolder();
  let demo = serve(folder, '127.0.0.1:0');
  const host = await demo.host;

  const token = (args) => execFileSync(binary, ['token', ...args], { env: demo.env, encoding: 'utf8' }).trim();
  return {
    host,
    as: (user) => (query) => graphql(host, token(['--user', user]), query),
    asService: (query) => graphql(host, token(['--user', 'backend', '--scope', 'service']), query),
    /** The same address and data, and another secret: tokens from before are refused. */
    async restart() {
      await demo.stop();
      demo = serve(folder, host);
      await demo.host;
    },
    async stop() {
      await demo.stop();
      remove();
    },
  };
}

function serve(folder, listen) {
  const env = environment({ LIKEWISE_JWT_SECRET: randomBytes(32).toString('hex') });
  const server = spawn(binary, ['serve', '--demo', '--listen', listen], { cwd: folder, env });
  const ended = once(server, 'close');
  return {
    env,
    host: listening(server),
    async stop() {
      server.kill();
      await ended;
    },
  };
}

/** The `host:port` that the server says it serves, wherever in its output that stands. */
function listening(server) {
  return new Promise((found, failed) => {
    const said = [];
    const hear = (line) => {
      said.push(line);
      const address = line.match(/serving address=(\S+)/)?.[1];
      if (address) found(address);
    };
    createInterface(server.stdout).on('line', hear);
    createInterface(server.stderr).on('line', hear);
    server.once('error', failed);
    server.once('close', (code) => failed(new Error(`The server ended with ${code}:\n${said.join('\n')}`)));
  });
}

async function graphql(host, token, query) {
  const response = await fetch(`http://${host}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  const { data, errors } = await response.json();
  if (errors) throw new Error(JSON.stringify(errors));
  return data;
}
