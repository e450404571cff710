// The server's data, in memory: streams, the global log, and the real server's rules for writing to them.

export interface Proposed {
  id: string;
  type: string;
  content_type: string;
  data: Uint8Array;
  metadata: Uint8Array;
}

export interface Stored extends Proposed {
  stream: string;
  /** A bigint only of a tombstone. */
  revision: number | bigint;
  commit: bigint;
  prepare: bigint;
  created_ticks: bigint;
}

export interface LogPosition {
  commit: bigint;
  prepare: bigint;
}

export type Expected = number | 'no_stream' | 'any' | 'stream_exists';

export type Written =
  | { outcome: 'written'; revision: number | bigint; position: LogPosition }
  | { outcome: 'wrong_expected_version'; current: number | null }
  | { outcome: 'stream_deleted' };

/** The revision of a tombstone: the largest there is, so that nothing comes after it. */
const TOMBSTONE = 2n ** 63n - 1n;

export class MemoryLog {
  /** All events in order, system events included. */
  readonly all: Stored[] = [];
  readonly #streams = new Map<string, Stored[]>();
  readonly #tombstones = new Set<string>();
  /** Soft-deleted streams: only events from this revision on are read. */
  readonly #truncatedBefore = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  readonly #sharedCommit: boolean;
  #next = 0n;

  /** `shared_commit`: the events of one append share a commit position, as those of explicit transactions do. */
  constructor({ shared_commit = false } = {}) {
    this.#sharedCommit = shared_commit;
    // A new server's log is not empty either.
    this.#store('$epoch-information', [system('$epoch-information')]);
    this.#store('$$$stats', [system('$metadata')]);
  }

  /** The stream's events, null when there is none, 'deleted' when it has a tombstone. */
  read(stream: string): readonly Stored[] | null | 'deleted' {
    if (this.#tombstones.has(stream)) return 'deleted';
    const events = this.#streams.get(stream)?.slice(this.#truncatedBefore.get(stream) ?? 0);
    return events?.length ? events : null;
  }

  /**
   * As the real server decides: an expected revision behind the stream's is a success when exactly these ids follow it;
   * one that is equal is written without a look at the ids; `no_stream` of a soft-deleted stream compares the ids first;
   * `any` and `stream_exists` are never found repeated here.
   */
  append(stream: string, expected: Expected, proposed: readonly Proposed[]): Written {
    if (this.#tombstones.has(stream)) return { outcome: 'stream_deleted' };
    const events = this.#streams.get(stream) ?? [];
    const current = events.length - 1;
    const is_soft_deleted = current >= 0 && this.#truncatedBefore.get(stream) === events.length;
    if (typeof expected === 'number' || expected === 'no_stream') {
      const after = expected === 'no_stream' ? -1 : expected;
      if (after < current && proposed.every(({ id }, index) => events[after + 1 + index]?.id === id)) {
        return written(events[after + proposed.length]!);
      }
      const may_write = after === current || (expected === 'no_stream' && is_soft_deleted);
      if (!may_write) return { outcome: 'wrong_expected_version', current: current < 0 ? null : current };
    }
    if (expected === 'stream_exists' && current < 0) return { outcome: 'wrong_expected_version', current: null };
    const stored = this.#store(stream, proposed);
    // The stream is undeleted by metadata that say from which revision on it is read.
    if (is_soft_deleted) this.#store(`$$${stream}`, [system('$metadata')]);
    return written(stored.at(-1)!);
  }

  /** Soft delete: the stream reads as absent and may be written again. */
  delete(stream: string): Written {
    const events = this.#streams.get(stream);
    if (this.#tombstones.has(stream)) return { outcome: 'stream_deleted' };
    if (events === undefined) return { outcome: 'wrong_expected_version', current: null };
    this.#truncatedBefore.set(stream, events.length);
    return written(this.#store(`$$${stream}`, [system('$metadata')]).at(-1)!);
  }

  /** The stream is gone for good; its events stay in the global log, as they do until a scavenge. */
  tombstone(stream: string): Written {
    if (this.#tombstones.has(stream)) return { outcome: 'stream_deleted' };
    const bytes = { ...system('$streamDeleted'), content_type: 'application/octet-stream', data: new Uint8Array() };
    const [tombstone] = this.#store(stream, [bytes], TOMBSTONE);
    this.#tombstones.add(stream);
    return written(tombstone!);
  }

  /** Removes the events of the streams that are gone for good, as an operator's scavenge does; their tombstones stay. */
  scavenge(): void {
    const kept = this.all.filter(({ stream, revision }) => !this.#tombstones.has(stream) || revision === TOMBSTONE);
    this.all.splice(0, this.all.length, ...kept);
  }

  /** The index in `all` of the first event at or after the position, or only after it. */
  indexOf({ commit, prepare }: LogPosition, { exclusive }: { exclusive: boolean }): number {
    let low = 0;
    let high = this.all.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const event = this.all[middle]!;
      const before =
        event.commit < commit ||
        (event.commit === commit && (event.prepare < prepare || (exclusive && event.prepare === prepare)));
      if (before) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Resolves when there are more events than `count`, or the signal aborts. */
  async grown(count: number, signal: AbortSignal): Promise<void> {
    while (this.all.length <= count && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#listeners.add(resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
      await promise;
      this.#listeners.delete(resolve);
    }
  }

  #store(stream: string, proposed: readonly Proposed[], revision?: bigint): Stored[] {
    const events = this.#streams.get(stream) ?? [];
    this.#streams.set(stream, events);
    const prepares = proposed.map((event) => {
      const prepare = this.#next;
      // Like the real one's, positions are offsets in bytes: they have gaps.
      this.#next += BigInt(100 + event.data.length);
      return prepare;
    });
    const stored = proposed.map((event, index) => ({
      ...event,
      stream,
      revision: revision ?? events.length + index,
      prepare: prepares[index]!,
      commit: this.#sharedCommit ? prepares.at(-1)! : prepares[index]!,
      created_ticks: BigInt(Date.now()) * 10_000n,
    }));
    events.push(...stored);
    this.all.push(...stored);
    for (const listener of this.#listeners) listener();
    return stored;
  }
}

const written = ({ revision, commit, prepare }: Stored): Written => ({
  outcome: 'written',
  revision,
  position: { commit, prepare },
});

const system = (type: string): Proposed => ({
  id: crypto.randomUUID(),
  type,
  content_type: 'application/json',
  data: Buffer.from('{}'),
  metadata: new Uint8Array(),
});
