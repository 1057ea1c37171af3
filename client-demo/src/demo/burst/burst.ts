// Some hundreds of likes by people who do not exist, sent as a product would send them: a token and a mutation each.

/** How many of the browser's six connections to a host a burst may use, so that taps never wait behind it. */
const lanes = 4;

export interface BurstResult {
  readonly done: number;
  readonly failed: number;
  /** Why the first one failed, in the server's words. */
  readonly reason: string | null;
  /** The server could not be reached, and the rest was not sent. */
  readonly broken: boolean;
}

export interface BurstOptions {
  readonly itemId: string;
  readonly likes: number;
  /** Makes the users of this burst others than those of the last. */
  readonly run: string;
  readonly signal: AbortSignal;
  readonly onProgress: (result: BurstResult) => void;
  readonly fetch?: typeof fetch;
}

/** No request of a burst is waited for longer: the server is away then. */
const REQUEST_MS = 10_000;

const mutation = `mutation Burst($itemId: ID!, $key: String!) {
  like(input: { itemId: $itemId, idempotencyKey: $key }) { changed }
}`;

/** Settles when every like was answered, or, once the signal is given or the server is away, when those under way were. */
export async function sendBurst(options: BurstOptions): Promise<BurstResult> {
  const { likes, signal, onProgress } = options;
  let next = 0;
  let result: BurstResult = { done: 0, failed: 0, reason: null, broken: false };

  async function lane(): Promise<void> {
    while (next < likes && !signal.aborted && !result.broken) {
      next += 1;
      const outcome = await likeAs(`guest:${options.run}-${next}`, options);
      if (outcome === 'cut off') {
        // Cancelled on its way, neither a like nor a failure; or the network is away.
        if (!signal.aborted) result = { ...result, broken: true };
        return;
      }
      const { done, failed, reason } = result;
      result = outcome.liked
        ? { ...result, done: done + 1 }
        : { ...result, failed: failed + 1, reason: reason ?? outcome.reason };
      onProgress(result);
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane));
  return result;
}

type Outcome = { readonly liked: true } | { readonly liked: false; readonly reason: string } | 'cut off';

async function likeAs(user: string, options: BurstOptions): Promise<Outcome> {
  const { itemId, fetch = globalThis.fetch } = options;
  const post = async (path: string, body: unknown, token?: string): Promise<Answer> => {
    const headers = { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) };
    const signal = AbortSignal.any([options.signal, AbortSignal.timeout(REQUEST_MS)]);
    const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body), signal });
    if (!response.ok) throw new Refusal(`${path} answered ${response.status}`);
    return response.json();
  };
  try {
    const { token } = await post('/dev/token', { user });
    const { errors } = await post('/graphql', { query: mutation, variables: { itemId, key: user } }, token);
    return errors?.[0] ? { liked: false, reason: errors[0].message } : { liked: true };
  } catch (error) {
    return error instanceof Refusal ? { liked: false, reason: error.message } : 'cut off';
  }
}

class Refusal extends Error {}

interface Answer {
  readonly token?: string;
  readonly errors?: readonly { readonly message: string }[];
}
