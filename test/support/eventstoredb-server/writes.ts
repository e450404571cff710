// The calls that write: Append, BatchAppend, Delete, Tombstone.
import { createRequire } from 'node:module';
import sharedMessages from '@eventstore/db-client/generated/shared_pb.js';
import statusMessages from '@eventstore/db-client/generated/status_pb.js';
import streamMessages, {
  type AppendReq,
  type AppendResp,
  type BatchAppendReq,
  type BatchAppendResp,
  type DeleteReq,
  type DeleteResp,
  type TombstoneReq,
  type TombstoneResp,
} from '@eventstore/db-client/generated/streams_pb.js';
import { type handleClientStreamingCall, type handleUnaryCall, type ServerDuplexStream, status } from '@grpc/grpc-js';
import type { Any } from 'google-protobuf/google/protobuf/any_pb.js';
import type { Faults } from './faults.ts';
import type { Expected, LogPosition, MemoryLog, Proposed, Written } from './memory-log.ts';
import {
  empty,
  identifier,
  proposed,
  type refusalError,
  streamDeletedError,
  streamName,
  tooLargeError,
} from './messages.ts';

// The library of the client's messages is the client's dependency, not ours: found from where the client is.
const fromClient = createRequire(import.meta.resolve('@eventstore/db-client'));
const { Any: AnyMessage } = fromClient('google-protobuf/google/protobuf/any_pb.js') as { Any: typeof Any };
const { AllStreamPosition, StreamDeleted, WrongExpectedVersion } = sharedMessages;

export interface Writing {
  log: MemoryLog;
  faults: Faults;
  killConnections(): void;
  /** What the next call is refused with, if with anything. */
  refused(): ReturnType<typeof refusalError> | null;
}

export const append =
  ({ log, faults, killConnections, refused }: Writing): handleClientStreamingCall<AppendReq, AppendResp> =>
  (call, callback) => {
    const requests: AppendReq[] = [];
    call.on('data', (request: AppendReq) => requests.push(request));
    call.on('error', () => undefined); // the client went away
    call.on('end', async () => {
      // Also emitted when the connection broke in the middle of the events, which shows only a turn later.
      await new Promise(setImmediate);
      if (call.cancelled) return;
      const refusal = refused();
      if (refusal !== null) return callback(refusal);
      const options = requests[0]!.getOptions()!;
      const stream = streamName(options.getStreamIdentifier());
      const expected = options.hasRevision() ? Number(options.getRevision()) : otherExpected(options);
      const events = requests.slice(1).map((request) => proposed(request.getProposedMessage()!));
      if (sizeOf(events) > faults.max_append_bytes) return callback(tooLargeError(faults.max_append_bytes));
      const result = await write(log, faults, stream, expected, events, killConnections);
      if (result === null) return;
      if (result.outcome === 'stream_deleted') return callback(streamDeletedError(stream));
      callback(null, result.outcome === 'written' ? appendSuccess(result) : appendWrongVersion(result, expected));
    });
  };

const sizeOf = (events: readonly Proposed[]): number =>
  events.reduce((size, event) => size + event.data.length + event.metadata.length + 2 * event.type.length, 0);

function appendSuccess({ revision, position }: Written & { outcome: 'written' }): AppendResp {
  const { AppendResp } = streamMessages;
  const success = new AppendResp.Success();
  success.setCurrentRevision(String(revision));
  success.setPosition(positionOf(new AppendResp.Position(), position));
  const message = new AppendResp();
  message.setSuccess(success);
  return message;
}

function appendWrongVersion({ current }: Written & { outcome: 'wrong_expected_version' }, expected: Expected) {
  const { AppendResp } = streamMessages;
  const wrong = new AppendResp.WrongExpectedVersion();
  if (current === null) wrong.setCurrentNoStream(empty());
  else wrong.setCurrentRevision(String(current));
  if (typeof expected === 'number') wrong.setExpectedRevision(String(expected));
  else if (expected === 'no_stream') wrong.setExpectedNoStream(empty());
  else if (expected === 'stream_exists') wrong.setExpectedStreamExists(empty());
  const message = new AppendResp();
  message.setWrongExpectedVersion(wrong);
  return message;
}

/** One call for many appends: the requests of each bear its correlation id, the last one says that it is the last. */
export const batchAppend =
  ({ log, faults, killConnections }: Writing) =>
  (call: ServerDuplexStream<BatchAppendReq, BatchAppendResp>): void => {
    const pending = new Map<string, { stream: string; expected: Expected; events: Proposed[] }>();
    call.on('data', async (request: BatchAppendReq) => {
      const correlation = request.getCorrelationId()!;
      const options = request.getOptions();
      if (options !== undefined) {
        pending.set(correlation.getString(), {
          stream: streamName(options.getStreamIdentifier()),
          expected: options.hasStreamPosition() ? Number(options.getStreamPosition()) : otherExpected(options),
          events: [],
        });
      }
      const append = pending.get(correlation.getString())!;
      append.events.push(...request.getProposedMessagesList().map(proposed));
      if (!request.getIsFinal()) return;
      pending.delete(correlation.getString());
      const result = await write(log, faults, append.stream, append.expected, append.events, killConnections);
      if (result === null || call.cancelled) return;
      const message = new streamMessages.BatchAppendResp();
      message.setCorrelationId(correlation);
      message.setStreamIdentifier(identifier(append.stream));
      if (result.outcome === 'written') message.setSuccess(batchSuccess(result));
      else message.setError(batchError(result, append.stream, append.expected));
      call.write(message);
    });
    call.on('end', () => call.end());
    call.on('error', () => undefined); // the client went away
  };

function batchSuccess({ revision, position }: Written & { outcome: 'written' }) {
  const success = new streamMessages.BatchAppendResp.Success();
  success.setCurrentRevision(String(revision));
  success.setPosition(positionOf(new AllStreamPosition(), position));
  return success;
}

function batchError(result: Exclude<Written, { outcome: 'written' }>, stream: string, expected: Expected) {
  const details = new AnyMessage();
  if (result.outcome === 'stream_deleted') {
    const deleted = new StreamDeleted();
    deleted.setStreamIdentifier(identifier(stream));
    details.pack(deleted.serializeBinary(), 'event_store.client.StreamDeleted');
  } else {
    const wrong = new WrongExpectedVersion();
    if (result.current === null) wrong.setCurrentNoStream(empty() as never);
    else wrong.setCurrentStreamRevision(String(result.current));
    if (typeof expected === 'number') wrong.setExpectedStreamPosition(String(expected));
    else if (expected === 'no_stream') wrong.setExpectedNoStream(empty() as never);
    else if (expected === 'stream_exists') wrong.setExpectedStreamExists(empty() as never);
    details.pack(wrong.serializeBinary(), 'event_store.client.WrongExpectedVersion');
  }
  const error = new statusMessages.Status();
  error.setCode(status.FAILED_PRECONDITION as never);
  error.setMessage(result.outcome);
  error.setDetails(details);
  return error;
}

/** What the log decided; null when the acknowledgement is to be lost. */
async function write(
  log: MemoryLog,
  faults: Faults,
  stream: string,
  expected: Expected,
  events: Proposed[],
  killConnections: () => void,
): Promise<Written | null> {
  faults.appends_received += 1;
  const result = log.append(stream, expected, events);
  if (faults.lost_acknowledgements > 0) {
    faults.lost_acknowledgements -= 1;
    if (faults.breaks_connections) killConnections();
    return null;
  }
  await faults.beforeAnswer();
  return result;
}

export const deleteStream =
  ({ log, faults }: Writing): handleUnaryCall<DeleteReq, DeleteResp> =>
  async (call, callback) => {
    const stream = streamName(call.request.getOptions()!.getStreamIdentifier());
    const result = log.delete(stream);
    await faults.beforeAnswer();
    if (result.outcome === 'stream_deleted') return callback(streamDeletedError(stream));
    if (result.outcome !== 'written') {
      return callback({ code: status.FAILED_PRECONDITION, details: `There is no stream '${stream}'.` });
    }
    const message = new streamMessages.DeleteResp();
    message.setPosition(positionOf(new streamMessages.DeleteResp.Position(), result.position));
    callback(null, message);
  };

export const tombstoneStream =
  ({ log, faults, refused }: Writing): handleUnaryCall<TombstoneReq, TombstoneResp> =>
  async (call, callback) => {
    const refusal = refused();
    if (refusal !== null) return callback(refusal);
    const stream = streamName(call.request.getOptions()!.getStreamIdentifier());
    const result = log.tombstone(stream);
    await faults.beforeAnswer();
    if (result.outcome !== 'written') return callback(streamDeletedError(stream));
    const message = new streamMessages.TombstoneResp();
    message.setPosition(positionOf(new streamMessages.TombstoneResp.Position(), result.position));
    callback(null, message);
  };

function otherExpected(options: { hasNoStream(): boolean; hasStreamExists(): boolean }): Expected {
  if (options.hasNoStream()) return 'no_stream';
  return options.hasStreamExists() ? 'stream_exists' : 'any';
}

function positionOf<
  T extends { setCommitPosition(value: string): unknown; setPreparePosition(value: string): unknown },
>(message: T, { commit, prepare }: LogPosition): T {
  message.setCommitPosition(String(commit));
  message.setPreparePosition(String(prepare));
  return message;
}
