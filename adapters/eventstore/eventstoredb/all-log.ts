// The global log ($all) from a position on, over as many sessions with the server as it takes: each event once, in order.
import { setTimeout as sleep } from 'node:timers/promises';
import type { AllStreamResolvedEvent } from '@eventstore/db-client';
import { BEGINNING, type EventFilter, type Position, type RecordedEvent } from '../../../events/event-store.ts';
import { bunches } from './bunches.ts';
import { type Connection, Patience } from './connection.ts';
import { isPermanent } from './errors.ts';
import { eventPasses, serverFilter } from './filters.ts';
import { fromPosition, toPosition } from './positions.ts';
import { toRecorded } from './wire-events.ts';

/**
 * The server tells how far it has searched (a checkpoint) after each so many events. While it catches up, a window of
 * one would be one read an event. Live, anything larger would leave `position` behind by up to a window of events that
 * the filter leaves out, for as long as nothing more is appended: whoever waits for it would wait in vain.
 */
const SEARCH_WINDOW = { catching_up: 2_048, live: 1 } as const;
type Phase = keyof typeof SEARCH_WINDOW;

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
const FELL_BEHIND = Symbol('fell behind');

/** Parts may be empty, when only `position` or `caught_up` changed. Never ends by itself. */
export async function* allLog(connection: Connection, options: AllLogOptions): AsyncGenerator<LogPart, void> {
  const { filter, signal, forever } = options;
  const { limits, log } = connection;
  const passes = eventPasses(filter);
  const patience = new Patience(limits);
  const reached: Reached = { position: options.from, event: options.from };
  let phase: Phase = 'catching_up';
  while (!signal.aborted) {
    try {
      for await (const items of session(connection, { position: reached.position, filter, phase, signal })) {
        patience.renew();
        const events = fold(items, reached, passes);
        yield { events, position: reached.position, caught_up: items.includes(CAUGHT_UP) };
        const next = nextPhase(phase, items);
        if (next === phase) continue;
        phase = next;
        break;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (isPermanent(error)) throw error;
      phase = 'catching_up';
      const wait_ms = patience.next('reading the log', error, forever);
      log.warn(
        { err: error, position: reached.position, wait_ms },
        'event store: the reading of the log broke off, beginning again',
      );
      await sleep(wait_ms, undefined, { signal }).catch(() => undefined);
    }
  }
}

async function* session(
  connection: Connection,
  { position, filter, phase, signal }: { position: Position; filter: EventFilter; phase: Phase; signal: AbortSignal },
): AsyncGenerator<unknown[], void> {
  let caughtUp = false;
  const subscription = connection.client.subscribeToAll(
    {
      fromPosition: position === BEGINNING ? 'start' : fromPosition(position),
      filter: {
        ...serverFilter(filter),
        maxSearchWindow: SEARCH_WINDOW[phase],
        checkpointInterval: 1,
        checkpointReached: (of, reached) => void of.push(new Checkpoint(toPosition(reached))),
      },
    },
    { highWaterMark: BUFFERED },
  );
  subscription.on('caughtUp', () => {
    caughtUp = true;
    subscription.push(CAUGHT_UP);
  });
  subscription.on('fellBehind', () => subscription.push(FELL_BEHIND));
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
    if (item === CAUGHT_UP || item === FELL_BEHIND) continue;
    if (item instanceof Checkpoint) {
      reach(item.position);
      continue;
    }
    const event = toRecorded(item as AllStreamResolvedEvent);
    if (event === null || event.position <= reached.event) continue;
    reached.event = event.position;
    reach(event.position);
    if (passes(event)) events.push(event);
  }
  return events;
}

function nextPhase(phase: Phase, items: unknown[]): Phase {
  const last = items.findLast((item) => item === CAUGHT_UP || item === FELL_BEHIND);
  if (last === undefined) return phase;
  return last === CAUGHT_UP ? 'live' : 'catching_up';
}
