import { rememberedViewer } from '../api/remembered';
import { Session } from '../api/session';

/**
 * The first text of the headers tab: a fresh token where the server hands them out, else how to get one.
 *
 * The tab takes JSON with comments. Tokens last an hour, so they are asked for anew with each page and never stored.
 */
export async function viewerHeaders(): Promise<string> {
  const remembered = rememberedViewer();
  const user = remembered === undefined ? 'ana' : remembered;
  const token = await demoToken(user);
  if (token === null) {
    return `{
  // You are anonymous. In a demo, choose a person on
  // its page and reload this one, or put in a token
  // from POST /dev/token; elsewhere, what
  // \`likewise token --user ana\` prints:
  // "authorization": "Bearer …"
}`;
  }
  return `{
  // You are ${user}, for an hour.
  // Reload the page for a new token.
  "authorization": "Bearer ${token}"
}`;
}

/** Null for nobody, and where the server is no demo or cannot be asked: reading works without a token as well. */
async function demoToken(user: string | null): Promise<string | null> {
  try {
    return await new Session(user).token();
  } catch {
    return null;
  }
}
