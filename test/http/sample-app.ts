// A small application of the frame for its tests: sample routes, callers, jobs, and a server on a port of its own.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { Registry } from 'prom-client';
import { issueLocalToken, openIdentity } from '../../adapters/identity/index.ts';
import { type AppOptions, createApp } from '../../http/app.ts';
import type { JobFinder } from '../../http/callers/access.ts';
import { openHeavyRequests } from '../../http/frame/limits/heavy-requests.ts';
import { openRawBodies } from '../../http/frame/limits/raw-bodies.ts';
import type { Route } from '../../http/frame/route.ts';
import { bound } from '../../http/group.ts';
import { startServer } from '../../http/server/server.ts';
import type { JobDocument } from '../../readmodels/jobs/jobs.ts';
import { checked } from './reply-check.ts';

export const API_KEY = `uc_live_${'A'.repeat(43)}`;
export const ALICES_JOB = '2f1c9f2e-5d0c-4b7b-9a43-0c5c5f4b7d11';

export interface Sample {
  url: string;
  folder: string;
  uploads: string;
  /** Every line that was logged, parsed. */
  logged: Record<string, unknown>[];
  tokens: { alice: string; bob: string; root: string; expired: string };
  request(path: string, init?: RequestInit & { as?: string | null }): Promise<Response>;
  close(): Promise<void>;
}

export async function startSample<Services>(
  routes: readonly Route<Services>[],
  services: Services,
  overrides: Partial<AppOptions> & { drain_ms?: number; check_replies?: boolean } = {},
): Promise<Sample> {
  const folder = await mkdtemp(join(tmpdir(), 'http-'));
  const uploads = join(folder, 'uploads');
  const logged: Record<string, unknown>[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void logged.push(JSON.parse(line)) });
  const { drain_ms, check_replies = true, ...options } = overrides;
  const served = bound(routes, services);
  const app = createApp(check_replies ? served.map(checked) : served, {
    log,
    registry: new Registry(),
    metrics_on_port: true,
    readiness: {},
    identity: await openIdentity({ local: folder }),
    api_key: async (plaintext) =>
      plaintext === API_KEY ? { user_id: 'alice', email: null, is_admin: false, kind: 'key', key_id: 'k1' } : null,
    jobs: jobsBy((job_id) => (job_id === ALICES_JOB ? { owner_id: 'alice' } : null)),
    shared_secret: null,
    uploads: { folder: uploads, max_file_bytes: 1024 * 1024 },
    trusted_proxies: [],
    https: false,
    heavy_requests: openHeavyRequests({ per_caller: 100, at_once: 100 }),
    raw_bodies: openRawBodies(),
    seen: async () => {},
    await_position: async () => true,
    ...options,
  });
  const server = await startServer(app, {
    host: '127.0.0.1',
    port: 0,
    log,
    ...(drain_ms === undefined ? {} : { drain_ms }),
  });
  const token = (user_id: string, is_admin = false, hours = 1) =>
    issueLocalToken(folder, { user_id, email: `${user_id}@example.com`, is_admin, hours });
  return {
    url: server.url,
    folder,
    uploads,
    logged,
    tokens: {
      alice: await token('alice'),
      bob: await token('bob'),
      root: await token('root', true),
      expired: await token('alice', true, -1),
    },
    request(path, { as = null, ...init } = {}) {
      const headers = new Headers(init.headers);
      if (as !== null) headers.set('authorization', `Bearer ${as}`);
      return fetch(server.url + path, { ...init, headers });
    },
    async close() {
      await server.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** The documents and the log have the same jobs. */
export function jobsBy(find: (job_id: string) => object | null): JobFinder {
  const job = async (_id: string) => {
    const found = find(_id);
    return found && ({ _id, ...found } as JobDocument);
  };
  return { shown: job, owned: job, awaited: job };
}

export { until } from '../support/until.ts';
