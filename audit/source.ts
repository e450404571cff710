// Where an audit reads the ledger: the log of the service, or an exported file.
import type { CreditsEvent } from '../events/credits.ts';
import type { EventStore, Position, RecordedEvent } from '../events/event-store.ts';
import type { LedgerHeadSigned } from '../events/ledger-head.ts';
import type { LogForked, PeriodClosed } from '../events/service.ts';
import {
  categoryOf,
  creditsStream,
  idOf,
  LEDGER_HEADS_STREAM,
  LOG_IDENTITY_STREAM,
  PERIODS_STREAM,
} from '../events/streams.ts';
import { recordedAt, refuseForeign, UnreadableEvent } from '../events/unreadable.ts';
import type { Digests } from './digests.ts';
import { placeOf, type Violation } from './findings.ts';
import { leafOf } from './merkle.ts';
import type { KnownHead } from './types.ts';

/** A point of the log, inclusive: a position; or the time, in milliseconds since the epoch, after which the first ledger entry came. */
export type AsOf = { position: Position } | { time: number };

/** A head with the note that signs it, and the key that it is signed by. */
export interface SignedHead extends KnownHead {
  note: string;
  verifier: string;
}

export interface LedgerSource {
  /** The events of these categories in log order, up to `as_of`, as the log holds them: nothing is upcast or unsealed. */
  events(categories: readonly string[], as_of: AsOf | null): AsyncIterable<RecordedEvent>;
  /** The same events of `AUDITED` categories as an audit takes them, where a thread can read ahead of it. */
  digests?(): AsyncIterable<Digests>;
  /** The entries of one user in their order. */
  entriesOf(user_id: string, as_of: AsOf | null): AsyncIterable<RecordedEvent>;
  /** The jobs that were deleted, or whose results expired, after a position. */
  deletedAfter(position: Position): AsyncIterable<string>;
  /** The signed heads that the source holds, in their order. Throws `UnreadableEvent`. */
  heads(as_of: AsOf | null): AsyncIterable<SignedHead>;
  /** The restores that the log comes from, the first one first. Throws `UnreadableEvent`. */
  forks(): AsyncIterable<LogForked>;
  /** The periods that were closed, in their order. Throws `UnreadableEvent`. */
  periods(as_of: AsOf | null): AsyncIterable<PeriodClosed>;
  /** What the store itself finds missing, where it can look without reading the events. */
  gaps?(): Promise<Violation[]>;
  close(): Promise<void>;
}

/** The events after which results of a job may be missing in the log. */
export const REMOVES_RESULTS: readonly string[] = ['JobDeleted', 'ResultsExpired'];

/** What `read` makes of the event; throws `UnreadableEvent` where that throws. */
export function reading<Result>(event: RecordedEvent, read: (event: RecordedEvent) => Result): Result {
  try {
    return read(event);
  } catch (cause) {
    const where = `position ${event.position}, ${event.stream} ${event.revision}`;
    throw new UnreadableEvent(
      `the event at ${where}, cannot be read: \`ledger verify\` says more`,
      placeOf(event),
      cause,
    );
  }
}

/** The data of a ledger entry; throws `UnreadableEvent`, also where a field is missing that every entry has. */
export const entryOf = (event: RecordedEvent): CreditsEvent['data'] =>
  reading(event, () => {
    const entry = event.data as CreditsEvent['data'];
    const { transaction_id, transaction_type, reference_id, amount, balance_after } = entry;
    if (!areStrings(transaction_id, transaction_type, reference_id) || ![amount, balance_after].every(Number.isInteger))
      throw new TypeError('it is no entry');
    return entry;
  });

/** The leaf of a ledger entry; throws `UnreadableEvent`. */
export const leafOfEntry = (event: RecordedEvent): Buffer =>
  reading(event, () => leafOf((event.data as CreditsEvent['data']).hash));

export const areStrings = (...values: unknown[]): boolean => values.every((value) => typeof value === 'string');

export const isHead = ({ tree_size, root_hash, note, verifier }: Readonly<Omit<SignedHead, 'place'>>): boolean =>
  Number.isSafeInteger(tree_size) && areStrings(root_hash, note, verifier);

/** Whether a position is after another one. Throws `ForeignPosition`. */
export function isBeyond(position: Position, other: Position): boolean {
  refuseForeign(other, position);
  return position > other;
}

/** Reads the log behind no codec. */
export function sourceOfLog(log: EventStore): LedgerSource {
  return {
    events: (categories, as_of) => until(log.readAll({ filter: { categories } }), as_of),
    entriesOf: (user_id, as_of) => until(log.readStream(creditsStream(user_id)), as_of),
    async *deletedAfter(from) {
      const filter = { categories: ['job'], types: REMOVES_RESULTS };
      for await (const { stream } of log.readAll({ from, filter })) yield idOf(stream);
    },
    async *heads(as_of) {
      for await (const event of log.readStream(LEDGER_HEADS_STREAM)) {
        const { signed_at, tree_size, root_hash, billing, note, verifier } = reading(event, () => {
          const data = event.data as LedgerHeadSigned;
          if (!isHead(data)) throw new TypeError('it is no head');
          return data;
        });
        if (as_of !== null) {
          if ('position' in as_of ? isBeyond(event.position, as_of.position) : Date.parse(signed_at) > as_of.time)
            return;
        }
        yield { tree_size, root_hash, billing, note, verifier, place: placeOf(event) };
      }
    },
    async *forks() {
      for await (const event of log.readStream(LOG_IDENTITY_STREAM))
        if (event.type === 'LogForked') yield reading(event, forkIn);
    },
    async *periods(as_of) {
      for await (const event of log.readStream(PERIODS_STREAM)) {
        if (as_of !== null) {
          const is_after =
            'position' in as_of ? isBeyond(event.position, as_of.position) : recordedAt(event) > as_of.time;
          if (is_after) return;
        }
        yield reading(event, periodIn);
      }
    },
    close: () => log.close(),
  };
}

function forkIn({ data }: RecordedEvent): LogForked {
  const fork = data as LogForked;
  const { from_log_id, backup_id, backup_began_at, ledger_entries } = fork;
  if (!areStrings(from_log_id, backup_id, backup_began_at) || !Number.isSafeInteger(ledger_entries))
    throw new TypeError('it is no fork');
  return fork;
}

function periodIn({ data }: RecordedEvent): PeriodClosed {
  const period = data as PeriodClosed;
  const { until, reason, ledger_entries, payment_events, entries, credits } = period;
  if (!areStrings(until, reason) || ![ledger_entries, payment_events, entries, credits].every(Number.isSafeInteger))
    throw new TypeError('it is no closing');
  return period;
}

export function until(events: AsyncIterable<RecordedEvent>, as_of: AsOf | null): AsyncIterable<RecordedEvent> {
  return as_of === null ? events : cut(events, as_of);
}

async function* cut(events: AsyncIterable<RecordedEvent>, as_of: AsOf): AsyncGenerator<RecordedEvent> {
  for await (const event of events) {
    if (isAfter(event, as_of)) return;
    yield event;
  }
}

/** Whether the event is the first after this point. Throws `ForeignPosition`. */
export function isAfter(event: RecordedEvent, as_of: AsOf): boolean {
  if ('position' in as_of) return isBeyond(event.position, as_of.position);
  return categoryOf(event.stream) === 'credits' && recordedAt(event) > as_of.time;
}
