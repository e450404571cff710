// Appends events; a repeated append succeeds with the first one's result, as the port demands.
import { strict as assert } from 'node:assert';
import { MaxAppendSizeExceededError, StreamDeletedError, WrongExpectedVersionError } from '@eventstore/db-client';
import {
  type AppendResult,
  AppendTooLarge,
  type ExpectedRevision,
  MAX_APPEND_BYTES,
  MAX_APPEND_EVENTS,
  type NewEvent,
} from '../../../events/event-store.ts';
import type { Connection } from './connection.ts';
import { toPosition } from './positions.ts';
import { readStream } from './read-stream.ts';
import { propose } from './wire-events.ts';

/**
 * The server accepts a repeated append: it compares event ids when the expected revision is behind the stream's. So after a
 * lost answer we retry with the same ids at the same revision. Throws `EventStoreError`, `AppendTooLarge`, or RangeError and
 * TypeError for events that can never be appended.
 */
export async function append(
  connection: Connection,
  stream: string,
  expected: ExpectedRevision,
  events: readonly NewEvent[],
): Promise<AppendResult> {
  if (events.length < 1 || events.length > MAX_APPEND_EVENTS) {
    throw new RangeError(`an append has 1 to ${MAX_APPEND_EVENTS} events, not ${events.length}`);
  }
  if (stream === '' || stream.startsWith('$')) throw new TypeError(`'${stream}' is no stream name`);
  const { proposed, size_bytes } = propose(events);
  if (size_bytes > MAX_APPEND_BYTES) throw new AppendTooLarge(stream, size_bytes);
  const { client, limits } = connection;
  try {
    const result = await connection.request(`appending to ${stream}`, () =>
      client.appendToStream(stream, proposed, {
        expectedRevision: expected === 'no_stream' ? expected : BigInt(expected),
        deadline: limits.answer_ms,
        requiresLeader: true,
      }),
    );
    assert(result.success, 'throwOnAppendFailure must not be switched off in the URL of the event store');
    const revision = Number(result.nextExpectedRevision);
    assert.equal(revision, firstRevision(expected) + events.length - 1);
    if (result.position !== undefined) return { ok: true, revision, position: toPosition(result.position) };
  } catch (error) {
    // A tombstone refuses every later append.
    if (error instanceof StreamDeletedError) return { ok: false, conflict: true, actual: 'no_stream' };
    // The operator set the server's `--max-append-size` lower than our limit.
    if (error instanceof MaxAppendSizeExceededError) {
      throw new AppendTooLarge(stream, size_bytes, error.maxAppendSize, { cause: error });
    }
    if (!(error instanceof WrongExpectedVersionError)) throw error;
    const already = await findAppended(connection, stream, expected, events);
    if (already !== null) return already;
    const actual = error.actualVersion;
    return { ok: false, conflict: true, actual: typeof actual === 'bigint' ? Number(actual) : 'no_stream' };
  }
  // The server may answer a repeated append without its position.
  const already = await findAppended(connection, stream, expected, events);
  assert(already !== null, `the events that the server says are in ${stream} are not there`);
  return already;
}

const firstRevision = (expected: ExpectedRevision): number => (expected === 'no_stream' ? 0 : expected + 1);

/** Returns the first append's result when exactly these events follow the expected revision; else null. */
async function findAppended(
  connection: Connection,
  stream: string,
  expected: ExpectedRevision,
  events: readonly NewEvent[],
): Promise<AppendResult | null> {
  let index = 0;
  const from = firstRevision(expected);
  for await (const event of readStream(connection, stream, { from, limit: events.length })) {
    if (event.id !== events[index]!.id.toLowerCase()) return null;
    index += 1;
    if (index === events.length) return { ok: true, revision: event.revision, position: event.position };
  }
  return null;
}
