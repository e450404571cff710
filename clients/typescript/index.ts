// A thin client of the public API: it repeats what is safe to repeat, reads pages to their end, waits for jobs, and verifies webhooks. It needs
// nothing but `fetch` and Web Crypto.
import type { Job, JobOptions, JobWithWork, RejectedRow, UrlResult, UrlWithRef, Usage } from './models.ts';

export type * from './models.ts';

export interface ClientOptions {
  /** Where the service is, such as `https://checker.example.com`. */
  base_url: string;
  api_key: string;
  fetch?: typeof globalThis.fetch;
  /** How often a request is sent at most. Default 5. */
  tries?: number;
}

/** A URL, or one with a name of your own that its result repeats. */
export type Item = string | UrlWithRef;

export interface Submission {
  label?: string;
  metadata?: Record<string, string>;
  options?: JobOptions;
  /** Your own key of the submission; a new UUID by default, which all tries of the call share. */
  idempotency_key?: string;
}

/** The service refused the request. Decide on `code`. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: Record<string, unknown>;
  readonly request_id: string | null;

  constructor(status: number, error: { code: string; message: string; details?: object }, request_id: string | null) {
    super(error.message);
    this.status = status;
    this.code = error.code;
    this.details = { ...error.details };
    this.request_id = request_id;
  }
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>;
interface Asked {
  query?: Query;
  body?: object;
  headers?: Record<string, string>;
}

const PAGE = 10_000;
const TEMPORARY: readonly number[] = [429, 500, 502, 503, 504];
const STOPPED: readonly string[] = ['completed', 'cancelled', 'failed', 'paused'];

export class UrlChecker {
  readonly #options: Required<ClientOptions>;

  constructor(options: ClientOptions) {
    this.#options = { fetch: (...args) => globalThis.fetch(...args), tries: 5, ...options };
  }

  /** Submits a list. A submission whose answer was lost is sent again under the same key, and makes no second job. */
  async submit(
    urls: readonly Item[],
    { idempotency_key = crypto.randomUUID(), ...more }: Submission = {},
  ): Promise<Job> {
    return await this.request('POST', '/jobs', {
      body: { ...listOf(urls), ...more },
      headers: { 'Idempotency-Key': idempotency_key },
    });
  }

  /** Submits a list and yields its results as they come, in the order of the list. */
  async *check(urls: readonly Item[], submission?: Submission): AsyncGenerator<UrlResult> {
    const { job_id } = await this.submit(urls, submission);
    yield* this.results(job_id);
  }

  async job(job_id: string): Promise<JobWithWork> {
    return await this.request('GET', `/jobs/${encodeURIComponent(job_id)}`);
  }

  /** Resolves when the job has completed, failed, paused or been cancelled. */
  async wait(
    job_id: string,
    { poll_ms = 1000, signal }: { poll_ms?: number; signal?: AbortSignal } = {},
  ): Promise<JobWithWork> {
    for (;;) {
      signal?.throwIfAborted();
      const job = await this.job(job_id);
      if (STOPPED.includes(job.status)) return job;
      await sleep(poll_ms);
    }
  }

  /** Yields all results that pass the filters. While the job is processing it waits for more; a paused job ends the iteration. */
  async *results(job_id: string, filters: Query = {}): AsyncGenerator<UrlResult> {
    const path = `/jobs/${encodeURIComponent(job_id)}/results`;
    for await (const page of this.#pages<{ results: UrlResult[] }>(path, { limit: PAGE, ...filters }))
      yield* page.results;
  }

  /** Yields the jobs of the key's user, the newest first. */
  async *jobs(filters: Query = {}): AsyncGenerator<Job> {
    for await (const page of this.#pages<{ items: Job[] }>('/jobs', { limit: 1000, ...filters })) yield* page.items;
  }

  /** Yields the texts of the list that are not checked, each with its reason. */
  async *rejected(job_id: string, filters: Query = {}): AsyncGenerator<RejectedRow> {
    const path = `/jobs/${encodeURIComponent(job_id)}/rejected`;
    for (let offset = 0; ; ) {
      const query = { limit: 1000, ...filters, offset };
      const { items, total } = await this.request<{ items: RejectedRow[]; total: number }>('GET', path, { query });
      yield* items;
      offset += items.length;
      if (items.length === 0 || offset >= total) return;
    }
  }

  async cancel(job_id: string): Promise<Job> {
    return await this.request('DELETE', `/jobs/${encodeURIComponent(job_id)}`);
  }

  /** Goes on with a paused job, once there are credits. */
  async resume(job_id: string): Promise<Job> {
    return await this.request('POST', `/jobs/${encodeURIComponent(job_id)}/resume`);
  }

  async usage(): Promise<Usage> {
    return await this.request('GET', '/usage');
  }

  /** The answer with all results that pass the filters, as a CSV file, or with `format: 'xlsx'` as a workbook. */
  async export(job_id: string, filters: Query = {}): Promise<Response> {
    const path = `/jobs/${encodeURIComponent(job_id)}/export`;
    return await this.#send('GET', path, { query: filters }, async (response) => response);
  }

  /** Any other operation, by its path below `/api/v2`. A POST without an idempotency key is not repeated after a lost answer. */
  async request<Answer>(method: string, path: string, asked: Asked = {}): Promise<Answer> {
    return await this.#send(method, path, asked, async (response) =>
      response.status === 204 ? undefined : await response.json(),
    );
  }

  async #send<Answer>(
    method: string,
    path: string,
    { query = {}, body, headers = {} }: Asked,
    read: (response: Response) => Promise<unknown>,
  ): Promise<Answer> {
    const { base_url, api_key, fetch, tries } = this.#options;
    const given = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    );
    const search = new URLSearchParams(given as [string, string][]);
    const url = `${base_url.replace(/\/$/, '')}/api/v2${path}${given.length > 0 ? `?${search}` : ''}`;
    const init = {
      method,
      headers: {
        Authorization: `Bearer ${api_key}`,
        ...(body && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    };
    const is_repeatable = method !== 'POST' || 'Idempotency-Key' in headers;
    for (let n = 1; ; n++) {
      let wait_s = 2 ** (n - 1) * (0.5 + Math.random() / 2);
      try {
        const response = await fetch(url, init);
        if (response.ok) return (await read(response)) as Answer;
        const error = await errorOf(response);
        const may_repeat = TEMPORARY.includes(error.status) || error.code === 'idempotency_in_progress';
        if (!may_repeat || n >= tries || (error.status === 500 && !is_repeatable)) throw error;
        wait_s = Number(response.headers.get('retry-after')) || wait_s;
      } catch (error) {
        if (error instanceof ApiError || n >= tries || !is_repeatable) throw error;
      }
      await sleep(wait_s * 1000);
    }
  }

  async *#pages<Page>(path: string, filters: Query): AsyncGenerator<Page> {
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Page & { next_cursor: string | null } = await this.request('GET', path, {
        query: { ...filters, cursor },
      });
      yield page as Awaited<Page>;
      cursor = page.next_cursor;
    }
  }
}

/** The API takes strings as `urls`, and URLs with names as `items`. */
const listOf = (urls: readonly Item[]) =>
  urls.every((item) => typeof item === 'string')
    ? { urls }
    : { items: urls.map((item) => (typeof item === 'string' ? { url: item } : item)) };

async function errorOf(response: Response): Promise<ApiError> {
  const request_id = response.headers.get('x-request-id');
  const answer = (await response.json().catch(() => null)) as { error?: { code: string; message: string } } | null;
  // What stands before the service answers in its own way.
  const error = answer?.error ?? { code: 'unavailable', message: `The answer has status ${response.status}.` };
  return new ApiError(response.status, error, request_id);
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const TOLERANCE_S = 300;

/**
 * Whether a webhook is signed with the secret, at most five minutes ago. `body`: the text as it came; `header`: `Service-Signature`.
 * `now`: milliseconds since the epoch.
 */
export async function isWebhookSigned(
  body: string,
  header: string,
  secret: string,
  now = Date.now(),
): Promise<boolean> {
  const fields = header.split(',').map((field) => field.trim().split('='));
  const timestamp = fields.find(([name]) => name === 't')?.[1] ?? '';
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(now / 1000 - Number(timestamp)) > TOLERANCE_S) return false;
  const bytes = new TextEncoder();
  const key = await crypto.subtle.importKey('raw', bytes.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, [
    'verify',
  ]);
  for (const [name, value = ''] of fields) {
    if (name !== 'v1' || !/^[0-9a-f]{64}$/.test(value)) continue;
    const signature = Uint8Array.from(value.match(/../g)!, (pair) => Number.parseInt(pair, 16));
    if (await crypto.subtle.verify('HMAC', key, signature, bytes.encode(`${timestamp}.${body}`))) return true;
  }
  return false;
}
