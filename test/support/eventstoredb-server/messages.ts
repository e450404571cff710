// The protocol's messages to and from the server's own types.
import sharedMessages from '@eventstore/db-client/generated/shared_pb.js';
import streamMessages, { type AppendReq, type BatchAppendReq } from '@eventstore/db-client/generated/streams_pb.js';
import { Metadata, status } from '@grpc/grpc-js';
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

export function fellBehindMessage() {
  const message = new ReadResp();
  message.setFellBehind(new ReadResp.FellBehind());
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
