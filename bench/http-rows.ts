// The requests that `bench/http.ts` measures. Reads are one request, asked again and again; each write makes something new.

import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { addressOf } from './loopback-urls.ts';
import type { Target } from './vegeta.ts';

/** A user with a token of the gateway and a key of the public API, and jobs that are shared and cancelled. */
export interface BenchUser {
  token: string;
  key: string;
}

export interface Asking {
  url: string;
  /** A checked job of the first user. */
  job_id: string;
  share: string;
  users: readonly BenchUser[];
}

const bearer = (credentials: string) => ({ authorization: `Bearer ${credentials}` });
const json = (credentials: string) => ({ ...bearer(credentials), 'content-type': 'application/json' });

/** The paths of the reads, by the name of their row; `as` says with whose credentials of the first user, or for which reader. */
export const readsOf = ({ job_id, share }: Omit<Asking, 'url'>): Readonly<Record<string, ReadRow>> => ({
  'GET /jobs/{id}': { path: `/jobs/${job_id}`, as: 'token' },
  'GET /jobs': { path: '/jobs?email=bench0@example.com', as: 'token' },
  'results, first page': { path: `/jobs/${job_id}/results`, as: 'nobody' },
  'results, broken': { path: `/jobs/${job_id}/results?status_group=broken`, as: 'nobody' },
  'results, /api/v2 by cursor': { path: `/api/v2/jobs/${job_id}/results?cursor=`, as: 'key' },
  'job stats': { path: `/jobs/${job_id}/stats`, as: 'nobody' },
  'filter-options': { path: `/jobs/${job_id}/filter-options`, as: 'nobody' },
  'share, JSON': { path: `/share/${share}`, as: 'nobody' },
  'share, page': { path: `/share/${share}`, as: 'browser' },
  '/openapi.json': { path: '/openapi.json', as: 'nobody' },
  '/api/v2/openapi.json': { path: '/api/v2/openapi.json', as: 'nobody' },
});

export interface ReadRow {
  path: string;
  as: 'token' | 'key' | 'nobody' | 'browser';
}

export function readTarget(url: string, { path, as }: ReadRow, { token, key }: BenchUser): Target {
  const headers = {
    token: bearer(token),
    key: bearer(key),
    nobody: {},
    browser: { accept: 'text/html,application/xhtml+xml' },
  };
  // Uncompressed, as the bare Koa answers.
  return { method: 'GET', url: url + path, headers: { 'accept-encoding': 'identity', ...headers[as] } };
}

export interface WriteRow {
  /** A write that needs a job of its own to begin with. */
  needs_jobs?: true;
  /** Requests at once; 1 asks one after the other. */
  workers: number;
  target(asking: Asking, n: number, job_id: string): Target;
}

let made = 0;
/** URLs that no other request has, over 200 hosts. */
function freshUrls(port: number, count: number): string[] {
  made++;
  return Array.from({ length: count }, (_, n) => `http://${addressOf((made + n) % 200)}:${port}/${made}/${n}`);
}

/** The writes by name. The websites of submitted jobs answer at `port`. */
export function writesOf(port: number): Readonly<Record<string, WriteRow>> {
  const submit = (count: number, of_users = Number.POSITIVE_INFINITY): WriteRow => ({
    workers: 32,
    target: ({ url, users }, n) => ({
      ...{ method: 'POST', url: `${url}/api/v2/jobs` },
      headers: json(users[n % Math.min(users.length, of_users)]!.key),
      body: JSON.stringify({ urls: freshUrls(port, count) }),
    }),
  });
  const share = (workers: number): WriteRow => ({
    ...{ needs_jobs: true, workers },
    target: ({ url, users }, n, job_id) => ({
      ...{ method: 'POST', url: `${url}/jobs/${job_id}/share`, headers: json(users[n % users.length]!.token) },
      body: '{}',
    }),
  });
  const of_job = (path: string, workers: number): WriteRow => ({
    ...{ needs_jobs: true, workers },
    target: ({ url, users }, n, job_id) => ({
      ...{ method: 'POST', url: `${url}/jobs/${job_id}/${path}`, headers: bearer(users[n % users.length]!.token) },
    }),
  });
  return {
    'submit 1 URL': submit(1),
    'submit 10 URLs': submit(10),
    'submit 10 URLs, one user': submit(10, 1),
    'submit 100 URLs': submit(100),
    'upload of 1,000 rows': {
      workers: 16,
      target: ({ url, users }, n) => upload(url, users[n % users.length]!.token, freshUrls(port, 1000).join('\n')),
    },
    share: share(16),
    'share, one by one': share(1),
    'API key': {
      workers: 16,
      target: ({ url, users }, n) => ({
        ...{ method: 'POST', url: `${url}/users/me/api-keys`, headers: json(users[n % users.length]!.token) },
        body: '{"name":"bench"}',
      }),
    },
    pause: of_job('pause', 16),
    cancel: of_job('cancel', 16),
    'cancel, one by one': of_job('cancel', 1),
  };
}

const BOUNDARY = 'bench-boundary';

function upload(url: string, token: string, rows: string): Target {
  const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="urls.csv"\r\nContent-Type: text/csv\r\n\r\n`;
  const headers = { ...bearer(token), 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };
  return { method: 'POST', url: `${url}/jobs`, headers, body: `${head}${rows}\r\n--${BOUNDARY}--\r\n` };
}

/** A website that takes connections and never answers, so that a job of its URLs goes on until it is cancelled. */
export async function startSilentWebsite(): Promise<{ port: number; stop(): void }> {
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)));
  });
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '0.0.0.0', backlog: 4096 }, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
