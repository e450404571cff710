// Answers what no route takes: 404 for an unknown path; for a known one the methods that it takes, to OPTIONS, and 405 to others.
import type { Context } from 'koa';
import { HttpError } from './errors.ts';

/**
 * `taken`: by the methods of the path; null for an unknown path. `admit` counts the request: once before anybody looks at its credentials,
 * and once without any.
 */
export async function noSuchRoute(
  ctx: Context,
  taken: ReadonlyMap<string, unknown> | null,
  admit: (caller: undefined | null) => Promise<void>,
): Promise<void> {
  await admit(undefined);
  await admit(null);
  if (taken === null) throw new HttpError(404, 'not_found', `There is no route ${ctx.path.slice(0, 200)}.`);
  const allow = [...taken.keys(), 'OPTIONS'].join(', ');
  ctx.set('Allow', allow);
  if (ctx.method !== 'OPTIONS') {
    throw new HttpError(405, 'method_not_allowed', `${ctx.path.slice(0, 200)} takes ${allow}.`);
  }
  ctx.status = 204;
}
