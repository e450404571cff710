// The routes about the service itself: whether it runs, what it measures, and what its APIs look like.
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { Type } from 'typebox';
import { isV2 } from '../errors.ts';
import { type Description, openApi } from '../openapi.ts';
import { type Route, routeOf } from '../route.ts';

export interface SystemOptions {
  log: Logger;
  registry: Registry;
  /** What must work before requests are sent here, by name; each throws when it does not. */
  readiness: Readonly<Record<string, () => Promise<unknown>>>;
}

const route = routeOf<unknown>();
const tags = ['service'];
const READY_MS = 2000;

/** `routes`: all but these, which the descriptions describe. */
export function systemRoutes(routes: readonly Route<never>[], options: SystemOptions): Route<unknown>[] {
  const { registry } = options;
  const state = Type.Object({
    status: Type.Enum(['ok', 'unavailable']),
    failed: Type.Optional(Type.Array(Type.String())),
  });
  const probes = [
    route({
      method: 'GET',
      path: '/healthz',
      access: 'none',
      summary: 'Whether the process is up',
      tags,
      quiet: true,
      responses: { 200: { description: 'It is.', schema: state } },
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
        200: { description: 'It can.', schema: state },
        503: { description: 'It cannot; `failed` names what is missing.', schema: state },
      },
      async handler() {
        const failed = await failures(options);
        if (failed.length === 0) return { body: { status: 'ok' } };
        return { status: 503, body: { status: 'unavailable', failed }, headers: { 'retry-after': '5' } };
      },
    }),
    route({
      method: 'GET',
      path: '/metrics',
      access: 'none',
      summary: 'What is measured, for Prometheus',
      tags,
      quiet: true,
      responses: { 200: { description: 'The metrics.', schema: Type.String(), content_type: registry.contentType } },
      handler: async () => ({ body: await registry.metrics() }),
    }),
  ];
  return [...probes, ...descriptions([...routes, ...probes])];
}

/** The names of the checks that fail, or take too long. */
async function failures({ log, readiness }: SystemOptions): Promise<string[]> {
  const outcomes = Object.entries(readiness).map(async ([name, check]) => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer within ${READY_MS} ms`)), READY_MS);
    });
    try {
      await Promise.race([check(), late]);
      return [];
    } catch (error) {
      log.warn({ err: error, check: name }, 'not ready');
      return [name];
    } finally {
      clearTimeout(timer);
    }
  });
  return (await Promise.all(outcomes)).flat();
}

/** The documents describe themselves too; they are made once, at start, so that a defect of the table is found then. */
function descriptions(others: readonly Route<never>[]): Route<unknown>[] {
  const describes = (path: string, description: Description, v2: boolean) => {
    let document: object | undefined;
    const described = route({
      method: 'GET',
      path,
      access: 'none',
      summary: 'This description',
      tags,
      responses: {
        200: { description: 'An OpenAPI 3.1 document.', schema: Type.Object({}, { additionalProperties: true }) },
      },
      handler: () => ({ body: document!, headers: { 'cache-control': 'public, max-age=60' } }),
    });
    const mine = [...others.filter((one) => isV2(one.path) === v2), described];
    document = openApi(mine, description, v2 ? 'v2' : 'gateway');
    return described;
  };
  return [
    describes('/openapi.json', { title: 'URL checking service: gateway', version: '1.0.0' }, false),
    describes('/api/v2/openapi.json', { title: 'URL checking service: public API', version: '2.0.0' }, true),
  ];
}
