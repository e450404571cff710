// What an API key may do, where its owner did not give it everything.
import { KEY_SCOPES, type KeyScopeName } from '../../events/api-key.ts';
import { HttpError } from '../frame/errors.ts';
import type { Caller, Route } from '../frame/route.ts';

/** The scopes of which one admits to the route. */
export function scopesOf({ method, tag }: Pick<Route, 'method' | 'tag'>): readonly KeyScopeName[] {
  if (tag === 'webhook-endpoints') return ['webhooks'];
  if (tag === 'usage') return ['billing', 'read'];
  return method === 'GET' ? ['read'] : ['check'];
}

export const lacksScope = (scopes: readonly string[]) =>
  new HttpError(403, 'scope_missing', `The API key has none of the scopes that this needs: ${scopes.join(', ')}.`);

/** Throws 403 for a key without the scope of the route. Agents ask other routes, each with its own; the way to them is open to every key. */
export function assertScope(route: Pick<Route, 'method' | 'tag' | 'path'>, caller: Caller | null): void {
  if (!caller?.scopes || route.path === '/mcp') return;
  const wanted = scopesOf(route);
  if (!wanted.some((scope) => caller.scopes!.includes(scope))) throw lacksScope(wanted);
}

/** What each scope allows, for the documents. */
export const SCOPE_MEANINGS = Object.entries(KEY_SCOPES)
  .map(([scope, means]) => `\`${scope}\`: ${means}`)
  .join('; ');
