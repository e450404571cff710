// The states that an aggregate keeps between its commands: loads each from its stream, and says how long one is good without a read.
import { LRUCache } from 'lru-cache';
import type { EventStore, ExpectedRevision, NewEvent, Position } from '../events/event-store.ts';
import { BEGINNING } from '../events/event-store.ts';

export interface Loaded<State> {
  state: State;
  revision: ExpectedRevision;
  /** The id of the last event of the stream; null when it has none. */
  last_id: string | null;
  position: Position;
}

interface Cached<State> extends Loaded<State> {
  /** When the log last confirmed the state, by the monotonic clock. */
  confirmed_at: number;
}

/** A fold over the events as the log has them. */
interface StoredFold<State> {
  initial(): State;
  evolve(state: State, event: Pick<NewEvent, 'type' | 'data'>): State;
}

export interface StreamStatesOptions<State> {
  /** The cache holds states whose sizes add up to at most `most`. Default: no limit. */
  size?: { most: number; of(state: State): number };
  /** Milliseconds that never go back. */
  monotonic?: () => number;
  /** Loads a state that is not in the cache without reading the whole stream; null when it cannot. */
  begin?(stream: string): Promise<Loaded<State> | null>;
}

/**
 * A command is decided on a cached state without a read for this long after the log has confirmed the state. An operator who
 * replaces a server's log by a backup takes longer, so that no append lands on a log that only has as many events.
 */
const CONFIRMED_MS = 5_000;
const MAX_STATES = 1000;

export function openStreamStates<State>(
  log: EventStore,
  fold: StoredFold<State>,
  { begin, size, monotonic = () => performance.now() }: StreamStatesOptions<State>,
) {
  const states = new LRUCache<string, Cached<State>>({
    max: MAX_STATES,
    ...(size && { maxSize: size.most, sizeCalculation: ({ state }: Loaded<State>) => size.of(state) }),
  });

  /** The state of a stream without events. */
  const empty = (): Loaded<State> => ({
    state: fold.initial(),
    revision: 'no_stream',
    last_id: null,
    position: BEGINNING,
  });

  /** A copy, because the cache computes no size anew for an object that it holds already. */
  const keep = (stream: string, loaded: Loaded<State>) => states.set(stream, { ...loaded, confirmed_at: monotonic() });

  /** Returns the cached state while the log has confirmed it lately. */
  function confirmed(stream: string): Loaded<State> | undefined {
    const kept = states.get(stream);
    return kept && monotonic() - kept.confirmed_at < CONFIRMED_MS ? kept : undefined;
  }

  /** Reads the events that the cached state lacks, and keeps the state with them. */
  async function load(stream: string): Promise<Loaded<State>> {
    const kept = states.get(stream);
    // The store may tell faster than by a read that the stream ends where the state does.
    if (kept && log.lastId && (await log.lastId(stream)) === kept.last_id) return kept;
    const loaded = kept ?? (await begin?.(stream)) ?? empty();
    const known_id = kept?.last_id ?? undefined;
    let is_of_log = known_id === undefined;
    const from = after(loaded.revision) - (is_of_log ? 0 : 1);
    for await (const event of log.readStream(stream, { from, ...(known_id !== undefined && { known_id }) })) {
      if (event.revision === loaded.revision) {
        is_of_log = event.id === loaded.last_id;
        continue;
      }
      if (!is_of_log) break;
      loaded.state = fold.evolve(loaded.state, event);
      Object.assign(loaded, { revision: event.revision, last_id: event.id, position: event.position });
    }
    if (is_of_log) keep(stream, loaded);
    else states.delete(stream);
    // An older copy of the log was restored: the state has events that the log lacks.
    return is_of_log ? loaded : load(stream);
  }

  return {
    ...{ empty, keep, confirmed, load },
    has: (stream: string) => states.has(stream),
    /** The cached state, however old. */
    peek: (stream: string) => states.get(stream)?.state,
    /** Drops a state that may lack events, or have events that were not appended. */
    forget: (stream: string) => void states.delete(stream),
  };
}

/** A `begin` for streams whose last event alone determines the state. */
export function fromLastEvent<State>(
  log: EventStore,
  fold: StoredFold<State>,
): (stream: string) => Promise<Loaded<State> | null> {
  return async (stream) => {
    for await (const event of log.readStream(stream, { direction: 'backwards', limit: 1 })) {
      const state = fold.evolve(fold.initial(), event);
      return { state, revision: event.revision, last_id: event.id, position: event.position };
    }
    return null;
  };
}

/** The revision of the next event. */
export const after = (revision: ExpectedRevision) => (revision === 'no_stream' ? 0 : revision + 1);
