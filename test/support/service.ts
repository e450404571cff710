// A whole service on the embedded stores in a temporary folder, for tests that look at it from outside.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { issueLocalToken } from '../../adapters/identity/index.ts';
import { openLogger } from '../../service/logger.ts';
import { type Service, startService } from '../../service/service.ts';
import { readConfig } from '../../settings/config.ts';
import { until } from './behind.ts';
import { descriptions } from './described.ts';

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: what a test looks at it knows
  body: any;
}

export interface TestClient {
  token: string;
  /** Any request, with the client's credentials. */
  send(path: string, init?: RequestInit): Promise<Answer>;
  ask(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  upload(
    content: string | Uint8Array,
    query?: string,
    filename?: string,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  /** Asks until the job has stopped; a 503 is asked again. */
  ended(job_id: string): Promise<Answer['body']>;
}

export interface TestService {
  url: string;
  data_dir: string;
  client(user_id: string, options?: { is_admin?: boolean }): Promise<TestClient>;
  /** A client of the public API, with a key of that user. */
  keyHolder(user_id: string): Promise<TestClient>;
  /** Ends the service, and starts it again over the same stores, at the port that it was given. `meanwhile` runs while it is away. */
  restart(meanwhile?: () => Promise<void>): Promise<void>;
  /** `look` sees the folder after the end, before it is removed. */
  stop(look?: (data_dir: string) => Promise<void>): Promise<void>;
}

export async function startTestService(env: Record<string, string> = {}): Promise<TestService> {
  const data_dir = await mkdtemp(join(tmpdir(), 'url-checker-test-'));
  const config = readConfig({
    DATA_DIR: data_dir,
    PORT: '0',
    LOG_LEVEL: 'warn',
    LOG_FILE: join(data_dir, 'service.log'),
    CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8',
    CHECKER_RETRIES: '0',
    // As where credits are sold.
    SIGNUP_CREDITS: '300',
    RATE_LIMIT_PER_MINUTE: '1000000',
    RATE_LIMIT_PER_DAY: '1000000',
    HEAVY_REQUESTS_PER_CALLER: '1000',
    // Tests ask much at once, on machines that are busy with other tests.
    REQUEST_WAIT_MS: '60000',
    METRICS_ON_PORT: 'on',
    // Otherwise a balance changes at some time after the first job of an API key.
    TRIAL_CREDITS: '0',
    ...env,
  });
  let service: Service = await startService(config, openLogger(config));
  const url = service.url!;
  const client = async (user_id: string, { is_admin = false } = {}) =>
    openTestClient(
      url,
      await issueLocalToken(data_dir, { user_id, email: `${user_id}@example.com`, is_admin, hours: 1 }),
    );
  return {
    url,
    data_dir,
    client,
    async keyHolder(user_id) {
      const made = await (await client(user_id)).ask('POST', '/users/me/api-keys', { name: 'test' });
      if (made.status !== 201) throw new Error(`no key was made: ${made.status} ${JSON.stringify(made.body)}`);
      return openTestClient(url, made.body.key, '/api/v2');
    },
    async restart(meanwhile) {
      await service.stop();
      try {
        await meanwhile?.();
      } finally {
        service = await startService(config, openLogger(config));
      }
    },
    async stop(look) {
      await service.stop();
      await look?.(data_dir);
      await rm(data_dir, { recursive: true, force: true });
    },
  };
}

/** With its body: parsed where it is JSON, else as text. */
export async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const is_json = text !== '' && response.headers.get('content-type')?.includes('json');
  return { status: response.status, headers: response.headers, body: is_json ? JSON.parse(text) : text };
}

/** Every answer that a test client gets is as the OpenAPI documents say. */
function assertDescribed(method: string, path: string, answer: Answer): void {
  const problem = ['HEAD', 'OPTIONS'].includes(method) ? null : descriptions().problemOf(method, path, answer);
  if (problem !== null) throw new Error(`an answer that is not as it is described: ${problem}`);
}

/** `inspect` sees every answer; the one of a bench, which measures the service alone, is idle. */
export function openTestClient(url: string, token: string, prefix = '', inspect = assertDescribed): TestClient {
  const authorization = { authorization: `Bearer ${token}` };
  async function send(path: string, init: RequestInit = {}): Promise<Answer> {
    const answer = await answerOf(await fetch(url + path, { ...init, headers: { ...authorization, ...init.headers } }));
    inspect(init.method ?? 'GET', path, answer);
    return answer;
  }
  return {
    token,
    send,
    ask(method, path, body, headers = {}) {
      const json = body === undefined ? {} : { 'content-type': 'application/json' };
      const init = { method, headers: { ...json, ...headers } };
      return send(path, body === undefined ? init : { ...init, body: JSON.stringify(body) });
    },
    upload(content, query = '', filename = 'urls.csv', headers = {}) {
      const form = new FormData();
      form.append('file', new Blob([content as string]), filename);
      return send(`/jobs${query}`, { method: 'POST', body: form, headers });
    },
    async ended(job_id) {
      let answer: Answer;
      await until(async () => {
        answer = await this.ask('GET', `${prefix}/jobs/${job_id}`);
        if (answer.status === 503) return false;
        if (answer.status !== 200) throw new Error(`GET ${job_id}: ${answer.status} ${JSON.stringify(answer.body)}`);
        return answer.body.status !== 'processing';
      });
      return answer!.body;
    },
  };
}
