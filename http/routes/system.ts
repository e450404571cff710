// The routes about the service itself: whether it runs, what it measures, and what its APIs look like.
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { Type } from 'typebox';
import { APIS } from '../apis/all.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { openApi } from '../openapi/document.ts';
import { NotReady } from '../readiness.ts';
import { type Route, routeOf } from '../route.ts';
import { docsRoutes } from './docs.ts';

export interface SystemOptions {
  log: Logger;
  registry: Registry;
  /** What must work before requests are sent here, by name; each throws when it does not. */
  readiness: Readonly<Record<string, () => Promise<unknown>>>;
  /** The path of `PUBLIC_URL`, where it has one. */
  base_path?: string;
}

const route = routeOf<unknown>(GATEWAY);
const tags = ['service'];
const READY_MS = 2000;

/** `routes`: all but these, which the descriptions describe. */
export function systemRoutes(routes: readonly Route<never>[], options: SystemOptions): Route[] {
  const { registry, base_path } = options;
  const state = Type.Object({
    status: Type.Enum(['ok', 'unavailable']),
    failed: Type.Optional(Type.Array(Type.String(), { description: 'What does not work.' })),
    checks: Type.Optional(
      Type.Record(Type.String(), Type.Object({ ok: Type.Boolean(), detail: Type.Optional(Type.String()) }), {
        description: 'Each thing that must work, and what is wrong with it.',
      }),
    ),
  });
  const probes = [
    route({
      method: 'GET',
      path: '/healthz',
      access: 'none',
      summary: 'Whether the process is up',
      tags,
      quiet: true,
      responses: { 200: { description: 'It is.', schema: state, example: { status: 'ok' } } },
      handler: () => ({ body: { status: 'ok' } }),
    }),
    route({
      method: 'GET',
      path: '/readyz',
      access: 'none',
      summary: 'Whether the service can do its work',
      tags,
      quiet: true,
      responses: {
        200: {
          description: 'It can.',
          schema: state,
          example: { status: 'ok', checks: { event_log: { ok: true }, checker: { ok: true } } },
        },
        503: {
          description: 'It cannot; `failed` names what is missing, and `checks` says why.',
          schema: state,
          example: {
            status: 'unavailable',
            failed: ['checker'],
            checks: { event_log: { ok: true }, checker: { ok: false, detail: 'none gives a sign of life' } },
          },
        },
      },
      async handler() {
        const checks = await checkAll(options);
        const failed = Object.keys(checks).filter((name) => !checks[name]!.ok);
        if (failed.length === 0) return { body: { status: 'ok', checks } };
        return { status: 503, body: { status: 'unavailable', failed, checks }, headers: { 'retry-after': '5' } };
      },
    }),
    route({
      method: 'GET',
      path: '/metrics',
      access: 'none',
      summary: 'What is measured, for Prometheus',
      tags,
      quiet: true,
      responses: {
        200: {
          description: 'The metrics.',
          schema: Type.String(),
          content_type: registry.contentType,
          example: '# TYPE http_requests_in_flight gauge\nhttp_requests_in_flight 2\n',
        },
      },
      handler: async () => ({ body: await registry.metrics() }),
    }),
  ];
  const own = [...probes, ...docsRoutes()];
  return [...own, ...descriptions([...routes, ...own], base_path)];
}

interface Check {
  ok: boolean;
  detail?: string;
}

/** What each check says; one that takes too long has failed. */
async function checkAll({ log, readiness }: SystemOptions): Promise<Record<string, Check>> {
  const outcomes = Object.entries(readiness).map(async ([name, check]): Promise<[string, Check]> => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new NotReady(`no answer within ${READY_MS} ms`)), READY_MS);
    });
    try {
      await Promise.race([check(), late]);
      return [name, { ok: true }];
    } catch (error) {
      // What others say of their faults may name addresses and is for the log alone.
      const detail = error instanceof NotReady ? error.message : 'it does not work';
      log.warn({ check: name, ...(error instanceof NotReady ? { detail } : { err: error }) }, 'not ready');
      return [name, { ok: false, detail }];
    } finally {
      clearTimeout(timer);
    }
  });
  return Object.fromEntries(await Promise.all(outcomes));
}

/** The documents describe themselves too; they are made once, at start, so that a defect of the table is found then. */
function descriptions(others: readonly Route<never>[], base_path: string | undefined): Route[] {
  return [...APIS].reverse().map((api) => {
    let document: object | undefined;
    const { title, version } = api.description;
    const described = routeOf<unknown>(api)({
      method: 'GET',
      path: '/openapi.json',
      access: 'none',
      summary: 'This description',
      tags,
      responses: {
        200: {
          description: 'An OpenAPI 3.1 document.',
          schema: Type.Object({ openapi: Type.String() }, { additionalProperties: true }),
          example: { openapi: '3.1.0', info: { title, version }, paths: {} },
        },
      },
      handler: () => ({ body: document!, headers: { 'cache-control': 'public, max-age=60' } }),
    });
    document = openApi([...others.filter((one) => one.api === api), described], api.description, base_path);
    return described;
  });
}
