// The call that reads: a stream, the whole log, or a subscription to it.
import { once } from 'node:events';
import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import { type ServerWritableStream, status } from '@grpc/grpc-js';
import type { Faults } from './faults.ts';
import type { MemoryLog, Stored } from './memory-log.ts';
import { eventMessage, type refusalError, streamDeletedError, streamName, streamNotFoundMessage } from './messages.ts';
import { Gone, type Sender, type ServerVersion, startOf, subscribe } from './subscriptions.ts';

type Call = ServerWritableStream<ReadReq, ReadResp>;
type Options = ReadReq.Options;

export interface Reading {
  log: MemoryLog;
  faults: Faults;
  version: ServerVersion;
  /** What the next call is refused with, if with anything. */
  refused(): ReturnType<typeof refusalError> | null;
}

export const read =
  ({ log, faults, version, refused }: Reading) =>
  async (call: Call): Promise<void> => {
    const refusal = refused();
    if (refusal !== null) return void call.emit('error', Object.assign(new Error(refusal.details), refusal));
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
      if (options.hasSubscription() && options.hasAll()) await subscribe({ log, faults, version, options, sender });
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
