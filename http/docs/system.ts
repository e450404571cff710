// The routes about the service itself: probes, metrics and the OpenAPI documents.
import { Type } from '../../events/schema.ts';
import { APIS } from '../apis/all.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { JsonText } from '../frame/answers/json-text.ts';
import { type Route, routeOf } from '../frame/route.ts';
import { Time } from '../frame/schemas.ts';
import { openApi } from '../openapi/document.ts';
import { PROBES, type ProbeOptions } from '../server/probes.ts';
import { docsRoutes } from './docs.ts';

export interface SystemOptions extends ProbeOptions {
  /** The path of `PUBLIC_URL`, where it has one. */
  base_path?: string;
  /** Whether everybody may read the metrics. */
  metrics_on_port?: boolean;
}

const route = routeOf<unknown>(GATEWAY, 'service');

/** The documents describe `routes`, and the routes of this file. */
export function systemRoutes(routes: readonly Route<never>[], options: SystemOptions): Route[] {
  const { registry, base_path, metrics_on_port = false } = options;
  const state = Type.Object({
    status: Type.Enum(['ok', 'unavailable']),
    maintenance: Type.Optional(
      Type.Object(
        { message: Type.String({ description: 'The sentence that users get.' }), started_at: Time() },
        { description: 'Only while maintenance mode is on: the service refuses commands of users, and is ready.' },
      ),
    ),
    failed: Type.Optional(Type.Array(Type.String(), { description: 'The checks that fail.' })),
    checks: Type.Optional(
      Type.Record(Type.String(), Type.Object({ ok: Type.Boolean(), detail: Type.Optional(Type.String()) }), {
        description:
          'Each check by name, with the reason when it fails. `identity_provider` is only a warning: the service stays ready without it.',
      }),
    ),
  });
  const probe = (id: string, path: string, summary: string, responses: Route['responses']) =>
    route({
      ...{ id, method: 'GET', path, access: 'none', summary, quiet: true, responses },
      handler: () => PROBES[path]!(options),
    });
  const metrics = () =>
    probe('getMetrics', '/metrics', 'Show the metrics, for Prometheus', {
      200: {
        description: 'The metrics.',
        schema: Type.String(),
        content_type: registry.contentType,
        example: '# TYPE http_requests_in_flight gauge\nhttp_requests_in_flight 2\n',
      },
    });
  const probes = [
    probe('getHealth', '/healthz', 'Show whether the process is up', {
      200: { description: 'The process is up.', schema: state, example: { status: 'ok' } },
    }),
    probe('getReadiness', '/readyz', 'Show whether the service is ready', {
      200: {
        description: 'The service is ready.',
        schema: state,
        example: { status: 'ok', checks: { event_log: { ok: true }, checker: { ok: true } } },
      },
      503: {
        description: 'The service is not ready: `failed` names the failing checks, and `checks` gives the reasons.',
        schema: state,
        example: {
          status: 'unavailable',
          failed: ['checker'],
          checks: {
            event_log: { ok: true },
            checker: { ok: false, detail: 'no process of this role sends a heartbeat' },
          },
        },
      },
    }),
    ...(metrics_on_port ? [metrics()] : []),
  ];
  const own = [...probes, ...docsRoutes()];
  return [...own, ...descriptions([...routes, ...own], base_path)];
}

/** Builds each document at its first request. Each document describes itself too. */
function descriptions(others: readonly Route<never>[], base_path: string | undefined): Route[] {
  return [...APIS].reverse().map((api) => {
    let document: JsonText | undefined;
    const { title, version } = api.description;
    const described: Route = routeOf<unknown>(
      api,
      'service',
    )({
      id: 'getOpenApi',
      method: 'GET',
      path: '/openapi.json',
      access: 'none',
      summary: 'Get this document',
      responses: {
        200: {
          description: 'An OpenAPI 3.1 document.',
          schema: Type.Object({ openapi: Type.String() }, { additionalProperties: true }),
          example: { openapi: '3.1.0', info: { title, version }, paths: {} },
        },
      },
      handler: () => ({
        body: (document ??= new JsonText(JSON.stringify(made()))),
        headers: { 'cache-control': 'public, max-age=60' },
      }),
    });
    const made = () => openApi([...others.filter((one) => one.api === api), described], api.description, base_path);
    return described;
  });
}
