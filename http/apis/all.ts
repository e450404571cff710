// Every API of the service. What is answered before a route is found has the shape of the API whose prefix the path has.
import type { Api } from './api.ts';
import { GATEWAY } from './gateway.ts';
import { PUBLIC } from './public.ts';

/** The longest prefix first; the last one has none, and takes every other path. */
export const APIS: readonly Api[] = [PUBLIC, GATEWAY];

/** `target`: of a request, with or without its query. */
export function apiOf(target: string): Api {
  const path = target.split('?', 1)[0]!;
  return APIS.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`)) ?? GATEWAY;
}
