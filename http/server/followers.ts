// How far each follower of the log is.
import type { EventStore, Position, RecordedEvent } from '../../events/event-store.ts';
import { recordedAt } from '../../events/unreadable.ts';
import type { Documents } from '../../readmodels/documents.ts';
import {
  PROJECTOR,
  type ProjectionState,
  type ProjectorState,
  projectionState,
  projectionStates,
  projectorStates,
} from '../../readmodels/projection-state.ts';

/** A follower that is further behind has at least this many events before it. */
export const MOST_COUNTED = 500;

export interface FollowerStatus {
  /** Who follows the log, and the projection that it makes. */
  follower: string;
  projection: string;
  version: number;
  /** `building`: it is being rebuilt, beside the one that is read; `failed`: that waits for an operator. */
  state: 'live' | 'building' | 'failed';
  position: Position;
  parked_events: number;
  /** Events of the log that it has not applied; at most `MOST_COUNTED` are counted. */
  lag_events: number | null;
  lag_ms: number | null;
}

export interface Followers {
  /** The end of the log. */
  head: Position;
  followers: FollowerStatus[];
}

export interface FollowersParts {
  log: EventStore;
  documents: Pick<Documents, 'reading'>;
  /** Wall time in milliseconds. */
  now: () => number;
  /** At most this many events are counted. Default `MOST_COUNTED`. */
  count_to?: number;
}

/** The function reads the log and the documents, and throws when one is away. */
export function openFollowers(parts: FollowersParts): () => Promise<Followers> {
  const { log, documents, now, count_to = MOST_COUNTED } = parts;
  const projectors = documents.reading(projectorStates);
  const projections = documents.reading(projectionStates);

  /** Counts the events after a position, and takes the age of the first one. */
  async function lagBehind(position: Position, head: Position): Promise<{ lag_events: number; lag_ms: number }> {
    if (position >= head) return { lag_events: 0, lag_ms: 0 };
    let lag_events = 0;
    let first: RecordedEvent | null = null;
    for await (const event of log.readAll({ from: position, limit: count_to })) {
      first ??= event;
      lag_events += 1;
    }
    return { lag_events, lag_ms: first === null ? 0 : Math.max(0, now() - recordedAt(first)) };
  }

  return async () => {
    const [head, found, states] = await Promise.all([log.head(), projectors.find({}), projections.find({})]);
    const stored = states.map((one) => projectionState(one._id, one));
    const positions = new Map<string, Position>();
    const rows = stored.flatMap((state) => {
      const follower = followerOf(found, state._id);
      return follower ? rowsOf(follower, state) : [];
    });
    for (const { position } of rows) positions.set(position, position);
    const lags = new Map(
      await Promise.all(
        Array.from(positions.keys(), async (position) => [position, await lagBehind(position, head)] as const),
      ),
    );
    return { head, followers: rows.map((row) => ({ ...row, ...lags.get(row.position)! })) };
  };
}

/** Who applies the events to the projection. One that is built for the first time is its namesake's, else the projector's. */
const followerOf = (found: readonly ProjectorState[], projection: string): ProjectorState | undefined =>
  found.find(({ generations }) => Object.hasOwn(generations, projection)) ??
  found.find(({ _id }) => _id === projection) ??
  found.find(({ _id }) => _id === PROJECTOR);

type Row = Omit<FollowerStatus, 'lag_events' | 'lag_ms'>;

function rowsOf({ _id: follower, checkpoint }: ProjectorState, state: ProjectionState): Row[] {
  const { _id: projection, generation, version, parked, next, failed } = state;
  const of = { follower, projection };
  const live: Row = { ...of, version, state: 'live', position: checkpoint, parked_events: parked };
  const rows = generation > 0 ? [live] : [];
  if (next === null) return rows;
  const { version: next_version, checkpoint: position, parked: parked_events } = next;
  return [...rows, { ...of, version: next_version, state: failed ? 'failed' : 'building', position, parked_events }];
}
