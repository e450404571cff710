// Limits that every queue adapter shares, and the checks of them.
import type { ConsumeOptions, Message } from '../../checkers/queue.ts';

/** Deduplication window: a message whose id was published within this time is dropped. */
export const DEDUPE_MS = 2 * 60_000;
/** Lifetime of a message. The queue drops older ones; the sweeper publishes their work again. */
export const MESSAGE_AGE_MS = 24 * 60 * 60_000;
/** Largest body, as JSON. NATS refuses messages over 1 MiB, headers included. */
export const MAX_BODY_BYTES = 1_000_000;
const MAX_SUBJECT_LENGTH = 200;
const MAX_ID_LENGTH = 200;

export type QueueErrorCode = 'invalid_subject' | 'invalid_message' | 'invalid_option' | 'unavailable' | 'closed';

export class QueueError extends Error {
  /** `unavailable`: the caller may retry later. `closed`: this instance is closed. The others are mistakes of the caller. */
  readonly code: QueueErrorCode;
  readonly dependency = 'queue';

  constructor(code: QueueErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'QueueError';
    this.code = code;
  }
}

export function checkSubject(subject: string): void {
  if (subject.length > MAX_SUBJECT_LENGTH || !/^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(subject)) {
    throw new QueueError('invalid_subject', `${JSON.stringify(subject)} is not a subject: dotted words of [a-z0-9_-]`);
  }
}

/** Serializes a body. Throws QueueError `invalid_message` when it has no JSON or is too large. */
export function encodeBody(body: unknown): string {
  const json = JSON.stringify(body);
  if (json === undefined) throw new QueueError('invalid_message', 'a body must be a JSON value');
  // A character takes at most three bytes, so only large bodies need an exact count.
  if (json.length * 3 > MAX_BODY_BYTES && Buffer.byteLength(json) > MAX_BODY_BYTES) {
    throw new QueueError('invalid_message', `a body has ${Buffer.byteLength(json)} bytes, more than ${MAX_BODY_BYTES}`);
  }
  return json;
}

/** Serializes all messages before the caller stores the first one, so that an invalid message stores nothing. */
export function encodeMessages(messages: readonly Message[]): { id: string; body: string }[] {
  return messages.map(({ id, body }) => {
    if (id.length > MAX_ID_LENGTH || !/^[\x21-\x7e]+$/.test(id)) {
      throw new QueueError('invalid_message', `${JSON.stringify(id)} is not an id of printable ASCII without spaces`);
    }
    return { id, body: encodeBody(body) };
  });
}

export function checkConsumeOptions({ ack_wait_ms, max_deliveries }: ConsumeOptions): void {
  checkWhole('ack_wait_ms', ack_wait_ms, 1);
  checkWhole('max_deliveries', max_deliveries, 1);
}

export function checkPull(limit: number, wait_ms: number): void {
  checkWhole('limit', limit, 1);
  checkWhole('wait_ms', wait_ms, 0);
}

function checkWhole(name: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw new QueueError('invalid_option', `${name} is ${value}, not a whole number from ${least}`);
}
