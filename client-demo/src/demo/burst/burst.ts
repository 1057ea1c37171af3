// Some hundreds of likes by people who do not exist, sent as a product would send them: a token and a mutation each.

/** How many of the browser's six connections to a host a burst may use, so that taps never wait behind it. */
const lanes = 4;

export interface BurstResult {
  readonly done: number;
  readonly failed: number;
  /** Why the first one failed. */
  readonly reason: string | null;
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

const mutation = `mutation Burst($itemId: ID!, $key: String!) {
  like(input: { itemId: $itemId, idempotencyKey: $key }) { changed }
}`;

/** Settles when every like was answered, or, once the signal is given, when those under way were. */
export async function sendBurst(options: BurstOptions): Promise<BurstResult> {
  const { likes, signal, onProgress } = options;
  let next = 0;
  let result: BurstResult = { done: 0, failed: 0, reason: null };

  async function lane(): Promise<void> {
    while (next < likes && !signal.aborted) {
      next += 1;
      const reason = await likeAs(`guest:${options.run}-${next}`, options);
      if (signal.aborted && reason !== null) return; // cancelled on its way: neither a like nor a failure
      result = {
        done: result.done + (reason === null ? 1 : 0),
        failed: result.failed + (reason === null ? 0 : 1),
        reason: result.reason ?? reason,
      };
      onProgress(result);
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane));
  return result;
}

/** Null, or why there is no like. */
async function likeAs(user: string, options: BurstOptions): Promise<string | null> {
  const post = poster(options);
  try {
    const { token } = await post('/dev/token', { user });
    const answer = await post('/graphql', { query: mutation, variables: { itemId: options.itemId, key: user } }, token);
    return answer.errors?.[0]?.message ?? null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

interface Answer {
  readonly token?: string;
  readonly errors?: readonly { readonly message: string }[];
}

function poster({ signal, fetch = globalThis.fetch }: BurstOptions) {
  return async (path: string, body: unknown, token?: string): Promise<Answer> => {
    const headers = { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) };
    const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body), signal });
    if (!response.ok) throw new Error(`${path} answered ${response.status}`);
    return response.json();
  };
}
