// The call that reads: a stream, the whole log, or a subscription to the whole log with a filter.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import { type ServerWritableStream, status } from '@grpc/grpc-js';
import type { Faults } from './faults.ts';
import type { MemoryLog, Stored } from './memory-log.ts';
import {
  caughtUpMessage,
  checkpointMessage,
  confirmationMessage,
  eventMessage,
  fellBehindMessage,
  streamDeletedError,
  streamName,
  streamNotFoundMessage,
} from './messages.ts';

type Call = ServerWritableStream<ReadReq, ReadResp>;
type Options = ReadReq.Options;

/** Events that a page of a catch-up holds, and that a live subscription may be behind before it catches up again. */
const PAGE = 32;
const LIVE_BUFFER = 64;

export const read =
  (log: MemoryLog, faults: Faults) =>
  async (call: Call): Promise<void> => {
    const options = call.request.getOptions()!;
    const gone = new AbortController();
    call.on('cancelled', () => gone.abort());
    call.on('error', () => gone.abort());
    const sender: Sender = {
      gone: gone.signal,
      async send(message) {
        await faults.beforeAnswer();
        if (gone.signal.aborted) throw new Gone();
        if (!call.write(message)) await once(call, 'drain', { signal: gone.signal }).catch(() => undefined);
      },
    };
    faults.readBegan();
    try {
      if (options.hasSubscription() && options.hasAll()) await subscribe(log, options, sender);
      else if (options.hasAll()) await readAll(log, options, sender);
      else if (options.hasSubscription()) throw new Unimplemented('subscriptions to one stream');
      else if (await readStream(log, options, sender, call)) return;
      call.end();
    } catch (error) {
      if (error instanceof Gone) return;
      call.destroy(Object.assign(error as Error, { code: (error as { code?: number }).code ?? status.UNKNOWN }));
    } finally {
      faults.readEnded();
    }
  };

interface Sender {
  gone: AbortSignal;
  /** Resolves when the client has taken it. Throws `Gone` when the client has gone. */
  send(message: ReadResp): Promise<void>;
}
class Gone extends Error {}
class Unimplemented extends Error {
  readonly code = status.UNIMPLEMENTED;
}

/** Whether the call was ended with an error. */
async function readStream(log: MemoryLog, options: Options, { send }: Sender, call: Call): Promise<boolean> {
  const range = options.getStream()!;
  const stream = streamName(range.getStreamIdentifier());
  const events = log.read(stream);
  if (events === 'deleted') {
    const { code, details, metadata } = streamDeletedError(stream);
    call.emit('error', Object.assign(new Error(details), { code, details, metadata }));
    return true;
  }
  if (events === null) {
    await send(streamNotFoundMessage(stream));
    return false;
  }
  const backwards = options.getReadDirection() === 1;
  const inOrder = backwards ? events.toReversed() : events;
  const from = range.hasRevision() ? Number(range.getRevision()) : null;
  const inRange = (event: Stored) => from === null || (backwards ? event.revision <= from : event.revision >= from);
  let left = Number(options.getCount());
  for (const event of inOrder) {
    if (!inRange(event)) continue;
    if (left-- <= 0) break;
    await send(eventMessage(event));
  }
  return false;
}

async function readAll(log: MemoryLog, options: Options, { send }: Sender): Promise<void> {
  if (options.hasFilter()) throw new Unimplemented('filtered reads: the client has none');
  const backwards = options.getReadDirection() === 1;
  const start = startOf(log, options.getAll()!, false);
  let left = Number(options.getCount());
  const events = backwards ? log.all.slice(0, start).reverse() : log.all.slice(start);
  for (const event of events) {
    if (left-- <= 0) break;
    await send(eventMessage(event));
  }
}

/**
 * Catches up page by page, with a checkpoint at the end and after each `window * interval` events that were looked at;
 * says that it has caught up; then sends what comes, with a checkpoint after each so many; and falls behind when the
 * client is slower than the writers.
 */
async function subscribe(log: MemoryLog, options: Options, { send, gone }: Sender): Promise<void> {
  const { allowed, window, interval } = filterOf(options);
  await send(confirmationMessage(randomUUID()));
  let cursor = startOf(log, options.getAll()!, true);
  let looked_at = 0;
  for (let live = false; !gone.aborted; ) {
    if (!live) {
      for (let page = 0, sent = 0; cursor < log.all.length && page < window && sent < PAGE; page += 1) {
        const event = log.all[cursor++]!;
        looked_at += 1;
        if (!allowed(event)) continue;
        sent += 1;
        await send(eventMessage(event));
      }
      const last = log.all[cursor - 1];
      const at_end = cursor >= log.all.length;
      if (last !== undefined && (at_end || looked_at >= interval)) {
        looked_at %= interval;
        await send(checkpointMessage(last));
      }
      // While that was sent there may be more; a real server's pages are taken at one moment too.
      if (!at_end || cursor < log.all.length) continue;
      await send(caughtUpMessage());
      live = true;
      looked_at = 0;
      continue;
    }
    if (log.all.length - cursor > LIVE_BUFFER) {
      await send(fellBehindMessage());
      const last = log.all[cursor - 1];
      if (last !== undefined) await send(checkpointMessage(last));
      live = false;
      continue;
    }
    await log.grown(cursor, gone);
    const event = log.all[cursor];
    if (event === undefined) continue;
    cursor += 1;
    looked_at += 1;
    if (allowed(event)) await send(eventMessage(event));
    if (looked_at >= interval) {
      looked_at = 0;
      await send(checkpointMessage(event));
    }
  }
}

function filterOf(options: Options) {
  const filter = options.getFilter();
  const window = filter?.hasMax() ? filter.getMax() : PAGE;
  const interval = filter ? window * filter.getCheckpointintervalmultiplier() : Number.POSITIVE_INFINITY;
  const expression = filter?.getStreamIdentifier() ?? filter?.getEventType();
  const subject = (event: Stored) => (filter?.hasStreamIdentifier() ? event.stream : event.type);
  const prefixes = expression?.getPrefixList() ?? [];
  const regex = expression?.getRegex() ? new RegExp(expression.getRegex(), 'u') : null;
  const allowed = (event: Stored): boolean =>
    filter === undefined ||
    (regex ? regex.test(subject(event)) : prefixes.some((prefix) => subject(event).startsWith(prefix)));
  return { allowed, window, interval };
}

/** The index of the first event to give forwards; backwards, of the one after it. */
function startOf(log: MemoryLog, range: ReadReq.Options.AllOptions, exclusive: boolean): number {
  if (range.hasStart()) return 0;
  if (range.hasEnd()) return log.all.length;
  const position = range.getPosition()!;
  return log.indexOf(
    { commit: BigInt(position.getCommitPosition()), prepare: BigInt(position.getPreparePosition()) },
    { exclusive },
  );
}
