// Who the pane's viewer is: demo tokens, taken when needed and renewed before they end.

/** A token is renewed this long before it ends. */
const MARGIN_MS = 60_000;

export class Session {
  /** Null for somebody who is not signed in. */
  readonly user: string | null;
  private current: Promise<{ token: string; until: number }> | null = null;

  constructor(user: string | null) {
    this.user = user;
  }

  /** A token that works; null where nobody is signed in. Fails where the server cannot be reached. */
  async token(): Promise<string | null> {
    if (this.user === null) return null;
    this.current ??= take(this.user);
    const taken = this.current;
    try {
      const { token, until } = await taken;
      if (Date.now() < until - MARGIN_MS) return token;
    } catch (error) {
      this.forget(taken);
      throw error;
    }
    this.forget(taken);
    return this.token();
  }

  /** The server did not accept the token: the next call takes a new one. A demo's tokens end with its process. */
  refused(): void {
    this.current = null;
  }

  private forget(taken: Promise<unknown>): void {
    if (this.current === taken) this.current = null;
  }
}

async function take(user: string): Promise<{ token: string; until: number }> {
  const response = await fetch('/dev/token', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ user }),
    signal: AbortSignal.timeout(5_000),
  });
  if (!response.ok) throw new Error(`no token for ${user}: ${response.status}`);
  const { token, expiresAt } = (await response.json()) as { token: string; expiresAt: string };
  // By this machine's clock a token may seem to have ended already: it is used all the same, and refused if it has.
  return { token, until: Math.max(Date.parse(expiresAt) || 0, Date.now() + 2 * MARGIN_MS) };
}

/** `fetch` with the viewer's token; a token that is refused is replaced once. */
export function authorised(session: Session): typeof fetch {
  const attempt = async (input: RequestInfo | URL, init?: RequestInit) => {
    const token = await session.token();
    const headers = new Headers(init?.headers);
    if (token !== null) headers.set('authorization', `Bearer ${token}`);
    return fetch(input, { ...init, headers });
  };
  return async (input, init) => {
    const response = await attempt(input, init);
    if (response.status !== 401 || session.user === null) return response;
    session.refused();
    return attempt(input, init);
  };
}
