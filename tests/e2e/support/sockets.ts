import type { Page, WebSocketRoute } from 'playwright-core';

type Pushed = Record<string, unknown>;

/** Stands between the page's sockets and the server. To be set up before the page is asked for. */
export class Sockets {
  /** Swallows what the server says, as a dead connection does, while it is true. */
  deaf = false;
  /** Closes each new socket at once while it is true. */
  refusing = false;
  readonly #open = new Set<WebSocketRoute>();
  readonly #last = new Map<unknown, { socket: WebSocketRoute; operation: string; item: Pushed }>();

  static async of(page: Page): Promise<Sockets> {
    const sockets = new Sockets();
    await page.routeWebSocket(/\/graphql$/, (socket) => sockets.#route(socket));
    return sockets;
  }

  /** Breaks all connections. */
  async cut(): Promise<void> {
    const open = [...this.#open];
    this.#open.clear();
    for (const socket of open) await socket.close({ code: 1001, reason: 'cut by the test' });
  }

  /** Pushes an item in the place of the server: as it was pushed last, edited. */
  push(itemId: string, edit: (item: Pushed) => Pushed): void {
    const last = this.#last.get(itemId);
    if (!last) throw new Error(`${itemId} was not pushed yet`);
    const data = { itemUpdated: edit(last.item) };
    last.socket.send(JSON.stringify({ id: last.operation, type: 'next', payload: { data } }));
  }

  #route(socket: WebSocketRoute): void {
    if (this.refusing) {
      void socket.close({ code: 1001, reason: 'refused by the test' });
      return;
    }
    this.#open.add(socket);
    const server = socket.connectToServer();
    socket.onMessage((message) => server.send(message));
    server.onMessage((message) => {
      if (this.deaf) return;
      this.#notice(socket, message);
      socket.send(message);
    });
  }

  #notice(socket: WebSocketRoute, message: string | Buffer): void {
    const { id, type, payload } = JSON.parse(message.toString());
    const item = type === 'next' ? payload?.data?.itemUpdated : undefined;
    if (item) this.#last.set(item.id, { socket, operation: id, item });
  }
}
