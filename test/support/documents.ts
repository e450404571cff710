// The OpenAPI documents of the service, made from its table of routes as the service makes them, without starting it.
import pino from 'pino';
import { Registry } from 'prom-client';
import { ALL_ROUTES } from '../../http/all-routes.ts';
import { systemRoutes } from '../../http/docs/system.ts';
import type { Reply, Route, RouteRequest } from '../../http/frame/route.ts';

// biome-ignore lint/suspicious/noExplicitAny: who looks into a document knows what is there
export type OpenApi = any;

/** Every route that the service serves. */
export const SERVED_ROUTES: readonly Route<never>[] = [
  ...ALL_ROUTES,
  ...systemRoutes(ALL_ROUTES, {
    log: pino({ level: 'silent' }),
    registry: new Registry(),
    readiness: {},
    metrics_on_port: true,
  }),
];

/** As they are sent: a fresh copy each time. */
export function openDocuments(): { gateway: OpenApi; v2: OpenApi } {
  const sent = (path: string) => {
    const route = SERVED_ROUTES.find((one) => one.path === path)!;
    const reply = (route as Route).handler({} as RouteRequest, {}) as Reply;
    return JSON.parse(JSON.stringify(reply.body));
  };
  return { gateway: sent('/openapi.json'), v2: sent('/api/v2/openapi.json') };
}
