// A client without patience: each request has a connection of its own, and only a refused one is tried at another address.
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';

export interface StrictAnswer {
  status: number;
  body: string;
}

/** Throws when a connection breaks, or every address refuses it. */
export async function askStrictly(
  urls: readonly string[],
  path: string,
  {
    method = 'GET',
    headers = {},
    body = '',
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<StrictAnswer> {
  const refused: unknown[] = [];
  for (const url of urls) {
    const asking = request(url + path, { method, headers, agent: false });
    asking.end(body);
    try {
      const [response] = (await once(asking, 'response')) as [IncomingMessage];
      return { status: response.statusCode!, body: await text(response) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') throw error;
      refused.push(error);
    }
  }
  throw new AggregateError(refused, `${method} ${path}: every address refuses connections`);
}
