// The aggregate of one idempotency key: the request that claimed it, and the answer to its first request.
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { EventStore } from '../events/event-store.ts';
import type { IdempotencyEvent, RequestAnswered } from '../events/idempotency.ts';
import { idempotencyStream } from '../events/streams.ts';
import {
  type CommandContext,
  type Decision,
  evolveBy,
  type Handled,
  openAggregate,
  type Refusal,
  StreamDeleted,
} from './aggregate.ts';

/** The service remembers a key for this long after its first claim. */
const REMEMBERED_MS = 24 * 3_600_000;
/** Its stream is kept for this long, so that a client who sends one key every day goes on in one stream. */
export const KEPT_MS = 30 * 24 * 3_600_000;
/** Keys whose stream is known, because requests with them are under way. */
const MAX_KNOWN = 10_000;

export interface IdempotencyKey {
  /** `abandoned`: the request that claimed the key ended without an answer. `retired`: the key has another stream from now on. */
  status: 'free' | 'claimed' | 'abandoned' | 'answered' | 'retired';
  fingerprint: string;
  job_id: string;
  /** When the key was first claimed, in ISO 8601. */
  since: string;
  /** When the claim's lease runs out, in ISO 8601. */
  until: string;
  answer: RequestAnswered | null;
}

export type IdempotencyRefusal = Refusal &
  (
    | { code: 'idempotency_key_mismatch' }
    | { code: 'idempotency_in_progress'; left_ms: number }
    /** An earlier request's job may or may not exist: the caller settles that first. */
    | { code: 'unsettled'; job_id: string }
  );

/** The key has another stream from now on. */
type Retired = Refusal & { code: 'retired' };

export type IdempotencyCommand =
  /** `settled`: the id of an earlier request's job that can no longer be created. */
  | { type: 'claim'; fingerprint: string; job_id: string; lease_ms: number; settled: string | null }
  /** Does nothing when another request has claimed the key meanwhile, because it was forgotten. */
  | { type: 'answer'; answer: RequestAnswered }
  | { type: 'release' | 'abandon'; job_id: string }
  | { type: 'retire' };

export const initial = (): IdempotencyKey => ({
  status: 'free',
  fingerprint: '',
  job_id: '',
  since: '',
  until: '',
  answer: null,
});
export const evolve = evolveBy<IdempotencyKey, IdempotencyEvent>({
  RequestClaimed: (_key, claim) => ({ status: 'claimed', ...claim, answer: null }),
  RequestAnswered: (key, answer) => ({ ...key, status: 'answered', answer }),
  KeyRetired: (key) => ({ ...key, status: 'retired' }),
  RequestReleased: (key) => ({ ...key, status: 'free' }),
  RequestAbandoned: (key) => ({ ...key, status: 'abandoned' }),
});

export function decide(
  key: Readonly<IdempotencyKey>,
  command: IdempotencyCommand,
  now: number,
): Decision<IdempotencyEvent, IdempotencyRefusal | Retired> {
  if (command.type === 'retire') return { events: isDue(key, now) ? [{ type: 'KeyRetired', data: {} }] : [] };
  if (key.status === 'retired') return { refused: { code: 'retired', message: 'The key has another stream.' } };
  switch (command.type) {
    case 'claim':
      return claim(key, command, now);
    case 'answer': {
      const { answer } = command;
      const is_mine = key.job_id === answer.job_id && (key.status === 'claimed' || key.status === 'abandoned');
      return { events: is_mine ? [{ type: 'RequestAnswered', data: answer }] : [] };
    }
    default: {
      const { type, job_id } = command;
      if (key.status !== 'claimed' || key.job_id !== job_id) return { events: [] };
      return { events: [{ type: type === 'release' ? 'RequestReleased' : 'RequestAbandoned', data: { job_id } }] };
    }
  }
}

/** Whether the key is long forgotten. A request that claims it at the same time comes before or after, by the stream's order. */
const isDue = ({ status, since }: Readonly<IdempotencyKey>, now: number) =>
  since !== '' && status !== 'retired' && now >= Date.parse(since) + KEPT_MS;

export const KEY_MISMATCH = {
  code: 'idempotency_key_mismatch' as const,
  message: 'The key was sent with another body within 24 hours. Take a new key for a new request.',
};

function claim(
  key: Readonly<IdempotencyKey>,
  { fingerprint, job_id, lease_ms, settled }: Extract<IdempotencyCommand, { type: 'claim' }>,
  now: number,
): Decision<IdempotencyEvent, IdempotencyRefusal> {
  const is_remembered = key.status !== 'free' && now < Date.parse(key.since) + REMEMBERED_MS;
  if (is_remembered) {
    if (key.fingerprint !== fingerprint) {
      return { refused: KEY_MISMATCH };
    }
    if (key.status === 'answered') return { events: [] };
    const left_ms = Date.parse(key.until) - now;
    // A lease that ends later than any lease can was written before the clock was set back: this clock would not end it.
    if (key.status === 'claimed' && left_ms > 0 && left_ms <= 2 * lease_ms) {
      const message = 'A request with the same key is still being worked on. Send it again in a moment.';
      return { refused: { code: 'idempotency_in_progress', message, left_ms } };
    }
    if (key.job_id !== settled) {
      const message = 'The job of an earlier request with the key is not settled.';
      return { refused: { code: 'unsettled', message, job_id: key.job_id } };
    }
  }
  const since = is_remembered ? key.since : new Date(now).toISOString();
  const until = new Date(now + lease_ms).toISOString();
  return { events: [{ type: 'RequestClaimed', data: { fingerprint, job_id, since, until } }] };
}

/** Identifies a key: the same key of another user or route is another one. */
export interface KeyScope {
  user_id: string;
  method: string;
  route: string;
  key: string;
}

export type IdempotencyKeys = ReturnType<typeof openIdempotencyKeys>;

export function openIdempotencyKeys(log: EventStore) {
  const aggregate = openAggregate<IdempotencyKey, IdempotencyEvent>(log, { initial, evolve });
  const hashOf = (...of: unknown[]) => hash('sha256', JSON.stringify(of), 'hex');
  /** How many streams of a key are retired, as far as this process has seen. Each claim comes before what is said of it. */
  const retired = new LRUCache<string, number>({ max: MAX_KNOWN });

  /** Null for a stream that is retired, or deleted by now. */
  async function inStream(
    stream: string,
    command: IdempotencyCommand,
    context: CommandContext,
  ): Promise<Handled<IdempotencyKey, IdempotencyRefusal> | null> {
    const assume_empty = command.type === 'claim';
    try {
      const decision = (key: Readonly<IdempotencyKey>) => decide(key, command, context.now);
      const done = await aggregate.handle(stream, context, decision, { assume_empty });
      if (done.ok) return done;
      const { refused } = done;
      return refused.code === 'retired' ? null : { ok: false, refused };
    } catch (error) {
      if (error instanceof StreamDeleted) return null;
      throw error;
    }
  }

  return {
    async run(
      { user_id, method, route, key }: KeyScope,
      command: Exclude<IdempotencyCommand, { type: 'retire' }>,
      context: CommandContext,
    ): Promise<Handled<IdempotencyKey, IdempotencyRefusal>> {
      const of = [user_id, method, route, key];
      const known = hashOf(...of);
      for (let before = retired.get(known) ?? 0; ; before++) {
        const stream = idempotencyStream(before === 0 ? known : hashOf(...of, before));
        const done = await inStream(stream, command, context);
        if (done === null) continue;
        if (before > 0) retired.set(known, before);
        return done;
      }
    },
    /** Returns whether the stream is retired, so that it may be deleted. */
    async retire(stream: string, context: CommandContext): Promise<boolean> {
      const done = await inStream(stream, { type: 'retire' }, context);
      return done?.ok === true && done.state.status === 'retired';
    },
  };
}
