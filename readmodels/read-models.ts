// The read models as all readers but the projector use them: each collection in its live generation.
import { setTimeout as delay } from 'node:timers/promises';
import { BEGINNING, type Position } from '../events/event-store.ts';
import type { Unchanged } from '../events/unchanged.ts';
import type { CollectionSpec, Document, Documents, Reading } from './documents.ts';
import { Movement } from './growth/movement.ts';
import {
  type Follower,
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
  /**
   * Opens a collection for reading. Reads follow a flip within a second, and at once after a read of a position behind it. They
   * throw `DocumentsNotReady` for a collection that no projector has built, unless the log has nothing for any.
   */
  collection<T extends Document>(spec: CollectionSpec<T>): LiveCollection<T>;
  /** Returns the position up to which all live read models have applied the log. Throws `DocumentsNotReady`. */
  position(): Promise<Position>;
  /**
   * Waits until the read models have applied `position`; false after `timeout_ms`.
   * @example if (!(await readmodels.passed(position, 2_000))) throw new Error('the read models are behind');
   */
  passed(position: Position, timeout_ms: number): Promise<boolean>;
  /**
   * Waits until the position differs from `seen` or a read model is flipped, at most `timeout_ms`, or until `signal` aborts, and
   * returns the position. Any number of callers read the store once after a change, and once in two seconds without one. Throws
   * `DocumentsNotReady`.
   */
  moved(seen: Position | null, timeout_ms: number, signal: AbortSignal): Promise<Position>;
  /** Whether the collection has the document as it is now, for as long as nobody has flipped a read model. */
  unchanged(spec: CollectionSpec<Document>, id: string): Unchanged | null;
  /** Whether the read models are at the position of now, and none is flipped. */
  unmoved(): Unchanged | null;
  /** The number of flips that the reads of the position have noticed. The documents may differ after one at the same position. */
  readonly flips: number;
  projections(): Promise<ProjectionState[]>;
}

/**
 * A collection that reads its live generation. A stream stays in the generation in which it began, and fails with the code
 * `unavailable` when the projector drops that generation before the stream's end.
 */
export type LiveCollection<T extends Document> = Reading<T>;

/** No projector has vouched for the documents: there are none yet, they came from another log, or are incomplete. */
export class DocumentsNotReady extends Error {
  readonly code = 'unavailable';
}

export interface ReadModelsOptions {
  /** Whose collections these are. Default: the projector's. */
  follower?: Follower;
  /** Reads the log's id. When given, reads refuse documents that no projector has made whole from this log. */
  log_id?: () => Promise<string>;
  /** Milliseconds that never go back. */
  monotonic?: () => number;
}

const FLIP_NOTICED_MS = 1000;
/** A read waits this long for incomplete documents. */
const READY_WAIT_MS = 2000;
const READY_LOOK_MS = 20;

export function openReadModels(documents: Documents, options: ReadModelsOptions = {}): ReadModels {
  const { monotonic = () => performance.now() } = options;
  const generations = new Generations(documents, options);
  const position = () => generations.position();
  const watch = (changed: () => void) => documents.watch(projectorStates.name, changed);
  const movement = new Movement({ read: position, flips: () => generations.flips, watch, monotonic });

  async function hasPassed(wanted: Position): Promise<boolean> {
    try {
      return (await position()) >= wanted;
    } catch (error) {
      if (error instanceof DocumentsNotReady) return false;
      throw error;
    }
  }

  return {
    collection: (spec) => liveCollection(documents, generations, spec),
    position,
    projections: () => generations.projections(),
    get flips() {
      return generations.flips;
    },
    async passed(wanted, timeout_ms) {
      const until = monotonic() + timeout_ms;
      for (let pause_ms = 1; ; pause_ms = Math.min(pause_ms * 2, 20)) {
        if (await hasPassed(wanted)) return true;
        if (monotonic() >= until) return false;
        await delay(pause_ms);
      }
    },
    moved: (seen, timeout_ms, signal) => movement.from(seen, timeout_ms, signal),
    unchanged: (spec, id) => generations.unchanged(spec, id),
    unmoved: () => generations.unmoved(),
  };
}

/** Reads the generation that is live at each read. */
function liveCollection<T extends Document>(
  documents: Documents,
  generations: Generations,
  spec: CollectionSpec<T>,
): LiveCollection<T> {
  let opened: { generation: number; reading: Reading<T> } | null = null;
  async function live(): Promise<{ generation: number; reading: Reading<T> }> {
    const generation = await generations.generationOf(spec.name);
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
      // The stream of a dropped collection ends without an error, so we look whether the generation still exists.
      if (generation === 0 || (await generations.isKept(spec.name, generation))) return;
      throw new DocumentsNotReady(`${spec.name} was dropped during the read: it had been rebuilt long before`);
    },
    count: async (filter, count_options) => (await live()).reading.count(filter, count_options),
  };
}

/** Which generation of each read model is live, and whether its documents are whole. */
class Generations {
  flips = 0;
  readonly #documents: Documents;
  readonly #states: Reading<ProjectionState>;
  readonly #projector: Reading<ProjectorState>;
  readonly #follower: Follower;
  readonly #log_id: ReadModelsOptions['log_id'];
  readonly #monotonic: () => number;
  #expected_log_id: string | null = null;
  #generations = new Map<string, number>();
  /** The looks that found other generations. */
  #changes = 0;
  #looked_at = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | null = null;
  #looks_begun = 0;
  /** The projector has found nothing in the log that any collection would have. */
  #nothing_to_read = false;
  /** The live generations at the last read of the position, as JSON. */
  #flipped_to: string | null = null;

  constructor(documents: Documents, { follower = PROJECTOR, log_id, monotonic }: ReadModelsOptions) {
    this.#documents = documents;
    this.#states = documents.reading(projectionStates);
    this.#projector = documents.reading(projectorStates);
    this.#follower = follower;
    this.#log_id = log_id;
    this.#monotonic = monotonic ?? (() => performance.now());
  }

  async projections(): Promise<ProjectionState[]> {
    return (await this.#states.find({})).map((stored) => projectionState(stored._id, stored));
  }

  async position(): Promise<Position> {
    const stored = await this.#projector.get(this.#follower);
    await this.#assertReady(stored);
    const { checkpoint, generations } = projectorState(stored, this.#follower);
    const live = JSON.stringify(generations);
    if (this.#flipped_to !== null && this.#flipped_to !== live) {
      this.flips++;
      this.#looked_at = Number.NEGATIVE_INFINITY;
    }
    this.#flipped_to = live;
    return checkpoint;
  }

  async generationOf(name: string): Promise<number> {
    // Each read of a collection that is not built yet looks for its first generation.
    if (this.#monotonic() - this.#looked_at > FLIP_NOTICED_MS || !this.#generations.get(name)) {
      const begun_before = this.#looks_begun;
      let number: number;
      do {
        this.#looking ??= this.#look().finally(() => (this.#looking = null));
        number = this.#looks_begun;
        await this.#looking;
        // A look that began before this read may have missed the first generation, which the caller knows to be there.
      } while (
        this.#looked_at === Number.NEGATIVE_INFINITY ||
        (!this.#generations.get(name) && number === begun_before)
      );
    }
    const generation = this.#generations.get(name) ?? 0;
    if (generation === 0 && !this.#nothing_to_read) throw new DocumentsNotReady(`${name} is not built yet`);
    return generation;
  }

  unchanged(spec: CollectionSpec<Document>, id: string): Unchanged | null {
    const generation = this.#generationNow(spec.name);
    if (generation === null) return null;
    const reading = this.#documents.reading(inGeneration(spec, generation));
    return this.#sameText(() => (this.#generationNow(spec.name) === generation ? reading.textNow?.(id) : undefined));
  }

  unmoved(): Unchanged | null {
    return this.#sameText(() => this.#projector.textNow?.(this.#follower));
  }

  /** A text that is there, and stays the same. */
  #sameText(now: () => string | null | undefined): Unchanged | null {
    const [flips, changes, text] = [this.flips, this.#changes, now()];
    if (text === null || text === undefined) return null;
    return () => this.flips === flips && this.#changes === changes && now() === text;
  }

  /** The generation that reads take without another look; null where they look first. */
  #generationNow(name: string): number | null {
    if (this.#monotonic() - this.#looked_at > FLIP_NOTICED_MS) return null;
    return this.#generations.get(name) || null;
  }

  async isKept(name: string, generation: number): Promise<boolean> {
    const has = (kept: { generation: number; collections: string[] }) =>
      kept.generation === generation && kept.collections.includes(name);
    return (await this.projections()).some((state) => has(state) || state.retired.some(has));
  }

  async #look(): Promise<void> {
    this.#looks_begun++;
    // Every projection is built once before the checkpoint leaves the beginning.
    this.#nothing_to_read = (await this.#whenReady()).checkpoint === BEGINNING || !this.#log_id;
    const noticed = this.flips;
    const found = await this.projections();
    const before = this.#generations;
    this.#generations = new Map(found.flatMap((s) => s.collections.map((name) => [name, s.generation] as const)));
    if (this.#generations.entries().some(([name, generation]) => before.get(name) !== generation)) this.#changes++;
    // A flip during this look makes its answer out of date.
    if (noticed === this.flips) this.#looked_at = this.#monotonic();
  }

  /** Waits for the documents of a service that has just started. */
  async #whenReady(): Promise<ProjectorState> {
    for (const until = this.#monotonic() + READY_WAIT_MS; ; ) {
      try {
        return await this.#assertReady(await this.#projector.get(this.#follower));
      } catch (error) {
        if (!(error instanceof DocumentsNotReady) || this.#monotonic() >= until) throw error;
      }
      await delay(READY_LOOK_MS);
    }
  }

  async #assertReady(stored: ProjectorState | null): Promise<ProjectorState> {
    const state = projectorState(stored, this.#follower);
    if (!this.#log_id) return state;
    // A projector that begins notes which log it reads together with what its documents lack.
    if (state.log_id === '') throw new DocumentsNotReady('no projector has made documents yet');
    if (state.catching_up_to !== null) throw new DocumentsNotReady('the projector is rebuilding the documents');
    if (state.log_id === this.#expected_log_id) return state;
    this.#expected_log_id = await this.#log_id();
    if (state.log_id !== this.#expected_log_id) throw new DocumentsNotReady('the documents came from another log');
    return state;
  }
}
