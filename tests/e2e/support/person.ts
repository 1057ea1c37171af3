interface Row {
  readonly liked: boolean;
  readonly count: number;
  readonly version: number;
}

interface Item {
  readonly likedByMe: boolean;
  readonly likeCount: number;
  readonly myReactionVersion: number;
  readonly countAsOf: string;
}

/** Four times the age at which a count is called stale. */
const LONGEST_LAG_MS = 20_000;

/** Somebody who uses the API without a page: other people in the tests, and the tests' own look at the rows. */
export class Person {
  readonly #token: Promise<string>;

  constructor(
    readonly url: string,
    readonly user: string,
  ) {
    this.#token = this.#signIn();
  }

  async like(itemId: string): Promise<Row> {
    await this.ask('mutation ($itemId: ID!) { like(input: { itemId: $itemId }) { changed } }', { itemId });
    return this.item(itemId);
  }

  async unlike(itemId: string): Promise<Row> {
    await this.ask('mutation ($itemId: ID!) { unlike(input: { itemId: $itemId }) { changed } }', { itemId });
    return this.item(itemId);
  }

  /** What this person should see once all that was done before is counted; `version` counts their own row's real flips. */
  async item(id: string): Promise<Row> {
    const asked = Date.now();
    while (Date.now() < asked + LONGEST_LAG_MS) {
      const { item } = await this.ask<{ item: Item }>(
        'query ($id: ID!) { item(id: $id) { likedByMe likeCount myReactionVersion countAsOf } }',
        { id },
      );
      const { likedByMe: liked, likeCount: count, myReactionVersion: version } = item;
      if (Date.parse(item.countAsOf) >= asked) return { liked, count, version };
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(`${id} was not counted within ${LONGEST_LAG_MS} ms`);
  }

  async ask<Data>(query: string, variables: Record<string, unknown>): Promise<Data> {
    const response = await fetch(`${this.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${await this.#token}` },
      body: JSON.stringify({ query, variables }),
    });
    const { data, errors } = (await response.json()) as { data?: Data; errors?: unknown };
    if (errors || !data) throw new Error(`${this.user} was answered ${response.status} ${JSON.stringify(errors)}`);
    return data;
  }

  async #signIn(): Promise<string> {
    const response = await fetch(`${this.url}/dev/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ user: this.user }),
    });
    if (!response.ok) throw new Error(`no token for ${this.user}: ${response.status}`);
    return ((await response.json()) as { token: string }).token;
  }
}
