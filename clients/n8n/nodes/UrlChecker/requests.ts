// The public API as the node asks it: with the credentials of n8n, whose own retries and proxies it has.
import {
  type IDataObject,
  type IExecuteFunctions,
  type IHttpRequestMethods,
  type JsonObject,
  NodeApiError,
  sleep,
} from 'n8n-workflow';

export interface Job extends IDataObject {
  job_id: string;
  status: 'processing' | 'paused' | 'completed' | 'cancelled' | 'failed';
  pause_reason: string | null;
  failure_reason: string | null;
}

export interface Rejected {
  ref: string;
  value: string;
  reason: string;
  message: string;
  duplicate_of_row: number | null;
}

const PAGE = 10_000;
const REJECTED_PAGE = 1000;
const TRIES = 5;
const TEMPORARY: readonly number[] = [429, 502, 503, 504];
const LONGEST_WAIT_S = 60;

interface Asked {
  query?: IDataObject;
  body?: IDataObject;
  headers?: IDataObject;
}

/** Asks again when the service asks to wait; a POST without an idempotency key only then. */
export async function request(
  this: IExecuteFunctions,
  method: IHttpRequestMethods,
  path: string,
  { query, body, headers }: Asked = {},
): Promise<IDataObject> {
  const { baseUrl } = await this.getCredentials<{ baseUrl: string }>('urlCheckerApi');
  for (let tries = 1; ; tries++) {
    const answer = await this.helpers.httpRequestWithAuthentication.call(this, 'urlCheckerApi', {
      ...{ method, url: `${baseUrl.replace(/\/$/, '')}/api/v2${path}`, qs: query, body, headers },
      ...{ json: true, returnFullResponse: true, ignoreHttpStatusErrors: true },
    });
    const { statusCode, body: found } = answer;
    if (statusCode < 300) return found ?? {};
    if (!TEMPORARY.includes(statusCode) || tries === TRIES) {
      const { code, message } = found?.error ?? {};
      throw new NodeApiError(this.getNode(), (found ?? {}) as JsonObject, {
        httpCode: String(statusCode),
        message: message ?? `The service answers ${statusCode}`,
        description: code,
      });
    }
    const wait_s = Number(answer.headers['retry-after'] ?? 2 ** tries);
    await sleep(1000 * Math.min(wait_s || 1, LONGEST_WAIT_S));
  }
}

/** The first `most` results of the job at `path` that pass the filters. */
export async function allResults(
  this: IExecuteFunctions,
  path: string,
  most: number,
  filters: IDataObject = {},
): Promise<IDataObject[]> {
  const found: IDataObject[] = [];
  let cursor: string | null = '';
  while (cursor !== null && found.length < most) {
    const query: IDataObject = { limit: Math.min(PAGE, most - found.length), cursor, ...filters };
    const page = await request.call(this, 'GET', `${path}/results`, { query });
    found.push(...(page.results as IDataObject[]));
    cursor = page.next_cursor as string | null;
  }
  return found;
}

export async function rejectedItems(this: IExecuteFunctions, path: string): Promise<Rejected[]> {
  const found: Rejected[] = [];
  for (;;) {
    const query = { limit: REJECTED_PAGE, offset: found.length };
    const { items } = (await request.call(this, 'GET', `${path}/rejected`, { query })) as unknown as {
      items: Rejected[];
    };
    found.push(...items);
    if (items.length < REJECTED_PAGE) return found;
  }
}

/**
 * The same for a node that n8n runs again after a failure, so that it makes no second job; another one for each other execution, round of a
 * loop and list.
 */
export function idempotencyKey(functions: IExecuteFunctions, body: string): string {
  let hash = 0n;
  for (let at = 0; at < body.length; at++)
    hash = BigInt.asUintN(64, hash * 1_099_511_628_211n + BigInt(body.charCodeAt(at)));
  const { $runIndex } = functions.getWorkflowDataProxy(0);
  return ['n8n', functions.getExecutionId(), functions.getNode().id, $runIndex, hash.toString(36)].join(':');
}
