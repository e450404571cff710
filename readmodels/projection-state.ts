// How far the read models are, and which generation of each collection is read: a rebuild fills a new generation
// beside the old one, then flips.
import type { Position } from '../events/event-store.ts';
import type { Collection, CollectionSpec, Document, Documents } from './documents.ts';

/** One for each projection. */
export interface ProjectionState extends Document {
  version: number;
  /** What is read; 0 when none is yet. */
  generation: number;
  /** A generation that is being filled, up to `checkpoint`. */
  next: { version: number; generation: number; checkpoint: Position } | null;
  /** The collections' names, so that a reader finds the generation of a collection. */
  collections: string[];
}

/** One for all projections that are live: they go forward together. */
export interface ProjectorState extends Document {
  checkpoint: Position;
}

export const projectionStates: CollectionSpec<ProjectionState> = {
  name: 'projection_states',
  fields: {},
  indexes: [],
};
export const projectorStates: CollectionSpec<ProjectorState> = { name: 'projector_states', fields: {}, indexes: [] };
export const PROJECTOR = 'live';

export function inGeneration<T extends Document>(spec: CollectionSpec<T>, generation: number): CollectionSpec<T> {
  return { ...spec, name: `${spec.name}_${generation}` };
}

export interface ReadModels {
  /** Reads follow a flip within a second. */
  collection<T extends Document>(spec: CollectionSpec<T>): LiveCollection<T>;
  /** Up to which position all live read models have seen the log. */
  position(): Promise<Position>;
  /** Waits until they have seen `position`; false when they have not within `timeout_ms`. */
  passed(position: Position, timeout_ms: number): Promise<boolean>;
}

/** The reads of a collection, in the generation that is live when they are made. */
export type LiveCollection<T extends Document> = Omit<Collection<T>, 'write'>;

const FLIP_NOTICED_MS = 1000;

export async function openReadModels(documents: Documents, now: () => number = Date.now): Promise<ReadModels> {
  const states = await documents.collection(projectionStates);
  const projector = await documents.collection(projectorStates);
  let generations = new Map<string, number>();
  let read_at = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | null = null;

  async function readGenerations(): Promise<void> {
    const found = await states.find({});
    generations = new Map(found.flatMap((s) => s.collections.map((name) => [name, s.generation] as const)));
    read_at = now();
  }
  async function live<T extends Document>(spec: CollectionSpec<T>): Promise<Collection<T>> {
    // A collection that no projection has filled yet is asked about again each time.
    if (now() - read_at > FLIP_NOTICED_MS || !generations.get(spec.name)) {
      reading ??= readGenerations().finally(() => (reading = null));
      await reading;
    }
    return documents.collection(inGeneration(spec, generations.get(spec.name) ?? 0));
  }
  const position = async () => (await projector.get(PROJECTOR))?.checkpoint ?? '';

  return {
    collection: (spec) => ({
      get: async (id) => (await live(spec)).get(id),
      getMany: async (ids) => (await live(spec)).getMany(ids),
      find: async (filter, options) => (await live(spec)).find(filter, options),
      async *stream(filter, options) {
        yield* (await live(spec)).stream(filter, options);
      },
      count: async (filter, options) => (await live(spec)).count(filter, options),
    }),
    position,
    async passed(wanted, timeout_ms) {
      const until = now() + timeout_ms;
      for (let pause_ms = 1; ; pause_ms = Math.min(pause_ms * 2, 20)) {
        if ((await position()) >= wanted) return true;
        if (now() >= until) return false;
        await new Promise((resolve) => setTimeout(resolve, pause_ms));
      }
    },
  };
}
