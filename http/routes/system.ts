// The routes about the service itself: whether it runs, what it measures, and what its APIs look like.
import { Type } from '../../events/schema.ts';
import { APIS } from '../apis/all.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { openApi } from '../openapi/document.ts';
import { PROBES, type ProbeOptions } from '../probes.ts';
import { type Route, routeOf } from '../route.ts';
import { docsRoutes } from './docs.ts';

export interface SystemOptions extends ProbeOptions {
  /** The path of `PUBLIC_URL`, where it has one. */
  base_path?: string;
}

const route = routeOf<unknown>(GATEWAY);
const tags = ['service'];

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
  const probe = (path: string, summary: string, responses: Route['responses']) =>
    route({
      ...{ method: 'GET', path, access: 'none', summary, tags, quiet: true, responses },
      handler: () => PROBES[path]!(options),
    });
  const probes = [
    probe('/healthz', 'Whether the process is up', {
      200: { description: 'It is.', schema: state, example: { status: 'ok' } },
    }),
    probe('/readyz', 'Whether the service can do its work', {
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
    }),
    probe('/metrics', 'What is measured, for Prometheus', {
      200: {
        description: 'The metrics.',
        schema: Type.String(),
        content_type: registry.contentType,
        example: '# TYPE http_requests_in_flight gauge\nhttp_requests_in_flight 2\n',
      },
    }),
  ];
  const own = [...probes, ...docsRoutes()];
  return [...own, ...descriptions([...routes, ...own], base_path)];
}

/** The documents describe themselves too. Each is made at its first request. */
function descriptions(others: readonly Route<never>[], base_path: string | undefined): Route[] {
  return [...APIS].reverse().map((api) => {
    let document: object | undefined;
    const { title, version } = api.description;
    const described: Route = routeOf<unknown>(api)({
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
      handler: () => ({ body: (document ??= made()), headers: { 'cache-control': 'public, max-age=60' } }),
    });
    const made = (): object =>
      openApi([...others.filter((one) => one.api === api), described], api.description, base_path);
    return described;
  });
}
