// The list of APIs. An error without a route, such as 404, has the shape of the API whose prefix the path begins with.
import type { Api } from '../frame/api.ts';
import { GATEWAY } from './gateway.ts';
import { PUBLIC } from './public.ts';

/** The APIs, the longest prefix first. The last one has an empty prefix and owns every other path. */
export const APIS: readonly Api[] = [PUBLIC, GATEWAY];

/**
 * The API that owns a request target, with or without its query string.
 * @example apiOf('/api/v2/jobs?limit=1').prefix // '/api/v2'
 */
export function apiOf(target: string): Api {
  const path = target.split('?', 1)[0]!;
  return APIS.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`)) ?? GATEWAY;
}
