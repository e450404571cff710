// Reads the global log ($all) from a position on: each event once, in order, reconnecting as often as needed.
import { type AllStreamResolvedEvent, EVENT_TYPE, type Position as ServerPosition } from '@eventstore/db-client';
import { BEGINNING, type EventFilter, type Position, type RecordedEvent } from '../../../events/event-store.ts';
import { pause } from '../../../time/pause.ts';
import { BackOff } from './back-off.ts';
import { bunches } from './bunches.ts';
import type { Connection } from './connection.ts';
import { isPermanent } from './errors.ts';
import { eventPasses, isTombstone, serverFilter } from './filters.ts';
import { fromPosition, isKnown, toPosition } from './positions.ts';
import { toRecorded } from './wire-events.ts';

/**
 * A first session catches up with the server's filter; a second, live one has no filter, and the adapter filters. No server
 * version reliably reports the progress of a live filtered subscription: most send no checkpoint past trailing events that
 * the filter drops, so a caller that waits for their position would wait for ever. Without a filter every event carries its
 * position, at a price: a reader that falls behind gets pages of 32 events instead of one search window each.
 */
type Phase = 'catching_up' | 'live';

/** While a session catches up, the server sends a checkpoint after each so many searched events. */
const SEARCH_WINDOW = 2_048;

/** High-water mark of the client's stream, in objects. */
const BUFFERED = 64;

export interface LogPart<Item> {
  /** What `take` made of the events, in log order, all after the position of the previous part. */
  events: Item[];
  /** Every event up to here that passes the filter has been delivered. */
  position: Position;
  /** The session has reached the log's end as it was when the session began, or later. */
  caught_up: boolean;
}

/** Which events a read gives, and what it makes of them. */
export interface Taking<Item> {
  /** The server's filter, which passes all of them and may pass others. */
  on_server: ReturnType<typeof serverFilter>;
  /** Null for an event to leave out. */
  take(resolved: AllStreamResolvedEvent): Item | null;
}

/** The events that pass the port's filter. */
export function recorded(filter: EventFilter): Taking<RecordedEvent> {
  const passes = eventPasses(filter);
  return {
    on_server: serverFilter(filter),
    take(resolved) {
      const { streamId: stream, type } = resolved.event!;
      return passes({ stream, type }) ? toRecorded(resolved) : null;
    },
  };
}

/** The names of the streams that have a tombstone. A scavenge leaves tombstones. */
export const DELETIONS: Taking<string> = {
  on_server: { filterOn: EVENT_TYPE, regex: '^\\$streamDeleted$' },
  take: ({ event }) => (isTombstone(event!.streamId, event!.type) ? event!.streamId : null),
};

export interface AllLogOptions<Item> {
  from: Position;
  taking: Taking<Item>;
  /** Ends the iteration, quietly. */
  signal: AbortSignal;
  /** True retries for ever; false throws `unavailable` after the connection's limit. */
  forever: boolean;
}

interface Reached {
  position: Position;
  /** Position of the last delivered event, which detects repeats. Checkpoints cannot: some versions send one too early. */
  event: Position;
}

/** The client reports checkpoints by callback; we push them into its stream, where they keep their place among the events. */
class Checkpoint {
  readonly position: Position;
  constructor(position: Position) {
    this.position = position;
  }
}
const CAUGHT_UP = Symbol('caught up');

/** Yields parts until `signal` aborts. A part has no events when only `position` or `caught_up` changed. */
export async function* allLog<Item>(
  connection: Connection,
  options: AllLogOptions<Item>,
): AsyncGenerator<LogPart<Item>, void> {
  const { taking, signal, forever } = options;
  const { limits } = connection;
  const back_off = new BackOff(limits);
  const reached: Reached = { position: options.from, event: options.from };
  let phase: Phase = 'catching_up';
  while (!signal.aborted) {
    try {
      for await (const items of session(connection, { position: reached.position, taking, phase, signal })) {
        back_off.reset();
        connection.answered();
        const events = fold(items, reached, taking);
        const caught_up = items.includes(CAUGHT_UP);
        yield { events, position: reached.position, caught_up };
        if (phase === 'live' || !caught_up) continue;
        phase = 'live';
        break;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (isPermanent(error)) throw error;
      phase = 'catching_up';
      const wait_ms = back_off.next('reading the log', error, forever);
      connection.missed(error, `the read of the log broke off at ${reached.position}, reading on from there`);
      await pause(wait_ms, signal);
    }
  }
}

async function* session(
  connection: Connection,
  {
    position,
    taking,
    phase,
    signal,
  }: { position: Position; taking: Taking<unknown>; phase: Phase; signal: AbortSignal },
): AsyncGenerator<unknown[], void> {
  let caughtUp = false;
  const searching = {
    ...taking.on_server,
    maxSearchWindow: SEARCH_WINDOW,
    checkpointInterval: 1,
    // The client calls this where nothing can catch an error, so it must not throw.
    checkpointReached: (of: { push(item: unknown): unknown }, reached: ServerPosition) => {
      if (isKnown(reached)) of.push(new Checkpoint(toPosition(reached)));
    },
  };
  const subscription = connection.client.subscribeToAll(
    {
      fromPosition: position === BEGINNING ? 'start' : fromPosition(position),
      ...(phase === 'catching_up' && { filter: searching }),
    },
    { highWaterMark: BUFFERED },
  );
  // The server repeats this event each time that a slow reader has caught up.
  subscription.on('caughtUp', () => {
    caughtUp = true;
    subscription.push(CAUGHT_UP);
  });
  const parts = bunches(subscription, {
    signal,
    // While catching up the server must answer in time. A live session may be silent for days; gRPC's keep-alive notices
    // a dead server.
    wait_limit_ms: () => (caughtUp ? Number.POSITIVE_INFINITY : connection.limits.answer_ms),
    cancel: () => subscription.unsubscribe(),
  });
  yield* parts;
  if (!signal.aborted) throw new Error('the server ended the subscription');
}

/** Advances `reached` over the items and returns what is taken of them. */
function fold<Item>(items: unknown[], reached: Reached, { take }: Taking<Item>): Item[] {
  const events: Item[] = [];
  const reach = (position: Position) => {
    // Some versions repeat an old checkpoint once they are live.
    if (position > reached.position) reached.position = position;
  };
  for (const item of items) {
    if (item === CAUGHT_UP) continue;
    if (item instanceof Checkpoint) {
      reach(item.position);
      continue;
    }
    const resolved = item as AllStreamResolvedEvent;
    if (resolved.event === undefined) continue;
    const position = toPosition(resolved.event.position);
    if (position <= reached.event) continue;
    reached.event = position;
    reach(position);
    const event = take(resolved);
    if (event !== null) events.push(event);
  }
  return events;
}
