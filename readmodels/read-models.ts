// The read models as everybody but the projector sees them: each collection in the generation that is live.
import type { Position } from '../events/event-store.ts';
import type { CollectionSpec, Document, Documents, Reading } from './documents.ts';
import {
  inGeneration,
  PROJECTOR,
  type ProjectionState,
  type ProjectorState,
  projectionState,
  projectionStates,
  projectorState,
  projectorStates,
} from './projection-state.ts';

export interface ReadModels {
  /** Reads follow a flip within a second. What nothing has filled yet is empty; nothing is made by reading. */
  collection<T extends Document>(spec: CollectionSpec<T>): LiveCollection<T>;
  /** Up to which position all live read models have seen the log. */
  position(): Promise<Position>;
  /** Waits until they have seen `position`; false when they have not within `timeout_ms`. */
  passed(position: Position, timeout_ms: number): Promise<boolean>;
  /** How each projection stands. */
  projections(): Promise<ProjectionState[]>;
}

/**
 * The reads of a collection, in the generation that is live when they are made. A stream goes on in the generation in which
 * it began, and fails with the code `unavailable` when that was dropped before its end.
 */
export type LiveCollection<T extends Document> = Reading<T>;

/** The documents are of another log, or not made whole yet: what they say is not what the log says. */
export class DocumentsNotReady extends Error {
  readonly code = 'unavailable';
}

export interface ReadModelsOptions {
  /** The id of the log. When it is given, documents that came from another log, or are not whole yet, are not read. */
  log_id?: () => Promise<string>;
  /** Milliseconds that never go back. */
  monotonic?: () => number;
}

const FLIP_NOTICED_MS = 1000;
/** How long a read waits for documents that are being made. */
const READY_WAIT_MS = 2000;
const READY_LOOK_MS = 20;

export function openReadModels(documents: Documents, options: ReadModelsOptions = {}): ReadModels {
  const { log_id, monotonic = () => performance.now() } = options;
  const states = documents.reading(projectionStates);
  const projector = documents.reading(projectorStates);
  let expected_log_id: string | null = null;
  let generations = new Map<string, number>();
  let looked_at = Number.NEGATIVE_INFINITY;
  let looking: Promise<void> | null = null;

  const projections = async () => (await states.find({})).map((stored) => projectionState(stored._id, stored));

  async function assertReady(stored: ProjectorState | null): Promise<void> {
    // Where no projector has run yet, there are no documents to be wrong.
    if (!log_id || !stored) return;
    const state = projectorState(stored);
    if (state.catching_up_to !== null) throw new DocumentsNotReady('the documents are being made anew from the log');
    if (state.log_id === '' || state.log_id === expected_log_id) return;
    expected_log_id = await log_id();
    if (state.log_id !== expected_log_id) throw new DocumentsNotReady('the documents came from another log');
  }
  /** Where a service has just begun, its documents are whole in a moment. */
  async function whenReady(): Promise<void> {
    for (const until = monotonic() + READY_WAIT_MS; ; ) {
      try {
        return await assertReady(await projector.get(PROJECTOR));
      } catch (error) {
        if (!(error instanceof DocumentsNotReady) || monotonic() >= until) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, READY_LOOK_MS));
    }
  }
  async function look(): Promise<void> {
    await whenReady();
    const found = await projections();
    generations = new Map(found.flatMap((s) => s.collections.map((name) => [name, s.generation] as const)));
    looked_at = monotonic();
  }
  async function generationOf(name: string): Promise<number> {
    // A collection that no projection has filled yet is asked about again each time.
    if (monotonic() - looked_at > FLIP_NOTICED_MS || !generations.get(name)) {
      looking ??= look().finally(() => (looking = null));
      await looking;
    }
    return generations.get(name) ?? 0;
  }
  async function isKept(name: string, generation: number): Promise<boolean> {
    const has = (kept: { generation: number; collections: string[] }) =>
      kept.generation === generation && kept.collections.includes(name);
    return (await projections()).some((state) => has(state) || state.retired.some(has));
  }
  async function position(): Promise<Position> {
    const stored = await projector.get(PROJECTOR);
    await assertReady(stored);
    return projectorState(stored).checkpoint;
  }

  function collection<T extends Document>(spec: CollectionSpec<T>): LiveCollection<T> {
    let opened: { generation: number; reading: Reading<T> } | null = null;
    async function live(): Promise<{ generation: number; reading: Reading<T> }> {
      const generation = await generationOf(spec.name);
      if (opened?.generation !== generation) {
        opened = { generation, reading: documents.reading(inGeneration(spec, generation)) };
      }
      return opened;
    }
    return {
      get: async (id) => (await live()).reading.get(id),
      getMany: async (ids) => (await live()).reading.getMany(ids),
      find: async (filter, find_options) => (await live()).reading.find(filter, find_options),
      slice: async (filter, find_options) => (await live()).reading.slice(filter, find_options),
      async *stream(filter, stream_options) {
        const { generation, reading } = await live();
        yield* reading.stream(filter, stream_options);
        // It ends as well where the collection was dropped.
        if (generation === 0 || (await isKept(spec.name, generation))) return;
        throw new DocumentsNotReady(`${spec.name} was dropped while it was read: it had been built anew long before`);
      },
      count: async (filter, count_options) => (await live()).reading.count(filter, count_options),
    };
  }

  return {
    collection,
    position,
    projections,
    async passed(wanted, timeout_ms) {
      const until = monotonic() + timeout_ms;
      for (let pause_ms = 1; ; pause_ms = Math.min(pause_ms * 2, 20)) {
        if (await hasPassed(wanted)) return true;
        if (monotonic() >= until) return false;
        await new Promise((resolve) => setTimeout(resolve, pause_ms));
      }
    },
  };

  async function hasPassed(wanted: Position): Promise<boolean> {
    try {
      return (await position()) >= wanted;
    } catch (error) {
      if (error instanceof DocumentsNotReady) return false;
      throw error;
    }
  }
}
