// What a browser has and Node 20 has not, with the address of the README leading to the test's server.
import { vi } from 'vitest';
import { WebSocket } from 'ws';

const written = '127.0.0.1:4000';

/**
 * Until `close`, `fetch` and `WebSocket` reach `host`. `around`, when set, stands between: it is given each POST of
 * GraphQL and the `fetch` that sends it.
 */
export function openNetwork(host) {
  const { fetch } = globalThis;
  const sockets = new Set();
  const network = {
    around: null,
    /** The items that sockets have brought, oldest first. */
    pushed: [],
    close() {
      for (const socket of sockets) socket.terminate();
      vi.unstubAllGlobals();
    },
  };
  const there = (url) => {
    if (!String(url).includes(written)) throw new Error(`The README leads elsewhere: ${url}`);
    return String(url).replace(written, host);
  };
  vi.stubGlobal('fetch', (url, init) => {
    const go = () => fetch(there(url), init);
    return network.around && init.body && url.endsWith('/graphql') ? network.around(JSON.parse(init.body), go) : go();
  });
  vi.stubGlobal(
    'WebSocket',
    class extends WebSocket {
      constructor(url, protocols) {
        super(there(url), protocols);
        sockets.add(this);
        this.on('message', (text) => network.pushed.push(JSON.parse(text).payload?.data?.itemUpdated));
      }
    },
  );
  return network;
}

/** From now on every socket breaks off as in an outage. `tries` counts them. */
export function breakSockets() {
  const outage = { tries: 0 };
  vi.stubGlobal(
    'WebSocket',
    class {
      static CONNECTING = 0;
      static OPEN = 1;
      static CLOSING = 2;
      static CLOSED = 3;
      constructor() {
        outage.tries += 1;
        queueMicrotask(() => {
          this.onerror({ type: 'error' });
          this.onclose({ code: 1006, reason: '' });
        });
      }
    },
  );
  return outage;
}

/** Mutations are sent, and their answers wait until the function that comes back is called. */
export function holdAnswers(network) {
  const [open, opened] = gate();
  network.around = async ({ query }, go) => {
    const response = await go();
    if (query.startsWith('mutation')) await opened;
    return response;
  };
  return open;
}

/** Mutations wait unsent until the function that comes back is called. */
export function holdRequests(network) {
  const [open, opened] = gate();
  network.around = async ({ query }, go) => {
    if (query.startsWith('mutation')) await opened;
    return go();
  };
  return open;
}

function gate() {
  let open;
  const opened = new Promise((resolve) => {
    open = resolve;
  });
  return [open, opened];
}
