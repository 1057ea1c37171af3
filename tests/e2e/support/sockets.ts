import type { Page, WebSocketRoute } from 'playwright-core';

type Item = Record<string, unknown>;

/** Stands between the page's sockets and the server. */
export class Sockets {
  /** Swallows what the server says, as a dead connection does, while it is true. */
  deaf = false;
  readonly #open = new Set<WebSocketRoute>();
  readonly #last = new Map<unknown, { socket: WebSocketRoute; operation: string; item: Item }>();

  /** To be given to a page before it is asked for. */
  readonly route = (page: Page): Promise<void> =>
    page.routeWebSocket(/\/graphql$/, (socket) => {
      this.#open.add(socket);
      const server = socket.connectToServer();
      socket.onMessage((message) => server.send(message));
      server.onMessage((message) => {
        if (this.deaf) return;
        this.#notice(socket, message);
        socket.send(message);
      });
    });

  /** Breaks all connections. */
  async cut(): Promise<void> {
    const open = [...this.#open];
    this.#open.clear();
    for (const socket of open) await socket.close({ code: 1001, reason: 'cut by the test' });
  }

  /** The item as it was pushed last. */
  last(itemId: string): Item | undefined {
    return this.#last.get(itemId)?.item;
  }

  /** Pushes an item in the place of the server: as it was pushed last, with these fields changed. */
  push(itemId: string, change: Item): void {
    const last = this.#last.get(itemId);
    if (!last) throw new Error(`${itemId} was not pushed yet`);
    const data = { itemUpdated: { ...last.item, ...change } };
    last.socket.send(JSON.stringify({ id: last.operation, type: 'next', payload: { data } }));
  }

  #notice(socket: WebSocketRoute, message: string | Buffer): void {
    const { id, type, payload } = JSON.parse(message.toString());
    const item = type === 'next' ? payload?.data?.itemUpdated : undefined;
    if (item) this.#last.set(item.id, { socket, operation: id, item });
  }
}
