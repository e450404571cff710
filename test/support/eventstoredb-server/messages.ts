// The protocol's messages to and from the server's own types.
import sharedMessages from '@eventstore/db-client/generated/shared_pb.js';
import streamMessages, { type AppendReq, type BatchAppendReq } from '@eventstore/db-client/generated/streams_pb.js';
import { Metadata, status } from '@grpc/grpc-js';
import type { Refusal } from './faults.ts';
import type { LogPosition, Proposed, Stored } from './memory-log.ts';

const { Empty, StreamIdentifier, UUID } = sharedMessages;
const { ReadResp } = streamMessages;

export const empty = () => new Empty();

export function identifier(stream: string) {
  const message = new StreamIdentifier();
  message.setStreamName(Buffer.from(stream));
  return message;
}

export const streamName = (message: { getStreamName_asU8(): Uint8Array } | undefined): string =>
  Buffer.from(message!.getStreamName_asU8()).toString();

export function proposed(message: AppendReq.ProposedMessage | BatchAppendReq.ProposedMessage): Proposed {
  const metadata = message.getMetadataMap();
  return {
    id: message.getId()!.getString().toLowerCase(),
    type: metadata.get('type') ?? '',
    content_type: metadata.get('content-type') ?? 'application/octet-stream',
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  };
}

export function eventMessage(event: Stored) {
  const id = new UUID();
  id.setString(event.id);
  const recorded = new ReadResp.ReadEvent.RecordedEvent();
  recorded.setId(id);
  recorded.setStreamIdentifier(identifier(event.stream));
  recorded.setStreamRevision(String(event.revision));
  recorded.setPreparePosition(String(event.prepare));
  recorded.setCommitPosition(String(event.commit));
  recorded.setData(event.data);
  recorded.setCustomMetadata(event.metadata);
  const metadata = recorded.getMetadataMap();
  metadata.set('type', event.type);
  metadata.set('content-type', event.content_type);
  metadata.set('created', String(event.created_ticks));
  const read = new ReadResp.ReadEvent();
  read.setEvent(recorded);
  read.setCommitPosition(String(event.commit));
  const message = new ReadResp();
  message.setEvent(read);
  return message;
}

export function checkpointMessage({ commit, prepare }: LogPosition) {
  const checkpoint = new ReadResp.Checkpoint();
  checkpoint.setCommitPosition(String(commit));
  checkpoint.setPreparePosition(String(prepare));
  const message = new ReadResp();
  message.setCheckpoint(checkpoint);
  return message;
}

export function confirmationMessage(subscription_id: string) {
  const confirmation = new ReadResp.SubscriptionConfirmation();
  confirmation.setSubscriptionId(subscription_id);
  const message = new ReadResp();
  message.setConfirmation(confirmation);
  return message;
}

export function caughtUpMessage() {
  const message = new ReadResp();
  message.setCaughtUp(new ReadResp.CaughtUp());
  return message;
}

export function streamNotFoundMessage(stream: string) {
  const notFound = new ReadResp.StreamNotFound();
  notFound.setStreamIdentifier(identifier(stream));
  const message = new ReadResp();
  message.setStreamNotFound(notFound);
  return message;
}

/** An error as the server sends it: a status with the kind of error in its trailers. */
export function streamDeletedError(stream: string) {
  const metadata = new Metadata();
  metadata.set('exception', 'stream-deleted');
  metadata.set('stream-name', stream.replaceAll(/[^ -~]/g, '?')); // trailers are ASCII
  return { code: status.FAILED_PRECONDITION, details: `Event stream '${stream}' is deleted.`, metadata };
}

export function tooLargeError(max_append_bytes: number) {
  const metadata = new Metadata();
  metadata.set('exception', 'maximum-append-size-exceeded');
  metadata.set('maximum-append-size', String(max_append_bytes));
  return { code: status.INVALID_ARGUMENT, details: 'Maximum Append Size Exceeded.', metadata };
}

/** What a call is refused with; `port`: of the leader, which in these tests is the server itself. */
export function refusalError(refusal: Refusal, port: number) {
  const metadata = new Metadata();
  switch (refusal) {
    case 'not_leader':
      metadata.set('exception', 'not-leader');
      metadata.set('leader-endpoint-host', '127.0.0.1');
      metadata.set('leader-endpoint-port', String(port));
      return { code: status.NOT_FOUND, details: `Leader info available: 127.0.0.1:${port}`, metadata };
    case 'no_leader_info':
      return { code: status.UNKNOWN, details: 'No leader info available in response', metadata };
    case 'not_ready':
      return { code: status.UNAVAILABLE, details: 'Server Is Not Ready', metadata };
    case 'aborted':
      return { code: status.ABORTED, details: 'Operation timed out', metadata };
  }
}
