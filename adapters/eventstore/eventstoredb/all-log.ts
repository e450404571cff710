// The global log ($all) from a position on, over as many sessions with the server as it takes: each event once, in order.
import { setTimeout as sleep } from 'node:timers/promises';
import type { AllStreamResolvedEvent, Position as ServerPosition } from '@eventstore/db-client';
import { BEGINNING, type EventFilter, type Position, type RecordedEvent } from '../../../events/event-store.ts';
import { bunches } from './bunches.ts';
import type { Connection } from './connection.ts';
import { isPermanent } from './errors.ts';
import { eventPasses, serverFilter } from './filters.ts';
import { Patience } from './patience.ts';
import { fromPosition, isKnown, toPosition } from './positions.ts';
import { toRecorded } from './wire-events.ts';

/**
 * A session catches up with the server's filter, then a second one goes on without it and the adapter filters. With a
 * filter no version tells reliably how far the log has been searched once it is live: the last checkpoint of most stays
 * before trailing events that the filter leaves out, and whoever waits for their position would wait in vain. Without one
 * every event tells its position, and a reader that falls behind is served by pages of 32 events instead of pages of one
 * search window.
 */
type Phase = 'catching_up' | 'live';

/** While it catches up, the server tells how far it has searched (a checkpoint) after each so many events. */
const SEARCH_WINDOW = 2_048;

/** Objects that the client's stream may hold for us. */
const BUFFERED = 512;

export interface LogPart {
  /** In log order; all after the position of the part before. */
  events: RecordedEvent[];
  /** Everything that passes the filter up to here has been given. */
  position: Position;
  /** The end of the log, as it was when the session began or later, has been reached. */
  caught_up: boolean;
}

export interface AllLogOptions {
  from: Position;
  filter: EventFilter;
  /** Ends the iteration, quietly. */
  signal: AbortSignal;
  /** Whether to wait for the server for ever, or to throw `unavailable` after the connection's limit. */
  forever: boolean;
}

interface Reached {
  position: Position;
  /** The last event: what tells a repeat. A checkpoint does not, for some versions gave one of an event not yet sent. */
  event: Position;
}

/** What the client tells by other ways than the stream is put into the stream, so that it keeps its place among the events. */
class Checkpoint {
  readonly position: Position;
  constructor(position: Position) {
    this.position = position;
  }
}
const CAUGHT_UP = Symbol('caught up');

/** Parts may be empty, when only `position` or `caught_up` changed. Never ends by itself. */
export async function* allLog(connection: Connection, options: AllLogOptions): AsyncGenerator<LogPart, void> {
  const { filter, signal, forever } = options;
  const { limits } = connection;
  const passes = eventPasses(filter);
  const patience = new Patience(limits);
  const reached: Reached = { position: options.from, event: options.from };
  let phase: Phase = 'catching_up';
  while (!signal.aborted) {
    try {
      for await (const items of session(connection, { position: reached.position, filter, phase, signal })) {
        patience.renew();
        connection.answered();
        const events = fold(items, reached, passes);
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
      const wait_ms = patience.next('reading the log', error, forever);
      connection.missed(error, `the reading of the log broke off at ${reached.position}, beginning again`);
      await sleep(wait_ms, undefined, { signal }).catch(() => undefined);
    }
  }
}

async function* session(
  connection: Connection,
  { position, filter, phase, signal }: { position: Position; filter: EventFilter; phase: Phase; signal: AbortSignal },
): AsyncGenerator<unknown[], void> {
  let caughtUp = false;
  const searching = {
    ...serverFilter(filter),
    maxSearchWindow: SEARCH_WINDOW,
    checkpointInterval: 1,
    // Whatever this throws ends the process: it is called where nothing can catch it.
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
  // The server says so again each time that it has caught up with a reader that was slower than the writers.
  subscription.on('caughtUp', () => {
    caughtUp = true;
    subscription.push(CAUGHT_UP);
  });
  const parts = bunches(subscription, {
    signal,
    // A server that still has something to tell tells it; one that is at the end may be silent for days, and gRPC's
    // own keep-alive finds out when it is gone.
    patience_ms: () => (caughtUp ? Number.POSITIVE_INFINITY : connection.limits.answer_ms),
    cancel: () => subscription.unsubscribe(),
  });
  yield* parts;
  if (!signal.aborted) throw new Error('the server ended the subscription');
}

/** Moves `reached` over the items and gives the events that pass. */
function fold(items: unknown[], reached: Reached, passes: ReturnType<typeof eventPasses>): RecordedEvent[] {
  const events: RecordedEvent[] = [];
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
    const { streamId: stream, type } = resolved.event;
    if (!passes({ stream, type })) continue;
    const event = toRecorded(resolved);
    if (event !== null) events.push(event);
  }
  return events;
}
