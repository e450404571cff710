// Translates the port's event filter twice: to the server's filter, which passes a superset, and to the exact predicate.
import { EVENT_TYPE, STREAM_NAME } from '@eventstore/db-client';
import type { EventFilter } from '../../../events/event-store.ts';

const anyOf = (names: readonly string[]): string => `(?:${names.map((name) => RegExp.escape(name)).join('|')})`;

/** The server filters by event type or by stream name, not both. Types go first: they pass fewer events. */
export function serverFilter({ categories, types }: EventFilter): {
  filterOn: typeof EVENT_TYPE | typeof STREAM_NAME;
  regex: string;
} {
  if (types !== undefined) return { filterOn: EVENT_TYPE, regex: `^${anyOf(types)}$` };
  if (categories !== undefined) return { filterOn: STREAM_NAME, regex: `^${anyOf(categories)}(?:-|$)` };
  return { filterOn: EVENT_TYPE, regex: '^[^$]' };
}

/** System events have a `$` before their type or stream: metadata, statistics, tombstones. They never pass. */
export const isSystemEvent = (stream: string, type: string): boolean => type.startsWith('$') || stream.startsWith('$');

export const isTombstone = (stream: string, type: string): boolean =>
  type === '$streamDeleted' && !stream.startsWith('$');

/** The exact predicate. A live subscription has no server filter, so it runs on every event. */
export function eventPasses({ categories, types }: EventFilter): (event: { stream: string; type: string }) => boolean {
  const listedTypes = types && new Set(types);
  const listedCategories = categories && new Set(categories);
  return ({ stream, type }) =>
    !isSystemEvent(stream, type) &&
    (listedTypes === undefined || listedTypes.has(type)) &&
    (listedCategories === undefined || listedCategories.has(category(stream)));
}

function category(stream: string): string {
  const dash = stream.indexOf('-');
  return dash === -1 ? stream : stream.slice(0, dash);
}
