import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** Chromium that cannot reach any host but 127.0.0.1, whoever asks: page, worker or socket. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: executable(),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    ],
  });
}

function executable(): string {
  const places = [process.env['CHROMIUM'], '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
  const found = places.find((place) => place !== undefined && existsSync(place));
  if (found === undefined) throw new Error('Chromium is missing: scripts/setup.sh test installs it, or set CHROMIUM');
  return found;
}
