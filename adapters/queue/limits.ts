// What every queue adapter accepts and for how long it keeps it, checked alike in all of them.
import type { ConsumeOptions, Message } from '../../checkers/queue.ts';

/** A message of an id seen within this time is dropped. */
export const DEDUPE_MS = 2 * 60_000;
/** A message that nobody has done by then is dropped: the sweeper publishes what is still to do. */
export const MESSAGE_AGE_MS = 24 * 60 * 60_000;
/** Of a body in JSON. NATS refuses messages of 1 MiB, their headers included. */
export const MAX_BODY_BYTES = 1_000_000;
const MAX_SUBJECT_LENGTH = 200;
const MAX_ID_LENGTH = 200;

export type QueueErrorCode = 'invalid_subject' | 'invalid_message' | 'invalid_option' | 'unavailable' | 'closed';

export class QueueError extends Error {
  /** `unavailable`: try later; `closed`: this instance is; the others: the caller's mistake. */
  readonly code: QueueErrorCode;

  constructor(code: QueueErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'QueueError';
    this.code = code;
  }
}

export function checkSubject(subject: string): void {
  if (subject.length > MAX_SUBJECT_LENGTH || !/^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(subject)) {
    throw new QueueError('invalid_subject', `${JSON.stringify(subject)} is not dotted words of [a-z0-9_-]`);
  }
}

/** The body in JSON. */
export function encodeBody(body: unknown): string {
  const json = JSON.stringify(body);
  if (json === undefined) throw new QueueError('invalid_message', 'a body must have a form in JSON');
  // A character is at most three bytes, so the exact size is counted for the few bodies that may be too large.
  if (json.length * 3 > MAX_BODY_BYTES && Buffer.byteLength(json) > MAX_BODY_BYTES) {
    throw new QueueError('invalid_message', `a body is ${Buffer.byteLength(json)} bytes, over ${MAX_BODY_BYTES}`);
  }
  return json;
}

/** Checks all of them before the first is stored. */
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
