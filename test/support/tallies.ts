// A projection that adds up, so that an event which is applied twice or not at all shows; and what tests of projectors need.
import { openAggregate } from '../../commands/aggregate.ts';
import { identifyLog } from '../../commands/log-identity.ts';
import type { EventStore } from '../../events/event-store.ts';
import type { Projection } from '../../projections/projection.ts';
import { type ProjectorOptions, runProjector } from '../../projections/projector/projector.ts';
import { type Document, kept, readById } from '../../readmodels/documents.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import type { LeaseKeeper } from '../../roles/leases.ts';
import { commandContext, silent, type TestStores } from './stores.ts';

export interface Tally extends Document {
  n: number;
}
export const tallies = readById<Tally>('tallies', kept('1 kB', 'never', 'none'));

/** Adds up what was counted, `weight` for each. */
export function counting(version: number, weight: number, applied: (n: number) => void = () => {}): Projection {
  return {
    name: 'tallies',
    version,
    types: ['Counted'],
    collections: [tallies],
    async apply(events, open) {
      applied(events.length);
      await (await open(tallies)).write([
        { update: 'all', set: { $inc: { n: weight * events.length } }, upsert: true },
      ]);
    },
  };
}

export async function count(log: EventStore, times: number): Promise<void> {
  const aggregate = openAggregate(log, { initial: () => 0, evolve: (n: number) => n + 1 });
  for (let i = 0; i < times; i++) {
    await aggregate.handle('count-1', commandContext(), (n) => ({ events: [{ type: 'Counted', data: { n } }] }));
  }
}

export const tally = async ({ documents }: Pick<TestStores, 'documents'>) =>
  (await openReadModels(documents).collection(tallies).get('all'))?.n;

/** The keeper of a lease that everybody believes to hold. */
export const held: LeaseKeeper = { hold: async () => true, release: async () => {} };

/** A projector that runs until `signal` aborts, and believes that it holds the lease. */
export const startProjector = (
  { log, documents }: TestStores,
  projections: readonly Projection[],
  signal: AbortSignal,
  options: Partial<ProjectorOptions> = {},
): Promise<void> =>
  runProjector({
    log,
    documents,
    projections,
    signal,
    leases: held,
    logger: silent,
    log_id: () => identifyLog(log, 'process:test', Date.now()),
    ...options,
  });
