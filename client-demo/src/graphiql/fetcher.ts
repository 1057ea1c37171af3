import type { GraphiQLProps } from 'graphiql';
import { getOperationAST, type OperationDefinitionNode, parse } from 'graphql';
import { type Client, createClient, type FormattedExecutionResult } from 'graphql-ws';

type Fetcher = GraphiQLProps['fetcher'];
type Request = Parameters<Fetcher>[0];
type Headers = Record<string, string>;
type Result = FormattedExecutionResult<Record<string, unknown>, unknown>;
type Results = AsyncIterableIterator<Result>;

/** The token was refused. The library would try again with the same one for half a minute. */
const FORBIDDEN = 4403;

/**
 * Sends queries and mutations by POST, and subscriptions over a WebSocket to the same path.
 *
 * Each subscription has a socket of its own, which speaks for whom the headers tab named when it was started. GraphiQL's
 * `createGraphiQLFetcher` shows failures with their stack, and those of sockets also end up as unhandled rejections.
 */
export function createFetcher(path: string): Fetcher {
  return (request, options) => {
    const headers: Headers = options?.headers ?? {};
    const operation = operationOf(request);
    const named = operation?.name ? { ...request, operationName: operation.name.value } : request;
    const answer = operation?.operation === 'subscription' ? watch(path, named, headers) : post(path, named, headers);
    return answer as ReturnType<Fetcher>; // Typed with errors as classes, but taken and printed as JSON.
  };
}

/** Right after a change of tabs GraphiQL still names the operation of the tab before: then it is the only one there is. */
function operationOf({ query, operationName }: Request): OperationDefinitionNode | null {
  try {
    const document = parse(query);
    return getOperationAST(document, operationName) ?? getOperationAST(document) ?? null;
  } catch {
    return null; // The server says better what is wrong with the text.
  }
}

async function post(path: string, request: Request, headers: Headers): Promise<Result> {
  try {
    const answer = await fetch(path, {
      method: 'POST',
      headers: { accept: 'application/graphql-response+json', 'content-type': 'application/json', ...headers },
      body: JSON.stringify(request),
    });
    return resultOf(await answer.text(), answer);
  } catch (problem) {
    return failure(problem instanceof Error ? problem.message : String(problem));
  }
}

function resultOf(text: string, { status, statusText }: Response): Result {
  try {
    return JSON.parse(text);
  } catch {
    return failure(`The server answered ${status}: ${text || statusText}`);
  }
}

function watch(path: string, request: Request, headers: Headers): Results {
  const url = new URL(path, location.href);
  url.protocol = url.protocol.replace('http', 'ws');
  const token = bearerToken(headers);
  const client = createClient({
    url: url.href,
    connectionParams: token === null ? {} : { token },
    // A connection that is refused, as in an outage, comes as an Event of its own before it is closed.
    shouldRetry: (problem) => !(problem instanceof CloseEvent && problem.code === FORBIDDEN),
  });
  return events(client, request);
}

/** `client.iterate` with the errors as GraphiQL can show them. No generator: its `return` would wait for an event. */
function events(client: Client, request: Request): Results {
  const source = client.iterate(request);
  const iterator: Results = {
    async next() {
      try {
        return await source.next();
      } catch (problem) {
        return { done: false, value: refusalOf(problem) }; // After which the source says that it has ended.
      }
    },
    async return() {
      await source.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}

function refusalOf(problem: unknown): Result {
  if (Array.isArray(problem)) return { errors: problem }; // The server's own words, as over HTTP.
  if (problem instanceof CloseEvent && problem.reason) {
    return failure(`The socket was closed with ${problem.code}: ${problem.reason}`);
  }
  // Browsers tell pages no more than that there is no connection.
  if (problem instanceof Event) return failure('The server cannot be reached, or takes no more sockets.');
  return failure(`The subscription failed: ${problem}`);
}

function failure(message: string): Result {
  return { errors: [{ message }] };
}

/** The token of an `authorization` header, whatever the case of the header's name. */
function bearerToken(headers: Headers): string | null {
  for (const [name, value] of Object.entries(headers)) {
    if (name.toLowerCase() === 'authorization') return String(value).replace(/^bearer\s+/i, '');
  }
  return null;
}
