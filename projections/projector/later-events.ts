// Events that an older version of the service could not read, or did not know: its projector went on without them, and one that reads them
// builds their read models anew.

import type { Logger } from 'pino';
import { BEGINNING, type EventStore } from '../../events/event-store.ts';
import { EventFromLater, type LaterEvent } from '../../events/unreadable.ts';
import type { Documents } from '../../readmodels/documents.ts';
import { type ProjectionState, parkedEvents, requestRebuild } from '../../readmodels/projection-state.ts';
import type { Projection } from '../projection.ts';
import type { Fence } from './fence.ts';
import { stateOf } from './generations.ts';
import { hasEvents } from './other-log.ts';
import { stateIn } from './take-events.ts';

interface Stores {
  log: EventStore;
  documents: Documents;
  logger: Pick<Logger, 'warn'>;
}

/** Asks for a rebuild of the projection when its live generation lacks events that this version takes. Notes the types that it takes from here on. */
export async function rebuildReadable(
  { log, documents, logger }: Stores,
  fence: Fence,
  { name, version, types }: Projection,
): Promise<void> {
  const state = await stateOf(documents, name);
  if (state.generation === 0) return;
  // A generation of another version is replaced anyway, and until then it has what all of its writers took.
  const is_current = state.version === version;
  const why = is_current ? ((await hasReadable(log, documents, state)) ?? (await hasUntaken(log, state, types))) : null;
  if (why !== null) {
    logger.warn({ projection: name, reason: why }, 'a read model lacks events that this version reads; it is rebuilt');
    return void (await requestRebuild(documents, name, { continues: version }));
  }
  const noted = is_current || state.types === null ? [...types] : state.types.filter((type) => types.includes(type));
  if (state.types !== null && sameTypes(noted, state.types)) return;
  await fence.inTurn((commit) =>
    commit(async (inside) => {
      const { states } = await stateIn(inside, name);
      await states.write([{ update: name, set: { $set: { types: noted } } }]);
      return {};
    }),
  );
}

async function hasReadable(
  log: EventStore,
  documents: Documents,
  { _id, generation }: ProjectionState,
): Promise<string | null> {
  const unreadable = new Set<string>();
  for await (const { later } of documents.reading(parkedEvents).stream({ projection: _id, generation })) {
    if (later === undefined) continue;
    const { stream, revision, type, version } = later;
    const kind = `${type} ${version}`;
    if (unreadable.has(kind)) continue;
    const found = await lookAt(log, later);
    if (found === 'readable') return `${stream} ${revision}: ${type}`;
    if (found === 'later') unreadable.add(kind);
  }
  return null;
}

async function lookAt(log: EventStore, { stream, revision }: LaterEvent): Promise<'readable' | 'later' | 'deleted'> {
  try {
    for await (const _ of log.readStream(stream, { from: revision, limit: 1 })) return 'readable';
    return 'deleted';
  } catch (error) {
    if (error instanceof EventFromLater) return 'later';
    throw error;
  }
}

async function hasUntaken(log: EventStore, state: ProjectionState, types: readonly string[]): Promise<string | null> {
  if (state.types === null) return null;
  const untaken = types.filter((type) => !state.types!.includes(type));
  const is_there = untaken.length > 0 && (await hasEvents(log, BEGINNING, untaken));
  return is_there ? untaken.join() : null;
}

const sameTypes = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((type) => others.includes(type));
