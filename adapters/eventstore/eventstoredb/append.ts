// Appending, with the port's answer to a repeated append.
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
 * The server itself makes a repeated append a success: it compares ids when the expected revision is behind the stream's.
 * So a try whose answer was lost is simply made again, with the same ids at the same revision.
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
    // A tombstone: the stream is gone for good, and every later append is refused.
    if (error instanceof StreamDeletedError) return { ok: false, conflict: true, actual: 'no_stream' };
    // A server whose `--max-append-size` was set lower.
    if (error instanceof MaxAppendSizeExceededError) {
      throw new AppendTooLarge(stream, size_bytes, error.maxAppendSize, { cause: error });
    }
    if (!(error instanceof WrongExpectedVersionError)) throw error;
    const already = await findAppended(connection, stream, expected, events);
    if (already !== null) return already;
    const actual = error.actualVersion;
    return { ok: false, conflict: true, actual: typeof actual === 'bigint' ? Number(actual) : 'no_stream' };
  }
  // A repeated append may be answered without its position.
  const already = await findAppended(connection, stream, expected, events);
  assert(already !== null, `the events that the server says are in ${stream} are not there`);
  return already;
}

const firstRevision = (expected: ExpectedRevision): number => (expected === 'no_stream' ? 0 : expected + 1);

/** The first time's result when exactly these events follow the expected revision; else null. */
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
