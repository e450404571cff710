// Makes the documents of one projection of the log in a store of their own, as far as a caller asks: to compare the live ones with.
import type { Logger } from 'pino';
import { BEGINNING, type EventStore, type Position } from '../../events/event-store.ts';
import type { UrlListing } from '../../events/url-listing.ts';
import type { Documents } from '../../readmodels/documents.ts';
import { inGeneration, parkedEvents, projectionStates } from '../../readmodels/projection-state.ts';
import { readParts } from '../parts.ts';
import type { Projection, Read, Target } from '../projection.ts';
import type { Commit } from './fence.ts';
import { takeEvents } from './take-events.ts';

export interface ReplicaOptions {
  log: EventStore;
  listing: UrlListing;
  /** Empty, and of nobody else. */
  documents: Documents;
  projection: Projection;
  logger: Logger;
  signal: AbortSignal;
}

export type Replica = Awaited<ReturnType<typeof openReplica>>;

export async function openReplica(options: ReplicaOptions) {
  const { documents, projection, logger } = options;
  const target: Target = { projection, generation: 1, counter: 'parked' };
  for (const spec of [projectionStates, parkedEvents]) await documents.collection(spec as never);
  for (const spec of projection.collections) await documents.collection(inGeneration(spec, target.generation));
  const commit: Commit = (work) => documents.transaction(async (inside) => void (await work(inside)));
  let position: Position = BEGINNING;
  const read: Read = (spec) => documents.reading(inGeneration(spec, target.generation));
  return {
    /** The position up to which the documents have applied the log. */
    get position(): Position {
      return position;
    },
    read,
    /** Applies the events up to a position, inclusive. */
    async advance(until: Position): Promise<void> {
      await readParts(options, projection, { from: position, until }, async (part, urls_of) => {
        await takeEvents({ commit, beside: null, targets: [target], reached: async () => ({}), urls_of, logger }, part);
        position = part.position;
      });
    },
  };
}
