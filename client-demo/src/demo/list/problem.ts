import type { CombinedError } from 'urql';

/** The server will not show a list, however often it is asked. */
export class Refusal extends Error {}

/** What to say of a page that did not come, in the server's own words where it has said something. */
export function problemOf(error: CombinedError | undefined): Error {
  const said = error?.graphQLErrors[0];
  if (said === undefined) return new Error('The server cannot be reached.');
  return said.extensions?.retryable === false ? new Refusal(said.message) : new Error(said.message);
}
