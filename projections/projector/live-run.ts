// The live run: reads the log once for all live projections, and writes their documents and the checkpoint in one
// transaction.
import type { Logger } from 'pino';
import type { EventStore, SubscriptionBatch } from '../../events/event-store.ts';
import type { UrlListing } from '../../events/url-listing.ts';
import { pause } from '../../time/pause.ts';
import { withUrls } from '../jobs/checked-urls.ts';
import { BUILD_PART, LIVE_PART, partsOf } from '../parts.ts';
import type { Projection, Target } from '../projection.ts';
import type { Fence } from './fence.ts';
import { endCatchingUp, isRemovable } from './other-log.ts';
import { type Reached, takeEvents } from './take-events.ts';

export interface LiveRunOptions {
  log: EventStore;
  listing: UrlListing;
  fence: Fence;
  projections: readonly Projection[];
  /** The generations that the live run does not write, by projection: this version's code cannot. */
  unfit: ReadonlyMap<string, number>;
  types: readonly string[];
  /** The pause after a batch that leaves nothing behind it: what comes meanwhile shares a transaction. */
  spacing_ms: number;
  logger: Logger;
  signal: AbortSignal;
  /** Called after each transaction. */
  advanced(): void;
}

/** A batch of as many events has more behind it. */
const FULL_BATCH = 500;

/** Runs until `signal` aborts. Throws `Overtaken` and the stores' errors. */
export async function runLive(options: LiveRunOptions): Promise<void> {
  const { log, listing, fence, projections, unfit, types, spacing_ms, logger, signal, advanced } = options;
  const from = fence.state.checkpoint;
  if (fence.state.catching_up_to !== null) await endCatchingUp({ log, fence, types });
  for await (const batch of log.subscribe({ from, filter: { types }, signal })) {
    const limits = fence.state.catching_up_to === null ? LIVE_PART : BUILD_PART;
    for await (const { urls_of, ...part } of partsWithUrls(listing, partsOf(batch, projections, limits))) {
      if (signal.aborted) return;
      await fence.inTurn((commit) => {
        const targets = projections.flatMap((projection): Target[] => {
          const generation = fence.state.generations[projection.name];
          return generation === undefined || generation === unfit.get(projection.name)
            ? []
            : [{ projection, generation, counter: 'parked' }];
        });
        // While the documents catch up, no reader is let in.
        const beside = fence.state.catching_up_to === null ? null : fence.beside;
        return takeEvents({ commit, beside, targets, reached, urls_of, logger }, part);
      });
      advanced();
    }
    if (fence.state.catching_up_to !== null) {
      await endCatchingUp({ log, fence, types });
      advanced();
    }
    if (spacing_ms > 0 && batch.events.length < FULL_BATCH) await pause(spacing_ms, signal);
  }
}

async function* partsWithUrls(listing: UrlListing, parts: Iterable<SubscriptionBatch>) {
  for (const part of parts) {
    listing.note(part.events);
    yield* withUrls(listing, part);
  }
}

const reached: Reached = async (_inside, { events, position }) => {
  const last = events.findLast(({ stream }) => !isRemovable(stream));
  return {
    checkpoint: position,
    ...(last && {
      last_event: { id: last.id, stream: last.stream, revision: last.revision, position: last.position },
    }),
  };
};
