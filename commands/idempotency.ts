// The aggregate of one idempotency key: the request that claimed it, and the answer to its first request.
import { hash } from 'node:crypto';
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
} from './aggregate.ts';

/** The service remembers a key for this long after its first claim. */
const REMEMBERED_MS = 24 * 3_600_000;

export interface IdempotencyKey {
  /** `abandoned`: the request that claimed the key ended without an answer. */
  status: 'free' | 'claimed' | 'abandoned' | 'answered';
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
    | { code: 'claim_lost' }
  );

export type IdempotencyCommand =
  /** `settled`: the id of an earlier request's job that can no longer be created. */
  | { type: 'claim'; fingerprint: string; job_id: string; lease_ms: number; settled: string | null }
  | { type: 'answer'; answer: RequestAnswered }
  | { type: 'release' | 'abandon'; job_id: string };

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
  RequestReleased: (key) => ({ ...key, status: 'free' }),
  RequestAbandoned: (key) => ({ ...key, status: 'abandoned' }),
});

export function decide(
  key: Readonly<IdempotencyKey>,
  command: IdempotencyCommand,
  now: number,
): Decision<IdempotencyEvent, IdempotencyRefusal> {
  switch (command.type) {
    case 'claim':
      return claim(key, command, now);
    case 'answer': {
      const { answer } = command;
      const mine = key.job_id === answer.job_id && key.status !== 'free';
      if (!mine) return { refused: { code: 'claim_lost', message: 'Another request has claimed the key.' } };
      return { events: key.status === 'answered' ? [] : [{ type: 'RequestAnswered', data: answer }] };
    }
    default: {
      const { type, job_id } = command;
      if (key.status !== 'claimed' || key.job_id !== job_id) return { events: [] };
      return { events: [{ type: type === 'release' ? 'RequestReleased' : 'RequestAbandoned', data: { job_id } }] };
    }
  }
}

function claim(
  key: Readonly<IdempotencyKey>,
  { fingerprint, job_id, lease_ms, settled }: Extract<IdempotencyCommand, { type: 'claim' }>,
  now: number,
): Decision<IdempotencyEvent, IdempotencyRefusal> {
  const is_remembered = key.status !== 'free' && now < Date.parse(key.since) + REMEMBERED_MS;
  if (is_remembered) {
    if (key.fingerprint !== fingerprint) {
      const message = 'The key was sent with another body within 24 hours. Take a new key for a new request.';
      return { refused: { code: 'idempotency_key_mismatch', message } };
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

export interface IdempotencyKeys {
  run(
    scope: KeyScope,
    command: IdempotencyCommand,
    context: CommandContext,
  ): Promise<Handled<IdempotencyKey, IdempotencyRefusal>>;
}

export function openIdempotencyKeys(log: EventStore): IdempotencyKeys {
  const aggregate = openAggregate<IdempotencyKey, IdempotencyEvent>(log, { initial, evolve });
  const streamOf = ({ user_id, method, route, key }: KeyScope) =>
    idempotencyStream(hash('sha256', JSON.stringify([user_id, method, route, key]), 'hex'));
  return {
    run: (scope, command, context) =>
      aggregate.handle(streamOf(scope), context, (key) => decide(key, command, context.now), {
        assume_empty: command.type === 'claim',
      }),
  };
}
